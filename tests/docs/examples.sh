#!/usr/bin/env bash
# usage: examples.sh PAGE
# Checks the examples of a page of documentation; common.sh says which fence means what.
set -euo pipefail
page=$(realpath "${1:?usage: examples.sh PAGE}")
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
mkdir "$scratch/fences"
cd "$scratch"
mapfile -t names < <(fences "$page" fences)
count=0

for i in "${!names[@]}"; do
  name=${names[i]} line=$((10#${names[i]%%.*})) code=0
  place="${page##*/}, example at line $line"
  case $name in
    *.dtg)
      cp "fences/$name" example.dtg
      "$dtgc" check example.dtg >out 2>&1 </dev/null || code=$?
      [ $code -eq 0 ] && [ ! -s out ] || fault "$place: exit status $code"$'\n'"$(cat out)"
      ;;
    *.dtg-part)
      cp "fences/$name" example.dtg
      "$dtgc" --emit=ast example.dtg >/dev/null 2>out </dev/null || fault "$place: $(cat out)"
      ;;
    *.dtg-fails)
      cp "fences/$name" example.dtg
      "$dtgc" check example.dtg >out 2>&1 </dev/null || code=$?
      [ $code -eq 1 ] || fault "$place: exit status $code, and not 1"
      next=${names[i + 1]:-none}
      if [[ $next == *.text ]]; then
        diff -u --label "$place" --label 'dtgc check' "fences/$next" out || fault "$place: other message"
      else
        fault "$place: no fence with the message follows"
      fi
      ;;
    *.dtg*) fault "$place: unknown kind of example" ;;
    *) continue ;;
  esac
  count=$((count + 1))
done
[ $count -gt 0 ] || fault "${page##*/}: no examples"
printf '%s: %d examples, %d faults\n' "${page##*/}" $count $failures
[ $failures -eq 0 ]
