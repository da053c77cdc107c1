"""Small problems of `utility` for the tests: written out, and drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from optsched.core.instance import MAP, PENDING, REDUCE, RUNNING, Cluster, Instance, State, Workload
from optsched.problems.utility import Utility

__all__ = ["SWAPS", "posed", "problems"]

NAN = float("nan")


def posed(
    capacity: Mapping[str, list[float]],
    jobs: list[Mapping[str, Any]],
    running: list[tuple[int, int, int]] | None = None,
    time: float = 0,
    **parameters: Any,
) -> Utility:
    """The problem on nodes n0, ... and jobs j0, ...

    Each job has `maps`, `reduces` (counts), `map`, `reduce`, `shuffle` (demand by resource), `goal`, `time` (of a map);
    `running` has (job, kind, node) of tasks that run already.
    """
    rows = [
        (job, kind, PENDING, -1)
        for job, entry in enumerate(jobs)
        for kind, word in ((MAP, "maps"), (REDUCE, "reduces"))
        for _ in range(entry.get(word, 0))
    ] + [(job, kind, RUNNING, node) for job, kind, node in running or []]
    words = {MAP: "map", REDUCE: "reduce"}
    demand = {
        resource: [jobs[job].get(words[kind], {}).get(resource, NAN) for job, kind, _, _ in rows]
        for resource in capacity
    }
    shuffle = {
        resource: [
            jobs[job].get("shuffle", {}).get(resource, NAN) if kind == REDUCE else NAN for job, kind, _, _ in rows
        ]
        for resource in capacity
    }
    cluster = Cluster([f"n{node}" for node in range(len(next(iter(capacity.values()), [])))], capacity=capacity)
    workload = Workload(
        [f"t{task}" for task in range(len(rows))],
        job=[job for job, *_ in rows],
        kind=[kind for _, kind, *_ in rows],
        demand=demand,
        demand_shuffle=shuffle,
        job_ids=[f"j{job}" for job in range(len(jobs))],
        goal=[entry.get("goal", NAN) for entry in jobs],
        map_time=[entry.get("time", NAN) for entry in jobs],
    )
    status, node = [status for *_, status, _ in rows], [node for *_, node in rows]
    state = State.initial(cluster, workload, time=time, status=status, node=node)
    return Utility(Instance(cluster, workload, state, name="small"), **parameters)


#: Sharmilarani et al., note 7: two trackers, two jobs, required 2 of 3 and 4 of 5.
SWAPS = posed(
    {"cpu": [5, 5], "disk": [3, 7]},
    [
        {"maps": 3, "map": {"cpu": 2, "disk": 2}, "goal": 3, "time": 2},
        {"maps": 5, "map": {"cpu": 1, "disk": 3}, "goal": 5, "time": 4},
    ],
)


@st.composite
def problems(draw: st.DrawFn, tasks: int = 6, nodes: int = 3, **fixed: Any) -> Utility:
    """Up to so many tasks of up to 3 jobs on up to so many nodes, with fractions, running tasks and all parameters."""
    hosts, jobs = draw(st.integers(1, nodes)), draw(st.integers(1, 3))
    resources = draw(st.sampled_from([["cpu"], ["cpu", "disk_1"]]))
    grain = draw(st.sampled_from([1.0, 0.1, 0.5]))

    def numbers(length: int, low: int, high: int) -> list[float]:
        return [
            round(number * grain, 1)
            for number in draw(st.lists(st.integers(low, high), min_size=length, max_size=length))
        ]

    equal = draw(st.booleans())
    capacity = {name: numbers(1, 1, 8) * hosts if equal else numbers(hosts, 0, 8) for name in resources}
    owners = sorted(draw(st.lists(st.integers(0, jobs - 1), min_size=1, max_size=tasks)))
    reduces = draw(st.sampled_from([0, 0, 1, 2]))
    kinds = [REDUCE if draw(st.integers(1, 4)) <= reduces else MAP for _ in owners]
    running = draw(st.lists(st.tuples(st.integers(0, jobs - 1), st.sampled_from([MAP, REDUCE])), max_size=1))
    profile = {name: np.array(numbers(2 * jobs, 0, 4)).reshape(jobs, 2) for name in resources}
    job = [*owners, *(owner for owner, _ in running)]
    kind = [*kinds, *(which for _, which in running)]
    cluster = Cluster(["n 1", "n_1", "4"][:hosts], capacity=capacity)
    shuffling = draw(st.booleans())
    first = {name: profile[name][job, kind] for name in resources}
    workload = Workload(
        [f"t-{task}" for task in range(len(job))],
        job=job,
        kind=kind,
        job_ids=["j 1", "j_1", "7"][:jobs],
        demand=first,
        demand_shuffle={"cpu": np.where(np.array(kind) == REDUCE, first["cpu"], np.nan)} if shuffling else {},
        goal=draw(st.lists(st.sampled_from([NAN, 1.0, 2.0, 4.0, 9.0]), min_size=jobs, max_size=jobs)),
        map_time=draw(st.lists(st.sampled_from([1.0, 2.0, 3.5]), min_size=jobs, max_size=jobs)),
    )
    where = [draw(st.integers(0, hosts - 1)) for _ in running]
    state = State.initial(
        cluster,
        workload,
        status=[PENDING] * len(owners) + [RUNNING] * len(running),
        node=[-1] * len(owners) + where,
        time=draw(st.sampled_from([0, 1])),
    )
    drawn = {
        "reduces": draw(st.sampled_from(["free", "fixed"])),
        "tables": draw(st.sampled_from(["literal", "smoothed"])),
        "phase": draw(st.sampled_from(["shuffle", "reduce"])),
    }
    instance = Instance(cluster, workload, state, name="drawn")
    return Utility(instance, **{**drawn, **fixed})
