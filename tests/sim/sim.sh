#!/usr/bin/env bash
# Whole jobs from seeds: under delays, stalls, broken connections, partitions, slow tasks, failing
# disks and crashes, every strategy with `update sync` saves the bits of one undisturbed device.
# Usage: sim.sh [quick|full]
set -euo pipefail
. "$DTG_SOURCE_DIR/tests/e2e/common.sh"
size=${1:-quick}
steps=30

# build NAME STRATEGY [CLUSTER]
build() {
  { grep -v '^strategy ' "$models/$base.dtg"; printf 'strategy it { %s }\n' "$2"; } >"$1.dtg"
  "$dtgc" -q "$1.dtg" ${3:+--cluster "$3"} -o "$1" || fail "$1: does not compile"
}

# sim NAME SEEDS[:FAULTS]: must go well; the output is in $said.
sim() {
  said=$(timeout 600 "./$1/$1" --steps $steps --sim "$2" 2>&1) ||
    fail "$1 --sim $2:"$'\n'"$said"
}
saved() { sed -n 's/^saved: //p' <<<"$said"; }
has() { grep -q -- "$1" <<<"$said" || fail "expected \"$1\" in:"$'\n'"$said"; }

# reference MODEL: the model from now on, and what one device saves.
reference() {
  base=$1
  build one ''
  one/one --quiet --steps $steps --save one.safetensors >one.out
  reference=$(digest one.safetensors)
  printf '%s: %s\n' "$base" "$reference"
}

# agrees NAME SEEDS[:FAULTS]: with the program that ran for real, on one device.
agrees() {
  sim "$1" "$2"
  [ "$(saved)" = "$reference" ] || fail "$1 --sim $2: saved $(saved), one device $reference"
}

mild=delay,stall,break,partition,slow,disk
calm=5 rough=5 crashes=8
[ "$size" = full ] && calm=20 rough=150 crashes=150

strategies() {
  cat <<'END'
between ps=2,worker=4 replicate between_graph over worker  params on ps  update sync
robin ps=3,worker=8 replicate between_graph over worker  params on ps balance round_robin  update sync
in_graph ps=1,worker=4 replicate in_graph over worker  params on ps  update sync
mirrored worker=2 replicate between_graph over worker  params mirrored  update sync
sharded worker=4 replicate between_graph over worker  params sharded  update sync
towers worker=1:cpu=4 replicate in_graph over cpu  params on cpu:0  update sync
hybrid ps=2,worker=2:cpu=2 replicate between_graph over worker, in_graph over cpu  params on ps balance bytes split >= 1KiB  update sync
END
}

every_strategy() {
  local name cluster strategy
  agrees one "1-$crashes:crash,disk"
  while read -r name cluster strategy; do
    build "$name" "$strategy" "$cluster"
    agrees "$name" "1-$calm"
    agrees "$name" "1-$rough:$mild"
    agrees "$name" "1-$crashes:all"
    agrees "$name" "1-$rough:crash"
    sim "$name" "1-$crashes:crash,gone"
    has ' 0 wrong'
    # A disk that fails may end the run, with an error of its own, and never with other bits.
    sim "$name" "1-$rough:disk-errors"
    has ' 0 wrong'
  done < <(strategies)
}

# States and a sparse parameter; then dropout, an embedding, norms and clipping.
if [ "$size" = full ]; then
  reference running
  every_strategy
fi
reference mlp
every_strategy

# Seeds that have found something: a chief that dies behind the end of all others; an owner that was
# started again before the chief knew of its loss.
reference running
build between_found 'replicate between_graph over worker  params on ps  update sync' ps=2,worker=4
agrees between_found 4-4:all
build robin_found 'replicate between_graph over worker  params on ps balance round_robin  update sync' \
  ps=3,worker=8
agrees robin_found 24-24:all
reference mlp

# Relaxed rules: other bits by the order of messages, and nothing hangs, breaks a rule or exceeds its
# bound.
relaxed() {
  cat <<'END'
backup ps=1,worker=4 replicate between_graph over worker  params on ps  update sync backup 1
stale ps=2,worker=4 replicate between_graph over worker  params on ps  update async staleness <= 2
free ps=2,worker=2 replicate between_graph over worker  params on ps  update async
END
}
while read -r name cluster strategy; do
  build "$name" "$strategy" "$cluster"
  sim "$name" "1-$calm"
  sim "$name" "1-$rough:$mild"
  sim "$name" "1-$crashes:all"
  sim "$name" "1-$rough:crash"
  sim "$name" "1-$crashes:crash,gone"
  sim "$name" "1-$rough:slow-last"
  [ "$name" != stale ] || has '^lead: [12] steps at most'
done < <(relaxed)

# A backup hides the slow task; without it everybody waits. Without evaluations, which need all, and
# with enough steps that waiting for the last one at the end hardly counts.
milliseconds() { sed -n 's/.* polls, \([0-9]*\)\.\([0-9]*\) s of virtual time/\1\2/p' <<<"$said"; }
timed() {
  sed -i '/evaluate = /d' "$1.dtg"
  "$dtgc" -q "$1.dtg" --cluster ps=1,worker=4 -o "$1" || fail "$1: does not compile"
  steps=200
  sim "$1" 1-4
  even=$(milliseconds)
  sim "$1" 1-4:slow-last
  uneven=$(milliseconds)
  steps=30
}
timed backup
[ $((uneven * 100)) -le $((even * 110)) ] ||
  fail "backup 1: $even ms become $uneven ms with one slow worker"
build strict 'replicate between_graph over worker  params on ps  update sync' ps=1,worker=4
timed strict
[ "$uneven" -gt $((even * 4)) ] || fail "sync: $even ms become $uneven ms with one slow worker"

# A seed is a run: the same polls, times and faults.
sim between 3:all
first=$said
sim between 3:all
[ "$said" = "$first" ] || fail "seed 3 gave two runs:"$'\n'"$first"$'\n'"$said"
sim between 4:all
[ "$said" != "$first" ] || fail "seeds 3 and 4 gave one run"

# Faults happen: each leaves its count.
sim between "1-20:$mild"
for count in stalled held broken copies short; do
  has "[1-9][0-9]* $count"
done
sim between 1-8:crash
has '[1-9][0-9]* died, [1-9][0-9]* came back; all stopped [1-9][0-9]* times, after [01]\.[0-9]* s at most'
said=$(between/between --steps $steps --sim 1:crash)
has 'lost: .* was lost; .*: waits for .* (.* of step [0-9]*)'

# A network that breaks its promise is found out, with the peers, the edge, the step, and how to
# see it again.
if said=$(between/between --steps $steps --sim 2:lose 2>&1); then
  fail "a lost message was not noticed"
fi
has 'deadlock: nobody can go on'
has 'waits for .* on worker/[0-9] to send (push of step [0-9]*)'
has 'again: ./between --sim 2:lose --steps 30'

# expect_usage ARGUMENT TEXT
expect_usage() {
  local status=0
  said=$(between/between --sim "$1" 2>&1) || status=$?
  [ $status = 2 ] || fail "--sim $1: exit status $status"
  has "$2"
}
expect_usage 1:rain '"rain" is no fault that can be simulated'
expect_usage 1:rain 'faults are all, delay, stall, break'
expect_usage x 'not a range of seeds'
expect_usage 5-4 'not a range of seeds'
expect_usage 5x 'not a range of seeds'

# A task that does not return: everybody ends within the deadline, and says so.
sim between 1-6:gone
has '6 seeds, 0 wrong, [1-6] failed'
sim between 1:gone
has 'lost: .* was lost; .*: waits for .* (.* of step [0-9]*)'
