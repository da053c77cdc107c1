"""Small networks for engines of least cost: how they are drawn, and how what an engine gives is checked."""

from __future__ import annotations

import numpy as np

from optsched.solvers.networks import UNBOUNDED, CheapestFlow, FlowStatus

Columns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def drawn(rng: np.random.Generator, nodes: int, arcs: int, unit: int = 1) -> Columns:
    """Tail, head, capacity, cost and supply of a small network, loops, parallel arcs and negative costs included."""
    tail, head = rng.integers(0, nodes, (2, arcs))
    capacity = np.where(rng.random(arcs) < 0.3, UNBOUNDED, unit * rng.integers(0, 6, arcs))
    supply = unit * rng.integers(-3, 4, nodes) * (rng.random() < 0.8)
    supply[-1] -= supply.sum()
    return tail, head, capacity, rng.integers(-2, [2, 6, 10**6][rng.integers(3)], arcs), supply


def checked(columns: Columns, found: CheapestFlow) -> tuple[FlowStatus, int | None]:
    """How an engine ended on a network, and what its flow costs: the flow checked, its potentials to prove it."""
    tail, head, capacity, cost, supply = columns
    if found.flow is None or found.potential is None:
        assert (found.flow, found.potential) == (None, None)
        assert found.status is not FlowStatus.OPTIMAL
        return found.status, None
    left = supply.copy()
    np.subtract.at(left, tail, found.flow)
    np.add.at(left, head, found.flow)
    assert not left.any()
    assert ((found.flow >= 0) & (found.flow <= capacity)).all()
    reduced = cost + found.potential[tail] - found.potential[head]
    assert (reduced[found.flow < capacity] >= 0).all()
    assert (reduced[found.flow > 0] <= 0).all()
    return FlowStatus.OPTIMAL, int((cost * found.flow).sum())
