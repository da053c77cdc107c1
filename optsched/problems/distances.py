"""How far nodes are apart, whatever form an instance gives it in (Shen et al. 2016, II-B.3).

This is the only reader of `topology`. Racks, and links that make a tree of switches, are nested areas: how far two
nodes are apart tells the smallest area that holds both (`NestedAreas`), and no pair of nodes is written down.
`distances` is the same as one matrix, for a few thousand nodes. A distance matrix that is given is taken as it is: Shen
et al.'s own example breaks the triangle inequality, and shortest paths must not mend it (Shen et al. 2016, note 6).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import lcm

import numpy as np

from optsched.decimals import FINEST, common_denominator, decimal, whole_units
from optsched.errors import Fault, InputError, MissingField
from optsched.instance import LARGEST, Cluster, Floats, Instance, Ints, Topology

__all__ = [
    "MOST_NODES",
    "NestedAreas",
    "cluster_areas",
    "cluster_distances",
    "distances",
    "nested_areas",
    "whole_areas",
    "whole_distances",
]

#: Clusters with more nodes have no dense matrix of distances here: it would take more than 512 MB.
MOST_NODES = 2**13

#: Areas are nested in at most so many levels; links with more distances than that are no tree of switches.
_MOST_LEVELS = 16

#: The matrix of each cluster that was asked for, kept as long as the cluster: snapshots of a simulation share it.
_matrices: weakref.WeakKeyDictionary[Cluster, Floats] = weakref.WeakKeyDictionary()

#: The same in whole units, with the denominator of the unit; None where there is no such unit.
_whole: weakref.WeakKeyDictionary[Cluster, tuple[Floats, int] | None] = weakref.WeakKeyDictionary()

#: Nested areas of each cluster that was asked for them; None where distances are of another kind.
_areas: weakref.WeakKeyDictionary[Cluster, NestedAreas | None] = weakref.WeakKeyDictionary()

#: Groups of nodes by the links of each cluster that has some.
_joined: weakref.WeakKeyDictionary[Cluster, _Joined] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class NestedAreas:
    """Distances that are a matter of areas within areas: racks, and switches below switches.

    Attributes
    ----------
    areas
        int64, shape (levels, nodes): the area of each node at each level, the smallest first. Areas are numbered from
        0, each lies within one of the next level, and the last level has one.
    lengths
        float64, shape (levels + 1,), not decreasing: the distance of a node to itself, and that of two nodes by the
        first level at which one area holds both.
    """

    areas: Ints
    lengths: Floats

    def level(self, one: Ints, other: Ints) -> Ints:
        """Of pairs of nodes 0 for the same node, else the first level, from 1, at which one area holds both."""
        found = np.full(np.broadcast_shapes(one.shape, other.shape), len(self.areas), dtype=np.int64)
        for level in range(len(self.areas) - 1, 0, -1):
            found[self.areas[level - 1, one] == self.areas[level - 1, other]] = level
        found[np.broadcast_to(one == other, found.shape)] = 0
        return found


def distances(instance: Instance) -> Floats:
    """The distance of each pair of nodes, in the direction in which data moves (Shen et al. 2016, h_ab).

    ============ ===================================================================================================
    `topology`   distance from one node to another
    ============ ===================================================================================================
    `distance`   as the matrix says
    `hops`       `node` on a node itself, `rack` within a rack, `off_rack` else, and from or to a node without rack
    `rate`       1/rate in s/MB, and 0 from a node to itself (Shen et al. 2016, section II-B.3)
    `links`      the least sum of 1/rate over the links of a path, in s/MB, the same both ways
    ============ ===================================================================================================

    Parameters
    ----------
    instance
        With a `topology`. The matrix is computed once a cluster, and shared by all its snapshots.

    Returns
    -------
    float64, shape (nodes, nodes)
        Read-only, `[from][to]`.

    Raises
    ------
    MissingField
        If the instance has no topology.
    InputError
        If a rate is 0 or too small, no path of links joins two nodes, or there are more than `MOST_NODES` nodes; with
        the place of each.

    Examples
    --------
    >>> from optsched.instance import Workload
    >>> cluster = Cluster(["a", "b"], topology=Topology("links", links=[("a", "sw", 10), ("b", "sw", 5)]))
    >>> [[round(entry, 2) for entry in row] for row in distances(Instance(cluster, Workload([]))).tolist()]
    [[0.0, 0.3], [0.3, 0.0]]
    """
    return cluster_distances(instance.cluster, instance.name)


def cluster_distances(cluster: Cluster, place: str = "") -> Floats:
    """As `distances`, of a cluster alone, as a policy sees it; faults are put after `place`."""
    if cluster not in _matrices:
        if cluster.topology is None:
            raise MissingField([missing_topology("the distance of nodes")], place)
        if len(cluster) > MOST_NODES:
            told = f"{len(cluster)} nodes have no dense matrix of distances here: {MOST_NODES} at most"
            raise InputError([Fault("topology", told)], place)
        matrix = _FORMS[cluster.topology.form](cluster, cluster.topology, place)
        faults = list(_faults(matrix))
        if faults:
            raise InputError(faults, place)
        matrix.setflags(write=False)
        _matrices[cluster] = matrix
    return _matrices[cluster]


def whole_distances(instance: Instance) -> tuple[Floats, int] | None:
    """As `distances`, exactly: whole numbers, and the denominator of the unit that they count.

    Numbers of the topology count as the decimals that they are written as, and 1/rate is that fraction. The
    denominator is the least that makes every distance whole (of links, every link); None where it is above 2^20, or a
    distance past 2^53 units.

    Examples
    --------
    >>> from optsched.instance import Workload
    >>> cluster = Cluster(["a", "b"], topology=Topology("links", links=[("a", "sw", 10), ("b", "sw", 5)]))
    >>> matrix, denominator = whole_distances(Instance(cluster, Workload([])))
    >>> matrix.tolist(), denominator
    ([[0.0, 3.0], [3.0, 0.0]], 10)
    """
    cluster, matrix = instance.cluster, distances(instance)
    if cluster not in _whole:
        topology = cluster.topology
        assert topology is not None  # else `distances` says so
        found = _WHOLE[topology.form](cluster, topology, matrix)
        if found is not None:
            found[0].setflags(write=False)
        _whole[cluster] = found if found is None or found[0].max(initial=0.0) <= LARGEST else None
    return _whole[cluster]


def nested_areas(instance: Instance) -> NestedAreas | None:
    """The same distances as areas within areas; None where a matrix gives them, or they are not of this kind.

    They take memory for nodes and links, and none for pairs of nodes. Racks (`hops`) are two levels where a node is no
    farther from itself than from its rack, and that no farther than what is beyond. Links are as many levels as there
    are distances, if these are a tree's of which all nodes below a switch are equally far from it.

    Raises
    ------
    MissingField, InputError
        As `distances`; of a cluster that has areas, any number of nodes will do.

    Examples
    --------
    >>> from optsched.instance import Workload
    >>> hops = Topology("hops", hops={"node": 0, "rack": 2, "off_rack": 4})
    >>> cluster = Cluster(["a", "b", "c"], rack=[0, 0, 1], rack_ids=["r1", "r2"], topology=hops)
    >>> found = nested_areas(Instance(cluster, Workload([])))
    >>> found.areas.tolist(), found.lengths.tolist()
    ([[0, 0, 1], [0, 0, 0]], [0.0, 2.0, 4.0])
    """
    return cluster_areas(instance.cluster, instance.name)


def cluster_areas(cluster: Cluster, place: str = "") -> NestedAreas | None:
    """As `nested_areas`, of a cluster alone, as a policy sees it; faults are put after `place`."""
    if cluster not in _areas:
        if cluster.topology is None:
            raise MissingField([missing_topology("the distance of nodes")], place)
        found = None
        if len(cluster) and cluster.topology.form == "hops":
            found = _areas_by_hops(cluster, cluster.topology)
        elif len(cluster) and cluster.topology.form == "links":
            found = _joined_by_links(cluster, cluster.topology, place).areas()
        _areas[cluster] = found
    return _areas[cluster]


def whole_areas(instance: Instance) -> tuple[NestedAreas, int] | None:
    """As `nested_areas`, exactly, with lengths and denominator as those of `whole_distances`; None where either is."""
    nested, topology = nested_areas(instance), instance.cluster.topology
    if nested is None:
        return None
    assert topology is not None  # else `nested_areas` says so
    found = _WHOLE[topology.form](instance.cluster, topology, nested.lengths)
    return None if found is None or found[0].max() > LARGEST else (replace(nested, lengths=found[0]), found[1])


def missing_topology(wanted_by: str) -> Fault:
    """What is said where there is no topology."""
    return Fault("topology", f"{wanted_by} needs it: give one of distance, hops, rate and links")


def _by_matrix(cluster: Cluster, topology: Topology, place: str) -> Floats:
    return np.array(topology.matrix, dtype=np.float64)


def _by_hops(cluster: Cluster, topology: Topology, place: str) -> Floats:
    assert topology.hops is not None  # else the instance is refused
    rack = cluster.rack
    together = (rack[:, None] == rack) & (rack[:, None] >= 0)
    matrix = np.where(together, float(topology.hops["rack"]), float(topology.hops["off_rack"]))
    np.fill_diagonal(matrix, topology.hops["node"])
    return matrix


def _by_rate(cluster: Cluster, topology: Topology, place: str) -> Floats:
    matrix = _by_matrix(cluster, topology, place)
    with np.errstate(divide="ignore", over="ignore"):
        matrix = 1.0 / matrix
    np.fill_diagonal(matrix, 0.0)
    return matrix


def _areas_by_hops(cluster: Cluster, topology: Topology) -> NestedAreas | None:
    assert topology.hops is not None  # else the instance is refused
    alone = len(cluster.rack_ids) + np.arange(len(cluster))  # a node without a rack
    lengths = [float(topology.hops[name]) for name in ("node", "rack", "off_rack")]
    rack = np.where(cluster.rack >= 0, cluster.rack, alone)
    return _nested(lengths, [np.arange(len(cluster)), rack, np.zeros_like(rack)])


def _nested(lengths: list[float], areas: list[Ints]) -> NestedAreas | None:
    """Areas of levels from single nodes on, without the levels that bring no nodes together; None if lengths fall."""
    kept: list[tuple[float, Ints]] = []
    for length, area in zip(lengths, areas, strict=True):
        numbered = np.unique(area, return_inverse=True)[1].astype(np.int64)
        if not kept or numbered.max() < kept[-1][1].max():
            kept.append((length, numbered))
    lengths_kept = np.array([length for length, _ in kept])
    if (np.diff(lengths_kept) < 0).any():
        return None
    return NestedAreas(
        np.array([area for _, area in kept[1:]], dtype=np.int64).reshape(-1, len(areas[0])), lengths_kept
    )


@dataclass(frozen=True, eq=False)
class _Joined:
    """Nodes in groups, each of them the nodes at the ends of equally quick links to one switch, or a single node.

    Attributes
    ----------
    group
        int64, shape (nodes,).
    between
        float64, shape (groups, groups): from a node of one to a node of the other, in the diagonal to another node of
        the same one (0 where there is none).
    """

    group: Ints
    between: Floats

    def matrix(self) -> Floats:
        matrix: Floats = self.between[self.group[:, None], self.group]
        np.fill_diagonal(matrix, 0.0)
        return matrix

    def areas(self) -> NestedAreas | None:
        """At each distance the nodes that are no farther apart, if these are areas."""
        several = np.bincount(self.group) > 1
        within = np.diagonal(self.between)
        pairs = ~np.eye(len(several), dtype=bool)
        distinct = np.unique(np.concatenate([self.between[pairs], within[several]]))
        if len(distinct) > _MOST_LEVELS:
            return None
        areas = [np.arange(len(self.group))]
        for length in distinct.tolist():
            near = (self.between <= length) | ~pairs
            label = near.argmax(axis=1)
            parted = several & (within > length)
            if not np.array_equal(near, label == label[:, None]) or (near & pairs)[parted].any():
                return None
            alone = len(several) + np.arange(len(self.group))
            areas.append(np.where(parted[self.group], alone, label[self.group]))
        return _nested([0.0, *distinct.tolist()], areas)


def _by_links(cluster: Cluster, topology: Topology, place: str) -> Floats:
    return _joined_by_links(cluster, topology, place).matrix()


def _joined_by_links(cluster: Cluster, topology: Topology, place: str) -> _Joined:
    """The groups of nodes, and how far these are apart; computed once a cluster."""
    if cluster not in _joined:
        found = _join(cluster, topology, place)
        reached = found.between[found.group[:1]][:, found.group] <= LARGEST
        names = cluster.node_ids
        faults = []
        for node in np.flatnonzero(~reached.all(axis=0)).tolist():
            told = f'no path of links joins "{names[node]}" to "{names[0]}", or a path too slow; add or mend a link'
            faults.append(Fault("topology.links", told))
        if faults:
            raise InputError(faults, place)
        _joined[cluster] = found
    return _joined[cluster]


def _join(cluster: Cluster, topology: Topology, place: str) -> _Joined:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    nodes = len(cluster)
    if not nodes:
        return _Joined(np.zeros(0, dtype=np.int64), np.zeros((0, 0)))
    quickest = _quickest(cluster, topology)
    rates = np.array(list(quickest.values()), dtype=np.float64)
    unit = _common_inverse(rates)
    with np.errstate(divide="ignore", over="ignore"):
        seconds = 1.0 / rates if unit is None else _inverses(rates, unit)
    tail, head = (np.array([pair[end] for pair in quickest], dtype=np.int64) for end in (0, 1))
    vertices = max(int(head.max(initial=0)) + 1, nodes)
    group, first = _groups(tail, head, seconds, nodes, vertices)
    if len(first) > MOST_NODES:
        told = f"nodes at {len(first)} places have no dense matrix of distances here: {MOST_NODES} places at most"
        raise InputError([Fault("topology", told)], place)
    kept = np.ones(vertices, dtype=bool)
    kept[:nodes] = False
    kept[first] = True
    number = np.cumsum(kept) - 1
    arcs = kept[tail] & kept[head]
    size = int(kept.sum())
    graph = csr_array((seconds[arcs], (number[tail[arcs]], number[head[arcs]])), shape=(size, size))
    between: Floats = dijkstra(graph, directed=False, indices=number[first])[:, number[first]]
    # Sums of doubles along a path may differ in the last digit by the end from which it is walked.
    between = np.minimum(between, between.T)
    several = np.bincount(group) > 1
    up = np.zeros(vertices)
    up[tail[tail != head]] = seconds[tail != head]  # of a node in a group of several this is its one link
    up[head[tail != head]] = np.where(head < nodes, seconds, 0.0)[tail != head]
    np.fill_diagonal(between, np.where(several, up[first] + up[first], 0.0))
    return _Joined(group, between / (unit or 1))


def _groups(tail: Ints, head: Ints, seconds: Floats, nodes: int, vertices: int) -> tuple[Ints, Ints]:
    """The group of each node, and a node of each group: nodes with one link go by its other end and what it takes."""
    loose = tail != head
    ends = np.concatenate([tail[loose], head[loose]])
    others = np.concatenate([head[loose], tail[loose]])
    degree = np.bincount(ends, minlength=vertices)
    one = np.flatnonzero((degree[ends] == 1) & (ends < nodes) & (degree[others] > 1))
    key = vertices + np.arange(nodes)
    key[ends[one]] = others[one]
    takes = np.zeros(nodes)
    takes[ends[one]] = np.concatenate([seconds[loose], seconds[loose]])[one]
    quick = np.unique(takes, return_inverse=True)[1]
    _, first, group = np.unique(key * (nodes + 1) + quick, return_index=True, return_inverse=True)
    return group.astype(np.int64), first.astype(np.int64)


def _quickest(cluster: Cluster, topology: Topology) -> dict[tuple[int, int], float]:
    """The rate of the quickest link between two ends. The first end is a node of the cluster."""
    number = {name: position for position, name in enumerate(cluster.node_ids.tolist())}
    quickest: dict[tuple[int, int], float] = {}
    for one, other, rate in topology.links:
        ends = [number.setdefault(end, len(number)) for end in (one, other)]
        pair = (min(ends), max(ends))
        quickest[pair] = max(rate, quickest.get(pair, 0.0))
    return quickest


def _common_inverse(rates: Floats) -> int | None:
    """The least denominator of all 1/rate, with rates as decimals; None if above 2^20, or if a rate is nearly 0."""
    common = 1
    for rate in np.unique(rates).tolist():
        if rate * LARGEST < 1:
            return None
        common = lcm(common, decimal(rate).numerator)
        if common > FINEST:
            return None
    return common


def _inverses(rates: Floats, unit: int) -> Floats:
    """1/rate of each, in units of 1/`unit`; all are whole multiples of it."""
    distinct, inverse = np.unique(rates, return_inverse=True)
    found = np.array([float(unit / decimal(rate)) for rate in distinct.tolist()])
    return found[inverse].reshape(rates.shape)


def _whole_matrix(cluster: Cluster, topology: Topology, matrix: Floats) -> tuple[Floats, int] | None:
    unit = common_denominator(matrix)
    if unit is None:
        return None
    return (matrix, 1) if unit == 1 else (whole_units(matrix, unit).astype(np.float64), unit)


def _whole_rates(cluster: Cluster, topology: Topology, matrix: Floats) -> tuple[Floats, int] | None:
    rates = np.array(topology.matrix, dtype=np.float64)
    np.fill_diagonal(rates, 1.0)
    unit = _common_inverse(rates)
    if unit is None:
        return None
    whole = _inverses(rates, unit)
    np.fill_diagonal(whole, 0.0)
    return whole, unit


def _whole_links(cluster: Cluster, topology: Topology, matrix: Floats) -> tuple[Floats, int] | None:
    unit = _common_inverse(np.array(list(_quickest(cluster, topology).values()), dtype=np.float64))
    return None if unit is None else (np.rint(matrix * unit), unit)


_WHOLE = {"distance": _whole_matrix, "hops": _whole_matrix, "rate": _whole_rates, "links": _whole_links}

_FORMS = {"distance": _by_matrix, "hops": _by_hops, "rate": _by_rate, "links": _by_links}


def _faults(matrix: Floats) -> Iterator[Fault]:
    """Rates that give no distance."""
    for row, column in np.argwhere(~(matrix <= LARGEST)).tolist():
        told = "is no rate at which data moves between two nodes; give one in MB/s, above 0"
        yield Fault(f"topology.rate[{row}][{column}]", told)
