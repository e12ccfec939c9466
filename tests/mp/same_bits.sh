#!/usr/bin/env bash
# A process per task gives the bits of one process, the same log, results and traffic.
# Usage: same_bits.sh [quick|full]
set -euo pipefail
. "${DTG_SOURCE_DIR:?the source tree}/tests/e2e/common.sh"
size=${1:-quick}

# Without the measured rates.
computed() {
  sed -E 's/"examples_per_second": ?[0-9.e+-]+,? ?//; s/"seconds": ?[0-9.e+-]+,? ?//' "$1"
}

flags() {
  printf '%s\n' --quiet --threads 1 --steps "$steps" --save "$1.safetensors" --log "$1.jsonl" \
    --traffic "$1.traffic"
}

# compare CLUSTER STRATEGY: one process, and one per task.
compare() {
  { grep -v '^strategy ' "$base"; printf 'strategy it { %s }\n' "$2"; } >"$model.dtg"
  rm -f one.* many.*
  mapfile -t one < <(flags one)
  mapfile -t many < <(flags many)
  timeout 120 "$dtgc" run -q "$model.dtg" --cluster "$1" -o out -- "${one[@]}" >one.out \
    2>one.err || fail "$1, { $2 }: one process: exit status $?: $(cat one.err)"
  # A hang is a failure with the places where tasks wait.
  timeout 120 "$dtgc" run -q "$model.dtg" --cluster "$1" -o out --processes -- "${many[@]}" \
    >many.out 2>many.err || fail "$1, { $2 }: processes: exit status $?: $(cat many.err)"
  [ ! -s many.err ] || fail "$1, { $2 }: unexpected: $(cat many.err)"
  same one.safetensors many.safetensors
  same one.out many.out
  same one.traffic many.traffic
  cmp <(computed one.jsonl) <(computed many.jsonl) || fail "$1, { $2 }: another log"
  printf 'same: %-28s %s\n' "$1" "$2"
}

use() {
  base=$models/$1.dtg model=$1 steps=$2
}

small() {
  compare ps=1,worker=2 'replicate between_graph over worker  params on ps  update sync'
  compare worker=1:cpu=2,ps=1 'replicate in_graph over cpu  params on ps  update sync'
}

all() {
  for workers in 2 4; do
    for ps in 1 2; do
      compare "ps=$ps,worker=$workers" \
        'replicate between_graph over worker  params on ps  update sync'
    done
    compare "worker=$workers" 'replicate between_graph over worker  params mirrored  update sync'
  done
  compare ps=1,worker=2 'replicate in_graph over worker  params on ps  update sync'
  compare worker=2 'replicate in_graph over worker  params mirrored  update sync'
  compare worker=2 'replicate between_graph over worker  params sharded  update sync'
  compare ps=1,worker=2:cpu=2 \
    'replicate between_graph over worker, in_graph over cpu  params on ps  update sync'
  compare worker=2:cpu=2 \
    'replicate between_graph over worker, in_graph over cpu  params mirrored  update sync'
}

if [ "$size" = quick ]; then
  use mlp 9
  small
  # A task that the strategy does not use ends, and nobody waits for it.
  compare ps=1,worker=2 'replicate between_graph over worker  params mirrored  update sync'
else
  use mlp 33
  all
  use running 21
  all
  use wide 12
  all
fi
