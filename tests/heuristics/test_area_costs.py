"""Costs of maps by nested areas: those of the table of all pairs, to the last digit, whichever nodes are free."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.heuristics.area_costs import AreaCosts
from optsched.instance import Cluster, Ragged, Topology
from optsched.instances.families.sampling import distinct_nodes
from optsched.problems.distances import NestedAreas, cluster_areas, cluster_places
from optsched.problems.transmission_costs import map_costs


def racks(rng: np.random.Generator, nodes: int) -> Cluster:
    """Nodes in racks, some in none; hops from a node to itself may cost as well."""
    hops = dict(zip(("node", "rack", "off_rack"), np.cumsum(rng.integers(0, 4, size=3)).tolist(), strict=True))
    rack = rng.integers(-1, 3, size=nodes)
    return Cluster(
        [f"n{node}" for node in range(nodes)], rack=rack, rack_ids=["a", "b", "c"], topology=Topology("hops", hops=hops)
    )


@pytest.mark.parametrize("seed", range(12))
def test_as_the_table(seed: int) -> None:
    """Tests the cost on each node and the means while nodes fill up and free again, of racks and of one switch."""
    rng = np.random.default_rng(seed)
    nodes, maps = int(rng.integers(1, 9)), int(rng.integers(1, 12))
    cluster = racks(rng, nodes)
    if seed % 3 == 0:
        links = [(f"n{node}", "switch", 0.25) for node in range(nodes)]
        cluster = Cluster([f"n{node}" for node in range(nodes)], topology=Topology("links", links=links))
    nested = cluster_areas(cluster)
    assert nested is not None
    sizes = rng.integers(0, 200, size=maps).astype(np.float64)
    replicas = distinct_nodes(rng, rng.integers(1, min(3, nodes), size=maps, endpoint=True), nodes)
    assert AreaCosts.exact(nested, sizes)
    costs, table = AreaCosts(nested, sizes, replicas), map_costs(sizes, replicas, cluster_places(cluster))
    for _ in range(6):
        rows, free = np.flatnonzero(rng.random(maps) < 0.6), rng.random(nodes) < 0.7
        free[rng.integers(nodes)] = True
        for node in range(nodes):
            assert costs.on(rows, node).tolist() == table[rows, node].tolist()
        assert costs.means(rows, free).tolist() == table[rows][:, free].mean(axis=1).tolist()


def test_no_maps() -> None:
    """Tests that without maps there are no costs."""
    costs = AreaCosts(NestedAreas(np.zeros((1, 2), dtype=np.int64), np.array([0.0, 1.0])), np.zeros(0), Ragged.empty(0))
    assert costs.means(np.zeros(0, dtype=np.int64), np.ones(2, dtype=np.bool_)).tolist() == []


@pytest.mark.parametrize(("sizes", "lengths"), [([1.5], [0.0, 1.0]), ([1.0], [0.0, 0.1]), ([2.0**52], [0.0, 2.0])])
def test_sums_that_doubles_round_are_left_to_the_table(sizes: list[float], lengths: list[float]) -> None:
    """Tests that sizes or distances that are not whole, and sums past 2^53, are not counted by area."""
    nested = NestedAreas(np.zeros((1, 2), dtype=np.int64), np.array(lengths))
    assert not AreaCosts.exact(nested, np.array(sizes))
