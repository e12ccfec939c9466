#!/usr/bin/env bash
# A step that goes without a replica: sums are those of the shards present, means are over them.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

cat >show.py <<'P'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
for name, row in sorted(json.loads(data[8:8 + size]).items()):
    if name.startswith("seen."):
        begin, end = row["data_offsets"]
        form = "<f" if row["dtype"] == "F32" else "<i"
        print(name, struct.unpack(form, data[8 + size + begin:8 + size + end])[0])
P

# counted CLUSTER STRATEGY ROWS WHOLE
counted() {
  { grep -v '^strategy ' "$models/counts.dtg"; printf 'strategy it { %s }\n' "$2"; } >counts.dtg
  "$dtgc" -q counts.dtg ${1:+--cluster "$1"} -o out
  timeout 120 out/counts --quiet --threads 1 --save saved >/dev/null
  python3 show.py saved >got
  printf 'seen.rows %s\nseen.share 1.0\nseen.whole %s\n' "$3" "$4" >wanted
  cmp -s wanted got || fail "{ $2 }: $(tr '\n' ' ' <got)instead of $(tr '\n' ' ' <wanted)"
}

counted '' '' 24.0 24
counted ps=1,worker=3 'replicate between_graph over worker  params on ps  update sync' 24.0 24
counted ps=1,worker=3 'replicate between_graph over worker  params on ps  update sync backup 1' 16.0 16
counted ps=2,worker=3 'replicate between_graph over worker  params on ps  update sync backup 2' 8.0 8
