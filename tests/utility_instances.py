"""Small problems of `utility` for the tests: written out, and drawn by hypothesis."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import strategies
from hypothesis import strategies as st

from optsched.core.instance import MAP, PENDING, REDUCE, RUNNING, Cluster, Instance, State, Workload
from optsched.problems.utility import Utility
from optsched.problems.utility_program import TaskPrices

NAN = float("nan")


def no_prices(problem: Utility) -> TaskPrices:
    """Everything for nothing: every pattern is left."""
    return TaskPrices(np.zeros(2 * len(problem.jobs), dtype=np.int64), 1)


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


problems = partial(strategies.problems, "utility")


def utilities(most: int = 6, jobs: tuple[int, int] = (0, 3), **fixed: Any) -> st.SearchStrategy[Utility]:
    """`utility` on up to three trackers with so many jobs, and so many tasks at most."""
    return problems(tasks=most, **fixed).filter(lambda problem: jobs[0] <= len(problem.jobs) <= jobs[1])


def snapshot(capacity: Sequence[Sequence[float]], jobs: Sequence[tuple[Any, ...]]) -> Instance:
    """Trackers that hold so much of each resource, and jobs: (required maps or None, maps, demand[, reduces, demand]).

    s_req = s_pend mu/T: with as many seconds left as there are maps, mu is what is required.
    """
    entries = []
    for required, maps, takes, *reduces in jobs:
        entry: dict[str, Any] = {"maps": maps, "map": named(takes)}
        if required is not None:
            entry |= {"goal": maps, "time": required}
        if reduces:
            entry |= {"reduces": reduces[0], "reduce": named(reduces[1])}
        entries.append(entry)
    return posed(named(np.transpose(capacity).tolist()), entries).instance


def named(amounts: Sequence[Any]) -> dict[str, Any]:
    """Amounts by resources r0, r1, ..."""
    return {f"r{number}": amount for number, amount in enumerate(amounts)}
