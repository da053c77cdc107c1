"""A family after OR-Library's generalized assignment files (Chu, Beasley): demands and costs drawn, capacities scarce.

No paper of the five has such an experiment; `optsched import orlib-gap` reads the published files themselves.
"""

from __future__ import annotations

import numpy as np

from optsched.instance import Cluster, Pairs, State, Workload
from optsched.instances.families.base import Drawn, Family, Setting, share
from optsched.instances.families.sampling import numbered, some

__all__ = ["FAMILIES"]

#: Type C: uniform costs and demands, both ends included.
_COSTS, _DEMANDS = (10, 50), (5, 25)

#: Type E: a demand is 1 - 10 log(u), a cost 1000 over it less up to so much.
_LONG, _PRODUCT, _LESS = 10, 1000, 10

#: Type D: demands, and how far the sum of a pair's cost and demand is from their constant.
_WIDE_DEMANDS, _SUM, _AWAY = (1, 100), 111, (-10, 10)


def _draw(
    rng: np.random.Generator,
    *,
    nodes: int,
    tasks: int,
    tightness: float,
    correlated: int,
    resources: int,
    barred: float,
) -> Drawn:
    """Whole numbers; a node's capacity is `tightness` of what all tasks would take there, over the number of nodes."""
    shape = tasks, nodes
    if correlated == 2:
        demand = np.rint(1 - _LONG * np.log(1 - rng.random(size=shape)))
        cost = np.rint(_PRODUCT / demand - _LESS * rng.random(size=shape))
    elif correlated:
        demand = rng.integers(*_WIDE_DEMANDS, size=shape, endpoint=True)
        cost = _SUM - demand + rng.integers(*_AWAY, size=shape, endpoint=True)
    else:
        demand = rng.integers(*_DEMANDS, size=shape, endpoint=True)
        cost = rng.integers(*_COSTS, size=shape, endpoint=True)
    demands = {"weight": demand.astype(np.float64)}
    for number in range(2, resources + 1):
        demands[f"weight-{number}"] = rng.integers(*_DEMANDS, size=shape, endpoint=True).astype(np.float64)
    capacity = {name: np.floor(tightness * column.sum(axis=0) / nodes) for name, column in demands.items()}
    cluster = Cluster(numbered("n", nodes), capacity=capacity)
    allowed = None if not barred else ~some(rng, tasks * nodes, barred).reshape(shape)
    workload = Workload(
        numbered("t", tasks), pairs=Pairs(cost=cost.astype(np.float64), demand=demands, allowed=allowed)
    )
    labels = {
        "pairs": f"drawn as type {'CDE'[correlated]} of OR-Library's files; no cluster has these numbers",
        "feasible": "not known: scarce capacities may leave no placement",
    }
    return Drawn(cluster, workload, State.initial(cluster, workload), labels)


FAMILIES = (
    Family(
        "generalized-assignment",
        "OR-Library.",
        "Costs and demands of each pair drawn as in OR-Library's types C to E, capacities a share of the demand.",
        {
            "nodes": Setting(5, "nodes (agents)", 1, 10**4),
            "tasks": Setting(30, "pending tasks (jobs); the files have 15 to 200", 0, 10**5),
            "tightness": Setting(0.8, "capacity of each node, of what an equal part of all tasks would take", 0, 10),
            "correlated": Setting(
                0, "dear pairs take little in 1 (type D) and 2 (type E), which are hard; 0: type C", choices=(0, 1, 2)
            ),
            "resources": Setting(1, "resources that a task takes", 1, 100, later=True),
            "barred": share("pairs that are not allowed"),
        },
        _draw,
    ),
)
