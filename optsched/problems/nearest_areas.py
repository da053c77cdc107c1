"""Distances from nodes to the nearest replica of a block by nested areas, without an entry for each pair.

A block's replicas lie in areas, at each level at most as many as there are replicas. All other nodes are as far as
nodes can be. So the least cost of anything over the nodes is a minimum over these areas.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from optsched.core.arrays import contains
from optsched.core.instance import Bools, Ints, Ragged
from optsched.problems.distances import NestedAreas

__all__ = ["NearestAreas"]


class NearestAreas:
    """The areas of blocks' replicas, at each level.

    Parameters
    ----------
    nested
        Areas of the nodes.
    rows
        For each block the nodes that hold it, at least one.
    idle
        bool, shape (nodes,): nodes that count where areas are looked for.

    Attributes
    ----------
    levels
        int64, shape (levels + 1, nodes): the area of each node, at level 0 the node itself.

    Examples
    --------
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
        #: At each level each row and area that holds a replica of it, as row * areas + area, increasing.
        self._keys = [
            np.unique(rows.row_of * width + area[rows.values])
            for area, width in zip(self.levels, self._width.tolist(), strict=True)
        ]

    def level(self, row: Ints, node: Ints) -> Ints:
        """The level of the smallest area that holds the node and a replica of the row's block; 0: the node itself."""
        found = np.full(len(row), len(self.levels) - 1, dtype=np.int64)
        for level in range(len(self.levels) - 2, -1, -1):
            keys = row * self._width[level] + self.levels[level, node]
            found[contains(self._keys[level], keys)] = level
        return found

    @cached_property
    def idle_areas(self) -> list[Ragged]:
        """At each level the areas of each row's replicas that have an idle node."""
        found = []
        for keys, width, area in zip(self._keys, self._width.tolist(), self.levels, strict=True):
            row, inside = np.divmod(keys, width)
            some = np.zeros(width, dtype=bool)
            some[area[self._idle]] = True
            found.append(Ragged(np.searchsorted(row, np.arange(self._rows + 1)), inside).kept(some[inside]))
        return found

    @cached_property
    def farthest(self) -> Ints:
        """The level of the idle node that is farthest from each row's replicas, shape (rows,); there is an idle one."""
        farthest = np.zeros(self._rows, dtype=np.int64)
        before = np.zeros(self._rows, dtype=np.int64)
        for level, (areas, width) in enumerate(zip(self.idle_areas, self._width.tolist(), strict=True)):
            held = np.bincount(self.levels[level, self._idle], minlength=width)
            nodes = np.bincount(areas.row_of, weights=held[areas.values], minlength=self._rows).astype(np.int64)
            farthest[nodes > before] = level
            before = nodes
        return farthest

    def cheapest(self, units: Ints, prices: Ints) -> Ints:
        """For each row the least of its units and a price over the idle nodes; there is at least one.

        Parameters
        ----------
        units
            int64, shape (rows, levels + 1), not decreasing along a row: what a row costs on a node of each level.
        prices
            int64, shape (nodes,).
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
