"""Small instances whose jobs have little room near their data, for tests of jobs alone on the empty cluster."""

from __future__ import annotations

import random
from dataclasses import replace

from optsched.core.instance import FINISHED, MAP, PENDING, REDUCE, RUNNING, Cluster, Instance, Ragged, State, Workload
from optsched.problems.latency import Latency
from optsched.problems.schedules import ScheduleProblem

#: Seconds near the data, in its rack and beyond: whole, tenths, thirds, as quick in the rack, slower near than far.
TIMES = (
    (1, 2, 2),
    (2, 3, 5),
    (0.1, 0.3, 0.3),
    (1 / 3, 1, 1),
    (2, 2, 3),
    (0.7, 0.7, 0.7),
    (3, 2, 2),
    (1, 3, 2),
    (0, 1, 1),
)


def crowded(seed: int, most: int = 5) -> Instance:
    """One or two jobs with so many tasks at most, most data on one or two nodes, slots that are held, and reduces."""
    chance = random.Random(seed)
    nodes, jobs = chance.choice([1, 2, 2, 3, 3]), chance.choice([1, 1, 2])
    lengths = [chance.choice(TIMES) for _ in range(jobs)]
    job, kind, times, replicas, status = [], [], [], [], []
    for number in range(chance.randint(3, most)):
        of = chance.randrange(jobs)
        reduces = number > 1 and chance.random() < 0.2
        job.append(of)
        kind.append(REDUCE if reduces else MAP)
        own = lengths[of] if chance.random() < 0.85 else chance.choice(TIMES)
        times.append([chance.choice([0.5, 2])] * 3 if reduces else list(own))
        near = chance.sample(range(max(1, nodes - 1)), min(max(1, nodes - 1), chance.choice([1, 1, 2])))
        replicas.append([] if reduces or chance.random() < 0.1 else sorted(near))
        status.append(PENDING if number < 2 or reduces else chance.choice([PENDING] * 6 + [RUNNING, FINISHED]))
    node = [chance.randrange(nodes) if state else -1 for state in status]
    runs = [sum(state == RUNNING and at == row for state, at in zip(status, node, strict=True)) for row in range(nodes)]
    idle = [chance.choice([0, 1, 1, 1, 2]) for _ in range(nodes)]
    cluster = Cluster(
        [f"n{row}" for row in range(nodes)],
        slots=[held + free for held, free in zip(runs, idle, strict=True)],
        reduce_slots=[1] * nodes,
        rack=[chance.choice([-1, 0]) for _ in range(nodes)],
        rack_ids=["r"],
    )
    workload = Workload(
        [f"t{number}" for number in range(len(job))],
        job=job,
        kind=kind,
        times=times,
        replicas=Ragged.from_rows(replicas),
        job_ids=[f"j{number}" for number in range(jobs)],
        arrival=[chance.choice([0, 0, 1, 0.5]) for _ in range(jobs)],
    )
    start = [chance.choice([0, -0.5]) if state == RUNNING else float("nan") for state in status]
    state = State.initial(cluster, workload, time=0, status=status, node=node, start=start, idle_slots=idle)
    return Instance(cluster, workload, state)


def one_job(seed: int, slots: int = 1, nodes: int = 4, maps: int = 9) -> tuple[Instance, Latency]:
    """A job of maps of two speeds alone, and what it is as a `latency` problem whose servers are its slots."""
    chance = random.Random(seed)
    near, far = chance.choice([(1, 2), (1, 3), (2, 3), (3, 5), (2, 2), (3, 4)])
    rows = [sorted(chance.sample(range(nodes), chance.choice([1, 1, 2]))) for _ in range(maps)]
    if seed % 2:
        rows = [sorted({node % 2 for node in row}) for row in rows]
    ids = [f"t{number}" for number in range(maps)]
    times = [[near / 10, far / 10, far / 10]] * maps
    workload = Workload(ids, job=[0] * maps, job_ids=["j"], arrival=[0], times=times, replicas=Ragged.from_rows(rows))
    on_slots = [[node * slots + slot for node in row for slot in range(slots)] for row in rows]
    servers = Cluster([f"s{number}" for number in range(nodes * slots)])
    alone = Instance(servers, Workload(ids, replicas=Ragged.from_rows(on_slots)))
    cluster = Cluster([f"n{number}" for number in range(nodes)], slots=[slots] * nodes)
    return Instance(cluster, workload), Latency(alone, w_loc=near, w_rem=far)


def with_slot(problem: ScheduleProblem, node: int) -> ScheduleProblem:
    """The same problem with a slot more for maps on a node, which is idle."""
    instance = problem.instance
    slots, idle = instance.cluster.slots.copy(), instance.state.idle_slots.copy()
    slots[node] += 1
    idle[node] += 1
    more = instance.with_slots(slots, instance.cluster.reduce_slots)
    return type(problem)(more.with_state(replace(instance.state, idle_slots=idle)), **problem.parameters)
