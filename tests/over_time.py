"""Problems over time on drawn instances, with their optima by enumeration, for tests of bounds and searches."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from schedule_drawn import document

from optsched.core.errors import MissingField
from optsched.core.instance import Cluster, Instance, Ragged, Topology, Workload
from optsched.core.results import Number
from optsched.instances.files import from_document
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.searches.enumeration import best_decision

SLOWSTARTS = (0.05, 1, 0.5, 0)


def proved(kind: type[Any], seeds: range, **parameters: Any) -> Iterator[tuple[Any, Number]]:
    """Problems on drawn instances for which there is a schedule, each with the least value."""
    for seed in seeds:
        instance, best = _solved(kind, seed, **parameters)
        if best is not None:
            yield kind(instance, slowstart=SLOWSTARTS[seed % 4], **parameters), best


@cache
def _solved(kind: type[Any], seed: int, **parameters: Any) -> tuple[Any, Number | None]:
    """A drawn instance and the least value; None where the problem cannot be posed, or nothing is feasible."""
    instance = from_document(document(seed, 5))
    try:
        problem = kind(instance, slowstart=SLOWSTARTS[seed % 4], **parameters)
    except MissingField:  # a task without a job has no weight
        return instance, None
    found = best_decision(problem)
    return instance, None if found is None else found[0][0]


def both(seeds: range) -> Iterator[tuple[Any, Number]]:
    """The same of both problems, of `job-times` with both kinds of weights, and of tasks that fetch what they read."""
    yield from proved(Makespan, seeds)
    yield from proved(JobTimes, seeds)
    yield from proved(JobTimes, seeds, weights="group")
    yield from fetched(seeds)


def fetched(seeds: range) -> Iterator[tuple[Any, Number]]:
    """Problems of tasks that compute and fetch, over distances of each kind in turn, each with the least value."""
    for seed in seeds:
        instance = fetching(seed, FORMS[seed % len(FORMS)], nodes=3, tasks=4, reduces=seed % 2, jobs=2, slots=1)
        kind: type[Any] = (Makespan, JobTimes)[seed // len(FORMS) % 2]
        problem = kind(instance, service="transfer", scale=(0.5, 1)[seed % 2], slowstart=SLOWSTARTS[seed % 4])
        found = best_decision(problem)
        assert found is not None
        yield problem, found[0][0]


def batch(seed: int, nodes: int = 4, slots: int = 2, tasks: int = 24, jobs: int = 4, reduces: int = 0) -> Instance:
    """Jobs that arrive one after another, each with maps of one length, and with so many reduces."""
    chance = random.Random(seed)
    job = [number % jobs for number in range(tasks)]
    length = [chance.randint(3, 9) for _ in range(jobs)]
    times = [[length[of], length[of] + 1, length[of] + 3] for of in job]
    replicas = [sorted(chance.sample(range(nodes), 2)) for _ in job]
    reduced = [of for of in range(jobs) for _ in range(reduces)]
    workload = Workload(
        [f"t{number}" for number in range(tasks + len(reduced))],
        job=job + reduced,
        kind=[0] * tasks + [1] * len(reduced),
        replicas=Ragged.from_rows([*replicas, *([] for _ in reduced)]),
        times=times + [[2 * length[of]] * 3 for of in reduced],
        job_ids=[f"j{number}" for number in range(jobs)],
        arrival=sorted(chance.randint(0, 8) for _ in range(jobs)),
    )
    cluster = Cluster(
        [f"n{number}" for number in range(nodes)],
        slots=[slots] * nodes,
        reduce_slots=[1] * nodes,
        rack=[number % 2 for number in range(nodes)],
        rack_ids=["r", "s"],
    )
    return Instance(cluster, workload)


#: Distances of all kinds: racks, trees of switches of more levels, and three that are no areas within areas.
FORMS = ("hops", "switches", "uneven links", "rate", "distance")


def topology(chance: random.Random, form: str, names: list[str]) -> Topology:
    """Drawn distances of some nodes, in numbers of few digits."""
    nodes = len(names)
    if form == "hops":
        near = chance.choice([0, 1, 2])
        return Topology("hops", hops={"node": near, "rack": near + chance.choice([0, 1]), "off_rack": near + 3})
    if form == "switches":  # a tree with two nodes, and two switches, below each switch
        links, level = [], names
        while len(level) > 1:
            above = [f"{name}^" for name in level[::2]]
            rate = chance.choice([2.0, 4.0])  # of all links of a level, so that what lies below a switch is an area
            links += [(name, above[number // 2], rate) for number, name in enumerate(level)]
            level = above
        return Topology("links", links=links)
    if form == "uneven links":
        near = [(name, f"s{n // 2}", chance.choice([1.0, 2.0, 4.0])) for n, name in enumerate(names)]
        up = [(f"s{n}", "top", chance.choice([0.5, 1.0, 4.0])) for n in range((nodes + 1) // 2)]
        return Topology("links", links=near + up)
    matrix = [[chance.choice([1.0, 2.0, 4.0, 0.5]) for _ in names] for _ in names]
    if form == "distance":
        for node in range(nodes):
            matrix[node][node] = 0.0
    return Topology(form, matrix)


def fetching(seed: int, form: str, nodes: int = 4, tasks: int = 6, **sizes: int) -> Instance:
    """Jobs as of `batch` on nodes at distances of a kind; some maps have no replica, some a duration, others times."""
    chance = random.Random(seed * 7 + FORMS.index(form))
    drawn = batch(seed, nodes=nodes, tasks=tasks, **sizes)
    workload, cluster = drawn.workload, drawn.cluster
    is_map = workload.kind == 0
    rows = [row.tolist() if chance.random() < 0.9 else [] for row in workload.replicas]
    size = [chance.choice([0, 1, 2, 3, 4]) if own else np.nan for own in is_map]
    known = np.array([chance.random() < 0.5 for _ in size])
    return replace(
        drawn,
        cluster=replace(cluster, topology=topology(chance, form, cluster.node_ids.tolist())),
        workload=replace(
            workload,
            replicas=Ragged.from_rows(rows),
            size=size,
            duration=np.where(known, workload.times[:, 0] + 1, np.nan),
        ),
    )
