#!/usr/bin/env bash
# Sparse parameters: what is sent of them is what the plan's formula gives for the data, to the byte,
# and results have the bits of dense gradients.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Few rows often, many rarely.
awk 'BEGIN {
  srand(7); print "a,b,y"
  for (i = 0; i < 320; i++)
    printf "%d,%d,%d\n", int(3000 * rand() ^ 4), int(rand() * 2900), i % 3
}' >rows.csv

# bill CLUSTER STRATEGY [OPTIMIZER]
bill() {
  sed -e '/^strategy /,$d' -e "s/sgd }/${3:-sgd} }/; s/sgd(lr/${3:-sgd}(lr/" "$models/rows.dtg" >rows.dtg
  printf 'strategy it { %s }\n' "$2" >>rows.dtg
  "$dtgc" -q rows.dtg --cluster "$1" -o out
  timeout 120 out/rows --quiet --threads 1 --data-dir . --save saved --traffic counted.json >/dev/null
  python3 "$source/tests/e2e/rows.py" out/rows.plan.json counted.json rows.csv ||
    fail "$1, { $2 } ${3:-sgd}"
}

between='replicate between_graph over worker  params on ps'
bill ps=2,worker=4 'replicate in_graph over worker  params on ps  update sync'
bill ps=2,worker=4 "$between balance bytes split >= 64KiB  update sync"
bill ps=1,worker=2 "$between  update sync" adam
bill worker=4 'replicate between_graph over worker  params mirrored  update sync'
bill ps=1,worker=2:cpu=2 'replicate between_graph over worker, in_graph over cpu  params on ps  update sync'

# twin IMPORT OPTIMIZER: a table that is also used in a way that adds a gradient of 0 is dense.
twin() {
  sed -e "s/import std.optimizers { .* }/import std.optimizers { $1 }/" \
    -e "s/optimizer = .*/optimizer = $2/" "$models/tables.dtg" >tables.dtg
  "$dtgc" -q tables.dtg -o sparse
  "$dtgc" -q tables.dtg -D twin=1 -o dense
  grep -q '"update": "'"$3"'"' sparse/tables.plan.json || fail "$2: the update does not make a $3"
  grep -q '"sparse": \[\]' dense/tables.plan.json || fail "$2: the twin is not dense"
  sparse/tables --quiet --save sparse.safetensors >sparse.out
  dense/tables --quiet --save dense.safetensors >dense.out
  same sparse.safetensors dense.safetensors
  same sparse.out dense.out
  echo "same as dense: $2"
}

twin sgd 'sgd(lr = 0.05)' touched
twin adagrad 'adagrad(lr = 0.1)' touched
twin momentum 'momentum(lr = 0.05)' pass
twin adam 'adam(lr = 0.01)' pass
twin 'sgd, clip_by_global_norm' 'sgd(lr = 0.5)  gradient = clip_by_global_norm(0.1)' touched
twin 'adam, clip_by_global_norm' 'adam(lr = 0.01)  gradient = clip_by_global_norm(0.1)' pass
