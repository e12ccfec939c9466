#!/usr/bin/env bash
# usage: demo.sh README.md
# The first model of the page is the one that ./dev demo trains, up to its first strategy.
set -euo pipefail
page=$(realpath "${1:?usage: demo.sh README.md}")
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$scratch"
mkdir fences
fences "$page" fences >/dev/null
shown=$(find fences -name '*.dtg' | sort | head -n 1)
[ -s "$shown" ] || fault "${page##*/}: shows no model"
sed -n '/^import/,$p' "$root/stdlib-models/models/fashion_mlp.dtg" | head -n "$(wc -l <"$shown")" |
  diff -u --label "${page##*/}" --label fashion_mlp.dtg "$shown" - || fault "${page##*/}: another model"
grep -q 'fashion_mlp\.dtg' "$root/dev" || fault "./dev demo trains another model"
[ $failures -eq 0 ]
