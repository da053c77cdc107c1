"""Cycles of negative cost in a graph: what makes a minimum-cost flow unbounded where none of their arcs has a limit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optsched.core.arrays import Ints

__all__ = ["negative_cycle"]


def negative_cycle(tail: Ints, head: Ints, cost: Ints, nodes: int) -> list[int]:
    """Arcs of one cycle whose costs add up to less than 0, in the order in which it passes them; empty without one.

    Parameters
    ----------
    tail, head
        Nodes of each arc, shape (arcs,); parallel arcs and loops are taken as they are.
    cost
        Cost of each arc, shape (arcs,).
    nodes
        Number of nodes.

    Notes
    -----
    Bellman-Ford on all arcs at once, exact, within the strongly connected components (SciPy) that have an arc of
    negative cost: O(nodes x arcs) at worst. The arcs by which nodes were reached last are looked through for a cycle
    after 1, 2, 4, ... passes; one among them always has negative cost (Tarjan 1981; Cherkassky and Goldberg 1999).

    Examples
    --------
    >>> negative_cycle(np.array([0, 1, 1]), np.array([1, 0, 1]), np.array([2, -3, 0]), nodes=2)
    [0, 1]
    >>> negative_cycle(np.array([0, 1]), np.array([1, 0]), np.array([2, -2]), nodes=2)
    []
    """
    kept = np.flatnonzero(_in_doubtful_components(tail, head, cost, nodes))
    if not len(kept):
        return []
    # Only nodes of these components are kept, numbered anew.
    names, ends = np.unique(np.concatenate([tail[kept], head[kept]]), return_inverse=True)
    start, end = ends[: len(kept)], ends[len(kept) :]
    largest = max(abs(int(cost[kept].min())), abs(int(cost[kept].max())))
    kind = np.int64 if (len(names) + 1) * largest < 2**62 else object  # Python's integers where int64 might wrap round
    length = cost[kept].astype(kind)
    distance: npt.NDArray[np.generic] = np.zeros(len(names), dtype=kind)
    last = np.full(len(names), -1, dtype=np.int64)
    cycle: list[int] = []
    step = 0
    while not cycle:  # this ends: after one pass a node, what still falls goes round a cycle
        step += 1
        offered = distance[start] + length
        nearer = distance.copy()
        np.minimum.at(nearer, end, offered)
        better = np.flatnonzero((offered == nearer[end]) & (nearer[end] != distance[end]))
        if not len(better):
            return []
        distance = nearer
        last[end[better]] = better
        if step & (step - 1) == 0 or step > len(names):
            cycle = _cycle_of(start, last)
    return [int(kept[arc]) for arc in cycle]


def _in_doubtful_components(tail: Ints, head: Ints, cost: Ints, nodes: int) -> npt.NDArray[np.bool_]:
    """Which arcs lie within a strongly connected component that has an arc of negative cost within it."""
    if not (cost < 0).any():
        return np.zeros(len(cost), dtype=bool)
    import scipy.sparse as sp  # which take longer to import than most problems need them
    from scipy.sparse.csgraph import connected_components

    graph = sp.csr_array((np.ones(len(tail), dtype=np.int8), (tail, head)), shape=(nodes, nodes))
    _, component = connected_components(graph, directed=True, connection="strong")
    within = component[tail] == component[head]
    doubtful = np.zeros(nodes, dtype=bool)
    doubtful[component[tail[within & (cost < 0)]]] = True
    inside: npt.NDArray[np.bool_] = within & doubtful[component[tail]]
    return inside


def _cycle_of(start: Ints, last: Ints) -> list[int]:
    """Arcs of a cycle among the arcs by which nodes were reached last (-1: by none), first to last; empty of none."""
    seen = np.zeros(len(last), dtype=np.int64)
    arcs, tails = last.tolist(), start.tolist()
    for origin in range(len(arcs)):
        node = origin
        while arcs[node] >= 0 and not seen[node]:
            seen[node] = origin + 1
            node = tails[arcs[node]]
        if arcs[node] >= 0 and seen[node] == origin + 1:
            cycle, at = [arcs[node]], tails[arcs[node]]
            while at != node:
                cycle.append(arcs[at])
                at = tails[arcs[at]]
            return cycle[::-1]
    return []
