#!/usr/bin/env bash
# What tasks send each other is what the plan says, to the byte, on every link and for every kind of
# message: steps, evaluations, checkpoints, and the beginning of a run that was resumed; and arenas take
# the memory that the plan says, under relaxed rules too. The same is asked of every strategy of
# same_bits.sh.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# check GATHERS SCATTERS
check() {
  python3 "$source/tests/e2e/bill.py" out/mlp.plan.json counted.json log.jsonl "$1" "$2"
}

# bill CLUSTER STRATEGY
bill() {
  { grep -v '^strategy ' "$models/mlp.dtg"; printf 'strategy it { %s }\n' "$2"; } >mlp.dtg
  "$dtgc" -q mlp.dtg --cluster "$1" -o out
  rm -rf kept
  # A checkpoint at step 20, and the last values.
  timeout 120 out/mlp --quiet --threads 1 --steps 22 --checkpoint-dir kept --save saved \
    --log log.jsonl --traffic counted.json >/dev/null
  check 2 0 || fail "$1, { $2 }"
  timeout 120 out/mlp --quiet --threads 1 --steps 27 --checkpoint-dir kept --resume \
    --log log.jsonl --traffic counted.json >/dev/null
  check 1 1 || fail "resumed: $1, { $2 }"
}

bill ps=2,worker=4 'replicate in_graph over worker  params on ps  update sync'
bill ps=2,worker=4 'replicate between_graph over worker  params on ps balance bytes split >= 1KiB  update sync'
bill worker=4 'replicate between_graph over worker  params mirrored  update sync'
bill worker=1:cpu=4 'replicate in_graph over cpu  params on cpu:0  update sync'
bill ps=1,worker=2:cpu=2 'replicate between_graph over worker, in_graph over cpu  params on ps  update sync'

# memory CLUSTER STRATEGY: under rules whose messages depend on who is late.
memory() {
  { grep -v '^strategy ' "$models/mlp.dtg"; printf 'strategy it { %s }\n' "$2"; } >mlp.dtg
  "$dtgc" -q mlp.dtg --cluster "$1" -o out
  timeout 120 out/mlp --quiet --threads 2 --steps 22 --memory memory.json >/dev/null
  python3 "$source/tests/e2e/memory.py" out/mlp.plan.json memory.json 2 || fail "$1, { $2 }"
}

memory ps=2,worker=4 'replicate between_graph over worker  params on ps  update sync backup 1'
memory ps=2,worker=4 'replicate between_graph over worker  params on ps balance bytes split >= 1KiB  update async staleness <= 2'
memory ps=1,worker=2:cpu=2 'replicate between_graph over worker, in_graph over cpu  params on ps  update async'
