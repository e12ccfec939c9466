#!/usr/bin/env bash
# usage: readme.sh ROOT
# Checks that the models shown in the README are right, and that the files it names exist.
set -euo pipefail
root=${1:?usage: readme.sh ROOT}
dtgc=${DTGC:-$root/build/bin/dtgc}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

awk -v folder="$scratch" '
  /^```dtg$/ { file = folder "/readme_" ++count ".dtg"; next }
  /^```/ { file = "" }
  file != "" { print >file }' "$root/README.md"
for model in "$scratch"/*.dtg; do
  [ -f "$model" ] || {
    echo "README.md: shows no model"
    exit 1
  }
  "$dtgc" check "$model" || status=1
done

# Words in backquotes that look like paths of this project; capitals stand for any name.
grep -oE '`(compiler|grammar|codegen|runtime|stdlib-models|tests)/[A-Za-z0-9_./-]*`' \
  "$root/README.md" | tr -d '`' | { grep -vE '/[A-Z]+/' || true; } | sort -u >"$scratch/paths"
while IFS= read -r path; do
  [ -e "$root/$path" ] || {
    echo "README.md: names $path, which is not there"
    status=1
  }
done <"$scratch/paths"
exit $status
