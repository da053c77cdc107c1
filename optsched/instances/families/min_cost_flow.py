"""A family of flow networks that are no clusters: arcs with bounds and costs, round a flow that is drawn first.

No paper poses minimum-cost flows by themselves. The family has what files of others have and a placement's network has
not: parallel arcs, negative costs, arcs without a limit, lower bounds.
"""

from __future__ import annotations

import numpy as np

from optsched.instance import Ints
from optsched.instances.families.base import Family, Setting
from optsched.instances.families.sampling import numbered
from optsched.network import UNBOUNDED, FlowNetwork

__all__ = ["FAMILIES"]


def _draw(
    rng: np.random.Generator,
    *,
    nodes: int,
    arcs: int,
    units: int,
    cost: int,
    parallel: float,
    unbounded: float,
    bounded_below: float,
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
        "min-cost-flow",
        "",
        "A flow network with a feasible flow: parallel arcs, negative costs, arcs without a limit, lower bounds.",
        {
            "nodes": Setting(20, "nodes", 2, 10**6),
            "arcs": Setting(80, "arcs, between different nodes"),
            "units": Setting(9, "the drawn flow, and the room above it, is 0 to this on each arc", 0, 10**6),
            "cost": Setting(20, "costs of arcs with a limit are uniform from minus this to this", 0, 10**6),
            "parallel": Setting(0.2, "share of the arcs that have the ends of another one", 0, 1),
            "unbounded": Setting(0.2, "chance of an arc to have no limit", 0, 1),
            "bounded_below": Setting(0.2, "chance of an arc to have a lower limit, of 0 to the drawn flow", 0, 1),
        },
        _draw,
    ),
)
