#!/usr/bin/env bash
# usage: words.sh ROOT
# Checks that no committed text has a word of forbidden_words.txt (extended regular expressions,
# one a line).
set -euo pipefail
root=${1:?usage: words.sh ROOT}
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
. "$here/files.sh"

list=$here/forbidden_words.txt
found=$(lint_files "$root" | grep -v '^tests/lint/forbidden_words\.txt$' |
  (cd "$root" && xargs -r -d '\n' grep -InE -f "$list" --) || true)
if [ -n "$found" ]; then
  printf '%s\nwords: forbidden words in committed text\n' "$found"
  exit 1
fi
