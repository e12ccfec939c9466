#!/usr/bin/env bash
# usage: sizes.sh ROOT
# Reports, without judging, the files that want to be split: sources above 600 lines, headers above
# 150, and the totals.
set -euo pipefail
root=${1:?usage: sizes.sh ROOT}
. "$(dirname "${BASH_SOURCE[0]}")/files.sh"

cd "$root"
lint_files . | grep -E '\.(c|h|l|y|def|sh|dtg)$' | grep -v '^tests/reference/' |
  xargs -r -d '\n' wc -l | awk '
  $2 == "total" { next }
  {
    files++
    lines += $1
    limit = $2 ~ /\.h$/ ? 150 : 600
    if ($1 > limit)
      printf "%6d lines (%d is a sign to split): %s\n", $1, limit, $2
  }
  END { printf "%d files, %d lines\n", files, lines }'
