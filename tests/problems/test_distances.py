"""Distances of nodes: each form of a topology, faults with their places, one matrix a cluster, and nearest replicas."""

import itertools
import re
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import nested
from transmission_instances import DISTANCES

from optsched.core.errors import InputError, MissingField
from optsched.core.instance import Cluster, Instance, Ragged, State, Topology, Workload
from optsched.problems import distances as module
from optsched.problems.distances import NearestAreas, cluster_places, distances, nested_areas, whole_areas, whole_places

NAMES = ["a", "b", "c", "d"]


def whole_distances(instance: Instance) -> tuple[Any, int] | None:
    """The matrix of the exact distances, and the denominator of their unit."""
    found = whole_places(instance)
    return None if found is None else (found[0].matrix, found[1])


def posed(topology: Topology | None, nodes: int = 3, **columns: Any) -> Instance:
    """An instance of nodes alone."""
    return Instance(Cluster(NAMES[:nodes], topology=topology, **columns), Workload([]), name="few")


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        # Shen et al.'s own distances stay, though 10 = h(2,3) > h(2,1) + h(1,3) (Shen et al. 2016, note 6).
        (Topology("distance", DISTANCES), DISTANCES),
        # Entries are from row to column, also of rates; a rate of a node with itself does not matter.
        (Topology("distance", [[0, 1, 2], [3, 0, 4], [5, 6, 0]]), [[0, 1, 2], [3, 0, 4], [5, 6, 0]]),
        (Topology("rate", [[0.0, 2.0], [4.0, 7.0]]), [[0, 0.5], [0.25, 0]]),
        (Topology("links", links=()), []),
        (Topology("links", links=(("a", "b", 2.0**-53),)), [[0, 2.0**53], [2.0**53, 0]]),  # the slowest that joins
    ],
)
def test_each_matrix(topology: Topology, expected: list[list[float]]) -> None:
    """Tests the distances of a topology that lists them, by hand."""
    assert distances(posed(topology, len(expected))).tolist() == expected


def test_snapshots_share_the_matrix() -> None:
    """Tests that a matrix is computed once a cluster, and cannot be written to."""
    instance = posed(Topology("distance", DISTANCES), 4)
    later = instance.with_state(State.initial(instance.cluster, instance.workload, idle_slots=[0] * 4))
    assert distances(later) is distances(instance)
    assert whole_places(later) is whole_places(instance)
    assert not distances(instance).flags.writeable
    assert not whole_distances(instance)[0].flags.writeable
    assert distances(posed(Topology("distance", DISTANCES), 4)) is not distances(instance)


def test_missing_topology() -> None:
    """Tests that an absent topology is a missing field, with its forms."""
    with pytest.raises(MissingField, match=r"few: topology: .* give one of distance, hops, rate and links"):
        distances(posed(None))


@pytest.mark.parametrize(
    ("topology", "faults"),
    [
        (
            Topology("rate", [[0.0, 0.0, 1.0], [1.0, 0.0, 5e-324], [1.0, 1.0, 0.0]]),
            [r"topology.rate\[0\]\[1\]: .*give one in MB/s, above 0", r"topology.rate\[1\]\[2\]"],
        ),
        (Topology("links", links=(("a", "b", 1.0), ("c", "s", 1.0))), ['topology.links: .* "c" .*"a"']),
        (Topology("links", links=(("a", "b", 1.0), ("c", "a", 5e-324))), ['topology.links: .* "c" .*"a"']),
        (Topology("links", links=(("a", "c", 1.0), ("b", "s", 1.0))), ['topology.links: .* "b" .*"a"']),
        (
            Topology("links", links=(("a", "c", 1.0), ("b", "a", 2.0**-53 - 2.0**-100))),
            ['topology.links: .* "b" .*"a"'],
        ),
    ],
)
def test_places_that_nothing_joins(topology: Topology, faults: list[str]) -> None:
    """Tests that each rate of 0, or too small to divide by, and each node that no path joins to the first is named."""
    with pytest.raises(InputError) as caught:
        distances(posed(topology))
    for fault, pattern in zip(caught.value.faults, faults, strict=True):
        assert re.match(pattern, str(fault))


def test_too_many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a matrix which would fill the memory is refused with the limit, of nodes or of their places."""
    hops = Topology("hops", hops={"node": 0, "rack": 1, "off_rack": 2})
    assert distances(posed(hops)).shape == (3, 3)
    monkeypatch.setattr(module, "MOST_NODES", 2)
    with pytest.raises(InputError, match="few: topology: 3 nodes have no dense matrix of distances here: 2 at most"):
        distances(posed(hops))
    below = nested_areas(posed(Topology("links", links=[(node, "s", 1.0) for node in "abcd"]), 4))
    assert (below.areas.tolist(), below.lengths.tolist()) == ([[0] * 4], [0, 2])  # few switches need no matrix
    text = r"few: topology: nodes at {} places have no dense matrix .*: 2 places at most"
    parted = Topology("links", links=[(node, "s", 1.0 + at) for at, node in enumerate("abcd")])
    with pytest.raises(InputError, match=text.format(4)):
        nested_areas(posed(parted, 4))
    for form in ("distance", "rate"):
        matrix = np.ones((3, 3)) - np.eye(3) * (form == "distance")
        with pytest.raises(InputError, match=text.format(3)):
            cluster_places(posed(Topology(form, matrix)).cluster, "few")


@pytest.mark.parametrize(
    ("form", "entry", "expected"),
    [
        ("distance", 0.5, (1, 2)),
        ("distance", 2.0**53, (2**53, 1)),
        ("distance", 2.0**51 + 0.5, (2**52 + 1, 2)),
        ("distance", 1000000000000000.1, None),  # past 2^53 tenths
        ("distance", 2.0**-20, (1, 2**20)),
        ("distance", 2.0**-21, None),
        ("rate", 4.0, (1, 4)),
        ("rate", 2.0**20, (1, 2**20)),
        ("rate", 2.0**20 + 1, None),
        ("rate", 2e-16, (5 * 10**15, 1)),
        ("rate", 1.5e-16, None),  # 2 * 10^16 / 3 seconds
    ],
)
def test_whole_distances(form: str, entry: float, expected: tuple[int, int] | None) -> None:
    """Tests numerator and denominator of a distance between two nodes, up to the finest grid and the largest number."""
    found = whole_distances(posed(Topology(form, [[0.0, entry], [entry, 0.0]]), 2))
    assert (found and (found[0].tolist(), found[1])) == (
        expected and ([[0, expected[0]], [expected[0], 0]], expected[1])
    )


@given(nested())
def test_nested_areas(instance: Instance) -> None:
    """Tests that areas say of each pair of nodes what the matrix says, plainly and in whole units."""
    found, exactly, whole = nested_areas(instance), whole_areas(instance), whole_distances(instance)
    node = np.arange(len(instance.cluster))
    level = found.level(node[:, None], node)
    assert found.lengths[level].tolist() == distances(instance).tolist()
    assert (exactly[0].lengths[level].tolist(), exactly[1]) == (whole[0].tolist(), whole[1])
    assert nested_areas(instance) is found
    for inner, outer in itertools.pairwise(found.areas):  # each area is within one of the next level
        assert len(np.unique(np.stack([inner, outer]), axis=1)[0]) == inner.max() + 1 > outer.max() + 1


def test_distances_that_are_no_nested_areas() -> None:
    """Tests that matrices, racks nearer than nodes, and uneven links have none; nor has no node at all."""
    hops = Topology("hops", hops={"node": 3, "rack": 2, "off_rack": 4})
    line = [(f"n{at}", f"n{at + 1}", 1.0 + at) for at in range(8)]
    many = [("a", f"s{end}", 1.0 + end) for end in range(20)] + [("a", "b", 3.0)]
    for instance in (
        posed(Topology("distance", DISTANCES), 4),
        Instance(Cluster(["a", "b"], rack=[0, 0], rack_ids=["r"], topology=hops), Workload([])),
        posed(hops, 0),
        posed(Topology("links", links=()), 0),
        posed(Topology("links", links=[("a", "s", 1.0), ("b", "s", 2.0), ("c", "s", 3.0)])),
        posed(Topology("links", links=[("a", "s", 1.0), ("b", "s", 1.0), ("c", "s", 40.0)])),  # c is nearer to a than b
        Instance(Cluster([f"n{at}" for at in range(9)], topology=Topology("links", links=line)), Workload([])),
    ):
        assert nested_areas(instance) is None
    assert whole_areas(posed(Topology("rate", [[1.0, 2.0], [2.0, 1.0]]), 2)) is None
    assert nested_areas(posed(Topology("links", links=many), 2)) is not None
    with pytest.raises(MissingField, match="give one of distance, hops, rate and links"):
        nested_areas(posed(None))


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Up to nine nodes: below switches that links join in any way, or in racks that may be nearer than nodes."""
    nodes = draw(st.integers(1, 9))
    ids = [f"n{node}" for node in range(nodes)]
    if draw(st.booleans()):
        levels = {name: draw(st.integers(0, 6)) / 2 for name in ("node", "rack", "off_rack")}
        rack = draw(st.lists(st.integers(-1, 2), min_size=nodes, max_size=nodes))
        return Cluster(ids, rack=rack, rack_ids=["r", "s", "t"], topology=Topology("hops", hops=levels))
    switches = [f"s{number}" for number in range(draw(st.integers(1, 3)))]
    rate = st.sampled_from([1.0, 2.0, 3.0, 0.7])
    links = [(one, other, draw(rate)) for one, other in itertools.combinations(switches, 2)]
    links += [(node, draw(st.sampled_from(switches)), draw(rate)) for node in ids]
    links += draw(st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(ids + switches), rate), max_size=2))
    return Cluster(ids, topology=Topology("links", links=links))


def pair_by_pair(cluster: Cluster) -> list[list[float]]:
    """Distances by racks, or along the links by Floyd and Warshall, with no notion of places."""
    topology, each = cluster.topology, range(len(cluster))
    if topology.hops is not None:
        hops, rack = topology.hops, cluster.rack.tolist()
        near = [["rack" if rack[one] == rack[other] != -1 else "off_rack" for other in each] for one in each]
        return [[hops["node" if one == other else near[one][other]] for other in each] for one in each]
    graph = networkx.MultiGraph()
    for one, other, rate in topology.links:
        graph.add_edge(one, other, weight=1 / rate)
    walked = networkx.floyd_warshall(graph)
    return [[walked[one][other] for other in cluster.node_ids.tolist()] for one in cluster.node_ids.tolist()]


@given(clusters(), st.data())
def test_places_are_the_matrix(cluster: Cluster, data: st.DataObject) -> None:
    """Tests that rows, pairs, nearest nodes and sums by places are the matrix's, number for number, either way."""
    plain = distances(Instance(cluster, Workload([])))
    assert np.allclose(plain, pair_by_pair(cluster), rtol=1e-12, atol=0)
    instance = Instance(cluster, Workload([]))
    forms = [(cluster_places(cluster), plain)]
    whole, matrix = whole_places(instance), whole_distances(instance)
    if whole is not None and matrix is not None:
        assert whole[1] == matrix[1]
        assert np.allclose(matrix[0], matrix[1] * plain, rtol=1e-9, atol=0)
        forms.append((whole[0], matrix[0]))
    node = st.integers(0, len(cluster) - 1)
    some = np.array(data.draw(st.lists(node, min_size=1, max_size=5)))
    columns = np.array(data.draw(st.permutations(range(len(cluster)))))[: data.draw(st.integers(1, len(cluster)))]
    rows = Ragged.from_rows(data.draw(st.lists(st.lists(node, min_size=1, unique=True), max_size=3)))
    weights = np.array([data.draw(st.lists(st.integers(0, 9), min_size=len(cluster), max_size=len(cluster)))]) * 1.0
    for places, dense in forms:
        assert places.matrix.tolist() == dense.tolist()
        assert places.longest == dense.max()
        for found, expected in ((places, dense), (places.backwards(), dense.T)):
            assert found.rows(some).tolist() == expected[some].tolist()
            assert found.rows(some, columns).tolist() == expected[some][:, columns].tolist()
            assert found.pairs(some, int(columns[0])).tolist() == expected[some, columns[0]].tolist()
            nearest = [expected[row][:, columns].min(axis=0).tolist() for row in rows]
            assert found.nearest(rows, columns).tolist() == nearest
            sums = found.sums(weights)
            assert np.allclose(sums, weights @ expected)
            assert dense is plain or sums.tolist() == (weights @ expected).tolist()


def test_sums_where_a_twin_would_pay_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that sums below 2^53 are exact although a node of the same place would pay more than that."""
    monkeypatch.setattr(module, "_BLOCK", 4)
    places = module.Places(np.array([0, 0, 1]), np.array([[4.0, 1.0], [1.0, 0.0]]), np.zeros(3))
    weights = np.array([[2.0**52 + 1, 0.0, 3.0], [0.0, 1.0, 2.0]])
    assert places.sums(weights)[:, [0, 2]].tolist() == [[3.0, 2.0**52 + 1], [6.0, 1.0]]
    assert places.sums(weights)[1].tolist() == [6.0, 2.0, 1.0]
    assert places.sums(np.zeros((2, 3))).tolist() == [[0.0] * 3] * 2


def test_places_of_many_nodes() -> None:
    """Tests that uneven links of 20,000 nodes, and racks nearer than nodes, have few places and no matrix of nodes."""
    ids = [f"n{node}" for node in range(20_000)]
    links = [("core", f"s{end}", 1.0 + end) for end in range(20)]
    links += [(name, f"s{node % 20}", (10.0, 20.0)[node % 40 < 20]) for node, name in enumerate(ids)]
    cluster = Cluster(ids, topology=Topology("links", links=links))
    assert nested_areas(Instance(cluster, Workload([]))) is None
    assert cluster_places(cluster).between.shape == (40, 40)
    with pytest.raises(InputError, match="20000 nodes have no dense matrix"):
        distances(Instance(cluster, Workload([])))
    hops = Topology("hops", hops={"node": 3, "rack": 2, "off_rack": 4})
    racks = Cluster(ids, rack=np.arange(20_000) // 1000, rack_ids=[f"r{end}" for end in range(20)], topology=hops)
    assert cluster_places(racks).between.shape == (20, 20)
    assert cluster_places(racks).pairs(np.array([0, 0, 0]), np.array([0, 1, 1000])).tolist() == [3, 2, 4]


@given(st.data())
def test_against_the_matrix(data: st.DataObject) -> None:
    """Tests levels and least costs with prices against minima over rows of the matrix."""
    instance = data.draw(nested())
    found, nodes = nested_areas(instance), len(instance.cluster)
    some = st.lists(st.integers(0, nodes - 1), min_size=1, max_size=3, unique=True)
    rows = Ragged.from_rows(data.draw(st.lists(some, min_size=1, max_size=4)))
    idle = np.zeros(nodes, dtype=bool)
    idle[data.draw(some)] = True
    near = NearestAreas(found, rows, idle)
    matrix = np.array([distances(instance)[sources].min(axis=0) for sources in rows])
    row, node = np.divmod(np.arange(matrix.size), nodes)
    assert found.lengths[near.level(row, node)].reshape(matrix.shape).tolist() == matrix.tolist()
    assert found.lengths[near.farthest].tolist() == matrix[:, idle].max(axis=1).tolist()
    prices = np.array(data.draw(st.lists(st.integers(0, 9), min_size=nodes, max_size=nodes)))
    times = np.arange(1, len(rows) + 1)[:, None]
    units = (times * found.lengths * 60).astype(np.int64)
    expected = (times * matrix * 60).astype(np.int64) + prices
    assert near.cheapest(units, prices).tolist() == expected[:, idle].min(axis=1).tolist()
