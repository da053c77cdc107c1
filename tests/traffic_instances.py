"""Small problems of `traffic` for its tests: written out, drawn, and enumerated."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
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
from optsched.core.results import Value
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


def crossing(problem: Traffic, nodes: Sequence[int]) -> float:
    """MB that cross, pair by pair, from the instance alone."""
    instance, workload, state = problem.instance, problem.instance.workload, problem.instance.state
    center, pending = instance.cluster.datacenter, set(problem.tasks.tolist())
    where = dict(zip(problem.tasks.tolist(), center[list(nodes)].tolist() if len(nodes) else [], strict=True))
    where |= {task: int(center[state.node[task]]) for task in range(len(workload)) if state.node[task] >= 0}
    total = 0.0
    for task in pending:
        if workload.kind[task] == MAP and where[task] not in set(center[instance.replicas[task]].tolist()):
            total += float(workload.size[task])
    sent: dict[tuple[int, int], float] = {}
    listed = set()
    if workload.shuffle is not None:
        for one, other, size in zip(workload.shuffle.map, workload.shuffle.reduce, workload.shuffle.size, strict=True):
            sent[one, other] = sent.get((one, other), 0.0) + float(size)
            listed.add(int(workload.job[one]))
    for one, other in itertools.product(range(len(workload)), repeat=2):
        job = int(workload.job[one])
        if (workload.kind[one], workload.kind[other]) != (MAP, REDUCE) or job < 0 or job != workload.job[other]:
            continue
        if not {one, other} & pending or state.status[other] == FINISHED or where[one] == where[other]:
            continue
        if job in listed:
            total += sent.get((one, other), 0.0)
        else:
            each = np.count_nonzero((workload.job == job) & (workload.kind == REDUCE))
            total += float(workload.size[one] * workload.filter_ratio[job] / each)
    return total


def front(problem: Traffic) -> list[Value]:
    """Every Pareto-optimal value by trying every placement."""
    nodes, tasks = len(problem.instance.cluster), len(problem.tasks)
    values = set()
    for hosts in itertools.product(range(nodes), repeat=tasks):
        placement = problem.placement(np.array(hosts, dtype=np.int64))
        if not problem.violations(placement):
            values.add(problem.evaluate(placement))
            assert float(problem.evaluate(placement)[0]) == pytest.approx(crossing(problem, hosts), abs=1e-4)
    found: list[Value] = []
    for value in sorted(values):
        if not found or value[1] < found[-1][1]:
            found.append(value)
    return found


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
