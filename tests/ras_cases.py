"""Tiny instances of `utility` for the tests of RAS: written by hand, or drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import strategies
from hypothesis import strategies as st

from optsched.core.instance import MAP, REDUCE, Cluster, Instance, Workload
from optsched.problems.utility import Utility


def snapshot(capacity: Sequence[Sequence[float]], jobs: Sequence[tuple[Any, ...]], **columns: Any) -> Instance:
    """An instance of trackers, which hold so much of each resource, and jobs.

    A job is (required maps or None for no goal, maps, what a map takes[, reduces, what a reduce takes]). `columns` are
    further ones of the cluster.
    """
    rows: list[tuple[int, int, Sequence[float]]] = []
    for job, (_, maps, takes, *reduces) in enumerate(jobs):
        rows += [(job, MAP, takes)] * maps
        if reduces:
            rows += [(job, REDUCE, reduces[1])] * reduces[0]
    resources = [f"r{number}" for number in range(len(capacity[0]))]
    demand = np.array([takes for _, _, takes in rows], dtype=float).reshape(-1, len(resources))
    cluster = Cluster(
        [f"n{node}" for node in range(len(capacity))],
        capacity=dict(zip(resources, np.array(capacity, dtype=float).T, strict=True)),
        **columns,
    )
    # s_req = s_pend mu/T: with as many seconds left as there are maps, mu is what is required.
    workload = Workload(
        [f"t{task}" for task in range(len(rows))],
        job=[job for job, _, _ in rows],
        kind=[kind for _, kind, _ in rows],
        demand=dict(zip(resources, demand.T, strict=True)),
        job_ids=[f"j{job}" for job in range(len(jobs))],
        goal=[np.nan if required is None else maps for required, maps, *_ in jobs],
        map_time=[np.nan if required is None else required for required, *_ in jobs],
    )
    return Instance(cluster, workload)


def swapping() -> Utility:
    """The instance on which the swaps as worded do not end (Sharmilarani et al., note 7)."""
    return Utility(snapshot([[5, 3], [5, 7]], [(2, 3, [2, 2]), (4, 5, [1, 3])]))


def utilities(most: int = 6, jobs: tuple[int, int] = (0, 3), **fixed: Any) -> st.SearchStrategy[Utility]:
    """`utility` on up to three trackers with so many jobs, and so many tasks at most."""
    drawn = strategies.problems("utility", tasks=most, **fixed)
    return drawn.filter(lambda problem: jobs[0] <= len(problem.jobs) <= jobs[1])
