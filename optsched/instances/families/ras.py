"""Family after Sharmilarani et al.: jobs with profiles and completion goals on trackers with several resources.

The paper's three resources are CPU, disk channel and memory, but it gives no numbers: those here are assumed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np

from optsched.core.instance import MAP, PENDING, REDUCE, RUNNING, Cluster, State, Workload
from optsched.instances.families.base import Drawn, Family, Setting, require, settings, share
from optsched.instances.families.sampling import numbered, on, some

__all__ = ["FAMILIES"]

#: Least and greatest capacity of a tracker: cores, disk in 10 MB/s, memory in GB. Identical trackers have the middle.
_CAPACITY = {"cpu": (8, 24), "disk": (10, 30), "memory": (24, 72)}

#: Least and greatest demand of a map, and of a reduce, in the same units.
_MAP = {"cpu": (1, 4), "disk": (1, 5), "memory": (1, 8)}
_REDUCE = {"cpu": (1, 3), "disk": (1, 6), "memory": (2, 10)}


def _utility(
    rng: np.random.Generator,
    *,
    jobs: Annotated[int, Setting(4, "jobs", 0, 10**4)],
    nodes: Annotated[int, Setting(10, "trackers", 1, 10**6)],
    types: Annotated[int, Setting(1, "kinds of trackers, dealt in turn; 1: identical ones", 1, 10**6)],
    maps: Annotated[int, Setting(40, "most pending maps of a job; at least half of it", 0, 10**6)],
    reduces: Annotated[int, Setting(4, "most pending reduces of a job; from none", 0, 10**6)],
    goals: Annotated[float, Setting(0.8, "share of the jobs that have a completion goal", 0, 1)],
    room: Annotated[
        float, Setting(1.0, "capacities of a tracker, of those that it is assumed to have; rounded down", 0, 1)
    ],
    running: Annotated[float, share("tasks that run already")],
) -> Drawn:
    """Job profiles, counts and goals uniform; types of trackers dealt in turn."""
    require(types <= nodes, f"types is {types}; it must be at most {nodes}: every tracker is of one type")
    kind = np.arange(nodes) % types
    capacity = {
        resource: (np.full(1, (low + high) // 2) if types == 1 else rng.integers(low, high, size=types, endpoint=True))
        for resource, (low, high) in _CAPACITY.items()
    }
    map_count = rng.integers(-(-maps // 2), maps, size=jobs, endpoint=True)
    reduce_count = rng.integers(0, reduces, size=jobs, endpoint=True)
    counts = np.column_stack([map_count, reduce_count]).ravel()
    row = np.repeat(np.arange(2 * jobs), counts)
    job, task_kind = row // 2, row % 2
    profile = {
        name: np.column_stack([rng.integers(*bounds[name], size=jobs, endpoint=True) for bounds in (_MAP, _REDUCE)])
        for name in _CAPACITY
    }
    demand = {name: column[job, task_kind].astype(np.float64) for name, column in profile.items()}
    shuffle = {"memory": np.where(task_kind == REDUCE, demand["memory"], np.nan)}
    map_time = rng.integers(20, 60, size=jobs, endpoint=True).astype(np.float64)
    at_once = 1 + rng.integers(0, np.maximum(map_count, 1))
    goal = np.where(rng.random(jobs) < goals, np.ceil(map_time * map_count / at_once), np.nan)
    cluster = Cluster(
        numbered("n", nodes),
        capacity={name: np.floor(room * values[kind]).astype(np.float64) for name, values in capacity.items()},
    )
    workload = Workload(
        numbered("t", len(job)),
        job=job,
        job_ids=numbered("j", jobs),
        kind=np.where(task_kind == REDUCE, REDUCE, MAP),
        demand=demand,
        demand_shuffle=shuffle,
        goal=goal,
        map_time=map_time,
    )
    labels = {
        "capacity": "assumed: cores, disk in 10 MB/s and memory in GB of a tracker",
        "demand": "assumed: uniform whole numbers for each job; a reduce in the shuffle phase takes its memory only",
        "goal": "assumed: from one map at once to all of them at once, uniform"
        + ("" if running else "; no maps run yet"),
    }
    status = np.where(some(rng, len(job), running), RUNNING, PENDING)
    return Drawn(
        cluster, workload, State.initial(cluster, workload, status=status, node=on(rng, status, nodes)), labels
    )


def _run(rng: np.random.Generator, *, gap: float, slots: int, reduce_slots: int, **utility: float) -> Drawn:
    """The same with jobs that arrive one after another, and with how long tasks take."""
    drawn = _utility(rng, running=0, **utility)  # type: ignore[arg-type]
    workload, nodes = drawn.workload, len(drawn.cluster)
    arrival = np.round(np.cumsum(rng.exponential(1, len(workload.job_ids))) * gap, 3)
    takes = workload.map_time[workload.job]
    workload = replace(
        workload,
        arrival=arrival,
        goal=arrival + workload.goal,
        duration=np.where(workload.kind == MAP, takes, 2 * takes),
    )
    cluster = replace(drawn.cluster, slots=np.full(nodes, slots), reduce_slots=np.full(nodes, reduce_slots))
    labels = {
        "duration": "assumed: a map takes its job's map time, a reduce twice as long; the paper gives none",
        "arrival": f"assumed: a Poisson process, {gap:g} s apart in the mean; goals are counted from there",
        "slots": "assumed: the paper's scheduler has none; for policies that go by slots",
    }
    return Drawn(cluster, workload, State.initial(cluster, workload), {**drawn.labels, **labels})


FAMILIES = (
    Family(
        "utility",
        "Sharmilarani et al., section III.",
        "Jobs with profiles of three resources and completion goals on trackers that cannot hold all of their tasks.",
        settings(_utility),
        _utility,
    ),
    Family(
        "ras-run",
        "Sharmilarani et al., section III.",
        "The jobs of utility to be run over time: they arrive one after another, and their tasks have times.",
        {
            **{name: setting for name, setting in settings(_utility).items() if name != "running"},
            "gap": Setting(60.0, "mean seconds between the arrivals of two jobs", 0, 10**6),
            "slots": Setting(4, "map slots of each tracker", 0, 1000),
            "reduce_slots": Setting(2, "reduce slots of each tracker", 0, 1000),
        },
        _run,
    ),
)
