"""Lower bounds of `transmission` where some reduces are placed, in integers: what its branch and bound is proved by.

Given the reduces, the maps are an assignment problem. So the bounds branch over the reduces only. Of those that are
open each is bounded on its own: the cost of every map is split among them in proportion to what the map sends to each,
and each may then imagine every map where it suits it best. This is Lagrangian decomposition of the linearisation RLT-1
(digest 000, section 3), with multipliers that need no search. Where that is quick, pairs of reduces share instead, and
every choice of both is tried.

Nothing here finds placements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from optsched.instance import LARGEST, Bools, Floats, Ints
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_costs import units_of

__all__ = ["IMPOSSIBLE", "MOST_PRODUCTS", "OPEN", "Branching", "ReduceBounds", "ReduceCharges"]

#: Stands for a reduce that is neither placed nor left out yet.
OPEN = -1

#: The bound of what no placement can be.
IMPOSSIBLE = 2**60

#: Products of a map's node, a reduce's node and a shuffle entry that are held in memory, twice (256 MB at most).
_HELD = 2**24

#: Products that are computed at once where they are not held.
_BLOCK = 2**22

#: Products, times nodes, up to which reduces are bounded in pairs while more than two are open; and what finding the
#: pairs may take.
_PAIRED = 2**24

#: More products than this are not bounded one by one: a bound would take minutes.
MOST_PRODUCTS = 2**29


class ReduceCharges(NamedTuple):
    """Prices of where reduces may run, in units of 1/`ReduceBounds.scale`; negative ones count as 0.

    Attributes
    ----------
    slots
        int64, shape (nodes + 1,): of a reduce slot of each node, and last of leaving a reduce out.
    places
        int64, shape (jobs + 1, nodes): of the one place of each job on each node; the last row means nothing.
    """

    slots: Ints
    places: Ints


class Branching(NamedTuple):
    """A tree over the choices of the reduces, one after the other: what a bound of the optimum is computed from.

    Attributes
    ----------
    order
        int64, shape (reduces,): the order in which they are placed.
    states
        For each state that is looked into, the choices of the first reduces in this order: some prices of the map
        slots, of which each choice takes the best. Of a state that is not named its parent's bound is all that is said.
    charges
        Prices of where reduces may run, or None.
    """

    order: Ints
    states: Mapping[tuple[int, ...], Sequence[Ints]]
    charges: ReduceCharges | None


class ReduceBounds:
    """Lower bounds of a `transmission` problem where some of the reduces are fixed.

    A state of the search is `fixed`: for each reduce its node, the number of nodes where it is left out ("nowhere"), or
    `OPEN`. Maps choose among the nodes with idle slots, and nowhere where the slots do not hold all of them.

    Parameters
    ----------
    problem
        What to bound.

    Attributes
    ----------
    hosts
        int64: nodes with idle map slots.
    room
        int64, shape (rows,): slots of each of `hosts`, and last, where not every map is placed, how many are not.
    nowhere
        The choice of a reduce that is left out: the number of nodes.
    products
        How many products of a map's node, a reduce's node and a shuffle entry there are.
    paired
        Whether reduces are bounded in pairs also while more than two are open.

    Examples
    --------
    >>> from optsched.instance import MAP, REDUCE, Cluster, Instance, Ragged, Shuffle, Topology, Workload
    >>> cluster = Cluster(["D1", "D2"], topology=Topology("distance", [[0.0, 4.0], [4.0, 0.0]]))
    >>> workload = Workload(
    ...     ["M1", "R1"], kind=[MAP, REDUCE], size=[128.0, 0.0], replicas=Ragged.from_rows([[0], []]),
    ...     shuffle=Shuffle(map=[0], reduce=[1], size=[10.0], emitted=[np.nan]))
    >>> bounds = ReduceBounds(Transmission(Instance(cluster, workload)))
    >>> bounds.children(np.array([OPEN]), 0, bounds.free).tolist()[:2]
    [0, 40]
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
        self.paired = max(self.products * nodes, reduces**2 * maps) <= _PAIRED
        # Room for shares that are no whole units, where the numbers stay exact.
        largest = int(problem.map_units.max(initial=0)) * maps + int(problem.reduce_units.max(initial=0)) * reduces
        largest += int(float(problem.entries.size.sum()) * float(problem.distance.max(initial=0.0)) * problem.grid)
        self.scale = 64 if problem.grid == 1 and largest * 64 <= LARGEST else 1
        self._maps: Ints = np.zeros((len(self.room), maps), dtype=np.int64)
        self._maps[: self.rows] = problem.map_units[:, self.hosts].T * self.scale
        self._reduces: Ints = np.column_stack([problem.reduce_units * self.scale, np.zeros(reduces, dtype=np.int64)])
        self._held: dict[int, npt.NDArray[np.integer[Any]]] | None = None
        if self.products <= _HELD:
            self._held = {reduce: self._products(reduce) for reduce in range(reduces)}
            #: The same by choice of the reduce: what one choice adds to the maps' costs lies together.
            self._by_choice = [np.ascontiguousarray(held.transpose(2, 0, 1)) for held in self._held.values()]
        #: Prices of 0.
        self.free: Ints = np.zeros(len(self.room), dtype=np.int64)
        #: For each reduce the one before it that nothing tells it apart from, or -1.
        self.twin: Ints = self._twins()

    def _sort_entries(self, maps: int, reduces: int) -> None:
        """Pairs of reduce and map by reduce, then map, and the entries of each: a shuffle may name a pair twice."""
        entries = self.problem.entries
        order = np.lexsort((entries.map, entries.reduce))
        self._size: Floats = entries.size[order]
        key = entries.reduce[order] * max(maps, 1) + entries.map[order]
        pairs, self._first_entry = np.unique(key, return_index=True)
        self._pair_map: Ints = pairs % max(maps, 1)
        self._first_pair: Ints = np.searchsorted(pairs // max(maps, 1), np.arange(reduces + 1))
        #: MB that each map sends to each reduce.
        self.sent: Floats = np.zeros((reduces, maps))
        if len(pairs):
            self.sent[pairs // maps, self._pair_map] = np.add.reduceat(self._size, self._first_entry)

    def _twins(self) -> Ints:
        problem, twin = self.problem, np.full(len(self.sent), -1, dtype=np.int64)
        seen: dict[tuple[object, ...], int] = {}
        entry_of_pair = np.append(self._first_entry, len(self._size))
        for reduce, (begin, end) in enumerate(zip(self._first_pair, self._first_pair[1:], strict=False)):
            shares = slice(entry_of_pair[begin], entry_of_pair[end])
            key = (
                int(problem.job[reduce]) if self._limited[reduce] else None,
                problem.reduce_units[reduce].tobytes(),
                self._pair_map[begin:end].tobytes(),
                np.diff(entry_of_pair[begin : end + 1]).tobytes(),
                self._size[shares].tobytes(),
            )
            twin[reduce] = seen.get(key, -1)
            seen[key] = reduce
        return twin

    # Products of what a map sends and a distance ---------------------------------------------------------------------

    def maps_of(self, reduce: int) -> Ints:
        """Maps that send something to a reduce, increasing."""
        return self._pair_map[self._first_pair[reduce] : self._first_pair[reduce + 1]]

    def _products(self, reduce: int, begin: int = 0, end: int | None = None) -> npt.NDArray[np.integer[Any]]:
        """Scaled cost of each row (node of the map), map of `maps_of(reduce)[begin:end]`, and choice of the reduce."""
        first, last = self._first_pair[reduce] + begin, self._first_pair[reduce + 1]
        last = last if end is None else min(first + end - begin, last)
        bounds = np.append(self._first_entry, len(self._size))[first : last + 1]
        sizes = self._size[bounds[0] : bounds[-1]] if len(bounds) > 1 else self._size[:0]
        units = units_of(sizes[:, None] * self.problem.distance[self.hosts][:, None, :], self.problem.grid)
        if len(sizes) > last - first:
            units = np.add.reduceat(units, bounds[:-1] - bounds[0], axis=1)
        found = np.zeros((len(self.room), last - first, self.nowhere + 1), dtype=np.int64)
        found[: self.rows, :, : self.nowhere] = units * self.scale
        small = int(found.max(initial=0)) < 2**30
        return found.astype(np.int32) if small else found

    def _blocks(self, reduce: int) -> Iterator[tuple[slice, npt.NDArray[np.integer[Any]]]]:
        """The products of a reduce, some of its maps at a time where they are not held."""
        if self._held is not None:
            yield slice(None), self._held[reduce]
            return
        width = max(1, _BLOCK // (len(self.room) * (self.nowhere + 1)))
        for begin in range(0, len(self.maps_of(reduce)), width):
            yield slice(begin, begin + width), self._products(reduce, begin, begin + width)

    def map_costs(self, fixed: Ints) -> Ints:
        """Scaled cost of each map (column) on each row, given the reduces that are placed; shape (rows, maps)."""
        costs = self._maps.copy()
        for reduce in np.flatnonzero((fixed != OPEN) & (fixed != self.nowhere)).tolist():
            maps, node = self.maps_of(reduce), fixed[reduce]
            if self._held is not None:
                costs[:, maps] += self._by_choice[reduce][node]
                continue
            for part, products in self._blocks(reduce):
                costs[:, maps[part]] += products[:, :, node]
        return costs

    def given_maps(self, rows: Ints) -> Ints:
        """Cost of each reduce on each choice where the maps are in these rows, in units of 1/`scale`.

        Shape (reduces, nodes + 1).
        """
        table = self._reduces.copy()
        for reduce in range(len(table)):
            maps = rows[self.maps_of(reduce)]
            for part, products in self._blocks(reduce):
                own = maps[part]
                table[reduce] += products[own, np.arange(len(own))].sum(axis=0, dtype=np.int64)
        return table

    # Bounds --------------------------------------------------------------------------------------------------------

    def allowed(self, fixed: Ints, reduce: int) -> Bools:
        """Choices that a reduce has beside those that are fixed; of reduces that are alike the later has no earlier.

        Shape (nodes + 1,).
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

    def children(
        self,
        fixed: Ints,
        reduce: int,
        prices: Ints,
        charges: ReduceCharges | None = None,
        known: Ints | None = None,
        enough: int = IMPOSSIBLE,
    ) -> Ints:
        """A lower bound, in units, for each choice of an open reduce; `IMPOSSIBLE` where it has not this choice.

        Valid whatever the prices. With at most one other reduce open, no map slot contended, and products that are held
        in memory, a bound that is less than `enough` is the least cost itself.

        Parameters
        ----------
        fixed
            Shape (reduces,): see the class.
        reduce
            An open one.
        prices
            int64, shape (rows,), in units of 1/`scale`: price of each node's map slots, and last, where not every map
            is placed, of leaving one out. What prices bring in is taken off again.
        charges
            The same for the places of reduces. The better of the bounds with and without them holds.
        known
            Bounds from before, by other prices; the better one holds.
        enough
            In units: a bound that is no less need be no stronger.

        Returns
        -------
        int64, shape (nodes + 1,)
        """
        others = [other for other in np.flatnonzero(fixed == OPEN).tolist() if other != reduce]
        alone, total = self.apart(fixed, [reduce, *others], prices)
        bounds = self._combined(fixed, reduce, others, alone)
        if charges is not None:
            paid, earned = self._charged(fixed, [reduce, *others], charges)
            bounds = np.maximum(bounds, self._combined(fixed, reduce, others, alone + paid) - earned)
        impossible = (bounds >= IMPOSSIBLE // 2) | ~self.allowed(fixed, reduce)
        bounds = np.where(impossible, IMPOSSIBLE, -(-(bounds + total) // self.scale))
        bounds = bounds if known is None else np.maximum(bounds, known)
        if self._held is not None and (len(others) == 1 or (others and self.paired)):
            choices = np.flatnonzero(bounds < min(enough, IMPOSSIBLE))
            if len(choices):
                bounds[choices] = np.maximum(bounds[choices], self._paired(fixed, [reduce, *others], prices, choices))
        return bounds

    def _paired(self, fixed: Ints, open_ones: list[int], prices: Ints, choices: Ints) -> Ints:
        """Bounds of some choices of the first open reduce, where the maps' costs are split among pairs of reduces.

        A pair may still imagine every map where it suits the two best, but no longer each reduce for itself.
        """
        groups = self.groups(open_ones)
        costs, total = self._priced(fixed, prices)
        shares, left = _split(costs, np.array([self.sent[group].sum(axis=0) for group in groups]))
        total += left
        for group, share in zip(groups[1:], shares[1:], strict=True):
            first = np.flatnonzero(self.allowed(fixed, group[0]))
            total = min(total + int(self._together(fixed, group, share, first).min(initial=IMPOSSIBLE)), IMPOSSIBLE)
        found = self._together(fixed, groups[0], shares[0], choices)
        bounds: Ints = np.where(found + total >= IMPOSSIBLE // 2, IMPOSSIBLE, -(-(found + total) // self.scale))
        return bounds

    def groups(self, open_ones: list[int]) -> list[list[int]]:
        """Pairs of reduces that fetch most from the same maps, and reduces alone; the first in the first group."""
        left, groups = list(open_ones), []
        while left:
            group = [left.pop(0)]
            common = np.minimum(self.sent[left], self.sent[group]).sum(axis=1)
            if common.any():
                group.append(left.pop(int(common.argmax())))
            groups.append(group)
        return groups

    def _together(self, fixed: Ints, group: list[int], costs: Ints, choices: Ints) -> Ints:
        """Least cost of a pair of reduces and of all maps, by the choice of the first, trying each of the second."""
        assert self._held is not None
        reduce, other = group[0], group[-1]
        if other == reduce:
            alone: Ints = self._alone(reduce, costs) + self._reduces[reduce]
            return alone[choices]
        low, high = costs.copy(), costs.copy()
        for one in group:
            least, most = self._ranges[one]
            low[:, self.maps_of(one)] += least
            high[:, self.maps_of(one)] += most
        # A row that is dearer than another wherever the two reduces are is never chosen.
        never = low > high.min(axis=0)
        rows = np.argsort(never, axis=0, kind="stable")[: int((~never).sum(axis=0).max(initial=1))]
        few = np.take_along_axis(costs, rows, axis=0)
        mine, theirs = self.maps_of(reduce), self.maps_of(other)
        moved = self._held[reduce][rows[:, mine], np.arange(len(mine))]
        products = self._held[other][rows[:, theirs], np.arange(len(theirs))]
        if products.dtype == np.int32 and int(high.max(initial=0)) < 2**30:
            few, moved = few.astype(np.int32), moved.astype(np.int32)
        found: Ints = np.full(len(choices), IMPOSSIBLE, dtype=np.int64)
        child = fixed.copy()
        for place, choice in enumerate(choices.tolist()):
            child[reduce] = choice
            allowed = self.allowed(child, other)
            if not allowed.any():
                continue
            own = few.copy()
            own[:, mine] += moved[:, :, choice]
            sums = (own[:, theirs, None] + products).min(axis=0).sum(axis=0, dtype=np.int64) + self._reduces[other]
            found[place] = int(self._reduces[reduce, choice]) + _idle(own, theirs) + int(sums[allowed].min())
        return found

    @cached_property
    def _ranges(self) -> list[tuple[Ints, Ints]]:
        """Least and most product of each row and map over the choices of each reduce."""
        assert self._held is not None
        return [(held.min(axis=2).astype(np.int64), held.max(axis=2).astype(np.int64)) for held in self._held.values()]

    def apart(self, fixed: Ints, open_ones: list[int], prices: Ints) -> tuple[Ints, int]:
        """What each open reduce costs by itself on each choice, with its share of the maps' costs; and all the rest.

        Parameters
        ----------
        open_ones
            All open reduces, in the order in which the rows are to be.

        Returns
        -------
        tuple
            int64 of shape (open reduces, nodes + 1), and a constant, in units of 1/`scale`.
        """
        costs, total = self._priced(fixed, prices)
        shares, left = _split(costs, self.sent[open_ones])
        alone = [self._alone(one, mine) + self._reduces[one] for one, mine in zip(open_ones, shares, strict=True)]
        return np.array(alone), total + left

    def proved(self, branching: Branching, enough: int = IMPOSSIBLE) -> int:
        """The lower bound of the optimum, in units, that a tree proves; valid whatever the tree.

        Every choice of a state is bounded, whether the tree names what it leads to or not: nothing can be left out.
        Bounds that are `enough` need be no stronger.
        """
        least = self.cheap
        if () not in branching.states:
            return least
        found = IMPOSSIBLE
        waiting: list[tuple[tuple[int, ...], int]] = [((), least)]
        while waiting:
            state, known = waiting.pop()
            fixed = self.fixed(branching.order, state)
            if len(state) == len(fixed):
                bound = max(self.complete(fixed, prices) for prices in (self.free, *branching.states[state]))
                found = min(found, max(known, bound))
                continue
            bounds: Ints | None = None
            for prices in (self.free, *branching.states[state]):
                reduce = int(branching.order[len(state)])
                bounds = self.children(fixed, reduce, prices, branching.charges, bounds, enough)
            assert bounds is not None
            for choice in np.flatnonzero(bounds < IMPOSSIBLE).tolist():
                child = (*state, choice)
                bound = max(known, int(bounds[choice]))
                if child in branching.states:
                    waiting.append((child, bound))
                else:
                    found = min(found, bound)
        return found

    @cached_property
    def cheap(self) -> int:
        """The problem's cheap bound, in units."""
        return int(self.problem.cheap_bounds()[0].value * self.problem.grid)

    def fixed(self, order: Ints, state: tuple[int, ...]) -> Ints:
        """A state of a tree as one entry a reduce."""
        fixed: Ints = np.full(len(order), OPEN, dtype=np.int64)
        fixed[order[: len(state)]] = state
        return fixed

    def complete(self, fixed: Ints, prices: Ints) -> int:
        """The bound, in units, where no reduce is open: what the maps cost at least."""
        costs, total = self._priced(fixed, prices)
        return -(-(total + int(costs.min(axis=0).sum())) // self.scale)

    def _priced(self, fixed: Ints, prices: Ints) -> tuple[Ints, int]:
        """Map costs with prices, and what is fixed: the cost of the reduces that are, less what the prices bring in."""
        prices = _clipped(prices, int(self.room.sum()))
        held = np.flatnonzero(fixed != OPEN)
        total = int(self._reduces[held, fixed[held]].sum()) - int((prices * self.room).sum())
        return self.map_costs(fixed) + prices[:, None], total

    def _charged(self, fixed: Ints, open_ones: list[int], charges: ReduceCharges) -> tuple[Ints, int]:
        """What each open reduce pays for each choice, and what all that is left to sell brings in."""
        times = (charges.places.size + charges.slots.size) * (len(fixed) + 1)
        slots, places = _clipped(charges.slots, times), _clipped(charges.places, times)
        job, limited = self.problem.job[open_ones], self._limited[open_ones]
        paid: Ints = np.tile(slots, (len(open_ones), 1))
        paid[limited, : self.nowhere] += places[job[limited]]
        taken = fixed[fixed != OPEN]
        earned = int((slots * self.reduce_room).sum()) - int(slots[taken].sum())
        return paid, earned + int(places[np.unique(job[limited])].sum())

    def _alone(self, reduce: int, costs: Ints) -> Ints:
        """Least cost of all maps of one reduce on each of its choices, if each map's node suits this reduce alone."""
        mine = costs[:, self.maps_of(reduce)]
        found: Ints = np.zeros(self.nowhere + 1, dtype=np.int64)
        for part, products in self._blocks(reduce):
            own = mine[:, part]
            if products.dtype == np.int32 and int(own.max(initial=0)) < 2**30 and int(own.min(initial=0)) > -(2**30):
                own = own.astype(np.int32)
            found += (own[:, :, None] + products).min(axis=0).sum(axis=0, dtype=np.int64)
        return found

    def _combined(self, fixed: Ints, reduce: int, others: list[int], costs: Ints) -> Ints:
        """Costs of the reduce's choices (the first row), and the best choice of each other that these leave to it."""
        bounds: Ints = costs[0].copy()
        job, taken = self.problem.job, np.bincount(fixed[fixed != OPEN], minlength=self.nowhere + 1)
        for other, row in zip(others, costs[1:], strict=True):
            row = np.where(self.allowed(fixed, other), row, IMPOSSIBLE)
            best = int(row.argmin())
            least = row[best]
            row[best] = IMPOSSIBLE
            bounds += least
            rivals = self._limited[reduce] and self._limited[other] and job[reduce] == job[other]
            if taken[best] + 1 >= self.reduce_room[best] or (rivals and best != self.nowhere):
                bounds[best] += row.min() - least
            bounds = np.minimum(bounds, IMPOSSIBLE)
        return bounds


def _split(costs: Ints, sent: Floats) -> tuple[list[Ints], int]:
    """Costs of the maps in whole shares in proportion to what is sent (row), and what is left of them at least."""
    running = np.cumsum(sent, axis=0)
    part = np.divide(running, running[-1], out=np.zeros_like(running), where=running[-1] > 0)
    shares, given = list[Ints](), np.zeros(costs.shape, dtype=np.int64)
    for row in part:
        marks = np.floor(costs * row).astype(np.int64)
        shares.append(marks - given)
        given = marks
    return shares, int((costs - given).min(axis=0).sum())


def _idle(costs: Ints, busy: Ints) -> int:
    """Least cost of all maps but some."""
    rest = np.ones(costs.shape[1], dtype=bool)
    rest[busy] = False
    return int(costs[:, rest].min(axis=0).sum(dtype=np.int64))


def _clipped(prices: Ints, times: int) -> Ints:
    """Prices, 0 or more, of which so many sum to less than `IMPOSSIBLE`: they are anybody's, and may be too large."""
    clipped: Ints = np.clip(prices, 0, min(LARGEST, 2**57 // max(times, 1)))
    return clipped
