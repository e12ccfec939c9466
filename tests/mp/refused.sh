#!/usr/bin/env bash
# Processes that a run does not want: each ends by itself, with the peer and the reason, and the run
# goes on undisturbed.
set -euo pipefail
. "${DTG_SOURCE_DIR:?the source tree}/tests/e2e/common.sh"
. "$source/tests/mp/tasks.sh"

build() { # FOLDER BATCH
  { grep -v '^strategy ' "$models/mlp.dtg" | sed -E "s/(batch += )[0-9]+/\1$2/"
    echo 'strategy it { replicate between_graph over worker  params on ps  update sync }'; } >mlp.dtg
  "$dtgc" -q mlp.dtg --cluster ps=1,worker=1 -o "$1"
}

cluster() { # PORT OF ps/0, PORT OF worker/0
  printf 'jobs: {\n  ps: { tasks = [ "127.0.0.1:%d" ]; };\n  worker: { tasks = [ "127.0.0.1:%d" ]; };\n};\n' \
    "$1" "$2"
}

secret() { # FILE WORDS
  printf '%s' "$2" >"$1"
  chmod 600 "$1"
}

# refused STATUS WORDS PROGRAM ARGUMENTS...
refused() {
  local expected=$1 words=$2 status=0
  shift 2
  timeout 60 "$@" --threads 1 --deadline start=40s >stdout 2>stderr || status=$?
  [ "$status" -eq "$expected" ] || fail "$words: exit status $status: $(cat stderr)"
  grep -qF -- "$words" stderr || fail "not '$words', but: $(cat stderr)"
  printf 'refused: %s\n' "$words"
}

end_all() {
  [ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null
  rm -rf "$scratch"
}
trap end_all EXIT
pids=()
build out 16
build other 32
secret right 'what both tasks know'
secret wrong 'what nobody has said'
free_ports 3
cluster "$base" $((base + 1)) >here.cfg
cluster "$base" $((base + 2)) >elsewhere.cfg

out/mlp --task ps/0 --cluster here.cfg --secret-file right --threads 1 \
  >ps.out 2>ps.err &
pids+=($!)
refused 4 'worker/0 and ps/0 do not belong together: the cluster secret is another' out/mlp --task worker/0 --cluster here.cfg --secret-file wrong
refused 4 'worker/0 and ps/0 do not belong together: the cluster secret is another' out/mlp --task worker/0 --cluster here.cfg
refused 4 'the plan ids differ' other/mlp --task worker/0 --cluster here.cfg --secret-file right
DTG_RUN=another refused 4 'the runs differ' \
  out/mlp --task worker/0 --cluster here.cfg --secret-file right

out/mlp --task worker/0 --cluster here.cfg --secret-file right --threads 1 --quiet \
  --steps 100000000 --log many.jsonl >chief.out 2>chief.err &
launcher=$!
pids+=("$launcher")
await_step 5
refused 2 'another process does' out/mlp --task worker/0 --cluster here.cfg --secret-file right
refused 4 'two processes are worker/0' \
  out/mlp --task worker/0 --cluster elsewhere.cfg --secret-file right
await_step $(($(wc -l <many.jsonl) + 5))
kill -0 "$launcher" || fail "the run was disturbed: $(cat chief.err ps.err)"
! grep -q 'is lost' chief.err || fail "the run was disturbed: $(cat chief.err)"
