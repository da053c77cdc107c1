"""Cycles of negative cost, against networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from optsched.core.network import negative_cycle


@pytest.mark.parametrize("seed", range(20))
def test_negative_cycle(seed: int) -> None:
    """Tests that a cycle is found exactly where networkx says that there is one, with costs up to 2^53, and is one."""
    rng = np.random.default_rng(seed)
    for _ in range(15):
        nodes, arcs = int(rng.integers(1, 9)), int(rng.integers(1, 20))
        tail, head = rng.integers(0, nodes, (2, arcs))
        largest = int(rng.choice([2, 5, 2**53]))
        cost = rng.integers(-largest, largest + 1, arcs) + rng.integers(0, 4) * largest // 3
        graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
        for start, end, weight in zip(tail.tolist(), head.tolist(), cost.tolist(), strict=True):
            graph.add_edge(start, end, weight=weight)
        cycle = negative_cycle(tail, head, cost, nodes)
        assert bool(cycle) == nx.negative_edge_cycle(graph)
        if cycle:
            assert sum(cost[cycle].tolist()) < 0
            assert head[cycle].tolist() == tail[[*cycle[1:], cycle[0]]].tolist()
            assert len(set(cycle)) == len(cycle)


def test_distances_past_int64() -> None:
    """Tests that no distance wraps round where costs near 2^53 add up past 2^63."""
    nodes = 2500
    tail = np.arange(nodes)
    cost = np.full(nodes, -(2**53))
    cost[-1] = (nodes - 1) * 2**53 if (nodes - 1) * 2**53 < 2**63 else 2**63 - 1
    assert negative_cycle(tail[:-1], tail[1:], cost[:-1], nodes) == []
    found = negative_cycle(tail, (tail + 1) % nodes, cost, nodes)
    assert len(found) == nodes
