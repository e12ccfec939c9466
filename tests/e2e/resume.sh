#!/usr/bin/env bash
# 100 steps at once, and 60 steps and then --resume to 100, give the same bytes.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
"$dtgc" "$models/mlp.dtg" -o out >/dev/null
out/mlp --quiet --steps 100 --save whole.safetensors >/dev/null
out/mlp --quiet --steps 60 --checkpoint-dir kept --save half.safetensors >/dev/null
out/mlp --quiet --resume --checkpoint-dir kept --steps 100 --save resumed.safetensors >/dev/null
same whole.safetensors resumed.safetensors
! cmp -s whole.safetensors half.safetensors || fail "training does not change anything"
# keep = 2: two checkpoints stay.
count=$(find kept -type f | wc -l)
[ "$count" -eq 2 ] || fail "$count checkpoints stay instead of 2"
# A run that is resumed where it ended has nothing to do and saves the same.
out/mlp --quiet --resume --checkpoint-dir kept --steps 100 --save again.safetensors >/dev/null
same whole.safetensors again.safetensors

# --steps 0 trains nothing, and evaluates and saves the first values: those of --init, or of the seed.
out/mlp --quiet --steps 0 --init whole.safetensors --save kept.safetensors --log log.jsonl >zero
same whole.safetensors kept.safetensors
out/mlp --quiet --eval-only --init whole.safetensors >evaluated
same zero evaluated
[ "$(cut -d , -f 1-2 log.jsonl)" = '{"step": 0, "epoch": 0' ] || fail "the log says $(cat log.jsonl)"
{
  grep -v '^strategy' "$models/mlp.dtg"
  echo 'strategy towers { replicate in_graph over cpu  params on cpu:0  update sync }'
} >towers.dtg
"$dtgc" towers.dtg --cluster worker=1:cpu=2 -o towers >/dev/null
out/mlp --quiet --steps 0 --save first.safetensors >/dev/null
towers/towers --quiet --steps 0 --save second.safetensors >/dev/null
same first.safetensors second.safetensors
! cmp -s first.safetensors whole.safetensors || fail "no steps are as many as 100"

# The terminal and the log agree about epochs.
out/mlp --steps 60 --log log.jsonl >terminal
said=$(sed -nE 's/^step 60\/60, epoch ([0-9]+),.*/\1/p' terminal)
logged=$(sed -nE 's/^\{"step": 60, "epoch": ([0-9]+), "loss.*/\1/p' log.jsonl)
{ [ -n "$said" ] && [ "$said" = "$logged" ]; } || fail "epoch $said on the terminal, $logged in the log"

# Two programs that write one file: each has a temporary name of its own.
exec 9>shared.safetensors.tmp
flock 9
echo "another program's" >&9
out/mlp --quiet --steps 0 --save shared.safetensors >/dev/null
same shared.safetensors first.safetensors
[ "$(cat shared.safetensors.tmp)" = "another program's" ] || fail "a file that is being written was taken"
exec 9>&-
# What a program left that is no more is used again, and goes.
out/mlp --quiet --steps 0 --save shared.safetensors >/dev/null
[ ! -e shared.safetensors.tmp ] || fail "a temporary file stays"
