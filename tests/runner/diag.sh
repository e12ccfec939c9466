#!/usr/bin/env bash
# usage: diag.sh FOLDER
# Runs dtgc on the cases of tests/diag/FOLDER/, which must fail, and compares what they print on
# stderr with the file of the same name that ends in .expected. The exit status must be 1; another
# one stands in the first line of the .expected file, "# exit N". UPDATE=1 rewrites these files.
#
# A case is one of
#   NAME.dtg   dtgc check NAME.dtg, or dtgc FLAGS NAME.dtg with a first line "# flags: FLAGS"
#   NAME.case  lines that say how to make the input and what to run. Words are split at blanks and
#              nothing is expanded; there is no shell.
#                # comment
#                args WORD...              the arguments of dtgc (default: check NAME.dtg)
#                env NAME=VALUE            one environment variable
#                text FILE TEXT...         a file of one line
#                hex FILE DIGITS           a file of bytes
#                repeat FILE COUNT TEXT    a file of COUNT times TEXT, without line ends
#                append FILE OTHER         OTHER's bytes at the end of FILE
#                truncate FILE SIZE        cut FILE to SIZE bytes
#                copy FROM TO
#                directory NAME
#                mode FILE OCTAL
#                prepare WORD...           a run of dtgc before, which must succeed
# A model that belongs to a .case of the same name is no case by itself; one that is only imported
# lies in a subfolder. The files lie in a scratch copy of the folder, the working directory.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
name=${1:?usage: diag.sh FOLDER}
folder=$root/tests/diag/$name
[ -d "$folder" ] || die "$folder is missing"
enter_copy "$folder"
out=$scratch/out err=$scratch/err seen=$scratch/seen failures=0 count=0

repeat_text() { awk -v count="$1" -v text="$2" 'BEGIN { while (count-- > 0) printf "%s", text }'; }

# hex_bytes DIGITS: the bytes, through printf's octal escapes.
hex_bytes() {
  local digits=$1 i
  for ((i = 0; i < ${#digits}; i += 2)); do
    printf "\\$(printf %o "0x${digits:i:2}")"
  done
}

# Reads a .case file: makes its files, and sets the arrays args and environment.
read_case() {
  local line word rest
  while IFS= read -r line || [ -n "$line" ]; do
    read -r word rest <<<"$line"
    read -ra words <<<"$rest"
    case $word in
      '' | '#'*) ;;
      args) args=("${words[@]}") ;;
      env) environment+=("$rest") ;;
      text) printf '%s\n' "${rest#"${words[0]}" }" >"${words[0]}" ;;
      hex) hex_bytes "${words[1]}" >"${words[0]}" ;;
      repeat) repeat_text "${words[1]}" "${words[2]}" >"${words[0]}" ;;
      append) cat "${words[1]}" >>"${words[0]}" ;;
      truncate) truncate -s "${words[1]}" "${words[0]}" ;;
      copy) cp "${words[0]}" "${words[1]}" ;;
      directory) mkdir -p "${words[0]}" ;;
      mode) chmod "${words[1]}" "${words[0]}" ;;
      prepare) "$dtgc" "${words[@]}" >"$out" 2>&1 </dev/null || {
        cat "$out"
        return 1
      } ;;
      *)
        printf '%s: unknown word "%s"\n' "$1" "$word"
        return 1
        ;;
    esac
  done <"$1"
}

# run_case NAME: the result goes to $seen, in the form of an .expected file.
run_case() {
  local case=$1 code=0 args environment=() flags
  args=(check "$case.dtg")
  if [ -f "$case.case" ]; then
    read_case "$case.case" || return 1
  elif [ -n "$(first_line_flags "$case.dtg")" ]; then
    read -ra flags < <(first_line_flags "$case.dtg")
    args=("${flags[@]}" "$case.dtg")
  fi
  env "${environment[@]}" "$dtgc" "${args[@]}" >"$out" 2>"$err" </dev/null || code=$?
  if [ $code -eq 0 ] || [ $code -eq 70 ] || [ $code -gt 125 ]; then
    printf '%s: exit status %d; such a case must fail, and never through a bug\n' "$case" $code
    cat "$err"
    return 1
  fi
  {
    [ $code -eq 1 ] || printf '# exit %d\n' $code
    neutral_paths "$err"
  } >"$seen"
  if [ ! -s "$err" ]; then
    printf '%s: no message on stderr\n' "$case"
    return 1
  fi
  compare "$case" "$folder/$case.expected" "$seen"
}

shopt -s nullglob
for file in *.dtg *.case; do
  case=${file%.*}
  [ "$file" = "$case.dtg" ] && [ -f "$case.case" ] && continue
  count=$((count + 1))
  run_case "$case" || failures=$((failures + 1))
done
for expected in *.expected; do
  case=${expected%.expected}
  [ -f "$case.dtg" ] || [ -f "$case.case" ] || {
    printf '%s: no case has this name\n' "$expected"
    failures=$((failures + 1))
  }
done
[ $count -gt 0 ] || die "no cases in $folder"
printf '%s: %d cases, %d failed\n' "$name" $count $failures
[ $failures -eq 0 ]
