"""The family of generalised assignment of Chu and Beasley's kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from optsched.core.network import UNBOUNDED, FlowNetwork
from optsched.instances.generate import generate
from optsched.problems import MinCostFlow, problem
from optsched.routes import solve


@pytest.mark.parametrize("correlated", [0, 1, 2])
def test_generalized_assignment_family(correlated: int) -> None:
    """Tests the ranges of OR-Library's types C to E, that capacities are scarce, and that the problem can be posed."""
    instance = generate("generalized-assignment", seed=5, nodes=4, tasks=60, correlated=correlated)
    posed = problem("generalized-assignment", instance)
    cost, demand, capacity = posed.units, posed.demand[0], posed.capacity[0]
    assert np.array_equal(capacity, np.floor(0.8 * demand.sum(axis=0) / 4))
    if correlated == 2:
        assert demand.min() == 1
        assert 9 < demand.mean() < 13  # 11, but for chance
        assert (cost * demand <= 1000 + demand).all()
        assert (cost * demand >= 1000 - 11 * demand).all()
    elif correlated:
        assert (demand.min(), demand.max()) == (1, 100)
        assert set(np.unique(cost + demand)) <= set(range(101, 122))
    else:
        assert (demand.min(), demand.max(), cost.min(), cost.max()) == (5, 25, 10, 50)
    assert instance.labels["pairs"].startswith(f"drawn as type {'CDE'[correlated]} of OR-Library")
    assert len(problem("generalized-assignment", generate("generalized-assignment", tasks=0)).tasks) == 0


# The family of flow networks that are no placement --------------------------------------------------------------------


def test_min_cost_flow_family() -> None:
    """Tests that a drawn network has what it promises, and that every one has a flow and a least cost."""
    network = generate("min-cost-flow", seed=1, nodes=6, arcs=60, units=4)
    assert isinstance(network, FlowNetwork)
    assert (len(network), network.arcs, network.name) == (6, 60, "min-cost-flow-n6-a60-units4-seed1")
    ends = list(zip(network.tail.tolist(), network.head.tolist(), strict=True))
    assert len(set(ends)) < 60
    assert all(tail != head for tail, head in ends)
    free = network.capacity == UNBOUNDED
    for part in (free, ~free):
        assert network.cost[part].min() < 0 < network.cost[part].max()
    assert free.any()
    assert network.lower.max() > 0
    for seed in range(60):
        posed = MinCostFlow(generate("min-cost-flow", seed, nodes=4, arcs=9, parallel=0.5, unbounded=0.6, cost=seed))
        assert not posed.unlimited_cycle
        assert solve(posed).optimal


@pytest.mark.parametrize("sizes", [{"arcs": 0}, {"arcs": 1, "nodes": 2, "parallel": 1}, {"units": 0}, {"cost": 0}])
def test_min_cost_flow_family_at_its_ends(sizes: dict[str, Any]) -> None:
    """Tests that no arcs, one arc, nothing to send and nothing to pay are networks with a flow."""
    network = generate("min-cost-flow", **sizes)
    assert isinstance(network, FlowNetwork)
    assert network.arcs == sizes.get("arcs", 80)
    assert solve(MinCostFlow(network)).optimal
