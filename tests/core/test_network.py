"""Tests of flow networks: defaults, faults, and the forms in which other tools take them."""

import io
import pickle
from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
from input_files import cut

from optsched.core.errors import InputError
from optsched.core.network import UNBOUNDED, FlowNetwork, negative_cycle


def transport() -> FlowNetwork:
    """Two parallel arcs, one without a limit, and a lower bound."""
    return FlowNetwork(
        ["s", "m", "t"],
        tail=[0, 0, 1],
        head=[1, 1, 2],
        lower=[0, 0, 2],
        capacity=[5, UNBOUNDED, 9],
        cost=[1, 4, 0],
        supply=[7, 0, -7],
        name="transport",
        labels={"costs": "assumed"},
    )


def test_columns_are_read_only() -> None:
    """Tests that no column can be written to, also after pickling."""
    network = transport()
    again = pickle.loads(pickle.dumps(network))
    assert again == network
    assert not any(isinstance(held, np.ndarray) and held.flags.writeable for held in vars(again).values())


def test_digest_reads_all_columns() -> None:
    """Tests that ids count for the digest, and names and labels do not; digests of families show that columns do."""
    base = FlowNetwork(["a", "b"], [0], [1])
    named = FlowNetwork(["a", "b"], [0], [1], name="x", labels={"a": "b"})
    assert named.sha256 == base.sha256
    assert named != base == FlowNetwork(["a", "b"], [0], [1])
    others = [FlowNetwork(["a", "c"], [0], [1]), FlowNetwork(["a", "b"], [0], [1], arc_ids=["x"])]
    assert len({other.sha256 for other in [base, *others]}) == 3


@pytest.mark.parametrize(
    ("make", "faults"),
    [
        (lambda: FlowNetwork(["a", "a"], [0], [1]), ['nodes[1].id: "a" is the id of nodes[0] already']),
        (lambda: FlowNetwork(["a"], [0, 0], [0, 0], arc_ids=["x", "x"]), ['arcs[1].id: "x" is the id of arcs[0]']),
        (lambda: FlowNetwork(["a"], [0, -1], [1, 0]), ["arcs[1].tail: there is no", "arcs[0].head: there is no"]),
        (lambda: FlowNetwork(["a"], [0], [0], lower=[3], capacity=[2]), ["arcs[0].lower: 3 is more than the"]),
        (
            lambda: FlowNetwork(["a"], [0, 0], [0, 0], lower=[-1, 0], capacity=[-5, 2**53 + 1], cost=[-(2**60), 2**60]),
            [
                "arcs[0].lower: -1 is negative",
                "arcs[0].capacity: -5 is negative",
                f"arcs[1].capacity: {2**53 + 1} is past 2^53",
                f"arcs[0].cost: {-(2**60)} is past 2^53",
                f"arcs[1].cost: {2**60} is past 2^53",
            ],
        ),
        (lambda: FlowNetwork(["a", "b"], [0], [1], supply=[2, -1]), ["nodes.supply: the supplies add up to 1, not 0:"]),
        (
            lambda: FlowNetwork(["a"], [0], [0, 0], cost=[1, 2]),
            ["arcs.head: has shape (2,), not arcs (1,)", "arcs.cost: has shape (2,), not arcs (1,)"],
        ),
    ],
)
def test_each_fault_has_its_place(make: Callable[[], FlowNetwork], faults: list[str]) -> None:
    """Tests that each kind of fault is found with its place and value."""
    with pytest.raises(InputError) as caught:
        make()
    assert cut(caught.value.faults, faults) == faults


def test_dimacs() -> None:
    """Tests the DIMACS text, and that the capacity it gives to an arc without a limit is no tighter than none."""
    assert transport().to_dimacs() == (
        "c transport\nc an arc of capacity 21 has none: no optimal flow needs more\np min 3 3\nn 1 7\nn 3 -7\n"
        "a 1 2 0 5 1\na 1 2 0 21 4\na 2 3 2 9 0\n"
    )
    bounded = FlowNetwork(["a"], [0], [0], capacity=[3])
    assert bounded.to_dimacs() == "p min 1 1\na 1 1 0 3 0\n"


def test_graphml_comes_back() -> None:
    """Tests that networkx takes the graph with its parallel arcs, and reads the GraphML text as the same graph."""
    network = transport()
    assert str(network) == "transport: 3 nodes, 3 arcs"
    assert network.to_networkx().edges["m", "t", "2"] == {"weight": 0, "lower": 2, "capacity": 9}
    again = nx.read_graphml(io.BytesIO(network.to_graphml().encode()), edge_key_type=str, force_multigraph=True)
    graph = network.to_networkx()
    assert dict(again.nodes(data=True)) == dict(graph.nodes(data=True))
    assert sorted(again.edges(keys=True, data=True)) == sorted(graph.edges(keys=True, data=True))


def test_enough_capacity_is_enough() -> None:
    """Tests that limiting an arc to `enough_capacity` changes no optimum, on random networks."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        nodes, arcs = 5, 12
        tail, head = rng.integers(0, nodes, arcs), rng.integers(0, nodes, arcs)
        capacity = np.where(rng.random(arcs) < 0.5, UNBOUNDED, rng.integers(0, 6, arcs))
        supply = rng.integers(-4, 5, nodes)
        supply[0] -= supply.sum()
        free = FlowNetwork(
            [str(n) for n in range(nodes)], tail, head, capacity=capacity, cost=rng.integers(0, 9, arcs), supply=supply
        )
        limited = np.where(capacity == UNBOUNDED, free.enough_capacity(), capacity)
        bound = FlowNetwork(free.node_ids, tail, head, capacity=limited, cost=free.cost, supply=supply)
        results = []
        for network in (free, bound):
            try:
                results.append(nx.network_simplex(network.to_networkx())[0])
            except nx.NetworkXUnfeasible:
                results.append(None)
        assert results[0] == results[1]


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
