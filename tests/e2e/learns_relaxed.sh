#!/usr/bin/env bash
# Relaxed rules learn too: the loss of fashion_mlp falls when updates are late or some are left out.
# Four clients that apply on their own make four steps where one made one, and late ones at that, so
# the rate is a tenth.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
steps=400

# learns RULE: from 2.3, the loss of guessing among ten, far down.
learns() {
  sed -E '/^strategy/,$d; s/cosine\(0\.1,/cosine(0.01,/' \
    "$source/stdlib-models/models/fashion_mlp.dtg" >model.dtg
  printf 'strategy it { replicate between_graph over worker  params on ps  %s }\n' "$1" >>model.dtg
  "$dtgc" -q model.dtg --cluster ps=2,worker=4 -o out || fail "{ $1 } does not compile"
  timeout 120 out/model --quiet --threads 1 --steps $steps >result ||
    fail "{ $1 }: exit status $?"
  local loss
  loss=$(sed -nE 's/^test_set: loss ([0-9.]+),.*/\1/p' result)
  printf '%s: loss %s after %d steps\n' "$1" "$loss" $steps
  awk -v loss="$loss" 'BEGIN { exit !(loss < 1.5) }' || fail "{ $1 } does not learn: loss $loss"
}

learns 'update sync backup 1'
learns 'update async'
learns 'update async staleness <= 4'
