"""Tiny instances of every problem for hypothesis, and their optima by enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import strategies as st

from optsched.instance import RUNNING, Cluster, Instance, Ragged, State, Workload
from optsched.placement import NONE
from optsched.problems import FairLsap, Flow, Latency, Lsap, LsapFairness, Problem, TransmissionReduces
from optsched.results import Value

# Ids that a careless name for a file would confuse.
NODE_IDS = ["n 1", "n_1", "n.1", "4"]
TASK_IDS = ["t-1", "t_1", "T 1", "e5", "t.1"]

small = st.integers(0, 3)


@st.composite
def racks(draw: st.DrawFn, nodes: int) -> dict[str, Any]:
    """Rack columns of a cluster: none, or up to two racks and nodes without one."""
    if draw(st.booleans()):
        return {}
    return {"rack": draw(st.lists(st.integers(-1, 1), min_size=nodes, max_size=nodes)), "rack_ids": ["r1", "r-1"]}


@st.composite
def replicas(draw: st.DrawFn, tasks: int, nodes: int) -> Ragged:
    """Up to two replicas a task; equal rows are likely, so that classes have several members."""
    kinds = draw(st.lists(st.sets(st.integers(0, nodes - 1), max_size=2), min_size=1, max_size=3))
    return Ragged.from_rows([sorted(draw(st.sampled_from(kinds))) for _ in range(tasks)])


@st.composite
def sizes(draw: st.DrawFn) -> tuple[int, int]:
    """Numbers of tasks and nodes."""
    return draw(st.integers(0, 5)), draw(st.integers(1, 4))


def column(draw: st.DrawFn, entry: st.SearchStrategy[Any], length: int) -> list[Any]:
    """`length` draws of `entry`."""
    return draw(st.lists(entry, min_size=length, max_size=length))


@st.composite
def lsap_problems(draw: st.DrawFn) -> Lsap:
    """`lsap` with and without racks, zero to two idle slots a node, several levels."""
    tasks, nodes = draw(sizes())
    cluster = Cluster(NODE_IDS[:nodes], slots=[2] * nodes, **draw(racks(nodes)))
    workload = Workload(TASK_IDS[:tasks], replicas=draw(replicas(tasks, nodes)))
    state = State.initial(cluster, workload, idle_slots=column(draw, st.integers(0, 2), nodes))
    levels = draw(st.sampled_from([(0, 1, 1), (0, 1, 2), (0, 0, 3), (1, 4, 5), (0, 0, 0)]))
    return Lsap(Instance(cluster, workload, state), levels=levels)


@st.composite
def grouped_instances(draw: st.DrawFn) -> Instance:
    """Tasks of one to three groups with weights and running maps."""
    tasks, nodes = draw(sizes())
    groups = draw(st.integers(1, 3))
    cluster = Cluster(NODE_IDS[:nodes], slots=[3] * nodes, **draw(racks(nodes)))
    workload = Workload(
        TASK_IDS[:tasks],
        replicas=draw(replicas(tasks, nodes)),
        job=column(draw, st.integers(0, groups - 1), tasks),
        job_ids=[f"j{group}" for group in range(groups)],
        job_group=list(range(groups)),
        group_ids=["g", "g 1", "g_1"][:groups],
        group_weight=column(draw, st.sampled_from([1.0, 2.0, 0.3]), groups),
        group_running_tasks=column(draw, st.integers(0, 3), groups),
    )
    state = State.initial(cluster, workload, idle_slots=column(draw, st.integers(0, 2), nodes))
    return Instance(cluster, workload, state)


@st.composite
def fair_lsap_problems(draw: st.DrawFn) -> FairLsap:
    """`fair-lsap` with every variant of its parameters."""
    return FairLsap(
        draw(grouped_instances()),
        alpha=draw(st.sampled_from([0, 20, 50, 0.3])),
        gfc=draw(st.sampled_from(["ratio", "difference"])),
        selection=draw(st.sampled_from(["fixed", "free"])),
        overflow=draw(st.sampled_from(["weight", "complement", "flat", "naive"])),
        fairness=draw(st.sampled_from([0, 1, 0.7])),
    )


@st.composite
def lsap_fairness_problems(draw: st.DrawFn) -> LsapFairness:
    """`lsap-fairness` with both distances."""
    return LsapFairness(draw(grouped_instances()), distance=draw(st.sampled_from(["absolute", "relative"])))


@st.composite
def flow_problems(draw: st.DrawFn) -> Flow:
    """`flow` with two types of tasks, loads, racks and a running map."""
    tasks, nodes = draw(sizes())
    rate = st.sampled_from([3.04, 9.14, 0.23])
    cluster = Cluster(
        NODE_IDS[:nodes],
        slots=[2] * nodes,
        rate_in=[85.0] * nodes,
        rate_out=[85.0] * nodes,
        out_in_use=column(draw, st.sampled_from([0.0, 40.0]), nodes),
        **draw(racks(nodes)),
    )
    rows = [row.tolist() for row in draw(replicas(tasks, nodes))]
    running = draw(st.integers(0, 2))
    workload = Workload(
        [*TASK_IDS[:tasks], *(f"busy{row}" for row in range(running))],
        replicas=Ragged.from_rows([*rows, *([] for _ in range(running))]),
        rate_in=column(draw, rate, tasks + running),
    )
    state = State.initial(
        cluster,
        workload,
        idle_slots=column(draw, st.integers(0, 2), nodes),
        status=[0] * tasks + [RUNNING] * running,
        node=[-1] * tasks + column(draw, st.integers(0, nodes - 1), running),
    )
    return Flow(
        Instance(cluster, workload, state),
        f_c=draw(st.sampled_from([(0, 0.1, 1), (0, 0, 0)])),
        scale=draw(st.sampled_from(["rate_in", 1])),
        include_task=draw(st.booleans()),
    )


@st.composite
def latency_problems(draw: st.DrawFn) -> Latency:
    """`latency` with loads, and with weights that do and do not divide each other."""
    tasks, nodes = draw(sizes())
    cluster = Cluster(NODE_IDS[:nodes])
    workload = Workload(TASK_IDS[:tasks], replicas=draw(replicas(tasks, nodes)))
    state = State.initial(cluster, workload, load=column(draw, st.sampled_from([0, 0, 1, 2, 5, 20]), nodes))
    w_loc, w_rem = draw(st.sampled_from([(1, 3), (1, 1), (2, 3), (2, 4), (3, 5)]))
    return Latency(Instance(cluster, workload, state), w_loc=w_loc, w_rem=w_rem)


def values(problem: Problem) -> set[Value]:
    """Values of all feasible placements."""
    tasks, nodes = len(problem.tasks), len(problem.instance.cluster)
    capacity = getattr(problem, "capacity", np.full(nodes, tasks))
    left_out = tasks - getattr(problem, "count", tasks)
    choices = [node for node in range(nodes) if capacity[node]] + [NONE] * bool(left_out)
    found = set()
    for answer in itertools.product(choices, repeat=tasks):
        if answer.count(NONE) == left_out and all(
            answer.count(node) <= capacity[node] for node in set(answer) - {NONE}
        ):
            placement = problem.placement(np.array(answer, dtype=np.int64))
            if not isinstance(problem, TransmissionReduces) or not problem.violations(placement):
                found.add(problem.objective(placement))
    return found
