"""Tiny problems of `traffic` and `generalized-assignment` for hypothesis, in whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from optsched.core.instance import MAP, REDUCE, Cluster, Instance, Pairs, Ragged, Workload
from optsched.problems import GeneralizedAssignment, Traffic

__all__ = ["generalized_assignment_problems", "traffic_problems"]


@st.composite
def traffic_problems(draw: st.DrawFn) -> Traffic:
    """Up to 2 jobs of up to 2 maps and 3 reduces each on 2 or 3 nodes, each a datacenter; capacities or not."""
    nodes, jobs = draw(st.integers(2, 3)), draw(st.integers(1, 2))
    maps = [draw(st.integers(1, 2)) for _ in range(jobs)]
    reduces = [draw(st.integers(0, 3)) for _ in range(jobs)]
    kind = [kind for job in range(jobs) for kind in [MAP] * maps[job] + [REDUCE] * reduces[job]]
    owner = [job for job in range(jobs) for _ in range(maps[job] + reduces[job])]
    size = [draw(st.sampled_from([3.0, 7.0, 10.0])) if which == MAP else 0.0 for which in kind]
    replicas = [draw(st.lists(st.integers(0, nodes - 1), unique=True, max_size=2)) for _ in kind]
    cluster = Cluster(
        [f"n{node}" for node in range(nodes)],
        datacenter=list(range(nodes)),
        datacenter_ids=[f"d{node}" for node in range(nodes)],
        slots=[draw(st.integers(1, 4)) for _ in range(nodes)],
        reduce_slots=[draw(st.integers(1, 4)) for _ in range(nodes)],
    )
    workload = Workload(
        [f"t{task}" for task in range(len(kind))],
        kind=kind,
        job=owner,
        job_ids=[f"j{job}" for job in range(jobs)],
        size=size,
        replicas=Ragged.from_rows([row if which == MAP else [] for row, which in zip(replicas, kind, strict=True)]),
        filter_ratio=[draw(st.sampled_from([0.0, 0.2, 1.0, 1.5])) for _ in range(jobs)],
    )
    drawn = {key: draw(st.sampled_from(values)) for key, values in TRAFFIC.items()}
    return Traffic(Instance(cluster, workload), **drawn)


TRAFFIC: dict[str, list[Any]] = {"capacity": ["none", "slots"], "reduces": ["together", "free"]}


@st.composite
def generalized_assignment_problems(draw: st.DrawFn) -> GeneralizedAssignment:
    """Up to 4 tasks on up to 3 nodes within one resource, of which there is often just enough."""
    tasks, nodes = draw(st.integers(1, 4)), draw(st.integers(1, 3))

    def matrix(most: int) -> Any:
        entries = st.lists(st.integers(0, most), min_size=tasks * nodes, max_size=tasks * nodes)
        return np.array(draw(entries), dtype=np.float64).reshape(tasks, nodes)

    capacity = {"weight": draw(st.lists(st.integers(2, 9), min_size=nodes, max_size=nodes))}
    cluster = Cluster([f"n{node}" for node in range(nodes)], capacity=capacity)
    workload = Workload([f"t{task}" for task in range(tasks)], pairs=Pairs(matrix(9), {"weight": matrix(4)}))
    return GeneralizedAssignment(Instance(cluster, workload), sense=draw(st.sampled_from(["min", "max"])))
