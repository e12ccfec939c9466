#!/usr/bin/env bash
# Tasks that stand still for a while, and tasks that are gone for good where the rule can do without.
set -euo pipefail
. "${DTG_SOURCE_DIR:?the source tree}/tests/e2e/common.sh"
. "$source/tests/mp/tasks.sh"
seeds=${1:-1}

model() { # RULE
  { grep -v '^strategy ' "$models/mlp.dtg" | sed -E 's/(batch += )[0-9]+/\112/; s/(shards += )[0-9]+/\13/'
    echo "strategy it { replicate between_graph over worker  params on ps  update $1 }"; } >mlp.dtg
}

start() { # STEPS
  rm -f many.*
  timeout 120 "$dtgc" run -q mlp.dtg --cluster ps=1,worker=3 -o out --processes -- --threads 1 --quiet \
    --steps "$1" --save many.safetensors --log many.jsonl >many.out 2>many.err &
  launcher=$!
}

# The next steps are made after `worker/1` has gone on; the same bits as without the pause.
stop_and_go_on() { # AT
  local pid
  start 1500
  await_step "$1"
  pid=$(pid_of worker/1) || fail "the run is over: $(cat many.err)"
  kill -STOP "$pid"
  await_words 'worker/1 is silent for 2 s' many.err "$launcher" ||
    fail "nobody missed worker/1: $(cat many.err)"
  kill -CONT "$pid"
  wait "$launcher" || fail "after SIGSTOP at step $1: exit status $?: $(cat many.err)"
  same one.safetensors many.safetensors
  same one.out many.out
  ! grep -q 'is lost' many.err || fail "worker/1 was only silent: $(cat many.err)"
}

lose_for_good() { # RULE AT
  local pid
  model "$1"
  start 1500
  await_step "$2"
  pid=$(pid_of worker/1) || fail "the run is over: $(cat many.err)"
  kill -KILL "$pid"
  wait "$launcher" || fail "$1, killed at step $2: exit status $?: $(cat many.err)"
  grep -q 'worker/1 was lost; the others go on without it' many.err ||
    fail "$1: worker/1 was not missed: $(cat many.err)"
  grep -q '"stops": *0' many.jsonl || fail "$1: the others stopped: $(tail -1 many.jsonl)"
}

model sync
timeout 120 "$dtgc" run -q mlp.dtg --cluster ps=1,worker=3 -o out -- --quiet --threads 1 --steps 1500 \
  --save one.safetensors >one.out || fail "undisturbed: exit status $?"
for seed in $(seq "$seeds"); do
  RANDOM=$seed
  at=$((RANDOM % 400 + 1))
  printf 'seed %s: worker/1 at step %s\n' "$seed" "$at"
  model sync
  stop_and_go_on "$at"
  lose_for_good async "$at"
  lose_for_good 'sync backup 1' "$at"
done
