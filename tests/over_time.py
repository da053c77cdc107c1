"""Problems over time on drawn instances, with their optima by enumeration, for tests of bounds and searches."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from schedule_drawn import document

from optsched.errors import MissingField
from optsched.instance import Cluster, Instance, Ragged, Workload
from optsched.instances.files import from_document
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.results import Number
from optsched.searches.enumeration import best_decision

SLOWSTARTS = (0.05, 1, 0.5, 0)


def proved(kind: type[Any], seeds: range, **parameters: Any) -> Iterator[tuple[Any, Number]]:
    """Problems on drawn instances for which there is a schedule, each with the least value."""
    for seed in seeds:
        try:
            problem = kind(from_document(document(seed, 5)), slowstart=SLOWSTARTS[seed % 4], **parameters)
        except MissingField:  # a task without a job has no weight
            continue
        found = best_decision(problem)
        if found is not None:
            yield problem, found[0][0]


def both(seeds: range) -> Iterator[tuple[Any, Number]]:
    """The same of both problems, of `job-times` with both kinds of weights."""
    yield from proved(Makespan, seeds)
    yield from proved(JobTimes, seeds)
    yield from proved(JobTimes, seeds, weights="group")


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
