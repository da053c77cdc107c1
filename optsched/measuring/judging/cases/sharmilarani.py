"""Sharmilarani et al.: large jobs, and what runs ask of machines."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from optsched.core.instance import MAP, Cluster, Instance, Workload
from optsched.core.placement import MICRO, NONE
from optsched.heuristics import run
from optsched.heuristics.ras import enforce, map_rounds
from optsched.instances.families.base import numbered
from optsched.instances.generate import generate
from optsched.measuring.judging.quantities import Answer
from optsched.problems.base import GRID
from optsched.simulating import Simulation


def large_first(seed: int, family: str, **settings: str) -> Instance:
    """Jobs of a family, the first half of them one large job that comes first; two slots of each kind a node."""
    drawn = generate(family, seed=seed, **settings)
    workload, two = drawn.workload, np.full(len(drawn.cluster), 2)
    job = np.where(workload.job < len(workload.job_ids) // 2, 0, workload.job)
    state = replace(drawn.state, idle_slots=two, idle_reduce_slots=two)
    return Instance(replace(drawn.cluster, slots=two, reduce_slots=two), replace(workload, job=job), state)


def job_time(done: Simulation, of: str) -> float:
    """The seconds that the `large` job of `large_first` takes, or the `small` ones on average."""
    times = done.raise_if_unfinished().job_times / MICRO
    return float(times[0] if of == "large" else times[1:].mean())


def slowdown(done: Simulation) -> float:
    """How many times as long as its duration some map took; the most."""
    maps = done.instance.workload.kind == MAP
    took = done.raise_if_unfinished().tasks["execution_time"].to_numpy()
    return float((took[maps] / done.instance.workload.duration[maps]).max())


def few_large_maps(seed: int, resources: str, nodes: str) -> Instance:
    """2 or 3 jobs of 1 to 5 maps, which take 1 to 4 of each resource on trackers with 3 to 8; goals at random."""
    rng = np.random.default_rng((seed, int(resources), int(nodes)))
    names = ["cpu", "disk", "memory"][: int(resources)]
    capacity = rng.integers(3, 8, (int(nodes), len(names)), endpoint=True)
    maps = rng.integers(1, 5, int(rng.integers(2, 3, endpoint=True)), endpoint=True)
    takes = rng.integers(1, 4, (len(maps), len(names)), endpoint=True)
    required = rng.integers(0, maps + 1, endpoint=True)
    job = np.repeat(np.arange(len(maps)), maps)
    room, demand = (dict(zip(names, table.T.astype(np.float64), strict=True)) for table in (capacity, takes[job]))
    workload = Workload(
        numbered("t", len(job)),
        job=job,
        job_ids=numbered("j", len(maps)),
        demand=demand,
        goal=maps.astype(np.float64),  # as many seconds as maps: the length of a map is what is required at once
        map_time=required.astype(np.float64),
    )
    cluster = Cluster(numbered("n", int(nodes)), capacity=room)
    return Instance(cluster, workload, name=f"few-large-maps-{resources}-{nodes}-{seed}")


def endless(answer: Answer) -> bool:
    """Whether the swaps of RAS as worded never end; of `utility` with `reduces=fixed`."""
    return map_rounds(answer.problem, answer.problem.fixed, improvement="literal").ended == "endless"


def scarcest_used(done: Simulation) -> float:
    """The share of the scarcest resource that tasks used, on average over the run."""
    workload, capacity = done.instance.workload, done.instance.cluster.capacity
    seconds = (done.end - done.schedule.starts) / MICRO
    makespan = done.raise_if_unfinished().makespan
    return max(
        float((seconds * demand).sum() / (capacity[name].sum() * makespan)) for name, demand in workload.demand.items()
    )


def most_asked(done: Simulation) -> float:
    """The largest share of what a tracker has of a resource that tasks on it asked for at once."""
    workload, capacity, nodes = done.instance.workload, done.instance.cluster.capacity, done.schedule.nodes
    times = np.concatenate((done.end, done.schedule.starts))
    order = np.argsort(times, kind="stable")  # at an instant tasks end first
    task, sign = order % len(workload), np.where(order < len(workload), -1.0, 1.0)
    most = 0.0
    for name, demand in workload.demand.items():
        for node, room in enumerate(capacity[name].tolist()):
            asked = np.cumsum((sign * demand[task])[nodes[task] == node])
            most = max(most, float(asked.max(initial=0.0)) / room)
    return most


def on_most_available(answer: Answer) -> bool:
    """Whether no tracker that gets a task is less available, by its scarcest resource, than one that gets none."""
    problem = answer.problem
    scarcest = (problem.free / problem.capacity).min(axis=1)
    used = np.isin(np.arange(len(scarcest)), problem.nodes_of(answer.decision))
    return bool(scarcest[used].min(initial=1) >= scarcest[~used].max(initial=0))


def taken_from_lowest(answer: Answer) -> int:
    """Rounds of RAS in which a job lost maps and ended no higher than the lowest utility before; `reduces=fixed`."""
    problem = answer.problem
    worth = [problem.map_worth(job, placed) for job, placed in enumerate(problem.fixed.sum(axis=1))]
    states = [map_rounds(problem, problem.fixed, rounds=rounds) for rounds in range(1, 6)]
    return sum(
        any(now < then and worth[job][now] <= before.lowest[-1] * GRID for job, (then, now) in enumerate(counts))
        for before, after in pairwise(states)
        for counts in [zip(before.maps.sum(axis=1), after.maps.sum(axis=1), strict=True)]
    )


def overloads(answer: Answer, slots: str) -> int:
    """Steps after which a tracker has more than it can bear, on the way from fixed slots to a decision."""
    problem, nodes = answer.problem, np.full(len(answer.problem.instance.workload), NONE)
    before = run(problem, "fair-sharing", slots=int(slots), reduce_slots=int(slots)).raise_if_failed()
    nodes[problem.tasks] = problem.nodes_of(before)
    seconds = np.random.default_rng(answer.seed).integers(1, 10, len(problem.tasks))
    count = 0
    for step in enforce(problem, before, answer.decision, seconds).steps:
        nodes[step.task] = step.node if step.what == "started" else NONE
        broken = problem.violations(problem.placement(nodes[problem.tasks]))
        count += any(fault.constraint == "capacity" for fault in broken)
    return count


def sent_across(answer: Answer) -> Fraction:
    """MB that reduces get from other datacenters, in `traffic`; the rest of the traffic are blocks of maps."""
    problem = answer.problem
    at = problem.datacenter[problem.nodes_of(answer.decision)][problem.maps]
    blocks = int(problem.map_units[np.arange(len(at)), at].sum())
    return Fraction(answer.value[0]) - Fraction(blocks, problem.grid)
