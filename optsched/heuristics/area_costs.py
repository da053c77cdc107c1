"""What maps cost on nodes whose distances are nested areas, with no entry for pairs of map and node."""

from __future__ import annotations

import numpy as np

from optsched.instance import LARGEST, Bools, Floats, Ints, Ragged
from optsched.problems.distances import NestedAreas

__all__ = ["AreaCosts"]


class AreaCosts:
    """Costs of maps on a node, and their means over the free nodes, which are counted by area as they fill up.

    Parameters
    ----------
    nested
        How far nodes are apart.
    sizes, replicas
        MB of each map's block, and the nodes that hold it; without any it is farthest from all.

    Examples
    --------
    >>> nested = NestedAreas(np.array([[0, 0, 1], [0, 0, 0]]), np.array([0.0, 2.0, 4.0]))
    >>> costs = AreaCosts(nested, np.array([10.0, 1.0]), Ragged.from_rows([[0], [2]]))
    >>> costs.on(np.array([0, 1]), 1).tolist()
    [20.0, 4.0]
    >>> costs.means(np.array([0, 1]), np.array([True, True, False])).tolist()
    [10.0, 4.0]
    """

    def __init__(self, nested: NestedAreas, sizes: Floats, replicas: Ragged) -> None:
        self._sizes, self._lengths = sizes, nested.lengths
        nodes = nested.areas.shape[1]
        #: The area of each node at each level: the node itself first, and not the last, which holds all.
        self._levels: Ints = np.vstack([np.arange(nodes, dtype=np.int64), nested.areas])[:-1]
        #: At each level the maps with a replica in each area.
        self._maps: list[Ragged] = []
        for area in self._levels:
            inside, row = np.divmod(np.unique(area[replicas.values] * len(sizes) + replicas.row_of), max(1, len(sizes)))
            starts = np.searchsorted(inside, np.arange(area.max(initial=0) + 2))
            self._maps.append(Ragged(starts.astype(np.int64), row))
        self._free: Bools = np.zeros(nodes, dtype=np.bool_)
        #: At each level how many free nodes the areas of a map's replicas hold; room for the level of each map.
        self._near: Ints = np.zeros((len(self._levels), len(sizes)), dtype=np.int64)
        self._level: Ints = np.full(len(sizes), len(self._levels), dtype=np.int64)

    @staticmethod
    def exact(nested: NestedAreas, sizes: Floats) -> bool:
        """Whether sizes and distances are whole, and so small that doubles hold every sum of their products."""
        largest = float(sizes.max(initial=0.0)) * float(nested.lengths.max()) * nested.areas.shape[1]
        return largest < LARGEST and all(bool((part == np.floor(part)).all()) for part in (sizes, nested.lengths))

    def on(self, rows: Ints, node: int) -> Floats:
        """What each of these maps costs on a node: O(maps near it + maps asked for)."""
        near = [maps[int(area)] for maps, area in zip(self._maps, self._levels[:, node], strict=True)]
        for level in reversed(range(len(near))):
            self._level[near[level]] = level
        costs: Floats = self._sizes[rows] * self._lengths[self._level[rows]]
        for maps in near:
            self._level[maps] = len(near)
        return costs

    def means(self, rows: Ints, free: Bools) -> Floats:
        """The mean cost of each of these maps over the free nodes, of which there is one."""
        for node in np.flatnonzero(free != self._free).tolist():
            for level, area in enumerate(self._levels[:, node].tolist()):
                self._near[level, self._maps[level][area]] += 1 if free[node] else -1
        self._free = free.copy()
        count = int(np.count_nonzero(free))
        nearer = np.diff(self._lengths) @ self._near[:, rows]  # a node in a smaller area, too, is so much nearer
        means: Floats = self._sizes[rows] * (self._lengths[-1] * count - nearer) / count
        return means
