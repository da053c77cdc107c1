"""The family of flow networks that are no placement: each has a flow and a least cost."""

from __future__ import annotations

from typing import Any

import pytest

from optsched.core.network import UNBOUNDED
from optsched.instances.generate import generate
from optsched.problems import MinCostFlow
from optsched.routes import solve


def test_min_cost_flow_family() -> None:
    """Tests that a drawn network has what it promises, and that every one has a flow and a least cost."""
    network = generate("min-cost-flow", seed=1, nodes=6, arcs=60, units=4)
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
    assert network.arcs == sizes.get("arcs", 80)
    assert solve(MinCostFlow(network)).optimal
