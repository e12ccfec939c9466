#!/usr/bin/env bash
# What tasks send each other is what the plan says, to the byte: per kind of message, and per link of
# every pair of tasks by the plan's sum.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
command -v python3 >/dev/null || { echo "no python3: skipped"; exit 0; }

cat >compare.py <<'P'
import json, sys
plan, counted = (json.load(open(name)) for name in sys.argv[1:3])
steps = counted["steps"]
planned, seen = {}, {}
for t in plan["transfers"]:
    if t["bytes"] > 0:
        n = steps + 1 if t["kind"] == "publish" else steps  # version 0 as well
        planned[t["kind"]] = planned.get(t["kind"], 0) + t["messages"] * t["bytes"] * n
for link in counted["links"]:
    if link["kind"] not in ("gather", "scatter"):
        seen[link["kind"]] = seen.get(link["kind"], 0) + link["bytes"]
if not seen or planned != seen:
    sys.exit(f"planned {planned}\ncounted {seen}")
print("the same:", seen)
P

# bill CLUSTER STRATEGY
bill() {
  { grep -v -e '^strategy ' -e '^  evaluate ' "$models/mlp.dtg"
    printf 'strategy it { %s }\n' "$2"; } >mlp.dtg
  "$dtgc" plan mlp.dtg --cluster "$1" --format=json >plan.json
  "$dtgc" -q mlp.dtg --cluster "$1" -o out
  timeout 120 out/mlp --quiet --threads 1 --steps 7 --save saved --traffic counted.json >/dev/null
  python3 compare.py plan.json counted.json || fail "$1, { $2 }"
}

bill ps=2,worker=4 'replicate in_graph over worker  params on ps  update sync'
bill ps=2,worker=4 'replicate between_graph over worker  params on ps balance bytes split >= 1KiB  update sync'
bill worker=4 'replicate between_graph over worker  params mirrored  update sync'
bill worker=1:cpu=4 'replicate in_graph over cpu  params on cpu:0  update sync'
bill ps=1,worker=2:cpu=2 'replicate between_graph over worker, in_graph over cpu  params on ps  update sync'
