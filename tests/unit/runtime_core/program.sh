#!/usr/bin/env bash
# usage: program.sh SAMPLE
# The sample as a process: exit status, what goes where, signals, and files.
set -euo pipefail
sample=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
  echo "program.sh: $*"
  exit 1
}

# expect STATUS TEXT COMMAND...: the status, and TEXT in what the command prints.
expect() {
  local status=$1 text=$2 code=0 out
  shift 2
  out=$("$@" 2>&1) || code=$?
  [ $code -eq "$status" ] || fail "$* ended with $code, not $status: $out"
  grep -qF -- "$text" <<<"$out" || fail "$* did not print '$text' but: $out"
}

same() {
  cmp -s "$1" "$2" || fail "$1 and $2 differ"
}

# ---- flags ----
expect 0 "plan: one device" "$sample" --plan
expect 0 "sample, from sample.dtg by by hand" "$sample" --version
expect 0 "usage: sample [FLAGS]" "$sample" --help
expect 2 'error: unknown flag "--stesp"' "$sample" --stesp 3
expect 2 "hint: did you mean --steps?" "$sample" --stesp 3
expect 2 "--cluster: this program has one task" "$sample" --cluster x
expect 1 "there is no folder $dir/none" "$sample" --save "$dir/none/x.safetensors"
expect 1 "$dir/none/log" "$sample" --log "$dir/none/log"
expect 1 "$dir/none/trace" "$sample" --trace "$dir/none/trace"

# ---- what goes where ----
"$sample" --quiet --log log.jsonl --trace trace.json >out 2>err
[ ! -s err ] || fail "something on stderr: $(cat err)"
[ "$(wc -l <out)" -eq 1 ] || fail "--quiet printed more than the result: $(cat out)"
grep -qE '^test_set: loss [0-9.]+, accuracy [0-9.]+ \(70 examples\)$' out || fail "result: $(cat out)"
[ "$(grep -c '"examples_per_second"' log.jsonl)" -eq 120 ] || fail "the log has not 120 steps"
[ "$(grep -c '"evaluation": "test_set"' log.jsonl)" -eq 3 ] || fail "the log has not 3 evaluations"
head -n 1 log.jsonl | grep -qE '^\{"step": 1, "epoch": 1, "loss": [0-9.]+, "metrics": \{"accuracy": ' ||
  fail "log: $(head -n 1 log.jsonl)"
grep -q '"name":"k9_grad_w1"' trace.json || fail "the trace has no kernels"
"$sample" >out
[ "$(wc -l <out)" -le 30 ] || fail "too many plain lines"

# ---- files, threads and going on ----
for threads in 1 2 3; do
  "$sample" --quiet --threads $threads --save t$threads.safetensors >/dev/null
  same t1.safetensors t$threads.safetensors
done
"$sample" --quiet --steps 100 --save whole.safetensors >/dev/null
"$sample" --quiet --steps 60 --checkpoint-dir c >/dev/null
"$sample" --quiet --steps 100 --checkpoint-dir c --resume --save parts.safetensors >/dev/null
same whole.safetensors parts.safetensors
"$sample" --quiet --eval-only --init whole.safetensors >evaluated
"$sample" --quiet --steps 100 >trained
same evaluated trained

# ---- failures ----
expect 1 "sample.dtg:3:1: error: the loss is NaN; the first tensor that is not finite is h" \
  env SAMPLE_NAN_STEP=5 "$sample"
expect 1 "(step 6)" env SAMPLE_NAN_STEP=5 "$sample"
expect 1 "of train_set is out of range 0..4" env SAMPLE_LABELS=6 "$sample"

# ---- signals ----
# until_line COPROC_FD TEXT: reads until a line has TEXT.
until_line() {
  local line
  while IFS= read -r line <&"$1"; do
    [[ $line == *"$2"* ]] && return 0
  done
  fail "no line with '$2'"
}

export SAMPLE_EPOCHS=100000000
for name in INT TERM; do
  rm -rf s
  coproc run { exec "$sample" --checkpoint-dir s 2>&1; }
  pid=$run_PID
  exec {lines}<&"${run[0]}"
  until_line "$lines" "step 1/"
  kill -USR1 "$pid"
  until_line "$lines" "waits for no other task"
  kill -"$name" "$pid"
  code=0
  # The rest is read before the wait, which forgets the descriptors.
  rest=$(cat <&"$lines")
  wait "$pid" || code=$?
  exec {lines}<&-
  [ $code -eq 1 ] || fail "SIG$name: exit status $code: $rest"
  grep -qF "stopped by SIG$name after step" <<<"$rest" || fail "SIG$name: $rest"
  grep -qF "go on with --checkpoint-dir s --resume" <<<"$rest" || fail "SIG$name: $rest"
  step=$(sed -nE 's/.*stopped by .* after step ([0-9]+) of .*/\1/p' <<<"$rest")
  ls s | grep -q "$step" || fail "no checkpoint of step $step: $(ls s)"
  "$sample" --quiet --checkpoint-dir s --resume --steps $((step + 3)) --save on.safetensors >/dev/null
  "$sample" --quiet --steps $((step + 3)) --save straight.safetensors >/dev/null
  same on.safetensors straight.safetensors
done
