"""Distances between nodes, from every form of an instance's topology (Shen et al. 2016, II-B.3).

Only this module reads `topology`. Racks, and links that form a tree of switches, are nested areas: the smallest area
that contains two nodes gives their distance (`NestedAreas`), and no pair of nodes is stored. `NearestAreas` finds the
nearest replica of a block that way. For any other links, nodes with equally fast links to one switch share a place, and
only pairs of places are stored (`Places`). `distances` gives the same as one matrix of nodes, for a few thousand nodes.
A given distance matrix is used as it is: Shen et al.'s own example violates the triangle inequality, and shortest paths
must not repair it (Shen et al. 2016, note 6).
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import lcm
from typing import TypeVar

import numpy as np

from optsched.core.arrays import contains
from optsched.core.decimals import FINEST, common_denominator, decimal, whole_units
from optsched.core.errors import Fault, InputError, MissingField
from optsched.core.instance import LARGEST, Bools, Cluster, Floats, Instance, Ints, Ragged, Topology
from optsched.core.parts import HOPS

#: More nodes, or places of nodes, get no dense matrix of distances: it would take more than 512 MB.
MOST_NODES = 2**13

#: The most levels of nested areas; links with more distinct distances are no tree of switches.
_MOST_LEVELS = 16

#: Distances that are computed at once for sums over rows of a matrix, so that memory use stays small.
_BLOCK = 2**22


#: All nodes.
_ALL = slice(None)

Found = TypeVar("Found")


def _once(function: Callable[[Cluster, str], Found]) -> Callable[..., Found]:
    """A function of a cluster, computed once and kept as long as the cluster: snapshots of a run share it."""
    kept: weakref.WeakKeyDictionary[Cluster, Found] = weakref.WeakKeyDictionary()

    @functools.wraps(function)
    def found(cluster: Cluster, place: str = "") -> Found:
        if cluster not in kept:
            kept[cluster] = function(cluster, place)
        return kept[cluster]

    return found


@dataclass(frozen=True, eq=False)
class NestedAreas:
    """Distances that depend on nested areas: racks, and switches below switches.

    `areas` has the area of each node (column) at each level (row), the smallest first. Areas are numbered from 0. Each
    lies within one area of the next level, and the last level has only one. `lengths` do not decrease: first the
    distance of a node to itself, then that of two nodes by the first level at which one area contains both.
    """

    areas: Ints
    lengths: Floats

    def level(self, one: Ints, other: Ints) -> Ints:
        """0 for pairs of equal nodes, else the first level, from 1, at which one area contains both."""
        found = np.full(np.broadcast_shapes(one.shape, other.shape), len(self.areas), dtype=np.int64)
        for level in range(len(self.areas) - 1, 0, -1):
            found[self.areas[level - 1, one] == self.areas[level - 1, other]] = level
        found[np.broadcast_to(one == other, found.shape)] = 0
        return found


@dataclass(frozen=True, eq=False)
class Places:
    """Distances between the places of nodes: all nodes at one place have equal distances to and from all others.

    Memory is needed for nodes and for pairs of places. Nodes in a rack share a place, and so do those without a rack.
    Nodes with one link each, equally fast and to the same switch, share a place. Any other node has its own place.

    `place` is the place of each node, numbered from 0. `between[from][to]` is the distance of nodes at two places; on
    the diagonal, of two nodes at the place, or of its only node to itself. `own` is the distance of each node to
    itself.

    >>> places = Places(np.array([0, 0, 1]), np.array([[2.0, 5.0], [5.0, 0.0]]), np.zeros(3))
    >>> places.rows(np.array([1])).tolist(), places.pairs(np.array([0, 2]), 1).tolist()
    ([[2.0, 0.0, 5.0]], [2.0, 5.0])
    """

    place: Ints
    between: Floats
    own: Floats

    @classmethod
    def of_matrix(cls, matrix: Floats) -> Places:
        """Each node at its own place: `matrix` itself, shape (nodes, nodes)."""
        return cls(np.arange(len(matrix)), matrix, np.diagonal(matrix))

    @cached_property
    def apart(self) -> bool:
        """Whether `between` is the matrix of nodes itself."""
        return len(self.between) == len(self.place) and bool((self.place == np.arange(len(self.place))).all())

    @property
    def longest(self) -> float:
        """The greatest distance; 0 without nodes."""
        return max(float(self.between.max(initial=0.0)), float(self.own.max(initial=0.0)))

    def backwards(self) -> Places:
        """The same in the opposite direction."""
        return Places(self.place, self.between.T, self.own)

    def pairs(self, one: Ints, other: Ints | int) -> Floats:
        """The distances from each node of `one` to the one in `other`, in their common shape."""
        found = self.between[self.place[one], self.place[other]]
        return np.where(one == other, self.own[one], found)

    def rows(self, nodes: Ints, columns: Ints | slice = _ALL) -> Floats:
        """The distances from some nodes (rows) to some nodes (columns), all by default."""
        if self.apart:
            return self.between[nodes][:, columns]
        places = self.place[columns]
        found: Floats = self.between[self.place[nodes]].take(places, axis=1)
        row, column = np.nonzero(nodes[:, None] == np.arange(len(self.place))[columns])
        found[row, column] = self.own[nodes[row]]
        return found

    def nearest(self, rows: Ragged, columns: Ints) -> Floats:
        """Distances from each row's nearest node to some nodes, shape (rows, columns); for an empty row the longest."""
        among = self.between[:, columns] if self.apart else self.between
        found: Floats = np.empty((len(rows), len(columns)))
        at = np.full(len(self.place), len(columns))
        at[columns] = np.arange(len(columns))
        places, longest = self.place[columns], self.longest
        for row, sources in enumerate(rows):
            if self.apart:
                found[row] = among[sources].min(axis=0, initial=longest)
                continue
            found[row] = among[self.place[sources]].min(axis=0, initial=longest)[places]
            inside = sources[at[sources] < len(columns)]
            found[row, at[inside]] = self.pairs(sources[:, None], inside).min(axis=0, initial=longest)
        return found

    def sums(self, weights: Floats) -> Floats:
        """`weights @ matrix`, shape (rows, nodes); exact if all are whole, not negative and sums below 2^53."""
        if self.apart:
            return weights @ self.between
        order = np.argsort(self.place, kind="stable")
        starts = np.flatnonzero(np.diff(self.place[order], prepend=-1))
        with np.errstate(over="ignore", invalid="ignore"):
            by_place = np.add.reduceat(weights[:, order], starts, axis=1) @ self.between
            if (by_place < LARGEST).all():
                # So far each node counts as if it were another node at its place.
                return by_place[:, self.place] - weights * (np.diagonal(self.between)[self.place] - self.own)
        found: Floats = np.empty(weights.shape)
        sources, step = np.flatnonzero(weights.any(axis=0)), max(1, _BLOCK // len(self.place))
        for begin in range(0, len(self.place), step):
            columns = slice(begin, begin + step)
            found[:, columns] = weights[:, sources] @ self.rows(sources, columns)
        return found

    @cached_property
    def matrix(self) -> Floats:
        """The distance of each pair of nodes, `[from][to]`, shape (nodes, nodes); read-only."""
        found = self.between if self.apart else self.rows(np.arange(len(self.place)))
        found.setflags(write=False)
        return found


def distances(instance: Instance) -> Floats:
    """The distance of each pair of nodes, in the direction in which data moves (Shen et al. 2016, h_ab).

    ============ ===================================================================================================
    `topology`   distance from one node to another
    ============ ===================================================================================================
    `distance`   as the matrix says
    `hops`       `node` on a node itself, `rack` within a rack, else `off_rack`, as from or to a node without a rack
    `rate`       1/rate in s/MB, and 0 from a node to itself (Shen et al. 2016, section II-B.3)
    `links`      the least sum of 1/rate over the links of a path, in s/MB, equal in both directions
    ============ ===================================================================================================

    The matrix `[from][to]` is read-only, computed once per cluster, and shared by all its snapshots.

    MissingField if the instance has no topology. InputError, with the place, if a rate is 0 or too small, no path of
    links joins two nodes, or there are more than `MOST_NODES` nodes.

    >>> from optsched.core.instance import Workload
    >>> cluster = Cluster(["a", "b"], topology=Topology("links", links=[("a", "sw", 10), ("b", "sw", 5)]))
    >>> [[round(entry, 2) for entry in row] for row in distances(Instance(cluster, Workload([]))).tolist()]
    [[0.0, 0.3], [0.3, 0.0]]
    """
    return dense(cluster_places(instance.cluster, instance.name), instance)


def dense(places: Places, instance: Instance) -> Floats:
    """The matrix of an instance's places; InputError if there are more than `MOST_NODES` nodes."""
    if len(instance.cluster) > MOST_NODES:
        message = f"{len(instance.cluster)} nodes have no dense matrix of distances here: {MOST_NODES} at most"
        raise InputError([Fault("topology", message)], instance.name)
    return places.matrix


@_once
def cluster_places(cluster: Cluster, place: str = "") -> Places:
    """The distances of `distances` by places of nodes, without a matrix of nodes; computed once per cluster.

    Errors are as for `distances`, but only the places are limited to `MOST_NODES`, not the nodes.

    >>> links = [("a", "sw", 10), ("b", "sw", 10), ("c", "sw", 5), ("d", "c", 1)]
    >>> places = cluster_places(Cluster(["a", "b", "c", "d"], topology=Topology("links", links=links)))
    >>> places.place.tolist(), [round(length, 1) for length in places.between[0].tolist()]
    ([1, 1, 2, 0], [0.0, 1.3, 1.0])
    """
    if cluster.topology is None:
        raise MissingField([missing_topology("the distance of nodes")], place)
    found = _FORMS[cluster.topology.form](cluster, cluster.topology, place)
    wrong = np.argwhere(~(found.between <= LARGEST)).tolist()
    if wrong:
        message = "is no rate at which data moves between two nodes; give one in MB/s, above 0"
        raise InputError([Fault(f"topology.rate[{row}][{column}]", message) for row, column in wrong], place)
    found.between.setflags(write=False)
    return found


def whole_places(instance: Instance) -> tuple[Places, int] | None:
    """As `cluster_places`, exactly: whole numbers, and the denominator of their unit.

    Numbers of the topology count as the decimals that they are written as, and 1/rate is that fraction. The denominator
    is the least that makes every distance whole (for links, every link); None if it is above 2^20, or a distance is
    past 2^53 units.

    >>> from optsched.core.instance import Workload
    >>> cluster = Cluster(["a", "b"], topology=Topology("links", links=[("a", "sw", 10), ("b", "sw", 5)]))
    >>> places, denominator = whole_places(Instance(cluster, Workload([])))
    >>> places.matrix.tolist(), denominator
    ([[0.0, 3.0], [3.0, 0.0]], 10)
    """
    return _whole_places(instance.cluster, instance.name)


@_once
def _whole_places(cluster: Cluster, place: str) -> tuple[Places, int] | None:
    places, topology = cluster_places(cluster, place), cluster.topology
    assert topology is not None  # otherwise `cluster_places` has raised
    found = _WHOLE[topology.form](cluster, topology, places.between, places.own)
    answer = None if found is None else (Places(places.place, *found[0]), found[1])
    return None if answer is None or answer[0].longest > LARGEST else answer


def nested_areas(instance: Instance) -> NestedAreas | None:
    """The same distances as nested areas; None if a matrix gives them, or they have no such form.

    Memory is needed for nodes and links, not for pairs of nodes. Racks (`hops`) are two levels if `node` <= `rack` <=
    `off_rack`. Links have one level for each distance, if they form a tree and all nodes below a switch are equally far
    from it.

    Errors are as for `distances`; a cluster with areas may have any number of nodes.

    >>> from optsched.core.instance import Workload
    >>> hops = Topology("hops", hops={"node": 0, "rack": 2, "off_rack": 4})
    >>> cluster = Cluster(["a", "b", "c"], rack=[0, 0, 1], rack_ids=["r1", "r2"], topology=hops)
    >>> found = nested_areas(Instance(cluster, Workload([])))
    >>> found.areas.tolist(), found.lengths.tolist()
    ([[0, 0, 1], [0, 0, 0]], [0.0, 2.0, 4.0])
    """
    return cluster_areas(instance.cluster, instance.name)


@_once
def cluster_areas(cluster: Cluster, place: str = "") -> NestedAreas | None:
    """As `nested_areas`, from only a cluster, as a policy sees it; faults follow `place`."""
    if cluster.topology is None:
        raise MissingField([missing_topology("the distance of nodes")], place)
    if len(cluster) and cluster.topology.hops is not None:
        rack = np.where(cluster.rack >= 0, cluster.rack, len(cluster.rack_ids) + np.arange(len(cluster)))
        lengths = [float(cluster.topology.hops[name]) for name in HOPS]
        return _nested(lengths, [np.arange(len(cluster)), rack, np.zeros_like(rack)])
    if len(cluster) and cluster.topology.form == "links":
        return _areas_by_links(cluster_places(cluster, place))
    return None


def whole_areas(instance: Instance) -> tuple[NestedAreas, int] | None:
    """As `nested_areas`, exactly, with lengths and denominator as in `whole_places`; None if either is."""
    nested, topology = nested_areas(instance), instance.cluster.topology
    if nested is None:
        return None
    assert topology is not None  # otherwise `nested_areas` has raised
    found = _WHOLE[topology.form](instance.cluster, topology, nested.lengths)
    return None if found is None or found[0][0].max() > LARGEST else (replace(nested, lengths=found[0][0]), found[1])


def hops_alone(cluster: Cluster) -> Cluster:
    """The cluster as a scheduler sees it that counts hops and knows no rates.

    Every link is a hop. Without links, there are 0, 2 and 4 hops on a node, in a rack and beyond.

    >>> slow = Cluster(["a", "b"], topology=Topology("links", links=[("a", "sw", 10), ("b", "sw", 5)]))
    >>> cluster_places(hops_alone(slow)).matrix.tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    topology = cluster.topology
    if topology is None or topology.form == "hops":
        return cluster
    if topology.form == "links":
        known = Topology("links", links=tuple((one, other, 1.0) for one, other, _ in topology.links))
    else:
        known = Topology("hops", hops=dict(zip(HOPS, (0.0, 2.0, 4.0), strict=True)))
    return replace(cluster, topology=known)


def missing_topology(wanted_by: str) -> Fault:
    """The fault of an instance without a topology."""
    return Fault("topology", f"{wanted_by} needs it: give one of distance, hops, rate and links")


def _by_matrix(cluster: Cluster, topology: Topology, place: str) -> Places:
    _refuse_more(len(cluster), place)
    matrix = np.array(topology.matrix, dtype=np.float64)
    if topology.form == "rate":
        with np.errstate(divide="ignore", over="ignore"):
            matrix = 1.0 / matrix
        np.fill_diagonal(matrix, 0.0)
    return Places.of_matrix(matrix)


def _by_hops(cluster: Cluster, topology: Topology, place: str) -> Places:
    assert topology.hops is not None  # otherwise the instance is refused
    node, near, far = (float(topology.hops[name]) for name in HOPS)
    racks, at = np.unique(cluster.rack, return_inverse=True)
    _refuse_more(len(racks), place)
    between = np.full((len(racks), len(racks)), far)
    within = np.where(racks >= 0, near, far)  # nodes without a rack are off-rack to one another
    np.fill_diagonal(between, np.where(np.bincount(at, minlength=len(racks)) > 1, within, node))
    return Places(at.astype(np.int64), between, np.full(len(cluster), node))


def _refuse_more(places: int, place: str) -> None:
    """Refuse more places than a matrix may have."""
    if places > MOST_NODES:
        message = f"nodes at {places} places have no dense matrix of distances here: {MOST_NODES} places at most"
        raise InputError([Fault("topology", message)], place)


def _nested(lengths: list[float], areas: list[Ints]) -> NestedAreas | None:
    """Areas of levels above single nodes, skipping levels that join no nodes; None if lengths fall."""
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


def _areas_by_links(places: Places) -> NestedAreas | None:
    """The sets of nodes within each distance of one another, if these are nested areas."""
    several = np.bincount(places.place) > 1
    within = np.diagonal(places.between)
    pairs = ~np.eye(len(several), dtype=bool)
    distinct = np.unique(np.concatenate([places.between[pairs], within[several]]))
    if len(distinct) > _MOST_LEVELS:
        return None
    areas = [np.arange(len(places.place))]
    for length in distinct.tolist():
        near = (places.between <= length) | ~pairs
        label = near.argmax(axis=1)
        parted = several & (within > length)
        if not np.array_equal(near, label == label[:, None]) or (near & pairs)[parted].any():
            return None
        alone = len(several) + np.arange(len(places.place))
        areas.append(np.where(parted[places.place], alone, label[places.place]))
    return _nested([0.0, *distinct.tolist()], areas)


def _by_links(cluster: Cluster, topology: Topology, place: str) -> Places:
    """Groups of nodes that are connected by paths of links."""
    found = _join(cluster, topology, place)
    reached = found.between[found.place[:1]][:, found.place] <= LARGEST
    names = cluster.node_ids
    faults = []
    for node in np.flatnonzero(~reached.all(axis=0)).tolist():
        message = f'no path of links joins "{names[node]}" to "{names[0]}", or a path too slow; add or mend a link'
        faults.append(Fault("topology.links", message))
    if faults:
        raise InputError(faults, place)
    return found


def _join(cluster: Cluster, topology: Topology, place: str) -> Places:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    nodes = len(cluster)
    if not nodes:
        return Places(np.zeros(0, dtype=np.int64), np.zeros((0, 0)), np.zeros(0))
    quickest = _quickest(cluster, topology)
    rates = np.array(list(quickest.values()), dtype=np.float64)
    unit = _common_inverse(rates)
    with np.errstate(divide="ignore", over="ignore"):
        seconds = 1.0 / rates if unit is None else _inverses(rates, unit)
    tail, head = (np.array([pair[end] for pair in quickest], dtype=np.int64) for end in (0, 1))
    vertices = max(int(head.max(initial=0)) + 1, nodes)
    group, first = _groups(tail, head, seconds, nodes, vertices)
    _refuse_more(len(first), place)
    kept = np.ones(vertices, dtype=bool)
    kept[:nodes] = False
    kept[first] = True
    number = np.cumsum(kept) - 1
    arcs = kept[tail] & kept[head]
    size = int(kept.sum())
    graph = csr_array((seconds[arcs], (number[tail[arcs]], number[head[arcs]])), shape=(size, size))
    between: Floats = dijkstra(graph, directed=False, indices=number[first])[:, number[first]]
    # Sums of doubles along a path may differ in the last digit, depending on the end where the sum starts.
    between = np.minimum(between, between.T)
    several = np.bincount(group) > 1
    up = np.zeros(vertices)
    up[tail[tail != head]] = seconds[tail != head]  # a node in a group of several has only this link
    up[head[tail != head]] = np.where(head < nodes, seconds, 0.0)[tail != head]
    np.fill_diagonal(between, np.where(several, up[first] + up[first], 0.0))
    return Places(group, between / (unit or 1), np.zeros(nodes))


def _groups(tail: Ints, head: Ints, seconds: Floats, nodes: int, vertices: int) -> tuple[Ints, Ints]:
    """The group of each node, and one node of each group: nodes with one link are grouped by its other end and time."""
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
    """The rate of the fastest link between two ends. The first end is a node of the cluster."""
    number = {name: position for position, name in enumerate(cluster.node_ids.tolist())}
    quickest: dict[tuple[int, int], float] = {}
    for one, other, rate in topology.links:
        ends = [number.setdefault(end, len(number)) for end in (one, other)]
        pair = (min(ends), max(ends))
        quickest[pair] = max(rate, quickest.get(pair, 0.0))
    return quickest


def _common_inverse(rates: Floats) -> int | None:
    """The least common denominator of all 1/rate, with rates as decimals; None if above 2^20, or a rate is nearly 0."""
    common = 1
    for rate in np.unique(rates).tolist():
        if rate * LARGEST < 1:
            return None
        common = lcm(common, decimal(rate).numerator)
        if common > FINEST:
            return None
    return common


def _inverses(rates: Floats, unit: int) -> Floats:
    """1/rate for each rate, in units of 1/`unit`; all must be whole multiples."""
    distinct, inverse = np.unique(rates, return_inverse=True)
    found = np.array([float(unit / decimal(rate)) for rate in distinct.tolist()])
    return found[inverse].reshape(rates.shape)


#: Arrays of distances in whole units, and the denominator of the unit; None if there is no such unit.
_Whole = tuple[list[Floats], int] | None


def _whole_matrix(cluster: Cluster, topology: Topology, *lengths: Floats) -> _Whole:
    unit = common_denominator(*lengths)
    if unit is None:
        return None
    return [part if unit == 1 else whole_units(part, unit).astype(np.float64) for part in lengths], unit


def _whole_rates(cluster: Cluster, topology: Topology, *lengths: Floats) -> _Whole:
    rates = np.array(topology.matrix, dtype=np.float64)
    np.fill_diagonal(rates, 1.0)
    unit = _common_inverse(rates)
    if unit is None:
        return None
    inverses = _inverses(rates, unit)
    np.fill_diagonal(inverses, 0.0)
    return [inverses, np.diagonal(inverses)], unit


def _whole_links(cluster: Cluster, topology: Topology, *lengths: Floats) -> _Whole:
    unit = _common_inverse(np.array(list(_quickest(cluster, topology).values()), dtype=np.float64))
    return None if unit is None else ([np.rint(part * unit) for part in lengths], unit)


_WHOLE = {"distance": _whole_matrix, "hops": _whole_matrix, "rate": _whole_rates, "links": _whole_links}

_FORMS = {"distance": _by_matrix, "hops": _by_hops, "rate": _by_matrix, "links": _by_links}


class NearestAreas:
    """Distances from nodes to the nearest replica of a block by nested areas, without an entry for each pair.

    At each level, a block's replicas lie in at most as many areas as there are replicas. All other nodes are at the
    greatest distance. So the least cost over all nodes is a minimum over these areas.

    `rows` has for each block the nodes that hold it, at least one; `idle` marks the nodes that count in searches for
    areas. `levels` is the area of each node (column), at level 0 the node itself.

    >>> nested = NestedAreas(np.array([[0, 0, 1], [0, 0, 0]]), np.array([0.0, 2.0, 4.0]))
    >>> near = NearestAreas(nested, Ragged.from_rows([[0], [2]]), np.array([True, True, True]))
    >>> near.level(np.array([0, 0, 0]), np.array([0, 1, 2])).tolist()
    [0, 1, 2]
    >>> near.cheapest(np.array([[0, 2, 4], [0, 2, 4]]), np.array([9, 1, 9])).tolist()
    [3, 5]
    """

    def __init__(self, nested: NestedAreas, rows: Ragged, idle: Bools) -> None:
        self._idle, self._rows = np.flatnonzero(idle), len(rows)
        self.levels: Ints = np.vstack([np.arange(len(idle), dtype=np.int64), nested.areas])
        self._width = self.levels.max(axis=1, initial=0) + 1
        #: At each level, each pair of a row and an area with its replica, as row * areas + area, increasing.
        self._keys = [
            np.unique(rows.row_of * width + area[rows.values])
            for area, width in zip(self.levels, self._width.tolist(), strict=True)
        ]

    def level(self, row: Ints, node: Ints) -> Ints:
        """The level of the smallest area with the node and a replica of the row's block; 0: the node itself."""
        found = np.full(len(row), len(self.levels) - 1, dtype=np.int64)
        for level in range(len(self.levels) - 2, -1, -1):
            keys = row * self._width[level] + self.levels[level, node]
            found[contains(self._keys[level], keys)] = level
        return found

    @cached_property
    def idle_areas(self) -> list[Ragged]:
        """At each level, the areas of each row's replicas that contain an idle node."""
        found = []
        for keys, width, area in zip(self._keys, self._width.tolist(), self.levels, strict=True):
            row, inside = np.divmod(keys, width)
            some = np.zeros(width, dtype=bool)
            some[area[self._idle]] = True
            found.append(Ragged(np.searchsorted(row, np.arange(self._rows + 1)), inside).kept(some[inside]))
        return found

    @cached_property
    def farthest(self) -> Ints:
        """The level of the idle node farthest from each row's replicas, shape (rows,); some node must be idle."""
        farthest = np.zeros(self._rows, dtype=np.int64)
        before = np.zeros(self._rows, dtype=np.int64)
        for level, (areas, width) in enumerate(zip(self.idle_areas, self._width.tolist(), strict=True)):
            held = np.bincount(self.levels[level, self._idle], minlength=width)
            nodes = np.bincount(areas.row_of, weights=held[areas.values], minlength=self._rows).astype(np.int64)
            farthest[nodes > before] = level
            before = nodes
        return farthest

    def cheapest(self, units: Ints, prices: Ints) -> Ints:
        """For each row the least sum of its units and a price over the idle nodes; there must be one.

        `units`, shape (rows, levels + 1), is the cost on a node of each level; it does not decrease along a row.
        """
        least: Ints = np.full(self._rows, np.iinfo(np.int64).max, dtype=np.int64)
        for level, (areas, width) in enumerate(zip(self.idle_areas, self._width.tolist(), strict=True)):
            cheapest = np.full(width, np.iinfo(np.int64).max, dtype=np.int64)
            np.minimum.at(cheapest, self.levels[level, self._idle], prices[self._idle])
            filled = np.flatnonzero(areas.lengths)
            if len(filled):
                found = np.minimum.reduceat(cheapest[areas.values], areas.starts[:-1][filled])
                least[filled] = np.minimum(least[filled], found + units[filled, level])
        return least
