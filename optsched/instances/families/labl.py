"""Families after Agosta et al.: servers with initial loads, tasks with 1 to rho_max replicas.

`latency` is the paper's model with free sizes, `labl` its experiment; `skewed-latency` and `hot-server` make its
heuristics fail. The paper calls a node a server.
"""

from __future__ import annotations

import numpy as np

from optsched.core.instance import Cluster, Floats, Ints, State, Workload
from optsched.instances.families.base import (
    LOST,
    Drawn,
    Family,
    Setting,
    distinct_nodes,
    numbered,
    optimum_label,
    replica_counts,
    require,
    require_distinct,
    zipf_weights,
)

#: Agosta et al., section 4: w_rem if w_loc is 1, also the default of the problem `latency`.
W_REM = 3

#: The label of loads drawn by `initial_loads`.
LOADS = (
    "assumed integers: the paper draws loads within [0, 5] and its algorithms step by 1; "
    "shifted so that the least is 0, as its section 3.1 normalises them"
)


def initial_loads(rng: np.random.Generator, nodes: int, largest: int) -> Floats:
    """Integer loads, uniform from 0 to `largest`, less their minimum: Agosta et al. require a server of load 0."""
    loads = rng.integers(0, largest, size=nodes, endpoint=True).astype(np.float64)
    normalised: Floats = loads - loads.min()
    return normalised


def _latency(
    rng: np.random.Generator,
    *,
    nodes: int,
    tasks: int,
    replicas: int,
    max_load: int,
    exponent: float | None = None,
    lost: float = 0.0,
) -> Drawn:
    """1 to `replicas` replicas, none of a share `lost`, on equally popular nodes, or by Zipf's law with `exponent`."""
    require_distinct(replicas, nodes)
    cluster = Cluster(numbered("n", nodes))
    loads = initial_loads(rng, nodes, max_load)
    counts = replica_counts(rng, tasks, replicas, lost)
    weights = None if exponent is None else zipf_weights(rng, nodes, exponent)
    workload = Workload(numbered("t", tasks), replicas=distinct_nodes(rng, counts, nodes, weights=weights))
    return Drawn(cluster, workload, State.initial(cluster, workload, load=loads), {"load": LOADS})


def _labl(rng: np.random.Generator, *, nodes: int, tasks: int, replicas: int, max_load: int, available: int) -> Drawn:
    """`_latency` with only the first `available` servers: Agosta et al., section 4.2."""
    require(available <= nodes, f"available is {available}; it must be at most nodes ({nodes})")
    drawn = _latency(rng, nodes=nodes, tasks=tasks, replicas=replicas, max_load=max_load)
    if not 0 < available < nodes:
        return drawn
    rows = drawn.workload.replicas
    cluster = Cluster(drawn.cluster.node_ids[:available])
    workload = Workload(drawn.workload.task_ids, replicas=rows.kept(rows.values < available))
    labels = {
        **drawn.labels,
        "available": f"the first {available} of {nodes} servers; replicas on the others are left out, "
        "so a task without any is remote everywhere",
    }
    return Drawn(cluster, workload, State.initial(cluster, workload, load=drawn.state.load[:available]), labels)


def hot_server_optimum(nodes: int, tasks: int) -> tuple[int, int]:
    """Makespan and work of the optimum when one of `nodes` idle servers holds all blocks (w_loc 1, w_rem 3).

    Within makespan L the hot server runs at most L tasks, and each other server at most floor(L/3), all remote. So L is
    feasible if and only if L + (nodes - 1) floor(L/3) >= tasks. The least work then has max(0, tasks - L) remote tasks.

    >>> hot_server_optimum(5, 20), hot_server_optimum(10, 40), hot_server_optimum(20, 100)
    ((9, 42), (12, 96), (15, 270))
    """
    limits = np.arange(tasks + 1)
    makespan = int(np.searchsorted(limits + (nodes - 1) * (limits // W_REM), tasks))
    return makespan, tasks + (W_REM - 1) * (tasks - makespan)


def _hot_server(rng: np.random.Generator, *, nodes: int, tasks: int) -> Drawn:
    cluster = Cluster(numbered("n", nodes))
    hot: Ints = np.full(tasks, rng.integers(0, nodes))
    workload = Workload(numbered("t", tasks), replicas=distinct_nodes(rng, np.ones(tasks, np.int64), nodes, first=hot))
    labels = {"optimum.latency": optimum_label(*hot_server_optimum(nodes, tasks))}
    return Drawn(cluster, workload, State.initial(cluster, workload), labels)


def _sizes(nodes: int, tasks: int, max_load: int) -> dict[str, Setting]:
    return {
        "nodes": Setting(nodes, "servers", 1, 10**6),
        "tasks": Setting(tasks, "tasks"),
        "replicas": Setting(4, "most replicas of a block, on different servers: 1 to this (rho_max)", 1, 1000),
        "max_load": Setting(max_load, "initial loads are integers from 0 to this, in units of work"),
    }


FAMILIES = (
    Family(
        "latency",
        "Agosta et al., section 4.",
        "Uniformly random replicas, 1 to R a task, on servers with uniformly random initial loads.",
        {**_sizes(200, 345, 5), "lost": LOST},
        _latency,
    ),
    Family(
        "labl",
        "Agosta et al., section 4, Figures 5 to 7.",
        "The paper's experiment; with fewer servers available, its scalability test on one placement.",
        {
            "nodes": Setting(2000, "servers", 1600, 2000),
            "tasks": Setting(3450, "tasks", 3200, 3500),
            "replicas": Setting(4, "most replicas of a block: 1 to this (rho_max)", 2, 7),
            "max_load": Setting(5, "initial loads are integers from 0 to this, in units of work", 5, 5),
            "available": Setting(0, "servers that take part, the first of all; 0: all of them", 0, 2000),
        },
        _labl,
    ),
    Family(
        "skewed-latency",
        "",
        "As latency, with replicas on popular servers (Zipf), where the heuristics of Agosta et al. fail.",
        {
            **_sizes(200, 345, 0),
            "exponent": Setting(1.0, "popularity falls as rank^-exponent; 0 is uniform", 0, 3),
        },
        _latency,
    ),
    Family(
        "hot-server",
        "",
        "One of several idle servers holds every block; the optimum is known.",
        {
            "nodes": Setting(10, "servers", 1, 10**6),
            "tasks": Setting(40, "tasks", 1),
        },
        _hot_server,
    ),
)
