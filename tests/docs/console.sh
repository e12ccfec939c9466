#!/usr/bin/env bash
# usage: console.sh PAGE
# Runs the command lines of a page of documentation in a folder with the models of the project, one
# after another, and compares what they print with what the page shows. A line "..." stands for any
# lines. What differs between machines is not compared: the instruction set, speeds, sizes in KiB and
# MiB, and the digits of a fraction behind the first. UPDATE=1 puts into the page what was printed instead.
set -euo pipefail
page=$(realpath "${1:?usage: console.sh PAGE}")
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
mkdir "$scratch/fences" "$scratch/run" "$scratch/bin"
cd "$scratch"
mapfile -t names < <(fences "$page" fences)
ln -s "$dtgc" bin/dtgc
export PATH=$scratch/bin:$PATH
export DTG_HOME=${DTG_BINARY_DIR:-$(dirname "$(dirname "$dtgc")")}
cp "$root"/stdlib-models/models/*.dtg run
chmod -R u+w run

# Plain: what differs between machines taken out.
plain() {
  sed -E -e 's/x86-64-v[0-9]/x86-64/g' -e 's/[0-9][0-9.]* (B|KiB|MiB)\b/SIZE/g' -e 's/ +SIZE/ SIZE/g' \
    -e 's/([0-9]\.[0-9])[0-9]+/\1/g' -e 's/[0-9,]+ examples\/s, [0-9hms]+ left/SPEED/' "$1"
}

# matches EXPECTED ACTUAL: line by line; "..." skips up to the next line that fits.
matches() {
  awk 'NR == FNR { want[++n] = $0; next }
    { have[++m] = $0 }
    END {
      for (i = j = 1; i <= n; i++) {
        if (want[i] != "...") {
          if (j > m || have[j] != want[i]) exit 1
          j++
          continue
        }
        if (i == n) exit 0
        while (j <= m && have[j] != want[i + 1]) j++
      }
      exit j <= m
    }' "$1" "$2"
}

# Takes the command and what the page shows (file expected); appends both, or with UPDATE=1 what was
# printed, to the file of the fence as it should be.
run() {
  local command=$1 place=$2 code=0
  (cd run && bash -c "$command") >out 2>&1 </dev/null || code=$?
  plain out >have
  plain expected >want
  printf '$ %s\n' "$command" >>"$fence"
  if matches want have; then
    cat expected >>"$fence"
  elif [ "${UPDATE:-0}" = 1 ]; then
    cat out >>"$fence"
    printf 'updated %s: $ %s\n' "$place" "$command"
  else
    fault "$place: \$ $command (exit status $code)"
    diff -u --label shown --label printed want have || true
  fi
}

count=0
for name in "${names[@]}"; do
  [[ $name == *.console ]] || continue
  command='' line=$((10#${name%%.*})) fence=$scratch/$name
  place="${page##*/}, line $line"
  while IFS= read -r text || [ -n "$text" ]; do
    if [[ $text == '$ '* ]]; then
      [ -z "$command" ] || run "$command" "$place"
      command=${text#\$ }
      count=$((count + 1))
      : >expected
    else
      printf '%s\n' "$text" >>expected
    fi
  done <"fences/$name"
  [ -z "$command" ] || run "$command" "$place"
done
if [ "${UPDATE:-0}" = 1 ]; then
  awk -v folder="$scratch" '
    !open && /^```console$/ {
      print
      file = sprintf("%s/%05d.console", folder, NR)
      while ((getline line <file) > 0) print line
      open = 1
      next
    }
    open && /^```$/ { open = 0 }
    !open' "$page" >new
  cat new >"$page"
fi
[ $count -gt 0 ] || fault "${page##*/}: no command lines"
printf '%s: %d command lines, %d faults\n' "${page##*/}" $count $failures
[ $failures -eq 0 ]
