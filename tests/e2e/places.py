"""Who is where in a plan, unfolded from the numbers of its families: for the scripts that check what a
run did against the plan.
"""


def subtrees(low, high, begin, end):
    """Maximal subtrees of the fixed tree over [low, high) that lie inside [begin, end): ranges of
    shards."""
    if high <= begin or end <= low:
        return []
    if begin <= low and high <= end:
        return [(low, high)]
    half = 1
    while 2 * half < high - low:
        half *= 2
    return subtrees(low, low + half, begin, end) + subtrees(low + half, high, begin, end)


def devices(plan):
    """Tasks of all devices ("worker/1") and their indices there, in the order of their numbers; and
    the numbers by name."""
    places, number = [], {}
    for job in plan["jobs"]:
        for task in range(job["tasks"]):
            for kind in ("cpu", "gpu"):
                for index in range(job[kind]):
                    name = f"/job:{job['job']}/task:{task}/device:{kind.upper()}:{index}"
                    number[name] = len(places)
                    places.append((f"{job['job']}/{task}", index))
    return places, number


def replica_devices(plan, number):
    """The number of the device of every replica."""
    replicas = {}
    for f in plan["replicas"]:
        for q in range(f["count"]):
            outer, inner = divmod(q, f["devices_each"])
            replicas[f["first"] + q] = (number[f["device"]] + outer * f["task_stride"] +
                                        inner * f["device_stride"])
    return replicas
