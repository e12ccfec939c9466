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
