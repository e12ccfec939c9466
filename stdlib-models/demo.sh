#!/usr/bin/env bash
# usage: demo.sh DTGC FOLDER [--short] [MODEL...]
# Trains the standard models, or those that are named, on the data at hand, in FOLDER, and shows for
# each what it is and what it reached. `./dev demo --all` runs it. --short: three steps each.
set -euo pipefail
dtgc=$(realpath "${1:?usage: demo.sh DTGC FOLDER [--short] [MODEL...]}")
out=${2:?usage: demo.sh DTGC FOLDER [--short] [MODEL...]}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
shift 2
steps=()
[ "${1:-}" != --short ] || { steps=(--steps 3) && shift; }
mkdir -p "$out"
out=$(realpath "$out")

# Models that are not simply trained as they are: MODEL | HOW | options of dtgc | flags of the program.
# HOW: run; plan: too large to train here, so its plan is shown; or the name of a function below that
# makes the data first.
table='
gpt2_124m | plan    | |
resnet50  | plan    | |
cifar10_cnn | pictures | | --steps 200
resnet20  | pictures | | --steps 100
wide_deep | ratings | |
'

ratings() {
  [ -s "$out/ratings.csv" ] ||
    awk -v seed=5 -v rows=20000 -f "$here/../tests/e2e/ratings.awk" >"$out/ratings.csv"
}

# Fashion-MNIST in the place of CIFAR-10.
pictures() {
  local from=/usr/share/datasets/fashion-mnist to=$out/cifar-10-batches-bin
  local turn=$here/../tests/e2e/fashion_as_cifar.pl
  [ ! -s "$to/test_batch.bin" ] || return 0
  mkdir -p "$to"
  zcat "$from"/train-{images-idx3,labels-idx1}-ubyte.gz | perl "$turn" 20000 "$to" train
  zcat "$from"/t10k-{images-idx3,labels-idx1}-ubyte.gz | perl "$turn" 1000 "$to" test
}

# row MODEL: its row of the table, or how all others are run.
row() {
  awk -F ' *[|] *' -v model="$1" '$1 == model { print; found = 1 }
    END { if (!found) print model "|run||" }' <<<"$table"
}

# What a model is, from its row in the README.
about() { sed -nE 's/^\| `'"$1"'` \| ([^|]*) \| ([0-9]+) \|.*/\1, \2 parameters/p' "$here/README.md"; }

show_plan() {
  "$dtgc" plan "$here/models/$1.dtg" | sed -nE 's/^  total +/  memory: /p; /^ *a step:/p'
}

# train MODEL OPTIONS FLAGS
train() {
  local log=$out/$1.jsonl result begin=$SECONDS
  rm -f "$log"
  # shellcheck disable=SC2086
  "$dtgc" -q "$here/models/$1.dtg" -o "$out/$1.out" $2 >/dev/null || return 1
  # shellcheck disable=SC2086
  result=$("$out/$1.out/$1" --quiet --data-dir "$out" --log "$log" "${steps[@]}" $3) || return 1
  sed -nE '/"evaluation"/!s/^\{"step": ([0-9]+),.*"loss": ([0-9.e+-]+),.*/\1 \2/p' "$log" |
    awk 'NR == 1 { printf "  loss %s", $2 } END { printf ", after %d steps %s", $1, $2 }'
  printf ' (%d s)\n' $((SECONDS - begin))
  [ -z "$result" ] || printf '  %s\n' "$result"
}

models=("$@")
[ ${#models[@]} -gt 0 ] || mapfile -t models < <(cd "$here/models" && printf '%s\n' *.dtg | sed 's/\.dtg$//')
failed=0
for model in "${models[@]}"; do
  IFS='|' read -r _ how options flags < <(row "$model" | sed -E 's/ *\| */|/g')
  printf '%s: %s\n' "$model" "$(about "$model")"
  case $how in
    plan) show_plan "$model" || failed=$((failed + 1)) ;;
    run) train "$model" "$options" "$flags" || failed=$((failed + 1)) ;;
    *) { "$how" && train "$model" "$options" "$flags"; } || failed=$((failed + 1)) ;;
  esac
done
[ $failed -eq 0 ] || printf '%d of %d models failed\n' $failed ${#models[@]} >&2
[ $failed -eq 0 ]
