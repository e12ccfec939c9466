#!/usr/bin/env bash
# With `update sync`, every strategy, cluster, replica count, owner map and number of threads gives
# the same bits as one device: parameters, slots, states, losses, metrics and evaluations. And every
# link carries what the plan says (bill.py), and every device takes the memory that it says
# (memory.py).
# Usage: same_bits.sh [quick|full] [SET]: the models of one set; without it those made for this test.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
size=${1:-quick}
defines=()

# Without the measured rates.
computed() {
  sed -E 's/"examples_per_second": ?[0-9.e+-]+,? ?//; s/"seconds": ?[0-9.e+-]+,? ?//' "$1"
}

# run NAME: builds $model, which ends in the strategy to run, and runs it; $cluster, $threads.
run() {
  "$dtgc" -q "$model.dtg" "${defines[@]}" ${cluster:+--cluster "$cluster"} -o "out_$model" >/dev/null ||
    fail "$1: does not compile"
  # A hang is a failure with the places where tasks wait.
  timeout 120 "out_$model/$model" --quiet --threads "$threads" --steps "$steps" \
    --data-dir "$scratch" --save "$1.safetensors" --log "$1.jsonl" --traffic "$1.traffic" \
    --memory "$1.memory" >"$1.out" 2>"$1.err" ||
    fail "$1: exit status $?: $(cat "$1.err")"
  computed "$1.jsonl" >"$1.log"
  python3 "$source/tests/e2e/memory.py" "out_$model/$model.plan.json" "$1.memory" "$threads" \
    >"$1.arenas" || fail "$1: the memory is not the plan's"
  if [ -n "$cluster" ]; then
    python3 "$source/tests/e2e/bill.py" "out_$model/$model.plan.json" "$1.traffic" "$1.jsonl" \
      1 0 >"$1.bill" || fail "$1: the bill is not the plan's"
  fi
}

# strategy TEXT: the model of $base under that strategy.
strategy() { { sed '/^strategy /,$d' "$base"; printf 'strategy it { %s }\n' "$1"; } >"$model.dtg"; }

# compare CLUSTER STRATEGY: against what one device gives.
number=0
compare() {
  number=$((number + 1))
  cluster=$1
  strategy "$2"
  for threads in ${3:-1 2}; do
    run "run$number.$threads"
    cmp "one.safetensors" "run$number.$threads.safetensors" ||
      fail "$model: other bits under $1, { $2 }, $threads threads"
    cmp one.log "run$number.$threads.log" || fail "$model: another log under $1, { $2 }"
    cmp one.out "run$number.$threads.out" || fail "$model: other results under $1, { $2 }"
    rm -f "run$number.$threads".*
  done
  printf 'same: %-28s %s\n' "$1" "$2"
}

# reference MODEL-FILE STEPS
reference() {
  base=$1
  model=$(basename "$1" .dtg)
  steps=$2 cluster='' threads=1
  strategy ''
  run one
  printf '%s: %s\n' "$model" "$(digest one.safetensors)"
}

small() {
  compare ps=1,worker=2 'replicate in_graph over worker  params on ps  update sync'
  compare ps=2,worker=4 'replicate between_graph over worker  params on ps  update sync' 1
  compare worker=2 'replicate between_graph over worker  params mirrored  update sync'
  compare ps=2,worker=2 \
    'replicate between_graph over worker  params on ps balance bytes split >= '"$split"'  update sync' 1
}

all() {
  local ps workers
  for workers in 2 4; do
    for ps in 1 2; do
      compare "ps=$ps,worker=$workers" \
        'replicate in_graph over worker  params on ps  update sync' 1
    done
    compare "worker=$workers" 'replicate between_graph over worker  params mirrored  update sync' 1
    compare "worker=$workers" 'replicate between_graph over worker  params sharded  update sync' 1
    compare "worker=1:cpu=$workers" 'replicate in_graph over cpu  params on cpu:0  update sync'
  done
  for workers in 2 4 8; do
    for ps in 1 2 3; do
      compare "ps=$ps,worker=$workers" \
        'replicate between_graph over worker  params on ps balance round_robin  update sync' 1
      compare "ps=$ps,worker=$workers" \
        'replicate between_graph over worker  params on ps balance bytes split >= '"$split"'  update sync' 1
    done
  done
  compare ps=1,worker=2:cpu=2 \
    'replicate between_graph over worker, in_graph over cpu  params on ps  update sync'
  compare ps=1,worker=2 \
    'replicate between_graph over worker  params "'"$first"'.**" on ps  params mirrored  update sync'
}

everything=small
[ "$size" = full ] && everything=all
library=$source/stdlib-models/models
case ${2:-made} in
made)
  # Dropout, an embedding, adam and clipping by the global norm; then states and a sparse parameter
  # under plain descent; then tensors large enough to be cut.
  split=1KiB first=fc1
  reference "$models/mlp.dtg" 33
  $everything
  first=fc
  reference "$models/running.dtg" 21
  $everything
  # Pictures that are changed at random.
  reference "$models/augmented.dtg" 12
  compare ps=2,worker=4 'replicate between_graph over worker  params on ps  update sync'
  compare worker=1:cpu=2 'replicate in_graph over cpu  params on cpu:0  update sync' 1
  split=64KiB first=fc1
  reference "$models/wide.dtg" 12
  $everything
  ;;
gpt_nano)
  defines=(-D time=16 -D width=32 -D depth=1)
  split=1KiB first=net.block
  reference "$library/gpt_nano.dtg" 5
  compare '' '' '1 2 3'
  $everything
  ;;
char_lstm)
  defines=(-D time=24 -D hidden=32)
  split=1KiB first=lstm
  reference "$library/char_lstm.dtg" 5
  compare '' '' '1 2 3'
  $everything
  ;;
wide_deep)
  awk -v seed=7 -v rows=3000 -f "$source/tests/e2e/ratings.awk" >ratings.csv
  defines=(-D films=8000 -D crosses=5000)
  split=64KiB first=by_film
  reference "$library/wide_deep.dtg" 6
  compare '' '' '1 2 3'
  $everything
  ;;
tables)
  # Sparse parameters of which rows are updated, all rows, and rows as the optimizer is lazy.
  split=64KiB first=tok
  for optimizer in 'sgd(lr = 0.05)' 'adam(lr = 0.01)' 'adam(lr = 0.01, lazy = true)' \
    'adagrad(lr = 0.1)  gradient = clip_by_global_norm(0.1)'; do
    printf '%s\n' "$optimizer"
    mkdir -p it
    sed "s/optimizer = .*/optimizer = $optimizer/" "$models/tables.dtg" >it/tables.dtg
    reference it/tables.dtg 12
    $everything
  done
  ;;
fashion_lenet)
  split=1KiB first=conv1
  reference "$library/fashion_lenet.dtg" 3
  compare '' '' '1 2 3'
  $everything
  ;;
resnet20)
  # Batch norm: statistics of a shard, running ones as states.
  fashion_as_cifar 500 100
  defines=(-D depth=1 -D width=8)
  split=1KiB first=stage
  reference "$library/resnet20.dtg" 3
  compare '' '' '1 2 3'
  $everything
  ;;
*) fail "there is no set $2" ;;
esac
