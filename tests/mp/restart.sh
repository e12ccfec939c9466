#!/usr/bin/env bash
# Tasks that are killed, and started again by the launcher: with `update sync` the bits of the
# undisturbed run, whoever dies.
# Usage: restart.sh [SEEDS]
set -euo pipefail
. "${DTG_SOURCE_DIR:?the source tree}/tests/e2e/common.sh"
. "$source/tests/mp/tasks.sh"
seeds=${1:-1}
steps=1500

# run_and_kill TASK STEP [FOLDER]: the folder is removed before.
run_and_kill() {
  local task=$1 at=$2
  rm -rf many.* "${@:3}"
  "$dtgc" run -q mlp.dtg --cluster ps=2,worker=2 -o out --processes --restart 5 -- --threads 1 \
    --quiet --steps "$steps" --save many.safetensors --log many.jsonl \
    --checkpoint-dir checkpoints --deadline step=60s >many.out 2>many.err &
  launcher=$!
  await_step "$at"
  pid=$(pid_of "$task") && kill -KILL "$pid"
  wait "$launcher" || fail "$task killed at step $at: exit status $?: $(cat many.err)"
}

{ grep -v '^strategy ' "$models/mlp.dtg"
  echo 'strategy it { replicate between_graph over worker  params on ps  update sync }'; } >mlp.dtg
timeout 120 "$dtgc" run -q mlp.dtg --cluster ps=2,worker=2 -o out -- --quiet --threads 1 \
  --steps "$steps" --save one.safetensors >one.out || fail "undisturbed: exit status $?"
for seed in $(seq "$seeds"); do
  RANDOM=$seed
  for task in worker/1 ps/1 worker/0; do
    at=$((RANDOM % 700 + 1))
    printf 'seed %s: %s dies at step %s\n' "$seed" "$task" "$at"
    run_and_kill "$task" "$at" checkpoints
    same one.safetensors many.safetensors
    same one.out many.out
    grep -q "$task is lost" many.err || fail "$task was not missed: $(cat many.err)"
  done
done

# The folder has the checkpoints of the last run, up to its end: none of them is this run's.
run_and_kill ps/1 30
same one.safetensors many.safetensors
same one.out many.out
grep -q 'going on from' many.err || fail "ps/1 was not missed: $(cat many.err)"
! grep -q "with step $((steps + 1))" many.err || fail "an earlier run's checkpoint: $(cat many.err)"
