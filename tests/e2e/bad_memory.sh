#!/usr/bin/env bash
# Too little memory: refused before training, with what is needed and what there is.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/bad_common.sh"
build huge
# numbers COMMAND...: with the machine's numbers taken out of what it says.
numbers() {
  local got=0
  "$@" 2>said_numbers || got=$?
  sed -E 's/, [0-9.]+ ([kMGT]B|bytes) are/, SOME are/; s/space, [0-9.]+ ([kMG]B|bytes)/space, SOME/
          s/needs [0-9.]+ [MGT]B/needs SOME/' said_numbers >&2
  return "$got"
}
refused 1 numbers out/huge --threads 1 <<'END'
error: huge needs SOME of memory, SOME are available
  hint: use fewer --threads, a smaller batch or more shards
END

# Data that does not fit.
sed 's/1000000, 10000000/10/; s/random_uniform(\[8\]/random_uniform([1000000000000]/' huge.dtg >data.dtg
"$dtgc" data.dtg -o out >/dev/null
refused 1 numbers out/data <<'END'
data.dtg:9:23: error: x needs SOME of memory, SOME are available
  hint: data is kept in memory: take a part of it, or another machine
END

# A limit of the address space. (The address sanitizer needs more than any.)
"$dtgc" "$models/mlp.dtg" -o out >/dev/null
if grep -q __asan_init out/mlp; then
  echo "built with the address sanitizer: limits of the address space are left out"
  exit 0
fi
limited() { (ulimit -v "$1" && shift && exec "$@"); }
refused 1 numbers limited 90000 out/mlp --threads 12 <<'END'
error: mlp with 12 threads needs SOME of address space, SOME are left of its limit
  hint: raise the limit (ulimit -v), or use fewer --threads
END
# Whatever the limit, a run works or is refused: nothing crashes.
for kilobytes in $(seq 60000 3000 130000); do
  status=0
  limited "$kilobytes" out/mlp --quiet --steps 3 --threads 2 >stdout 2>stderr || status=$?
  [ "$status" -eq 0 ] || [ "$status" -eq 1 ] || fail "$kilobytes kB: $status, $(cat stderr)"
done
[ "$status" -eq 0 ] || fail "130 MB are not enough: $(cat stderr)"
