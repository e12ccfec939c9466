#!/usr/bin/env bash
# Two builds of one input give equal bytes, the whole output folder.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
"$dtgc" "$models/mlp.dtg" -o first >/dev/null
"$dtgc" "$models/mlp.dtg" -o second >/dev/null
diff -r first second || fail "two builds differ"
[ -x first/mlp ] && [ -s first/mlp.c ] && [ -s first/mlp.ll ] && [ -s first/mlp.plan.json ] ||
  fail "the output folder is not complete: $(ls first)"
# Another seed is another plan.
sed 's/seed = 11/seed = 12/' "$models/mlp.dtg" >mlp.dtg
"$dtgc" mlp.dtg -o third >/dev/null
id() { sed -n 's/.*"plan_id": "\(.*\)".*/\1/p' "$1/mlp.plan.json"; }
[ "$(id first)" != "$(id third)" ] || fail "two models share a plan id"
[ -n "$(id first)" ] || fail "no plan id in the plan"
