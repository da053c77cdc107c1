"""Families after Guo et al. 2012: random replicas, idle slots drawn from all slots, groups with weights.

`lsap`, `fair-lsap`, `lsap-fairness` and `worst-group` are the paper's model with free sizes; `guo-fig4`, `guo-table3`,
`guo-table3-delay` and `guo-fairness` are its own experiments. The paper's multi-wave tests need one instance for each
wave, with another seed.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from optsched.core.instance import Cluster, Ints, Ragged, State, Workload
from optsched.instances.families.base import (
    LOST,
    Drawn,
    Family,
    Setting,
    distinct_nodes,
    idle_slots,
    numbered,
    racked,
    replica_counts,
    require,
    require_distinct,
    zipf_weights,
)

#: Weights of the five groups of Guo et al. 2012, section IV.B: 2^0 to 2^4, to be divided by their sum.
PAPER_WEIGHTS = (1.0, 2.0, 4.0, 8.0, 16.0)

_MORE = {
    "racks": Setting(1, "racks, of nearly equal numbers of nodes", 1, 10**6),
    "lost": LOST,
}


def locality_sizes(nodes: int, slots: int, idle_ratio: float, tasks: int, replicas: int) -> dict[str, Setting]:
    """Guo et al.'s parameters N, S, I, T, C (their Table I) with these defaults and wide ranges."""
    return {
        "nodes": Setting(nodes, "nodes (N)", 1, 10**6),
        "slots": Setting(slots, "slots of each node (S)", 1, 1000),
        "idle_ratio": Setting(idle_ratio, "share of all slots that is idle (I); their number is rounded", 0, 1),
        "tasks": Setting(tasks, "pending tasks (T)"),
        "replicas": Setting(replicas, "most replicas of a block, on different nodes: 1 to this (C)", 1, 1000),
    }


def locality_cluster(
    rng: np.random.Generator, nodes: int, slots: int, idle_ratio: float, racks: int = 1
) -> tuple[Cluster, Ints]:
    """A cluster of equal nodes, and the idle slots of each node: round(N S I) of all slots, at random."""
    return racked(nodes, racks, slots), idle_slots(rng, nodes, slots, round(nodes * slots * idle_ratio))


def _located(
    rng: np.random.Generator,
    *,
    nodes: int,
    slots: int,
    idle_ratio: float,
    tasks: int,
    replicas: int,
    racks: int = 1,
    exponent: float | None = None,
    exact: bool = False,
    lost: float = 0.0,
) -> tuple[Cluster, Ints, Ragged]:
    """A cluster, its idle slots, and the replicas of tasks: 1 to C a block, or with `exact` C, as in the paper.

    No node holds the blocks of a share `lost` of the tasks. The other blocks are on nodes that are equally popular, or
    popular by Zipf's law with `exponent`.
    """
    require_distinct(replicas, nodes)
    cluster, idle = locality_cluster(rng, nodes, slots, idle_ratio, racks)
    counts = np.full(tasks, replicas) if exact else replica_counts(rng, tasks, replicas, lost)
    weights = None if exponent is None else zipf_weights(rng, nodes, exponent)
    return cluster, idle, distinct_nodes(rng, counts, nodes, weights=weights)


def _uniform(rng: np.random.Generator, **sizes: Any) -> Drawn:
    """Tasks without groups; `sizes` are those of `_located`."""
    cluster, idle, replicas = _located(rng, **sizes)
    workload = Workload(numbered("t", len(replicas)), replicas=replicas)
    return Drawn(cluster, workload, State.initial(cluster, workload, idle_slots=idle))


#: Replicas as in the paper: each block has exactly C.
_exact = partial(_uniform, exact=True)


def one_job_a_group(replicas: Ragged, group: Ints, groups: int, **weights: Any) -> Workload:
    """Maps of some groups with one job each; `group` is the group of each map; `group_weight` may be given."""
    return Workload(
        numbered("t", len(replicas)),
        replicas=replicas,
        job=group,
        job_ids=numbered("j", groups),
        job_group=np.arange(groups),
        group_ids=numbered("g", groups),
        **weights,
    )


def _grouped(
    rng: np.random.Generator, cluster: Cluster, idle: Ints, replicas: Ragged, weights: tuple[float, ...]
) -> Drawn:
    """One job a group; pending tasks and busy slots belong to groups drawn uniformly at random."""
    require(sum(weights) > 0, "weights must not all be 0")
    groups = len(weights)
    busy = int(cluster.slots.sum() - idle.sum())
    group = rng.integers(0, groups, size=len(replicas))
    workload = one_job_a_group(replicas, group, groups, group_weight=np.array(weights))
    running = np.bincount(rng.integers(0, groups, size=busy), minlength=groups)
    labels = {
        "groups": "each pending task's group is assumed uniformly random, as the paper draws those of running tasks",
    }
    state = State.initial(cluster, workload, idle_slots=idle, group_running_tasks=running)
    return Drawn(cluster, workload, state, labels)


def _fair(rng: np.random.Generator, *, weights: tuple[float, ...], **sizes: Any) -> Drawn:
    """Groups added to `_located`; every busy slot runs a task of some group."""
    return _grouped(rng, *_located(rng, **sizes), weights)


def _competing_groups(rng: np.random.Generator, *, groups: int, **sizes: Any) -> Drawn:
    """One job a group, large and small ones; the data of all is on popular nodes."""
    cluster, idle, rows = _located(rng, **sizes)
    sizes_of_groups = zipf_weights(rng, groups, 1.0)
    owner = distinct_nodes(rng, np.ones(len(rows), dtype=np.int64), groups, weights=sizes_of_groups)
    workload = one_job_a_group(rows, owner.values, groups)
    return Drawn(cluster, workload, State.initial(cluster, workload, idle_slots=idle))


def _fairness_experiment(rng: np.random.Generator) -> Drawn:
    """Guo et al. 2012, section IV.B; only its DLC varies, and that is the problem's `alpha`."""
    cluster, idle = locality_cluster(rng, nodes=60, slots=1, idle_ratio=0.5)
    return _grouped(rng, cluster, idle, distinct_nodes(rng, np.full(90, 1), 60), PAPER_WEIGHTS)


_GROUPED = {
    **locality_sizes(60, 1, 0.5, 90, 1),
    "weights": Setting(PAPER_WEIGHTS, "weights of the groups, divided by their sum", 0, 10**6),
    **_MORE,
}

FAMILIES = (
    Family(
        "lsap",
        "Guo et al. 2012, section III.B.",
        "Uniformly random replicas, 1 to R a task; idle slots drawn from all slots.",
        {**locality_sizes(100, 1, 0.5, 50, 3), **_MORE},
        _uniform,
    ),
    Family(
        "fair-lsap",
        "Guo et al. 2012, section IV.B.",
        "As lsap, with weighted groups whose pending and running tasks are random.",
        _GROUPED,
        _fair,
    ),
    Family(
        "lsap-fairness",
        "Guo et al. 2012, section IV.B.",
        "As fair-lsap: the same instances, for the frontier of locality and fairness.",
        _GROUPED,
        _fair,
    ),
    Family(
        "worst-group",
        "",
        "As skewed-lsap, with groups of very different size (Zipf) that compete for the popular nodes.",
        {
            **locality_sizes(60, 1, 0.5, 30, 2),
            "groups": Setting(5, "groups", 1, 1000),
            **_MORE,
            "exponent": Setting(1.0, "popularity of nodes falls as rank^-exponent; 0 is uniform", 0, 3),
        },
        _competing_groups,
    ),
    Family(
        "skewed-lsap",
        "",
        "As lsap, with replicas on popular nodes (Zipf), where greedy choices cost most.",
        {
            **locality_sizes(100, 1, 0.5, 50, 3),
            **_MORE,
            "exponent": Setting(1.0, "popularity falls as rank^-exponent; 0 is uniform", 0, 3),
        },
        _uniform,
    ),
    Family(
        "guo-fig4",
        "Guo et al. 2012, section IV.A, Figure 4.",
        "dl-sched against lsap-sched: 1 slot a node, half of them idle; Figure 4(c) has tasks = nodes/2.",
        {
            "nodes": Setting(100, "nodes (N); 10 to 200 in steps of 10 in Figure 4(c)", 10, 200),
            "slots": Setting(1, "slots of each node (S)", 1, 1),
            "idle_ratio": Setting(0.5, "share of all slots that is idle (I)", 0.5, 0.5),
            "tasks": Setting(50, "pending tasks (T); 1 to 50 in Figure 4(a)", 1, 100),
            "replicas": Setting(5, "replicas of each block (C); 1 to 19 in Figure 4(b), and N", 1, 200),
        },
        _exact,
    ),
    Family(
        "guo-table3",
        "Guo et al. 2012, section IV.C, Table III.",
        "Factors of data locality: one of the parameters varies, the others keep the defaults.",
        {
            "nodes": Setting(1000, "nodes (N), in steps of 100", 300, 5000),
            "slots": Setting(2, "slots of each node (S)", 1, 32),
            "idle_ratio": Setting(0.1, "share of all slots that is idle (I), in steps of .02", 0.01, 1),
            "tasks": Setting(300, "pending tasks (T), powers of 2", 1, 2**13),
            "replicas": Setting(3, "replicas of each block (C)", 1, 20),
        },
        _exact,
    ),
    Family(
        "guo-table3-delay",
        "Guo et al. 2012, section IV.C, Table III, last column, and Figure 7(b).",
        "The environment of the delay scheduling paper: 1500 nodes, 2 slots each, 1 % idle, 3 replicas.",
        {"tasks": Setting(256, "pending tasks (T), powers of 2", 2**4, 2**13)},
        partial(_exact, nodes=1500, slots=2, idle_ratio=0.01, replicas=3),
    ),
    Family(
        "guo-fairness",
        "Guo et al. 2012, section IV.B, Figure 5.",
        "60 nodes with 1 slot, half idle, 1 replica, 30 running and 90 pending tasks of five groups.",
        {},
        _fairness_experiment,
    ),
)
