"""Tiny instances of `utility` for the tests of RAS: written by hand, or drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
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


#: The parameters that `utilities` draws.
DRAWN = {"reduces": ["free", "fixed"], "tables": ["literal", "smoothed"]}


@st.composite
def utilities(draw: st.DrawFn, most: int = 4, jobs: tuple[int, int] = (0, 3), **fixed: Any) -> Utility:
    """`utility` on 1 to 3 trackers with 1 to 3 resources; `jobs` jobs, of at most `most` maps and 2 reduces."""
    resources = draw(st.integers(1, 3))

    def amounts(least: int, largest: int) -> st.SearchStrategy[list[int]]:
        return st.lists(st.integers(least, largest), min_size=resources, max_size=resources)

    job = st.integers(0, most).flatmap(
        lambda maps: st.tuples(
            st.one_of(st.none(), st.integers(0, maps + 1)),
            st.just(maps),
            amounts(0, 4).filter(any),
            st.integers(0, 2),
            amounts(0, 2),
        )
    )
    nodes = draw(st.integers(1, 3))
    instance = snapshot(
        draw(st.lists(amounts(1, 8), min_size=nodes, max_size=nodes)),
        draw(st.lists(job, min_size=jobs[0], max_size=jobs[1])),
        slots=draw(st.lists(st.integers(0, 3), min_size=nodes, max_size=nodes)),
    )
    parameters = {name: draw(st.sampled_from(values)) for name, values in DRAWN.items() if name not in fixed}
    return Utility(instance, **{**parameters, **fixed})
