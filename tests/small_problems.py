"""A small generated instance of every problem of the registry, for contract tests over all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from optsched.instances.generate import generate
from optsched.network import UNBOUNDED, FlowNetwork
from optsched.problems import PROBLEMS, AnyProblem, problem

__all__ = ["NAMES", "small_problem"]

#: Every problem of the registry.
NAMES = tuple(PROBLEMS)

_FAMILY = {"flow-congestion": "flow", "transmission-maps": "transmission", "transmission-reduces": "transmission"}
_SIZES: dict[str, dict[str, Any]] = {
    "latency": {"nodes": 4, "tasks": 5, "replicas": 2},
    "utility": {"nodes": 2, "types": 1, "jobs": 2, "maps": 2, "reduces": 1},
    "traffic": {"nodes": 3, "datacenters": 3, "tasks": 4, "jobs": 2, "reduces": 1},
}


def small_problem(name: str, seed: int, parameters: dict[str, Any] | None = None) -> AnyProblem:
    """The problem on an instance of its family with three nodes and five tasks or so; of a network, six arcs."""
    if name == "min-cost-flow":
        rng = np.random.default_rng(seed)
        tail, head = np.array([[0, 0, 1, 1, 2, 2, 3], [1, 2, 2, 3, 3, 1, 0]])
        capacity = np.where(rng.random(7) < 0.3, UNBOUNDED, rng.integers(2, 6, 7))
        network = FlowNetwork(
            ["a", "b", "c", "d"], tail, head, None, capacity, rng.integers(0, 9, 7), [2, 1, 0, -3], name="small"
        )
        return problem(name, network)
    sizes = _SIZES.get(name, {"nodes": 3, "tasks": 5})
    return problem(name, generate(_FAMILY.get(name, name), seed=seed, **sizes), **(parameters or {}))
