"""A greedy rule that looks optimal on most small instances, and is not."""

from __future__ import annotations

from typing import Any

import numpy as np


def scarcest_first(problem: Any, rng: np.random.Generator) -> Any:
    """Tasks with the fewest replicas first, each to its first free node with data; the rest where there is room."""
    free = problem.capacity.copy()
    nodes = np.full(len(problem.tasks), -1)
    for task in np.argsort([len(held) for held in problem.replicas], kind="stable"):
        local = [node for node in problem.replicas[task] if free[node] > 0]
        if local:
            nodes[task] = local[0]
            free[local[0]] -= 1
    left = np.repeat(np.arange(len(free)), free)
    waiting = np.flatnonzero(nodes < 0)[: len(left)]
    nodes[waiting] = left[: len(waiting)]
    return nodes
