"""Lower bounds of `transmission` for partly placed reduces, in integers: the proof of its branch and bound.

`solvers.searches.transmission` describes the whole algorithm, and the relaxations that bound the open part. Nothing
here finds placements.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from optsched.core.deadline import check
from optsched.core.instance import LARGEST, Bools, Floats, Ints
from optsched.problems.transmission import Transmission

#: Stands for a reduce that is neither placed nor left out yet.
OPEN = -1

#: Up to this many products of an amount and a distance are kept in memory: 128 MB at most. With more, each bound
#: recomputes them, which takes 10 to 20 times as long per product.
_HELD = 2**24

#: Products that are computed at once if they are not kept: 32 MB.
_BLOCK = 2**22

#: Parts into which a unit of cost is divided where costs are whole and small enough. Shares of a map's cost and prices
#: are whole parts: finer ones are nearer to what they stand for, and leave less room before numbers are too large. It
#: matters little: with 1, 8, 64 and 512 there are 1,603, 1,590, 1,596 and 1,598 states
#: (`solvers.searches.transmission`).
_PARTS = 64

#: The bound of an impossible placement.
IMPOSSIBLE = 2**60

# `solvers.searches.transmission` explains the tuned constants, and the words "states", "the gap" and "large".

#: Up to this many products times nodes, reduces are bounded in pairs also while more than two are open: sharper bounds
#: against bounds that take as many times longer as there are nodes. Finding the pairs may take as many steps. In pairs
#: there are 1,596 states, else 1,854. The gap of large instances, up to 2^23, is 6,646 with this, 9,314 with 2^20 and
#: 9,985 without pairs.
_PAIRED = 2**24

#: Problems with more products are not searched. Each bound then computes the products anew, at 12 to 19 ns of processor
#: time each (2^25 and 2^27 products): at this size one bound takes 8 s, and the root's 40 rounds minutes.
MOST_PRODUCTS = 2**29


class Branching(NamedTuple):
    """A tree over the choices of the reduces, one after the other, from which a bound of the optimum is computed.

    Attributes
    ----------
    order
        int64, shape (reduces,): the order in which they are placed.
    states
        The expanded states, each named by the choices of the first reduces in this order, with prices of the map slots.
        Each child of the state has a bound by each of these prices; the best of them holds. A child that is not itself
        a state here keeps this bound.
    """

    order: Ints
    states: Mapping[tuple[int, ...], Sequence[Ints]]


class ReduceBounds:
    """Lower bounds of a `transmission` problem in which some reduces are fixed, and the costs that they look up.

    A state of the search is given as `fixed`. It has an entry for each reduce: its node, or the number of nodes if it
    is left out ("nowhere"), or `OPEN`. Rows are where a map can be: on each node with idle slots and, if the slots do
    not hold all maps, last "nowhere".

    Attributes
    ----------
    hosts
        int64: nodes with idle map slots.
    room
        int64, shape (rows,): slots of each of `hosts` and, if not every map is placed, last how many are not.
    nowhere
        The choice of a reduce that is left out: the number of nodes.
    products
        The number of products of an amount and a distance: pairs of a reduce and a map that sends to it, times rows,
        times choices of the reduce.
    scale
        Costs are in units of 1/`scale` of the problem's, so that shares of a cost lose less when they are rounded.
    sent
        float64, shape (reduces, maps): MB that each map sends to each reduce.
    maps_of
        For each reduce the maps that send something to it, increasing.
    twin
        int64, shape (reduces,): for each reduce the last earlier one that is exactly alike, or -1.
    paired
        Whether reduces are bounded in pairs also while more than two are open.
    free
        int64, shape (rows,): prices of 0.

    Examples
    --------
    >>> from optsched.core.instance import MAP, REDUCE, Cluster, Instance, Ragged, Shuffle, Topology, Workload
    >>> cluster = Cluster(["D1", "D2"], topology=Topology("distance", [[0.0, 4.0], [4.0, 0.0]]))
    >>> workload = Workload(
    ...     ["M1", "R1"], kind=[MAP, REDUCE], size=[128.0, 0.0], replicas=Ragged.from_rows([[0], []]),
    ...     shuffle=Shuffle(map=[0], reduce=[1], size=[10.0]))
    >>> bounds = ReduceBounds(Transmission(Instance(cluster, workload)))
    >>> (bounds.map_costs(np.array([1])) // bounds.scale).tolist()  # the reduce on D2
    [[40], [512]]
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
        #: Slots of each choice of a reduce, the last for those that are left out.
        self.reduce_room: Ints = np.append(problem.reduce_capacity, reduces - problem.reduce_count)
        self._usable: Bools = np.column_stack([problem.usable, np.ones(reduces, dtype=bool)])
        self._limited = problem.limited
        self.maps_of: list[Ints] = []
        #: What each of these sends, shape (entries, maps): a shuffle may name a pair several times.
        self._amounts: list[Floats] = []
        entries, self.sent = problem.entries, problem.sent
        order = np.lexsort((entries.map, entries.reduce))
        bounds = np.searchsorted(entries.reduce[order], np.arange(reduces + 1))
        for begin, end in itertools.pairwise(bounds):
            own = order[begin:end]
            senders, first, place = np.unique(entries.map[own], return_index=True, return_inverse=True)
            number = np.arange(len(own)) - first[place]
            amounts = np.zeros((int(number.max(initial=-1)) + 1, len(senders)))
            amounts[number, place] = problem.amounts[own]
            self.maps_of.append(senders)
            self._amounts.append(amounts)
        self.products = sum(map(len, self.maps_of)) * len(self.room) * (nodes + 1)
        # If the numbers stay exact.
        largest = int(problem.map_units.max(initial=0)) * maps + int(problem.reduce_units.max(initial=0)) * reduces
        largest += int(problem.most_between)
        self.scale = _PARTS if problem.grid == 1 and largest * _PARTS <= LARGEST else 1
        self._maps: Ints = np.zeros((len(self.room), maps), dtype=np.int64)
        self._maps[: self.rows] = problem.map_units[:, self.hosts].T * self.scale
        self._reduces: Ints = np.column_stack([problem.reduce_units * self.scale, np.zeros(reduces, dtype=np.int64)])
        self._stored: list[npt.NDArray[np.integer[Any]]] | None = None
        if self.products <= _HELD:
            self._stored = [self._products(reduce) for reduce in range(reduces)]
        self.twin: Ints = self._twins()
        self.paired = max(self.products * nodes, reduces**2 * maps) <= _PAIRED
        self.free: Ints = np.zeros(len(self.room), dtype=np.int64)

    def _twins(self) -> Ints:
        problem, twin = self.problem, np.full(len(self.sent), -1, dtype=np.int64)
        seen: dict[tuple[object, ...], int] = {}
        for reduce, (maps, amounts) in enumerate(zip(self.maps_of, self._amounts, strict=True)):
            job = int(problem.job[reduce]) if self._limited[reduce] else None
            key = job, problem.reduce_units[reduce].tobytes(), maps.tobytes(), amounts.tobytes()
            twin[reduce] = seen.get(key, -1)
            seen[key] = reduce
        return twin

    # Products of what a map sends and a distance ---------------------------------------------------------------------

    def _products(self, reduce: int, part: slice = slice(None), to: Ints | None = None) -> npt.NDArray[np.integer[Any]]:
        """Scaled cost of each row, map of `maps_of[reduce][part]`, and choice: a node, or one of `to`, or nowhere."""
        to = np.arange(self.nowhere) if to is None else to
        lengths, amounts = self.problem.scale.lengths[self.hosts[:, None], to], self._amounts[reduce][:, part]
        found = np.zeros((len(self.room), amounts.shape[1], len(to) + 1), dtype=np.int64)
        for each in amounts:
            found[: self.rows, :, :-1] += self.problem.products(each[:, None], lengths[:, None]) * self.scale
        small = int(found.max(initial=0)) < 2**30
        return found.astype(np.int32) if small else found

    def _blocks(self, reduce: int) -> Iterator[tuple[slice, npt.NDArray[np.integer[Any]]]]:
        """The products of a reduce; if they are not kept, a few maps at a time, with checks of the deadline."""
        if self._stored is not None:
            yield slice(None), self._stored[reduce]
            return
        width = max(1, _BLOCK // (len(self.room) * (self.nowhere + 1)))
        for begin in range(0, len(self.maps_of[reduce]), width):
            check()
            part = slice(begin, begin + width)
            yield part, self._products(reduce, part)

    def map_costs(self, fixed: Ints) -> Ints:
        """Scaled cost of each map (column) on each row, given the placed reduces; shape (rows, maps)."""
        costs = self._maps.copy()
        for reduce in np.flatnonzero((fixed != OPEN) & (fixed != self.nowhere)).tolist():
            if self._stored is not None:
                costs[:, self.maps_of[reduce]] += self._stored[reduce][:, :, fixed[reduce]]
            else:
                check()
                costs[:, self.maps_of[reduce]] += self._products(reduce, to=fixed[[reduce]])[:, :, 0]
        return costs

    def given_maps(self, rows: Ints) -> Ints:
        """Cost of each reduce for each choice with the maps in these rows, in units of 1/`scale`.

        Shape (reduces, nodes + 1).
        """
        table, width = self._reduces.copy(), max(1, _BLOCK // (self.nowhere + 1))
        for reduce, maps in enumerate(self.maps_of):
            placed = np.flatnonzero(rows[maps] < self.rows)
            for begin in range(0, len(placed), width):
                check()
                part = placed[begin : begin + width]
                lengths = self.problem.scale.lengths[self.hosts[rows[maps[part]]]]
                units = self.problem.products(self._amounts[reduce][:, part, None], lengths)
                table[reduce, :-1] += units.sum(axis=(0, 1)) * self.scale
        return table

    def allowed(self, fixed: Ints, reduce: int) -> Bools:
        """Which choices a reduce has besides the fixed ones, shape (nodes + 1,).

        Of two exactly alike reduces, the later one may not have an earlier choice than the other.
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

    # Bounds ---------------------------------------------------------------------------------------------------------

    def children(
        self,
        fixed: Ints,
        reduce: int,
        prices: Ints,
        known: Ints | None = None,
        enough: int = IMPOSSIBLE,
    ) -> Ints:
        """A lower bound, in units, for each choice of an open reduce; `IMPOSSIBLE` if it may not choose this.

        The bounds are valid for any prices. A bound below `enough` is the least cost itself if at most one other reduce
        is open, no map slot is contended, and the products are kept in memory.

        Parameters
        ----------
        prices
            int64, shape (rows,), in units of 1/`scale`: price of each node's map slots and, if not every map is placed,
            last of leaving one out. The earnings of the slots at these prices are subtracted.
        known
            Bounds by other prices, computed before. The better one holds.
        enough
            In units: a choice whose bound has reached this is not bounded more sharply.
        """
        others = [other for other in np.flatnonzero(fixed == OPEN).tolist() if other != reduce]
        alone, total = self.apart(fixed, [reduce, *others], prices)
        bounds = self._combined(fixed, reduce, others, alone)
        impossible = (bounds >= IMPOSSIBLE // 2) | ~self.allowed(fixed, reduce)
        bounds = np.where(impossible, IMPOSSIBLE, -(-(bounds + total) // self.scale))
        bounds = bounds if known is None else np.maximum(bounds, known)
        if self._stored is not None and (len(others) == 1 or (others and self.paired)):
            choices = np.flatnonzero(bounds < min(enough, IMPOSSIBLE))
            if len(choices):
                bounds[choices] = np.maximum(bounds[choices], self._paired(fixed, [reduce, *others], prices, choices))
        return bounds

    def _paired(self, fixed: Ints, open_ones: list[int], prices: Ints, choices: Ints) -> Ints:
        """Bounds of some choices of the first open reduce, with the maps' costs split among pairs of reduces.

        A pair assumes every map where it suits the two best. This is sharper than each reduce by itself.
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
        """Reduces in pairs that fetch from the same maps, and single ones that remain.

        Each reduce in turn takes the partner with which it shares most. The first reduce is in the first group.
        """
        left, groups = list(open_ones), []
        while left:
            group = [left.pop(0)]
            common = np.minimum(self.sent[left], self.sent[group]).sum(axis=1)
            if common.any():
                group.append(left.pop(int(common.argmax())))
            groups.append(group)
        return groups

    def _together(self, fixed: Ints, group: list[int], costs: Ints, choices: Ints) -> Ints:
        """Least cost of a pair of reduces and of all maps, for each of some choices of the first reduce.

        Every choice of the second one is tried. `group` may also be a single reduce.
        """
        assert self._stored is not None
        reduce, other = group[0], group[-1]
        if other == reduce:
            alone: Ints = self._alone(reduce, costs) + self._reduces[reduce]
            return alone[choices]
        low, high = costs.copy(), costs.copy()
        for one in group:
            least, most = self._ranges[one]
            low[:, self.maps_of[one]] += least
            high[:, self.maps_of[one]] += most
        # A map never takes a row that costs more than another row does, wherever the two reduces are.
        never = low > high.min(axis=0)
        rows = np.argsort(never, axis=0, kind="stable")[: int((~never).sum(axis=0).max(initial=1))]
        few = np.take_along_axis(costs, rows, axis=0)
        mine, theirs = self.maps_of[reduce], self.maps_of[other]
        moved = self._stored[reduce][rows[:, mine], np.arange(len(mine))]
        products = self._stored[other][rows[:, theirs], np.arange(len(theirs))]
        if products.dtype == np.int32 and int(high.max(initial=0)) < 2**30:
            few, moved = few.astype(np.int32), moved.astype(np.int32)
        found: Ints = np.full(len(choices), IMPOSSIBLE, dtype=np.int64)
        child = fixed.copy()
        for position, choice in enumerate(choices.tolist()):
            child[reduce] = choice
            allowed = self.allowed(child, other)
            if not allowed.any():
                continue
            own = few.copy()
            own[:, mine] += moved[:, :, choice]
            sums = (own[:, theirs, None] + products).min(axis=0).sum(axis=0, dtype=np.int64) + self._reduces[other]
            found[position] = int(self._reduces[reduce, choice]) + int(sums[allowed].min())
            found[position] += int(np.delete(own, theirs, axis=1).min(axis=0).sum(dtype=np.int64))
        return found

    @cached_property
    def _ranges(self) -> list[tuple[Ints, Ints]]:
        """Least and most product of each row and map over the choices of each reduce."""
        assert self._stored is not None
        return [(one.min(axis=2).astype(np.int64), one.max(axis=2).astype(np.int64)) for one in self._stored]

    def apart(self, fixed: Ints, open_ones: list[int], prices: Ints) -> tuple[Ints, int]:
        """The cost of each open reduce by itself for each choice, with its share of the maps' costs; and a constant.

        Rows are in the order of `open_ones`, all open reduces. The constant is the cost that no open reduce shares:
        that of fixed reduces, and of maps that send nothing to open ones. Both are in units of 1/`scale`.
        """
        costs, total = self._priced(fixed, prices)
        shares, left = _split(costs, self.sent[open_ones])
        alone = [self._alone(one, mine) + self._reduces[one] for one, mine in zip(open_ones, shares, strict=True)]
        return np.array(alone), total + left

    def proved(self, branching: Branching, enough: int = IMPOSSIBLE) -> int:
        """The lower bound of the optimum, in units, that a tree proves; valid for any tree.

        Every child of every state is bounded, whether the tree names the child or not. So nothing can be left out. No
        child is bounded more sharply than `enough` units.
        """
        least = self.cheap
        if () not in branching.states:
            return least
        found, waiting = IMPOSSIBLE, [(tuple[int, ...](), least)]
        while waiting:
            check()
            state, known = waiting.pop()
            fixed = self.fixed(branching.order, state)
            if len(state) == len(fixed):
                bound = max(self.complete(fixed, prices) for prices in (self.free, *branching.states[state]))
                found = min(found, max(known, bound))
                continue
            reduce = int(branching.order[len(state)])
            bounds = self.children(fixed, reduce, self.free, None, enough)
            for prices in branching.states[state]:
                bounds = self.children(fixed, reduce, prices, bounds, enough)
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
        """A state of a tree as one entry per reduce: its choice, or `OPEN`."""
        fixed: Ints = np.full(len(order), OPEN, dtype=np.int64)
        fixed[order[: len(state)]] = state
        return fixed

    def complete(self, fixed: Ints, prices: Ints) -> int:
        """The bound, in units, if no reduce is open: each map is where its cost and the slot's price are least."""
        costs, total = self._priced(fixed, prices)
        return -(-(total + int(costs.min(axis=0).sum())) // self.scale)

    def _priced(self, fixed: Ints, prices: Ints) -> tuple[Ints, int]:
        """Map costs with the prices of slots; and the cost of the placed reduces, less the earnings of the slots."""
        prices = _clipped(prices, int(self.room.sum()))
        held = np.flatnonzero(fixed != OPEN)
        total = int(self._reduces[held, fixed[held]].sum()) - int((prices * self.room).sum())
        return self.map_costs(fixed) + prices[:, None], total

    def _alone(self, reduce: int, costs: Ints) -> Ints:
        """Least cost of a reduce's maps, for each of its choices, with every map where it suits this reduce best."""
        mine = costs[:, self.maps_of[reduce]]
        found: Ints = np.zeros(self.nowhere + 1, dtype=np.int64)
        for part, products in self._blocks(reduce):
            own = mine[:, part]
            if products.dtype == np.int32 and int(own.max(initial=0)) < 2**30 and int(own.min(initial=0)) > -(2**30):
                own = own.astype(np.int32)
            found += (own[:, :, None] + products).min(axis=0).sum(axis=0, dtype=np.int64)
        return found

    def _combined(self, fixed: Ints, reduce: int, others: list[int], costs: Ints) -> Ints:
        """The cost of each choice of the reduce (the first row), with the least cost of each other open reduce.

        Another reduce pays for its second best choice if its best one is no longer free: this reduce takes its last
        place, or both are of one job, which runs one reduce per node.
        """
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
    """Split the costs of the maps in whole shares, one for each row of `sent` and in proportion to it.

    Returns the shares, and the least remaining cost: what rounding leaves, and the cost of maps that send nothing.
    """
    running = np.cumsum(sent, axis=0)
    part = np.divide(running, running[-1], out=np.zeros_like(running), where=running[-1] > 0)
    shares, given = list[Ints](), np.zeros(costs.shape, dtype=np.int64)
    for row in part:
        marks = np.floor(costs * row).astype(np.int64)
        shares.append(marks - given)
        given = marks
    return shares, int((costs - given).min(axis=0).sum())


def _clipped(prices: Ints, times: int) -> Ints:
    """The prices, limited to at least 0 and so small that this many of them sum to less than `IMPOSSIBLE`.

    Prices may come from anybody's file. The bounds are valid for any prices that do not overflow.
    """
    clipped: Ints = np.clip(prices, 0, min(LARGEST, 2**57 // max(times, 1)))
    return clipped
