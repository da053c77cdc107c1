"""How far nodes are apart, as one matrix, whatever form an instance gives it in (Shen et al. 2016, II-B.3).

`distances` is the only reader of `topology`. A distance matrix is taken as it is: Shen et al.'s own example breaks the
triangle inequality, and shortest paths must not mend it (Shen et al. 2016, note 6).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from math import lcm

import numpy as np

from optsched.decimals import FINEST, common_denominator, decimal, whole_units
from optsched.errors import Fault, InputError, MissingField
from optsched.instance import LARGEST, Cluster, Floats, Instance, Topology

__all__ = ["MOST_NODES", "cluster_distances", "distances", "whole_distances"]

#: Clusters with more nodes have no dense matrix of distances here: it would take more than 512 MB.
MOST_NODES = 2**13

#: The matrix of each cluster that was asked for, kept as long as the cluster: snapshots of a simulation share it.
_matrices: weakref.WeakKeyDictionary[Cluster, Floats] = weakref.WeakKeyDictionary()

#: The same in whole units, with the denominator of the unit; None where there is no such unit.
_whole: weakref.WeakKeyDictionary[Cluster, tuple[Floats, int] | None] = weakref.WeakKeyDictionary()


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
        matrix = _FORMS[cluster.topology.form](cluster, cluster.topology)
        faults = list(_faults(cluster, cluster.topology, matrix))
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


def missing_topology(wanted_by: str) -> Fault:
    """What is said where there is no topology."""
    return Fault("topology", f"{wanted_by} needs it: give one of distance, hops, rate and links")


def _by_matrix(cluster: Cluster, topology: Topology) -> Floats:
    return np.array(topology.matrix, dtype=np.float64)


def _by_hops(cluster: Cluster, topology: Topology) -> Floats:
    assert topology.hops is not None  # else the instance is refused
    rack = cluster.rack
    together = (rack[:, None] == rack) & (rack[:, None] >= 0)
    matrix = np.where(together, float(topology.hops["rack"]), float(topology.hops["off_rack"]))
    np.fill_diagonal(matrix, topology.hops["node"])
    return matrix


def _by_rate(cluster: Cluster, topology: Topology) -> Floats:
    matrix = _by_matrix(cluster, topology)
    with np.errstate(divide="ignore", over="ignore"):
        matrix = 1.0 / matrix
    np.fill_diagonal(matrix, 0.0)
    return matrix


def _by_links(cluster: Cluster, topology: Topology) -> Floats:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    quickest = _quickest(cluster, topology)
    rates = np.array(list(quickest.values()), dtype=np.float64)
    unit = _common_inverse(rates)
    with np.errstate(divide="ignore", over="ignore"):
        seconds = 1.0 / rates if unit is None else _inverses(rates, unit)
    tail, head = (np.array([pair[end] for pair in quickest], dtype=np.int64) for end in (0, 1))
    vertices = max((end + 1 for pair in quickest for end in pair), default=0)
    nodes = len(cluster)
    if not nodes:
        return np.zeros((0, 0))
    vertices = max(vertices, nodes)
    graph = csr_array((seconds, (tail, head)), shape=(vertices, vertices))
    matrix: Floats = dijkstra(graph, directed=False, indices=np.arange(nodes))[:, :nodes]
    # Sums of doubles along a path may differ in the last digit by the end from which it is walked.
    return np.minimum(matrix, matrix.T) / (unit or 1)


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


def _faults(cluster: Cluster, topology: Topology, matrix: Floats) -> Iterator[Fault]:
    """Distances that are none, in the words of the form that they are given in."""
    if topology.form == "links":
        names = cluster.node_ids
        for node in np.flatnonzero(~(matrix[:1] <= LARGEST).all(axis=0)).tolist():
            told = f'no path of links joins "{names[node]}" to "{names[0]}", or a path too slow; add or mend a link'
            yield Fault("topology.links", told)
        return
    for row, column in np.argwhere(~(matrix <= LARGEST)).tolist():
        told = "is no rate at which data moves between two nodes; give one in MB/s, above 0"
        yield Fault(f"topology.rate[{row}][{column}]", told)
