#!/usr/bin/env bash
# The number of threads never changes a result: parameters, slots, losses and metrics have the same
# bits with 1, 2, 3 and 5 threads.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
"$dtgc" "$models/mlp.dtg" -o out >/dev/null
for threads in 1 2 3 5; do
  out/mlp --quiet --threads "$threads" --steps 33 --save "$threads.safetensors" \
    --log "$threads.jsonl" >/dev/null
  # Rates are measured, everything else is computed.
  sed -E 's/"examples_per_second": ?[0-9.e+-]+,? ?//; s/"seconds": ?[0-9.e+-]+,? ?//' \
    "$threads.jsonl" >"$threads.log"
  printf '%s threads: %s\n' "$threads" "$(digest "$threads.safetensors")"
done
same 1.safetensors 2.safetensors 3.safetensors 5.safetensors
same 1.log 2.log 3.log 5.log
[ "$(wc -l <1.log)" -ge 33 ] || fail "the log has fewer lines than steps"
