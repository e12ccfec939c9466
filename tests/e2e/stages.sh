#!/usr/bin/env bash
# Every stage of a CPU model can be shown, twice with the same bytes.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
for stage in tokens ast model graph grad opt replicate place partition schedule kernels llvm cuda c \
  plan json dot slurm k8s; do
  "$dtgc" "$models/mlp.dtg" --emit="$stage" >"$stage.1"
  "$dtgc" "$models/mlp.dtg" --emit="$stage" >"$stage.2"
  same "$stage.1" "$stage.2"
  [ -s "$stage.1" ] || fail "--emit=$stage shows nothing"
done
# Where there is no NVRTC, the stage that needs it says so.
if "$dtgc" "$models/mlp.dtg" --emit=ptx >ptx.1 2>message; then
  "$dtgc" "$models/mlp.dtg" --emit=ptx >ptx.2
  same ptx.1 ptx.2
  grep -q '^.version' ptx.1 || fail "--emit=ptx shows no PTX"
else
  grep -q 'NVRTC, which compiles GPU kernels, was not found' message || fail "ptx: $(cat message)"
fi
"$dtgc" plan "$models/mlp.dtg" | cmp - plan.1
"$dtgc" plan "$models/mlp.dtg" --format=json | cmp - json.1
