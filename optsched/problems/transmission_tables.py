"""Tables of the costs of `transmission` once its reduces are placed, in integers, for its bounds to look up.

The bounds of what is still open are in `transmission_bounds`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from optsched.core.deadline import check
from optsched.core.instance import LARGEST, Bools, Floats, Ints
from optsched.problems.transmission import Transmission

__all__ = ["OPEN", "ReduceTables"]

#: Stands for a reduce that is neither placed nor left out yet.
OPEN = -1

#: Up to this many products of what is sent and a distance are held in memory, in two orders: 256 MB at most. With more
#: of them each bound computes them anew, which takes 10 to 20 times as long a product.
_HELD = 2**24

#: Products that are computed at once where they are not held: 32 MB.
_BLOCK = 2**22

#: Parts into which a unit of cost is divided where costs are whole and small enough. Shares of a map's cost and prices
#: are whole parts: finer ones are nearer to what they stand for, and leave less room before numbers are too large. It
#: matters little: with 1, 8, 64 and 512 there are 1,588, 1,599, 1,614 and 1,613 states (`searches.transmission`).
_PARTS = 64


class ReduceTables:
    """Costs of a `transmission` problem by where its reduces are, and which choices a reduce has.

    `fixed` has an entry for each reduce: its node, or the number of nodes where it is left out ("nowhere"), or `OPEN`.
    Rows are where a map can be: on each node with idle slots, and last, where the slots do not hold all maps, nowhere.

    Parameters
    ----------
    problem
        What is tabulated.

    Attributes
    ----------
    hosts
        int64: nodes with idle map slots.
    room
        int64, shape (rows,): slots of each of `hosts`, and last, where not every map is placed, how many are not.
    nowhere
        The choice of a reduce that is left out: the number of nodes.
    products
        How many products of what is sent and a distance there are: pairs of a reduce and a map that sends to it, times
        rows, times choices of the reduce.
    scale
        Costs are in units of 1/`scale` of the problem's, so that shares of a cost lose less where they are made whole.
    sent
        float64, shape (reduces, maps): MB that each map sends to each reduce.
    twin
        int64, shape (reduces,): for each reduce the last one before it that is exactly alike, or -1.

    Examples
    --------
    >>> from optsched.core.instance import MAP, REDUCE, Cluster, Instance, Ragged, Shuffle, Topology, Workload
    >>> cluster = Cluster(["D1", "D2"], topology=Topology("distance", [[0.0, 4.0], [4.0, 0.0]]))
    >>> workload = Workload(
    ...     ["M1", "R1"], kind=[MAP, REDUCE], size=[128.0, 0.0], replicas=Ragged.from_rows([[0], []]),
    ...     shuffle=Shuffle(map=[0], reduce=[1], size=[10.0]))
    >>> tables = ReduceTables(Transmission(Instance(cluster, workload)))
    >>> (tables.map_costs(np.array([1])) // tables.scale).tolist()  # the reduce on D2
    [[40], [512]]
    """

    def __init__(self, problem: Transmission) -> None:
        self.problem = problem
        maps, nodes = problem.map_units.shape
        reduces = len(problem.reduces)
        self.nowhere = nodes
        self.hosts: Ints = np.flatnonzero(problem.map_capacity > 0)
        self.room: Ints = problem.map_capacity[self.hosts]
        left = maps - problem.map_count
        self.rows = len(self.hosts)
        if left or not self.rows:
            self.room = np.append(self.room, left)
        #: Slots of each choice of a reduce, the last of them for those that are left out.
        self.reduce_room: Ints = np.append(problem.reduce_capacity, reduces - problem.reduce_count)
        self._usable: Bools = np.column_stack([problem.usable, np.ones(reduces, dtype=bool)])
        self._limited = problem.limited
        self._sort_entries(maps, reduces)
        self.products = len(self._pair_map) * len(self.room) * (nodes + 1)
        # Where the numbers stay exact.
        largest = int(problem.map_units.max(initial=0)) * maps + int(problem.reduce_units.max(initial=0)) * reduces
        largest += int(problem.most_between)
        self.scale = _PARTS if problem.grid == 1 and largest * _PARTS <= LARGEST else 1
        self._maps: Ints = np.zeros((len(self.room), maps), dtype=np.int64)
        self._maps[: self.rows] = problem.map_units[:, self.hosts].T * self.scale
        self._reduces: Ints = np.column_stack([problem.reduce_units * self.scale, np.zeros(reduces, dtype=np.int64)])
        self._stored: dict[int, npt.NDArray[np.integer[Any]]] | None = None
        if self.products <= _HELD:
            self._stored = {reduce: self._products(reduce) for reduce in range(reduces)}
            #: The same by choice of the reduce, so that what one choice adds to the maps' costs lies together.
            self._by_choice = [np.ascontiguousarray(held.transpose(2, 0, 1)) for held in self._stored.values()]
        self.twin: Ints = self._twins()

    def _sort_entries(self, maps: int, reduces: int) -> None:
        """Sort the shuffle's entries into pairs of a reduce and a map, by reduce, then map.

        A pair may have several entries, since a shuffle may name it twice.
        """
        entries = self.problem.entries
        order = np.lexsort((entries.map, entries.reduce))
        self._amount: Floats = self.problem.amounts[order]
        key = entries.reduce[order] * max(maps, 1) + entries.map[order]
        pairs, self._first_entry = np.unique(key, return_index=True)
        self._pair_map: Ints = pairs % max(maps, 1)
        self._first_pair: Ints = np.searchsorted(pairs // max(maps, 1), np.arange(reduces + 1))
        self.sent: Floats = self.problem.sent

    def _twins(self) -> Ints:
        problem, twin = self.problem, np.full(len(self.sent), -1, dtype=np.int64)
        seen: dict[tuple[object, ...], int] = {}
        entry_of_pair = np.append(self._first_entry, len(self._amount))
        for reduce, (begin, end) in enumerate(zip(self._first_pair, self._first_pair[1:], strict=False)):
            shares = slice(entry_of_pair[begin], entry_of_pair[end])
            key = (
                int(problem.job[reduce]) if self._limited[reduce] else None,
                problem.reduce_units[reduce].tobytes(),
                self._pair_map[begin:end].tobytes(),
                np.diff(entry_of_pair[begin : end + 1]).tobytes(),
                self._amount[shares].tobytes(),
            )
            twin[reduce] = seen.get(key, -1)
            seen[key] = reduce
        return twin

    # Products of what a map sends and a distance ---------------------------------------------------------------------

    def maps_of(self, reduce: int) -> Ints:
        """Maps that send something to a reduce, increasing."""
        return self._pair_map[self._first_pair[reduce] : self._first_pair[reduce + 1]]

    def _entries_of(self, reduce: int) -> tuple[slice, Ints]:
        """Entries of a reduce in the order of its maps, and where among them the entries of each map begin."""
        bounds = np.append(self._first_entry, len(self._amount))
        first, last = self._first_pair[reduce], self._first_pair[reduce + 1]
        return slice(int(bounds[first]), int(bounds[last])), bounds[first:last] - bounds[first]

    def _products(self, reduce: int, begin: int = 0, end: int | None = None) -> npt.NDArray[np.integer[Any]]:
        """Scaled cost of each row (node of the map), map of `maps_of(reduce)[begin:end]`, and choice of the reduce."""
        first, last = self._first_pair[reduce] + begin, self._first_pair[reduce + 1]
        last = last if end is None else min(first + end - begin, last)
        bounds = np.append(self._first_entry, len(self._amount))[first : last + 1]
        amounts = self._amount[bounds[0] : bounds[-1]] if len(bounds) > 1 else self._amount[:0]
        units = self.problem.products(amounts[:, None], self.problem.scale.lengths[self.hosts][:, None, :])
        if len(amounts) > last - first:
            units = np.add.reduceat(units, bounds[:-1] - bounds[0], axis=1)
        found = np.zeros((len(self.room), last - first, self.nowhere + 1), dtype=np.int64)
        found[: self.rows, :, : self.nowhere] = units * self.scale
        small = int(found.max(initial=0)) < 2**30
        return found.astype(np.int32) if small else found

    def _blocks(self, reduce: int) -> Iterator[tuple[slice, npt.NDArray[np.integer[Any]]]]:
        """The products of a reduce; where they are not held, a few maps at a time, looking at the deadline."""
        if self._stored is not None:
            yield slice(None), self._stored[reduce]
            return
        width = max(1, _BLOCK // (len(self.room) * (self.nowhere + 1)))
        for begin in range(0, len(self.maps_of(reduce)), width):
            check()
            yield slice(begin, begin + width), self._products(reduce, begin, begin + width)

    def map_costs(self, fixed: Ints) -> Ints:
        """Scaled cost of each map (column) on each row, given the reduces that are placed; shape (rows, maps)."""
        costs = self._maps.copy()
        for reduce in np.flatnonzero((fixed != OPEN) & (fixed != self.nowhere)).tolist():
            maps, node = self.maps_of(reduce), fixed[reduce]
            if self._stored is not None:
                costs[:, maps] += self._by_choice[reduce][node]
                continue
            check()
            entries, pairs = self._entries_of(reduce)
            lengths = self.problem.scale.lengths[self.hosts, node]
            units = self.problem.products(self._amount[None, entries], lengths[:, None])
            if len(maps):
                costs[: self.rows, maps] += np.add.reduceat(units, pairs, axis=1) * self.scale
        return costs

    def given_maps(self, rows: Ints) -> Ints:
        """Cost of each reduce on each choice where the maps are in these rows, in units of 1/`scale`.

        Shape (reduces, nodes + 1).
        """
        table, width = self._reduces.copy(), max(1, _BLOCK // (self.nowhere + 1))
        for reduce in range(len(table)):
            entries, pairs = self._entries_of(reduce)
            many = np.diff(np.append(pairs, entries.stop - entries.start))
            row, amount = np.repeat(rows[self.maps_of(reduce)], many), self._amount[entries]
            placed = np.flatnonzero(row < self.rows)
            for begin in range(0, len(placed), width):
                check()
                part = placed[begin : begin + width]
                lengths = self.problem.scale.lengths[self.hosts[row[part]]]
                table[reduce, :-1] += self.problem.products(amount[part, None], lengths).sum(axis=0) * self.scale
        return table

    def allowed(self, fixed: Ints, reduce: int) -> Bools:
        """Which choices a reduce has next to those that are fixed, shape (nodes + 1,).

        Of two reduces that are exactly alike, the later one may not have an earlier choice than the other.
        """
        taken = np.bincount(fixed[fixed != OPEN], minlength=self.nowhere + 1)
        allowed: Bools = self._usable[reduce] & (taken < self.reduce_room)
        if self._limited[reduce]:
            mine = fixed[(self.problem.job == self.problem.job[reduce]) & (fixed != OPEN) & (fixed != self.nowhere)]
            allowed[mine] = False
        before = self.twin[reduce]
        if before >= 0 and fixed[before] != OPEN:
            allowed[: fixed[before]] = False
        return allowed
