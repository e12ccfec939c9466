#!/usr/bin/env bash
# usage: golden.sh STAGE
# Compares the whole output of dtgc --emit=STAGE on every case of tests/golden/STAGE/ with the
# file of the same name that ends in .golden. A case is a model (.dtg) or a graph text (.dtgir);
# extra flags stand in its first line, "# flags: ..." ("; flags: ..." in a graph text). A model that
# is only imported lies in a subfolder. The folder fmt holds what dtgc fmt makes of its cases, which
# must come out of a second run as they are. UPDATE=1 rewrites the golden files.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
stage=${1:?usage: golden.sh STAGE}
folder=$root/tests/golden/$stage
[ -d "$folder" ] || die "$folder is missing"
enter_copy "$folder"
out=$scratch/out err=$scratch/err seen=$scratch/seen failures=0 count=0

run_stage() {
  local flags
  read -ra flags < <(first_line_flags "$1") || true
  if [ "$stage" = fmt ]; then
    "$dtgc" fmt - <"$1" >"$out.once" && "$dtgc" fmt - <"$out.once" && cmp "$out.once" "$out" >&2
  else
    "$dtgc" --emit="$stage" "${flags[@]}" "$1" </dev/null
  fi
}

run_case() {
  local case=$1 code=0
  run_stage "$case" >"$out" 2>"$err" || code=$?
  if [ $code -ne 0 ] || [ -s "$err" ]; then
    printf '%s: exit status %d\n' "$case" $code
    cat "$err"
    return 1
  fi
  neutral_paths "$out" >"$seen"
  compare "$case" "$folder/${case%.*}.golden" "$seen"
}

shopt -s nullglob
for case in *.dtg *.dtgir; do
  count=$((count + 1))
  run_case "$case" || failures=$((failures + 1))
done
for golden in *.golden; do
  stem=${golden%.golden}
  [ -f "$stem.dtg" ] || [ -f "$stem.dtgir" ] || {
    printf '%s: no case has this name\n' "$golden"
    failures=$((failures + 1))
  }
done
[ $count -gt 0 ] || die "no cases in $folder"
printf '%s: %d cases, %d failed\n' "$stage" $count $failures
[ $failures -eq 0 ]
