#!/usr/bin/env bash
# Signals: a run stops after its step with a checkpoint that is as good as any other; a report is
# given on demand; reading data is stopped; two runs do not share a folder of checkpoints.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/bad_common.sh"
"$dtgc" "$models/mlp.dtg" -o out >/dev/null

# begin ARGUMENT...: an endless run in the background that has written a checkpoint to kept.
begin() {
  out/mlp --quiet --steps 1000000000 --checkpoint-dir kept "$@" >stdout 2>stderr &
  pid=$!
  until compgen -G 'kept/step-*.safetensors' >begun; do
    kill -0 "$pid" || fail "the run has ended: $(cat stderr)"
  done
}
# ended STATUS
ended() {
  local status=0
  wait "$pid" || status=$?
  [ "$status" -eq "$1" ] || fail "it ends with $status, not with $1: $(cat stderr)"
}
newest() { ls kept | tail -n 1 | sed -E 's/step-0*([0-9]+).safetensors/\1/'; }

for signal in INT TERM HUP; do
  rm -rf kept
  begin
  kill -"$signal" "$pid"
  ended 1
  step=$(newest)
  printf '%s\n' "error: stopped by SIG$signal after step $step of 1000000000" \
    '  hint: go on with --checkpoint-dir kept --resume' | diff -u - stderr ||
    fail "another message after SIG$signal"
done
# The state is that of a run without a break. A long run is not repeated: the last checkpoint before
# the signal and the steps from there are.
steps=$((step + 3))
out/mlp --quiet --resume --checkpoint-dir kept --steps "$steps" --save resumed >stdout
older=kept/$(ls kept | sed -n 1p)
mkdir again && cp "$older" again
out/mlp --quiet --resume --checkpoint-dir again --steps "$steps" --save replayed >stdout
same resumed replayed

# SIGHUP is ignored where nohup says so. A report, then the end.
rm -rf kept
(trap '' HUP && exec out/mlp --quiet --steps 1000000000 --checkpoint-dir kept >stdout 2>stderr) &
pid=$!
until compgen -G 'kept/step-*.safetensors' >begun; do
  kill -0 "$pid" || fail "the run has ended: $(cat stderr)"
done
kill -HUP "$pid"
kill -USR1 "$pid"
until [ -s stderr ]; do
  kill -0 "$pid" || fail "the run has ended: $(cat stderr)"
done

# Another program in the same folder is refused; one that only reads is not.
refused_quietly() { "$@" 2>other && fail "two programs share a folder"; :; }
refused_quietly out/mlp --quiet --steps 10 --checkpoint-dir kept
diff -u - other <<'END' || fail "another message"
error: --checkpoint-dir kept: another program writes its checkpoints there
  hint: wait for its end, or name a folder of this run's own
END
out/mlp --quiet --resume --checkpoint-dir kept --eval-only >other 2>&1 || fail "$(cat other)"
kill -TERM "$pid"
ended 1
sed -E 's/(compute|feed|reduce|update|evaluate|checkpoint), step [0-9]+/STATE, step N/
        s/for [0-9.]+ s/for T s/; s/after step [0-9]+/after step N/' stderr >said
diff -u - said <<'END' || fail "another report"
worker/0: STATE, step N of 1000000000, for T s; waits for no other task
error: stopped by SIGTERM after step N of 1000000000
  hint: go on with --checkpoint-dir kept --resume
END

# Without a folder nothing is saved, which is said.
out/mlp --quiet --steps 1000000000 --log log >stdout 2>stderr &
pid=$!
until [ -s log ]; do
  kill -0 "$pid" || fail "the run has ended: $(cat stderr)"
done
kill -INT "$pid"
ended 1
sed -E 's/after step [0-9]+/after step N/' stderr >said
diff -u - said <<'END' || fail "another message"
error: stopped by SIGINT after step N of 1000000000
  hint: nothing was saved: --checkpoint-dir DIR would have kept the state
END

# While data is read: 2 GB of it, all zeros. Should the run be through with it before the signal
# comes, it is tried again.
build pictures
{ printf '\0\0\10\3\0\0\0\10\0\0\0\2\0\0\0\2' && head -c 32 /dev/zero; } | gzip -n >images.gz
printf '\0\0\10\1\200\0\0\0' >labels
truncate -s 2147483656 labels
reads() { readlink "/proc/$pid/fd/"* 2>/dev/null | grep -q '/labels$'; }
for try in 1 2 3 4 5 6 7 8 9 10; do
  out/pictures >stdout 2>stderr &
  pid=$!
  until reads; do
    kill -0 "$pid" 2>/dev/null || break
  done
  kill -TERM "$pid" 2>/dev/null || :
  ended 1
  if grep -q stopped stderr; then break; fi
done
plain stderr | diff -u - <(cat <<'END'
pictures.dtg:11:57: error: stopped by a signal while reading SCRATCH/labels
  hint: nothing has been trained yet
END
) || fail "another message in try $try"
