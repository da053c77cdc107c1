"""Small problems of `generalized-assignment` for its tests: written out, drawn, and enumerated."""

from functools import partial
from typing import Any

import numpy as np
import strategies

from optsched.core.instance import Cluster, Instance, Pairs, Workload
from optsched.core.results import Value
from optsched.problems import GeneralizedAssignment
from optsched.solvers.searches.enumeration import best_placement


def posed(
    cost: list[list[float]],
    demand: dict[str, list[list[float]]] | None = None,
    capacity: dict[str, list[float]] | None = None,
    allowed: list[list[bool]] | None = None,
    **parameters: Any,
) -> GeneralizedAssignment:
    """The problem on tasks t0, ... and nodes n0, ..."""
    nodes = len(cost[0]) if cost else 1
    cluster = Cluster([f"n{node}" for node in range(nodes)], capacity=capacity or {})
    pairs = Pairs(np.array(cost, dtype=float).reshape(-1, nodes), demand or {}, allowed)
    workload = Workload([f"t{task}" for task in range(len(cost))], pairs=pairs)
    return GeneralizedAssignment(Instance(cluster, workload, name="small"), **parameters)


#: Two tasks want node n0, which has place for one.
SMALL = posed([[1, 4], [2, 9]], {"weight": [[2, 2], [2, 2]]}, {"weight": [2, 3]})


#: The optimum is 6; no prices prove more than 4.5, which is 5 in whole costs.
ODD = posed([[0, 3], [0, 3], [0, 3]], {"weight": [[2, 0], [2, 0], [2, 0]]}, {"weight": [3, 9]})


def enumerated(problem: GeneralizedAssignment) -> Value | None:
    """The optimum by trying every placement, None without a feasible one."""
    best = best_placement(problem)
    return best and best[0]


problems = partial(strategies.problems, "generalized-assignment")
