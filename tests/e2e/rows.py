"""The bill of sparse parameters: rows that were pushed and published, against the plan's formula
evaluated on the data, to the byte, and against the plan's bound.

usage: rows.py PLAN.json COUNTED.json ROWS.csv
Rows of the file are taken in order; every example gathers the rows `a` and `b` of the one table.
"""

import collections
import csv
import json
import sys

sys.dont_write_bytecode = True
import places

plan, counted = (json.load(open(name)) for name in sys.argv[1:3])
examples = [(int(row["a"]), int(row["b"])) for row in csv.DictReader(open(sys.argv[3]))]
(table,) = plan["sparse"]
shards, batch, steps = plan["train"]["shards"], plan["train"]["batch"], counted["steps"]
replicas = sum(f["count"] for f in plan["replicas"])
block, each = shards // replicas, batch // shards
head, row = table["count_bytes"], table["id_bytes"] + table["row_bytes"]
width = table["row_bytes"] // 4
(variable,) = [v for v in plan["variables"] if v["path"] == table["path"]]


def task_of(device):
    job, task = (part.split(":")[1] for part in device.strip("/").split("/")[:2])
    return f"{job}/{task}"


def replica_device(replica):
    for f in plan["replicas"]:
        if f["first"] <= replica < f["first"] + f["count"]:
            outer, inner = divmod(replica - f["first"], f["devices_each"])
            job, task = task_of(f["device"]).split("/")
            index = int(f["device"].rsplit(":", 1)[1])
            return f"/job:{job}/task:{int(task) + outer}/device:CPU:{index + inner}"
    raise ValueError(replica)


def touched(step, begin, end, first, rows):
    """Rows of [first, first + rows) that shards [begin, end) of a step gather."""
    some = examples[step * batch + begin * each:step * batch + end * each]
    return len({i for pair in some for i in pair if first <= i < first + rows})


want, bound = collections.Counter(), collections.Counter()
for owner in plan["owners"]:
    mine = [(s["first"] // width, s["elements"] // width) for s in variable["slices"]
            if s["owner"] == owner["device"]]
    dense_push = owner["push"] - sum(
        head + row * min(table["rows_of_replica"], rows) for _, rows in mine)
    dense_publish = owner["publish"] - sum(
        head + row * min(table["rows_of_step"], rows) if table["publish"] == "touched"
        else rows * table["row_bytes"] for _, rows in mine)
    for replica in range(replicas):
        device = replica_device(replica)
        if device == owner["device"]:
            continue
        a, b = task_of(device), task_of(owner["device"])
        sums = places.subtrees(0, shards, replica * block, (replica + 1) * block)
        for step in range(steps):
            for low, high in sums:
                want[a, b, "push"] += dense_push + sum(
                    head + row * touched(step, low, high, *s) for s in mine)
            want[b, a, "publish"] += dense_publish + sum(
                head + row * touched(step, 0, shards, *s) if table["publish"] == "touched"
                else s[1] * table["row_bytes"] for s in mine)
        bound[a, b, "push"] += steps * len(sums) * owner["push"]
        bound[b, a, "publish"] += steps * owner["publish"] + owner["first"]
        want[b, a, "publish"] += owner["first"]

got = collections.Counter()
for link in counted["links"]:
    if link["kind"] in ("push", "publish"):
        got[link["from"], link["to"], link["kind"]] += link["bytes"]
bad = [f"{key}: counted {got[key]}, the formula says {want[key]}, the bound is {bound[key]}"
       for key in sorted({*got, *want}) if not got[key] == want[key] <= bound[key]]
if bad:
    sys.exit("\n".join(bad))
print(f"{len(got)} links: {sum(got.values())} bytes of {sum(bound.values())}: difference 0")
