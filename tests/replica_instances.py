"""Tasks with replicas on nodes with few slots, and Guo et al.'s Figure 2."""

from typing import Any

import numpy as np

from optsched.core.instance import Cluster, Instance, Ragged, State, Workload
from optsched.problems import Lsap


def small(
    rows: list[list[int]],
    slots: list[int] | None = None,
    loads: list[int] | None = None,
    name: str = "small",
    **columns: Any,
) -> Instance:
    """Tasks t0, t1, ... with the given replicas on nodes n0, n1, ... with the given slots, by default one a task."""
    slots = [1] * len(rows) if slots is None else slots
    cluster = Cluster([f"n{node}" for node in range(len(slots))], slots=slots)
    workload = Workload([f"t{task}" for task in range(len(rows))], replicas=Ragged.from_rows(rows), **columns)
    return Instance(cluster, workload, State.initial(cluster, workload, load=loads), name=name)


def latency_at_scale(servers: int, tasks: int, seed: int) -> Instance:
    """Agosta et al., section 4: loads 0 to 5, 1 to 4 replicas."""
    rng = np.random.default_rng(seed)
    loads = rng.integers(0, 5, size=servers, endpoint=True).tolist()
    counts = rng.integers(1, 4, size=tasks, endpoint=True).tolist()
    rows = [rng.choice(servers, size=count, replace=False).tolist() for count in counts]
    return small(rows, [1] * servers, loads)


FIGURE_2 = small([[0, 1, 2], [0, 1], [0]], [1, 1, 1])


def racked(idle: list[int], rows: list[list[int]], **parameters: Any) -> Lsap:
    """Tasks with the given replicas on nodes a, b in rack r1, c in r2, and d in none."""
    cluster = Cluster(["a", "b", "c", "d"], rack=[0, 0, 1, -1], rack_ids=["r1", "r2"], slots=[3] * 4)
    return Lsap(Instance.initial(cluster, small(rows, [3] * 4).workload, idle_slots=idle), **parameters)


def instance_of(replicas: list[list[int]], nodes: int, **state: Any) -> Instance:
    """Tasks with these replicas on `nodes` nodes with one slot each, fit for every problem."""
    cluster = Cluster([f"n{node}" for node in range(nodes)], rate_in=[85.0] * nodes, rate_out=[85.0] * nodes)
    workload = Workload(
        [f"t{task}" for task in range(len(replicas))],
        replicas=Ragged.from_rows(replicas),
        rate_in=[3.0] * len(replicas),
        job=[0] * len(replicas),
        job_ids=["j"],
        job_group=[0],
        group_ids=["g"],
        group_weight=[1.0],
    )
    return Instance(cluster, workload, State.initial(cluster, workload, **state))
