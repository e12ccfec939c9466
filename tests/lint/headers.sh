#!/usr/bin/env bash
# usage: headers.sh ROOT
# Checks that every header has an include guard of its own and compiles alone.
set -euo pipefail
root=${1:?usage: headers.sh ROOT}
. "$(dirname "${BASH_SOURCE[0]}")/files.sh"
llvm_config=$(command -v llvm-config-19 llvm-config-18 llvm-config-17 llvm-config | head -n 1) || true

cd "$root"
mapfile -t headers < <(lint_files . | grep '\.h$' || true)
[ ${#headers[@]} -gt 0 ] || {
  echo "headers: no headers found"
  exit 1
}

flags=(-std=gnu11 -fsyntax-only -Wall -Wextra -Werror -I. -Iruntime/include
  -D_GNU_SOURCE)
[ -z "$llvm_config" ] || flags+=(-isystem "$("$llvm_config" --includedir)")

status=0
declare -A owner
for header in "${headers[@]}"; do
  guard=$(sed -nE '/^#[ \t]*ifndef/{s/^#[ \t]*ifndef[ \t]+([A-Za-z0-9_]+).*/\1/p;q}' "$header")
  if [ -z "$guard" ] || ! grep -qE "^#[ \t]*define[ \t]+$guard\$" "$header"; then
    grep -qE '^#[ \t]*pragma[ \t]+once' "$header" || {
      echo "$header: no include guard"
      status=1
    }
  elif [ -n "${owner[$guard]:-}" ]; then
    echo "$header: the guard $guard is also that of ${owner[$guard]}"
    status=1
  else
    owner[$guard]=$header
  fi
  # Through an #include: a header as the main file would warn about its own #pragma once.
  if ! errors=$(printf '#include "%s"\n' "$header" |
    "${CC:-cc}" "${flags[@]}" -x c - -iquote . 2>&1); then
    printf '%s\n%s: does not compile alone\n' "$errors" "$header"
    status=1
  fi
done
exit $status
