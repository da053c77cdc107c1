"""Problems over time: arrivals, reduces, transfers, jobs alone, and their optima; services without the engine."""

import json
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
import pytest
import strategies
from oracles.documents import drawn
from small_problems import small

from optsched.core.errors import MissingField
from optsched.core.instance import FINISHED, MAP, PENDING, REDUCE, RUNNING, Cluster, Instance, State, Workload
from optsched.core.results import Number
from optsched.heuristics.running.course import WAKE, Service
from optsched.instances.generate import generate
from optsched.problems.job_times import JobTimes
from optsched.problems.latency import Latency
from optsched.problems.makespan import Makespan
from optsched.solvers.searches.enumeration import best_decision
from optsched.solvers.searches.job_ends import AloneSearch
from optsched.solvers.searches.schedules import ScheduleSearch

Text = dict[str, Any]


def document(seed: int) -> Text:
    """The document of an oracle's instance: jobs that arrive, and tasks that wait, run, or have ended."""
    found: Text = json.loads(drawn("makespan", seed).text)
    return {name: part for name, part in found.items() if name not in ("topology", "parameters")}


def whole(seed: int) -> Text:
    """The same with small whole numbers, so that every start that matters is one."""
    text, chance = document(seed), random.Random(seed)
    text["time"] = chance.choice([0, 1, -1])
    for job in text["jobs"]:
        job["arrival"] = chance.choice([-1, 0, 1, 2])
    for task in text["tasks"]:
        if "times" in task:
            task["times"] = {level: chance.choice([0, 1, 2, 3]) for level in task["times"]}
        else:
            task["duration"] = chance.choice([0, 1, 2])
        if "start" in task:
            task["start"] = text["time"] - chance.choice([0, 1])
    return text


def two_jobs(**columns: Any) -> Instance:
    """Two nodes in a rack and one beyond; a job with two maps and a reduce."""
    workload = small([[0], [0], []], job=[0] * 3, kind=[0, 0, 1], job_ids=["j"], **columns).workload
    return Instance(Cluster(["a", "b", "c"], rack=[0, 0, 1], rack_ids=["r", "s"]), workload)


def weighed(durations: list[float], weights: list[float]) -> JobTimes:
    """A task for each job, on a slot, with the job's weight."""
    each = list(range(len(weights)))
    names = {"job_ids": [f"j{n}" for n in each], "group_ids": [f"g{n}" for n in each], "job_group": each}
    workload = Workload([f"t{n}" for n in each], job=each, duration=durations, group_weight=weights, **names)  # type: ignore[arg-type]
    return JobTimes(Instance(Cluster(["a"]), workload), weights="group")


def proved(kind: type[Any], seeds: range, **fixed: Any) -> Iterator[tuple[Any, Number]]:
    """Problems of the oracles' instances for which there is a schedule, each with the least value."""
    for seed in seeds:
        value = _least(kind.name, seed, **fixed)
        if value is not None:
            yield strategies.posed(kind.name, seed, fixed), value


@cache
def _least(name: str, seed: int, **fixed: Any) -> Number | None:
    """The least value; None if nothing is feasible, or a task without a job has no weight."""
    try:
        found = best_decision(strategies.posed(name, seed, fixed))
    except MissingField:
        return None
    return None if found is None else found[0][0]


def both(seeds: range) -> Iterator[tuple[Any, Number]]:
    """The same of both problems."""
    for kind in (Makespan, JobTimes):
        yield from proved(kind, range(2 * seeds.start, 2 * seeds.stop))


def batch(seed: int, nodes: int = 4, slots: int = 2, tasks: int = 24, jobs: int = 4, reduces: int = 0) -> Instance:
    """Jobs that arrive one after another, each with maps of one length, and with so many reduces."""
    chance = random.Random(seed)
    job = [number % jobs for number in range(tasks)]
    length = [chance.randint(3, 9) for _ in range(jobs)]
    times = [[length[of], length[of] + 1, length[of] + 3] for of in job]
    replicas = [sorted(chance.sample(range(nodes), 2)) for _ in job]
    reduced = [of for of in range(jobs) for _ in range(reduces)]
    workload = small(
        [*replicas, *([] for _ in reduced)],
        job=job + reduced,
        kind=[0] * tasks + [1] * len(reduced),
        times=times + [[2 * length[of]] * 3 for of in reduced],
        job_ids=[f"j{number}" for number in range(jobs)],
        arrival=sorted(chance.randint(0, 8) for _ in range(jobs)),
    ).workload
    cluster = Cluster(
        [f"n{number}" for number in range(nodes)],
        slots=[slots] * nodes,
        reduce_slots=[1] * nodes,
        rack=[number % 2 for number in range(nodes)],
        rack_ids=["r", "s"],
    )
    return Instance(cluster, workload)


#: Distances of all kinds: racks, trees of switches, and two that are no areas within areas.
FORMS = ("hops", "switches", "uneven links", "matrix")


def fetching(seed: int, form: str, **sizes: int) -> Instance:
    """Jobs that arrive one after another on nodes at distances of a kind; some maps have no replica."""
    drawn = {"nodes": 4, "tasks": 6, "reduces": 0, "replicas": 2, "longest": 9, "gap": 2, "lost": 0.1} | sizes
    return generate("job-times", seed, distances=1 + FORMS.index(form), **drawn)


def arriving(seed: int, *, nodes: int = 4, tasks: int = 12, reduces: int = 5, jobs: int = 3) -> Instance:
    """An instance of the family `mixed` on which nothing runs yet, whose jobs arrive one after another."""
    rng = np.random.default_rng([seed, 7])
    sizes = {"nodes": nodes, "racks": 2, "datacenters": 2, "tasks": tasks, "reduces": reduces, "jobs": jobs}
    drawn = generate("mixed", seed=seed, groups=2, slots=2, **sizes)
    assert isinstance(drawn, Instance)
    workload = drawn.workload
    times = np.sort(rng.integers(1, 200, (len(workload), 3)), axis=1) / 4
    arrival = rng.integers(0, 60, len(workload.job_ids)) / 2
    workload = replace(workload, times=times, duration=times[:, 0], arrival=arrival)
    return Instance(drawn.cluster, workload, State.initial(drawn.cluster, workload), name=f"arriving-{seed}")


#: Seconds near the data, in its rack and beyond: whole, tenths, thirds, as quick in the rack, slower near than far.
TIMES = [(1, 2, 2), (2, 3, 5), (0.1, 0.3, 0.3), (1 / 3, 1, 1), (2, 2, 3), (0.7,) * 3, (3, 2, 2), (1, 3, 2), (0, 1, 1)]


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
    arrival = [chance.choice([0, 0, 1, 0.5]) for _ in range(jobs)]
    names = [f"j{number}" for number in range(jobs)]
    workload = small(replicas, job=job, kind=kind, times=times, job_ids=names, arrival=arrival).workload
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
    times = [[near / 10, far / 10, far / 10]] * maps
    instance = small(rows, [slots] * nodes, job=[0] * maps, job_ids=["j"], arrival=[0], times=times)
    on_slots = [[node * slots + slot for node in row for slot in range(slots)] for row in rows]
    return instance, Latency(small(on_slots, [1] * (nodes * slots)), w_loc=near, w_rem=far)


def searched(problem: Any) -> AloneSearch:
    """What is proved of the jobs of a problem, each alone."""
    search = AloneSearch(problem)
    search.by_covers()
    search.exactly()
    return search


def before(problem: Any, stage: str) -> tuple[ScheduleSearch, Callable[[], None]]:
    """A search for schedules before one of its stages (the name of a method), and this stage."""
    search = ScheduleSearch(problem)
    for step in search.stages:
        if step.__name__ == stage:
            return search, step
        step()
    raise LookupError(stage)


def seeds(few: int, many: int) -> list[Any]:
    """The first few of many seeds, and the others in the thorough suite."""
    return [*range(few), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(few, many))]


_END, _WOKEN, _START = range(3)


def driven(service: Service, instance: Instance, starts: Iterable[tuple[int, int, int]]) -> dict[int, int]:
    """When each task ends, of those that start as (microsecond, task, node) say; it looks at no snapshot."""
    service.prepare(instance)
    heap = [(time, _START, task, node) for time, task, node in starts]
    heapify(heap)
    due: dict[int, int] = {}
    ends: dict[int, int] = {}

    def take(answer: Iterable[tuple[int, int]], now: int) -> None:
        for task, end in answer:
            assert isinstance(end, int)
            assert end >= now
            assert task not in ends
            if due.get(task) != end:
                due[task] = end
                heappush(heap, (end, _WOKEN if task == WAKE else _END, task, 0))

    while heap:
        time, what, task, node = heappop(heap)
        if what == _START:
            take(service.started(task, node, time), time)
        elif due.get(task) == time:
            del due[task]
            if what == _WOKEN:
                take(service.woken(time), time)
            else:
                ends[task] = time
                take(service.ended(task, time), time)
    return ends
