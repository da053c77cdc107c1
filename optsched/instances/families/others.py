"""Families of what the five papers do not pose: generalized assignment, and flow networks that are no clusters.

Generalized assignment is after OR-Library's files (Chu, Beasley): demands and costs drawn, capacities scarce;
`optsched import orlib-gap` reads the published files themselves. Flow networks have arcs with bounds and costs, round a
flow that is drawn first. They have what files of others have and a placement's network has not: parallel arcs, negative
costs, arcs without a limit, lower bounds.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from optsched.core.instance import Cluster, Ints, Pairs, State, Workload
from optsched.core.network import UNBOUNDED, FlowNetwork
from optsched.instances.families.base import Drawn, Family, Setting, numbered, settings, share, some

#: Type C: uniform costs and demands, both ends included.
_COSTS, _DEMANDS = (10, 50), (5, 25)

#: Type E: a demand is 1 - 10 log(u), a cost 1000 over it less up to so much.
_LONG, _PRODUCT, _LESS = 10, 1000, 10

#: Type D: demands, and how far the sum of a pair's cost and demand is from their constant.
_WIDE_DEMANDS, _SUM, _AWAY = (1, 100), 111, (-10, 10)


def _draw(
    rng: np.random.Generator,
    *,
    nodes: Annotated[int, Setting(5, "nodes (agents)", 1, 10**4)],
    tasks: Annotated[int, Setting(30, "pending tasks (jobs); the files have 15 to 200", 0, 10**5)],
    tightness: Annotated[
        float, Setting(0.8, "capacity of each node, of what an equal part of all tasks would take", 0, 10)
    ],
    correlated: Annotated[
        int,
        Setting(0, "dear pairs take little in 1 (type D) and 2 (type E), which are hard; 0: type C", choices=(0, 1, 2)),
    ],
    resources: Annotated[int, Setting(1, "resources that a task takes", 1, 100, later=True)],
    barred: Annotated[float, share("pairs that are not allowed")],
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


def _network(
    rng: np.random.Generator,
    *,
    nodes: Annotated[int, Setting(20, "nodes", 2, 10**6)],
    arcs: Annotated[int, Setting(80, "arcs, between different nodes")],
    units: Annotated[int, Setting(9, "the drawn flow, and the room above it, is 0 to this on each arc", 0, 10**6)],
    cost: Annotated[int, Setting(20, "costs of arcs with a limit are uniform from minus this to this", 0, 10**6)],
    parallel: Annotated[float, Setting(0.2, "share of the arcs that have the ends of another one", 0, 1)],
    unbounded: Annotated[float, Setting(0.2, "chance of an arc to have no limit", 0, 1)],
    bounded_below: Annotated[
        float, Setting(0.2, "chance of an arc to have a lower limit, of 0 to the drawn flow", 0, 1)
    ],
) -> FlowNetwork:
    """Supplies and bounds are what a drawn flow of 0 to `units` on each arc leaves room for.

    An arc without a limit costs a number that is not negative, plus the potential of its tail less that of its head. So
    such arcs may have negative costs, and no cycle of them has. The costs of the others are uniform.
    """
    twins = max(0, min(int(parallel * arcs), arcs - 1))
    tail = rng.integers(0, nodes, size=arcs - twins)
    head = (tail + rng.integers(1, nodes, size=arcs - twins)) % nodes
    copied = rng.integers(0, max(arcs - twins, 1), size=twins)
    tail, head = np.append(tail, tail[copied]), np.append(head, head[copied])

    flow = rng.integers(0, units, size=arcs, endpoint=True)
    lower: Ints = np.where(rng.random(arcs) < bounded_below, rng.integers(0, flow, endpoint=True), 0)
    free = rng.random(arcs) < unbounded
    capacity = np.where(free, UNBOUNDED, flow + rng.integers(0, units, size=arcs, endpoint=True))

    potential = rng.integers(0, cost, size=nodes, endpoint=True)
    slack = rng.integers(0, cost, size=arcs, endpoint=True)
    limited = rng.integers(-cost, cost, size=arcs, endpoint=True)
    costs = np.where(free, slack + potential[tail] - potential[head], limited)

    supply = np.zeros(nodes, dtype=np.int64)
    np.add.at(supply, tail, flow)
    np.subtract.at(supply, head, flow)
    labels = {
        "feasible": "by construction: supplies and bounds are drawn round a flow",
        "bounded": "by construction: no cycle of arcs without a limit has a negative cost",
    }
    return FlowNetwork(numbered("n", nodes), tail, head, lower, capacity, costs, supply, labels=labels)


FAMILIES = (
    Family(
        "generalized-assignment",
        "OR-Library.",
        "Costs and demands of each pair drawn as in OR-Library's types C to E, capacities a share of the demand.",
        settings(_draw),
        _draw,
    ),
    Family(
        "min-cost-flow",
        "",
        "A flow network with a feasible flow: parallel arcs, negative costs, arcs without a limit, lower bounds.",
        settings(_network),
        _network,
    ),
)
