#!/usr/bin/env bash
# The dense and text models of the standard library learn: short runs, on data that is at hand.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
library=$source/stdlib-models/models

# train MODEL STEPS DEFINE...: leaves MODEL.jsonl.
train() {
  local model=$1 steps=$2
  shift 2
  "$dtgc" -q "$library/$model.dtg" -o "$model.out" "$@" >/dev/null || fail "$model does not compile"
  timeout 120 "$model.out/$model" --quiet --threads 2 --steps "$steps" --data-dir . \
    --log "$model.jsonl" >"$model.txt" || fail "$model: exit status $?"
}

# mean FILE FIRST LAST: the mean loss of these steps.
mean() {
  sed -nE '/"evaluation"/!s/.*"step": ([0-9]+),.*"loss": ([0-9.e+-]+).*/\1 \2/p' "$1" |
    awk -v first="$2" -v last="$3" '$1 >= first && $1 <= last { sum += $2; n++ }
      END { if (n != last - first + 1) exit 1; printf "%.4f", sum / n }'
}

# evaluation FILE: the loss of the last evaluation.
evaluation() { sed -nE 's/.*"evaluation".*"loss": ([0-9.e+-]+).*/\1/p' "$1" | tail -n 1; }

below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }

# falls MODEL STEPS FACTOR: the mean loss of the last ten steps is below FACTOR times the first.
falls() {
  local first last
  first=$(mean "$1.jsonl" 1 1)
  last=$(mean "$1.jsonl" $(($2 - 9)) "$2")
  printf '%s: loss %s, after %d steps %s; %s\n' "$1" "$first" "$2" "$last" "$(tail -n 1 "$1.txt")"
  below "$last" "$(awk -v a="$first" -v f="$3" 'BEGIN { print a * f }')" ||
    fail "$1 does not learn: $first, then $last"
}

# Bytes of the text by themselves have this entropy, in nats: a model that knows nothing of what came
# before cannot be below it.
text=$(sed -nE 's/^const text = "(.*)".*/\1/p' "$library/gpt_nano.dtg")
entropy=$(zcat "$text" | od -An -v -tu1 -w1 |
  awk '{ count[$1]++ } END { for (b in count) h -= count[b] / NR * log(count[b] / NR); printf "%.4f", h }')
train gpt_nano 150 -D time=32 -D width=48 -D depth=2
falls gpt_nano 150 0.6
reached=$(evaluation gpt_nano.jsonl)
printf 'gpt_nano: %s nats a byte on text it has not seen; the entropy of single bytes is %s\n' \
  "$reached" "$entropy"
below "$reached" "$(awk -v h="$entropy" 'BEGIN { print h - 0.3 }')" ||
  fail "gpt_nano is not below the entropy of single bytes"

train char_lstm 120 -D time=32 -D hidden=64
falls char_lstm 120 0.6
reached=$(evaluation char_lstm.jsonl)
printf 'char_lstm: %s nats a byte on text it has not seen; the entropy of single bytes is %s\n' \
  "$reached" "$entropy"
below "$reached" "$(awk -v h="$entropy" 'BEGIN { print h - 0.3 }')" ||
  fail "char_lstm is not below the entropy of single bytes"

train autoencoder 60
falls autoencoder 60 0.75
train vae 60
falls vae 60 0.75

awk -v seed=5 -v rows=4000 -f "$source/tests/e2e/ratings.awk" >ratings.csv
train wide_deep 50
falls wide_deep 50 0.9

train fashion_lenet 60
falls fashion_lenet 60 0.6
fashion_as_cifar 2000 200
train cifar10_cnn 40
falls cifar10_cnn 40 0.35  # guesses would have a loss of 2.3, 0.44 times the first
train resnet20 20 -D depth=1
falls resnet20 20 0.8

# The models of the demo that are small or only planned, and one that does not exist.
bash "$source/stdlib-models/demo.sh" "$dtgc" demo --short linreg softmax_regression gpt2_124m >demo.txt ||
  fail "the demo fails"
for line in '^linreg: .*, 6 parameters$' '^  loss [0-9.]+, after 3 steps [0-9.]+ ' '^  last batch: loss ' \
  '^gpt2_124m: ' '^  a step: batch 512 = 512 shards' '^  memory: [0-9.]+ GiB'; do
  grep -qE -- "$line" demo.txt || fail "the demo does not show $line: $(cat demo.txt)"
done
! bash "$source/stdlib-models/demo.sh" "$dtgc" demo --short no_model >demo.txt 2>&1 ||
  fail "the demo of no model passes"
grep -q '1 of 1 models failed' demo.txt || fail "the demo says $(cat demo.txt)"
