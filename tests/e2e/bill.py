"""The bill: payload that a run counted on every link, against the plan, to the byte.

usage: bill.py PLAN.json COUNTED.json LOG.jsonl GATHERS SCATTERS
GATHERS: checkpoints and --save; SCATTERS: 1 where the run began with saved values. Families are expanded here from their numbers alone.
"""

import collections
import json
import sys

sys.dont_write_bytecode = True
import places

plan, counted = (json.load(open(name)) for name in sys.argv[1:3])
log = [json.loads(line) for line in open(sys.argv[3])]
gathers, scatters = map(int, sys.argv[4:6])
steps = counted["steps"]
evaluations = [record["examples"] for record in log if "evaluation" in record]
shards, batch = plan["train"]["shards"], plan["train"]["batch"]
rows = batch // shards

# ---- who is where ----

tasks = [f"{job['job']}/{task}" for job in plan["jobs"] for task in range(job["tasks"])]
device_places, device_number = places.devices(plan)
device_task = [tasks.index(task) for task, _ in device_places]
replicas = places.replica_devices(plan, device_number)
clients = {}
for f in plan["clients"]:
    job, task = (part.split(":")[1] for part in f["task"].strip("/").split("/"))
    for c in range(f["count"]):
        clients[f["first"] + c] = tasks.index(f"{job}/{task}") + c * f["task_stride"]
owners = [device_number[o["device"]] for o in plan["owners"]]
block = shards // len(replicas)


def place(role, index):
    """Device (None: it has none) and task."""
    if role == "client":
        return None, clients[index]
    device = {"replica": replicas, "owner": owners}.get(role, owners)[index]
    return device, device_task[device]


def members(ends):
    for index in range(ends["first"], ends["first"] + ends["count"]):
        if ends["partial_sums"] in (0, len(places.subtrees(0, shards, index * block, (index + 1) * block))):
            yield index


def messages(transfer):
    for a in members(transfer["from"]):
        for b in members(transfer["to"]):
            one, two = place(transfer["from"]["role"], a), place(transfer["to"]["role"], b)
            same = transfer["from"]["role"] == transfer["to"]["role"] and a == b
            if not same and (one[0] is None or one[0] != two[0]):
                yield a, b, tasks[one[1]], tasks[two[1]]


# ---- what an evaluation sends: the last wave is smaller, and its chunks may be of one example ----


def wave_sizes(transfer, replica, examples):
    whole = examples // rows
    chunks = whole + examples % rows
    for wave in range((chunks + shards - 1) // shards):
        first = wave * shards + replica * block
        mine = range(first, min(first + block, chunks))
        if transfer["kind"] == "chunk":
            yield len(mine) * (transfer["bytes"] // block)
        else:
            yield sum(rows if c < whole else 1 for c in mine) * (transfer["bytes"] // (block * rows))


# ---- the bill ----

planned, bounds = collections.Counter(), collections.Counter()
for t in plan["transfers"]:
    if t["bytes"] == 0:
        continue
    seen = 0
    for a, b, source, sink in messages(t):
        seen += 1
        if t["moment"] == "evaluation":
            replica = b if t["kind"] == "feed" else a
            sizes = [size for examples in evaluations for size in wave_sizes(t, replica, examples)]
            if any(size > t["bytes"] for size in sizes):
                sys.exit(f"{t['kind']}: a wave of {sizes} bytes, the plan says {t['bytes']}")
            size = sum(sizes)
        else:
            times = {"gather": gathers, "scatter": scatters,
                     "publish": steps + 1}.get(t["kind"], steps)
            size = times * t["bytes"]
            if t["kind"] == "publish" and t["at_most"]:  # the first version is no list of rows
                first = plan["owners"][a]["first"]
                planned[source, sink, t["kind"]] += first
                size -= t["bytes"]
        bound = t["at_most"] and t["moment"] == "step"
        (bounds if bound else planned)[source, sink, t["kind"]] += size
    if seen != t["messages"]:
        sys.exit(f"{t['kind']}: {seen} messages, the plan says {t['messages']}")

got = collections.Counter()
for link in counted["links"]:
    got[link["from"], link["to"], link["kind"]] += link["bytes"]
bad = [f"{key}: counted {got[key]}, planned {planned[key]} and at most {bounds[key]} more"
       for key in sorted({*got, *planned})
       if not planned[key] <= got[key] <= planned[key] + bounds[key]]
if bad:
    sys.exit("\n".join(bad))
print(f"{len(got)} links and kinds, {sum(got.values())} bytes: difference 0, {len(evaluations)} evaluations")
