"""Small problems of `traffic` for its tests: written out and drawn."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from optsched.core.instance import (
    FINISHED,
    MAP,
    PENDING,
    REDUCE,
    RUNNING,
    Cluster,
    Instance,
    Ragged,
    Shuffle,
    State,
    Workload,
)
from optsched.problems import Traffic

NAN = float("nan")


def posed(
    blocks: Sequence[Sequence[int]],
    ratio: float = 1.0,
    reduces: int = 1,
    nodes: Sequence[int] = (0, 1),
    size: float | Sequence[float] = 10.0,
    slots: Sequence[int] | None = None,
    reduce_slots: Sequence[int] | None = None,
    jobs: int = 1,
    **parameters: Any,
) -> Traffic:
    """Jobs that each have these maps (the nodes of each block) and reduces; `nodes` says where the nodes are."""
    centers = [f"d{center}" for center in range(max(nodes, default=-1) + 1)]
    cluster = Cluster(
        [f"n{node}" for node in range(len(nodes))],
        datacenter=nodes,
        datacenter_ids=centers,
        slots=[9] * len(nodes) if slots is None else slots,
        reduce_slots=[9] * len(nodes) if reduce_slots is None else reduce_slots,
    )
    maps, each = len(blocks), len(blocks) + reduces
    sizes = [size] * maps if isinstance(size, float) else list(size)
    workload = Workload(
        [f"j{job}{kind}{at}" for job in range(jobs) for kind, n in (("m", maps), ("r", reduces)) for at in range(n)],
        job=np.repeat(np.arange(jobs), each),
        kind=([MAP] * maps + [REDUCE] * reduces) * jobs,
        replicas=Ragged.from_rows(([list(row) for row in blocks] + [[]] * reduces) * jobs),
        size=(sizes + [NAN] * reduces) * jobs,
        job_ids=[f"j{job}" for job in range(jobs)],
        filter_ratio=[ratio] * jobs,
    )
    return Traffic(Instance(cluster, workload, name="small"), **parameters)


#: Sharmilarani et al., note 10: three blocks in each of two of three datacenters, FP = 1.2.
EMPTY = posed([[1]] * 3 + [[2]] * 3, 1.2, nodes=[0, 1, 2])


@st.composite
def problems(draw: st.DrawFn, **fixed: str) -> Traffic:
    """Up to 5 tasks on 3 nodes in 3 datacenters: fractions, shuffles, tasks that run, tight slots, all parameters."""
    centers = draw(st.integers(1, 3))
    nodes = draw(st.integers(centers, 3))
    tasks = draw(st.integers(0, 5 if nodes < 3 else 4))

    def column(entry: st.SearchStrategy[Any], length: int = tasks) -> list[Any]:
        return [draw(entry) for _ in range(length)]

    kind = column(st.sampled_from([MAP, MAP, REDUCE]))
    job = column(st.sampled_from([0, 0, 1, -1]))
    status = column(st.sampled_from([PENDING] * 4 + [RUNNING, FINISHED]))
    unit = draw(st.sampled_from([1.0, 0.5, 0.1]))
    rows = column(st.lists(st.integers(0, nodes - 1), unique=True, max_size=2))
    pairs = [
        (one, other)
        for one, other in itertools.product(range(tasks), repeat=2)
        if (kind[one], kind[other]) == (MAP, REDUCE) and job[one] == job[other] >= 0
    ]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=4)) if pairs else []
    shuffle = None
    if chosen:
        sizes = np.array(column(st.integers(0, 9), len(chosen))) * unit
        ends = np.array(chosen)
        shuffle = Shuffle(ends[:, 0], ends[:, 1], sizes)
    cluster = Cluster(
        ["n 1", "n_1", "4"][:nodes],
        datacenter=[*range(centers), *column(st.integers(0, centers - 1), nodes - centers)],
        datacenter_ids=["d-1", "d_1", "D 1"][:centers],
        slots=[2] * nodes,
        reduce_slots=[2] * nodes,
    )
    workload = Workload(
        ["t-1", "t_1", "T 1", "e5", "5"][:tasks],
        kind=kind,
        job=job,
        job_ids=["j", "k"],
        replicas=Ragged.from_rows(rows),
        size=np.array(column(st.integers(0, 6))) * unit,
        filter_ratio=column(st.sampled_from([0.0, 0.5, 1.0, 1.2, 2.0]), 2),
        shuffle=shuffle,
    )
    state = State.initial(
        cluster,
        workload,
        status=status,
        node=[draw(st.integers(0, nodes - 1)) if entry != PENDING else -1 for entry in status],
        idle_slots=column(st.integers(0, 2), nodes),
        idle_reduce_slots=column(st.integers(0, 2), nodes),
    )
    chosen_parameters = {
        "capacity": draw(st.sampled_from(["none", "slots"])),
        "reduces": draw(st.sampled_from(["together", "free"])),
    }
    return Traffic(Instance(cluster, workload, state), **{**chosen_parameters, **fixed})
