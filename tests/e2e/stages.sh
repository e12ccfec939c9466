#!/usr/bin/env bash
# Every stage of a CPU model can be shown, twice with the same bytes.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
for stage in tokens ast model graph grad opt replicate place partition schedule kernels llvm c plan \
  json dot; do
  "$dtgc" "$models/mlp.dtg" --emit="$stage" >"$stage.1"
  "$dtgc" "$models/mlp.dtg" --emit="$stage" >"$stage.2"
  same "$stage.1" "$stage.2"
  [ -s "$stage.1" ] || fail "--emit=$stage shows nothing"
done
for stage in cuda ptx; do
  if "$dtgc" "$models/mlp.dtg" --emit="$stage" 2>message; then fail "--emit=$stage shows something"; fi
  grep -q 'no GPU kernels' message || fail "--emit=$stage: $(cat message)"
done
"$dtgc" plan "$models/mlp.dtg" | cmp - plan.1
"$dtgc" plan "$models/mlp.dtg" --format=json | cmp - json.1
