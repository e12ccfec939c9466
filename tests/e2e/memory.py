"""The memory that the arenas of every device took, against the plan, to the byte.

usage: memory.py PLAN.json TAKEN.json THREADS
THREADS: of a task; its devices share them. The plan assumes a number of threads of its own, so arenas
and tree blocks are counted here for the threads of the run, by the rule of REPLICATION.md.
"""

import collections
import json
import sys

sys.dont_write_bytecode = True
import places

plan, taken = (json.load(open(name)) for name in sys.argv[1:3])
threads = int(sys.argv[3])
shards, batch = plan["train"]["shards"], plan["train"]["batch"]
single = plan["memory"][0]["role"] == "replica and owner"

device_places, number = places.devices(plan)
devices = [f"{task}/{index}" for task, index in device_places]


def task_of(device):
    return device_places[device][0]


replicas = places.replica_devices(plan, number)
client_task = {}
for f in plan["clients"]:
    job, task = (part.split(":")[1] for part in f["task"].strip("/").split("/"))
    tasks = list(dict.fromkeys(task_of(d) for d in range(len(devices))))
    for c in range(f["count"]):
        for k in range(f["replicas_each"]):
            client_task[f["first_replica"] + c * f["replicas_each"] + k] = tasks[
                tasks.index(f"{job}/{task}") + c * f["task_stride"]]
block = shards // len(replicas)


def tree_blocks(threads, sums):
    levels = block.bit_length() - 1
    return min(min(levels + min(block, threads), block) + sums - 1, block)


used = collections.Counter(
    task_of(d) for d in {*replicas.values(), *(number[o["device"]] for o in plan["owners"])})
wanted = collections.defaultdict(collections.Counter)
replica_rows = [row for row in plan["memory"] if row["role"] != "owner"]
for r, device in replicas.items():
    sums = len(places.subtrees(0, shards, r * block, (r + 1) * block))
    fed = client_task[r] != task_of(device)
    row = next(w for w in replica_rows if w["partial_sums"] == sums and w["fed"] == fed)
    own = max(1, threads // used[task_of(device)])
    if row["tree_blocks"] != tree_blocks(row["threads"], sums):
        sys.exit(f"the plan has {row['tree_blocks']} tree blocks: {row}")
    wanted[devices[device]].update({
        "variables": row["variables"], "arenas": own * (row["arena_per_thread"] + row["sorting_per_thread"]),
        "update": row["arena_update"] + row["rows"],
        "tree": tree_blocks(own, sums) * row["tree_block"], "inputs": row["inputs"] if fed else 0,
        "messages": row["messages"], "evaluation": row["evaluation"]})
for row in plan["memory"]:
    if row["role"] == "owner":
        wanted[devices[number[row["device"]]]].update({
            "variables": row["variables"], "pushed": row["pushed"], "update": row["arena_update"] + row["rows"],
            "messages": row["messages"]})

bad = []
for device in taken["devices"]:
    name, high = device.pop("device"), device.pop("high")
    need = wanted.pop(name, {})
    for key in sorted({*device, *need}):
        if device.get(key, 0) != need.get(key, 0):
            bad.append(f"{name}: {key} took {device.get(key, 0)}, planned {need.get(key, 0)}")
    if high != sum(need.values()):
        bad.append(f"{name}: {high} at most, planned {sum(need.values())}")
bad += [f"{name} is planned and took nothing" for name in wanted]
if bad:
    sys.exit("\n".join(bad))
print(f"{len(taken['devices'])} devices: difference 0")
