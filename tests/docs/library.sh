#!/usr/bin/env bash
# usage: library.sh README.md
# Every item of the standard library and every model has a row in the page, with the parameters
# that the source has; what has one there exists.
set -euo pipefail
page=$(realpath "${1:?usage: library.sh README.md}")
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$scratch"
folder=$root/stdlib-models
count=0

# items FILE: NAME and its parameters, on one line each.
items() {
  awk '
    /^(fn|layer|optimizer) / { text = ""; open = 1 }
    open {
      text = text $0
      rest = text
      if ($0 ~ /\)/ && gsub(/\(/, "", rest) == gsub(/\)/, "", rest)) {
        sub(/^[a-z]+ /, "", text)
        sub(/\)( ->.*)?( =| \{).*/, ")", text)
        gsub(/\( +/, "(", text)
        gsub(/, *\)/, ")", text)
        gsub(/,  +/, ", ", text)
        print text
        open = 0
      }
    }' "$1"
  sed -nE 's/^const (\w+) = .*/\1/p' "$1"
}

for file in "$folder"/std/*.dtg; do
  module=$(basename "$file" .dtg)
  grep -q "^### std\.$module" "$page" || fault "no section for std.$module"
  # The rows of this module's section.
  awk -v module="std.$module" '/^##+ /{ inside = $2 == module } inside' "$page" |
    sed -nE 's/^\| `([^`]+)` \|.*/\1/p' | sort >rows
  items "$file" | sort >wanted
  [ -s wanted ] || fault "$module: no items were found"
  diff -u --label "std.$module" --label "${page##*/}" wanted rows || fault "std.$module: other rows"
  count=$((count + $(wc -l <wanted)))
done

for file in "$folder"/models/*.dtg; do
  model=$(basename "$file" .dtg)
  parameters=$("$dtgc" --emit=json "$file" |
    awk '/"kind": "parameter"/ { inside = 1 }
      match($0, /"bytes": [0-9]+/) && inside { total += substr($0, RSTART + 9, RLENGTH - 9) / 4; inside = 0 }
      END { print total }')
  grep -qE "^\| \`$model\` \|.* \| $parameters \|" "$page" ||
    fault "no row for the model $model with $parameters parameters"
  count=$((count + 1))
done
while IFS= read -r model; do
  [ -f "$folder/models/$model.dtg" ] || fault "there is no model $model"
done < <(awk '/^## /{ inside = $2 == "Models" } inside' "$page" | sed -nE 's/^\| `(\w+)` \|.*/\1/p')
printf '%d items, %d faults\n' $count $failures
[ $failures -eq 0 ]
