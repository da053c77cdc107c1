"""`transmission` exactly: branch and bound over the reduces; once these are placed the maps are an assignment problem.

Bounds are `problems.transmission_bounds`, so that the tree can be kept as a proof. Nothing here says what an optimum
is worth to anybody else: routes make solutions of it.
"""

from __future__ import annotations

import copy
import heapq
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from optsched.deadline import check, unhurried
from optsched.instance import LARGEST, Ints
from optsched.placement import NONE, Placement
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_bounds import (
    IMPOSSIBLE,
    MOST_PRODUCTS,
    Branching,
    ReduceBounds,
    ReduceCharges,
)
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.problems.transmission_tables import OPEN
from optsched.results import Limit
from optsched.searches.assignment import optimal_placement
from optsched.searches.transmission_reduces import ReducePrices, by_arrays
from optsched.solvers.outcome import STOPPED, stopped
from optsched.solvers.profiles import Profile

__all__ = ["MOST_STATES", "Searched", "TransmissionSearch", "cheapest_rows", "slot_prices"]

#: States of a tree that are kept as a proof.
MOST_STATES = 20_000

#: States that wait for the best of them to be taken; beyond, those of a subtree go first.
_MOST_WAITING = 100_000

#: Cells of the dense assignment of maps to slots (128 MB); where it has more, no search begins.
_MOST_CELLS = 2**24

#: How often slots are priced anew for the first state, and for a state by the number of other open reduces; where none
#: is, as often as it helps.
_FIRST_ROUNDS, _ROUNDS, _MANY_ROUNDS = 40, {1: 6, 2: 8}, 12

#: How much shorter the steps of the prices become where one did not help.
_SHORTER = 0.7

#: Products of `ReduceBounds` up to which a first placement is bettered: with more, an evaluation takes too long.
_MOST_FOR_START = 2**25

#: Placements of reduces that the search for a first placement evaluates, and how many dives it begins from.
_EVALUATIONS, _DIVES = 3000, 8


def cheapest_rows(costs: Ints, room: Ints) -> Ints:
    """The row of each map (column) in an assignment of least cost, no row with more than its room.

    >>> cheapest_rows(np.array([[1, 2, 3], [5, 9, 4]]), np.array([1, 2])).tolist()
    [1, 0, 1]
    """
    best: Ints = costs.argmin(axis=0)
    if (np.bincount(best, minlength=len(room)) <= room).all():
        return best
    slots = np.repeat(np.arange(len(room)), room)
    rows, columns = linear_sum_assignment(costs.T[:, slots])
    best[rows] = slots[columns]
    return best


def slot_prices(costs: Ints, room: Ints, rows: Ints) -> Ints:
    """Prices of the rows' slots that prove an assignment of least cost: every map is where it pays least.

    The price of a row is what it would cost to free a slot of it: the shortest way, by moving one map after another,
    to a slot that is free.
    """
    used = np.bincount(rows, minlength=len(room))
    # move[p, q]: what moving one of the maps of p to q adds at least; a map that is nowhere moves for nothing.
    move = np.full((len(room), len(room)), IMPOSSIBLE, dtype=np.int64)
    order = np.argsort(rows, kind="stable")
    if len(order):
        added = costs[:, order] - costs[rows[order], order]
        busy = np.flatnonzero(used)
        move[busy] = np.minimum.reduceat(added, np.searchsorted(rows[order], busy), axis=1).T
    full = used >= room
    if full.all():
        full[int(np.flatnonzero(used)[0]) if used.any() else 0] = False  # prices are relative to one
    price: Ints = np.where(full & (used > 0), IMPOSSIBLE, 0)
    for _ in range(len(room)):
        nearer = np.minimum(price, (move + price).min(axis=1, initial=IMPOSSIBLE))
        if np.array_equal(nearer, price):
            break
        price = nearer
    return price - min(0, int(price.min(initial=0)))


def _stepped(costs: Ints, room: Ints, prices: Ints, missing: float) -> Ints:
    """Prices a step on (Polyak's), to where a bound that is this much too low would be reached were it linear."""
    used = np.bincount((costs + prices[:, None]).argmin(axis=0), minlength=len(room))
    rising = np.where((prices <= 0) & (used < room), 0, used - room)
    length = int((rising * rising).sum())
    moved: Ints = np.clip(prices + missing / max(length, 1) * rising, 0, LARGEST).astype(np.int64)
    return moved


class Searched(NamedTuple):
    """What a search gave.

    Attributes
    ----------
    nodes
        Node of each of `problem.tasks` in the best placement found, or None.
    bound
        The proved bound, in units.
    tree
        What proves it, or None where it has more than `MOST_STATES` states.
    states
        How many states were looked into.
    limit
        What cut the search short.
    """

    nodes: Ints | None
    bound: int
    tree: Branching | None
    states: int
    limit: Limit | None


@dataclass
class _Held:
    """The best placement so far: choices of the reduces, rows of the maps, cost in units."""

    fixed: Ints
    rows: Ints
    value: int


class _Waiting(NamedTuple):
    """A state that is to be looked into, by its bound and then its number; prices of map slots to begin with."""

    bound: int
    number: int
    state: tuple[int, ...]
    prices: Ints


class TransmissionSearch:
    """A branch and bound over the reduces of one problem.

    States with the least bound come first; below the last reduce but one, and where too many wait, the deepest do.

    Parameters
    ----------
    problem
        What to solve.
    profile
        Limits: a node is a state of the tree whose choices are bounded.
    start
        A placement to begin from.
    """

    def __init__(self, problem: Transmission, profile: Profile, start: Placement | None = None) -> None:
        self.problem, self.profile, self.start = problem, profile, start
        self._deadline = None if profile.time_limit is None else time.monotonic() + profile.time_limit
        self.bounds = ReduceBounds(problem)
        self._held: _Held | None = None
        self._evaluations = 0
        self.order: Ints = self._order()
        self.charges: ReduceCharges | None = None
        self._states: dict[tuple[int, ...], list[Ints]] = {}
        self._count = 0
        self._heap: list[_Waiting] = []
        self._stack: list[_Waiting] = []
        #: Bound of the state that is looked into: an interrupt may come before all that it leads to waits.
        self._at = IMPOSSIBLE
        #: Least bound of the states that were looked into and lead to no other.
        self._settled = IMPOSSIBLE
        self._tick = itertools.count()

    def run(self) -> Searched:
        """Search until the optimum is proved or a limit is reached."""
        limit: Limit | None
        try:
            limit = self._run()
        except STOPPED as error:
            limit = stopped(error)[0]
        waiting = [self._at, self._settled, *(entry.bound for entry in (*self._heap, *self._stack))]
        if not self._count:
            waiting.append(self.bounds.cheap)
        bound = min(waiting)
        if self._held is not None:
            bound = min(bound, self._held.value)
        tree = Branching(self.order, self._states, self.charges) if self._count <= MOST_STATES else None
        return Searched(self._nodes(), bound, tree, self._count, limit)

    def _run(self) -> Limit | None:
        problem, bounds = self.problem, self.bounds
        cells = len(problem.maps) * int(bounds.room.sum())
        self._begin(cells)
        if bounds.products > MOST_PRODUCTS or cells > _MOST_CELLS:
            return Limit.MEMORY
        if self._value_held <= bounds.cheap:
            return None
        self.charges = self._root_charges()
        self._push(bounds.cheap, (), bounds.free)
        while self._stack or self._heap:
            if (limit := self._stopped()) is not None:
                return limit
            entry = self._stack[-1] if self._stack else self._heap[0]
            self._at = entry.bound
            if self._stack:
                self._stack.pop()
            else:
                heapq.heappop(self._heap)
            if self._at < self._value_held:
                self._look_into(entry)
            self._at = IMPOSSIBLE
        return None

    def _stopped(self) -> Limit | None:
        profile = self.profile
        if profile.node_limit is not None and self._count >= profile.node_limit:
            return Limit.NODES
        if self._late():
            return Limit.TIME
        if self._held is not None and not self._stack and (profile.relative_gap or profile.absolute_gap):
            gap = self._held.value - (self._heap[0].bound if self._heap else self.bounds.cheap)
            if gap <= max(profile.absolute_gap * self.problem.grid, profile.relative_gap * abs(self._held.value)):
                return Limit.GAP
        return None

    def _late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def _push(self, bound: int, state: tuple[int, ...], prices: Ints) -> None:
        entry = _Waiting(bound, next(self._tick), state, prices)
        if len(state) >= len(self.order) - 1 or len(self._heap) > _MOST_WAITING:
            self._stack.append(entry)
        else:
            heapq.heappush(self._heap, entry)

    def _order(self) -> Ints:
        """First the reduces that would be without a partner in pairs of them, then those that fetch most."""
        most = np.argsort(-self.bounds.sent.sum(axis=1), kind="stable")
        if not self.bounds.paired:
            return most
        alone = [group[0] for group in self.bounds.groups(most[::-1].tolist()) if len(group) == 1]
        return np.array([*alone, *(reduce for reduce in most.tolist() if reduce not in alone)], dtype=np.int64)

    # A state -------------------------------------------------------------------------------------------------------

    def _look_into(self, entry: _Waiting) -> None:
        """Bound what a state leads to, and let wait what is left of it, the best last."""
        bounds, order, state = self.bounds, self.order, entry.state
        fixed = bounds.fixed(order, state)
        if len(state) == len(order):  # there is no reduce at all, or prices are larger than bounds read them
            costs = bounds.map_costs(fixed)
            last = slot_prices(costs, bounds.room, self._try(fixed, costs))
            self._note(state, [last])
            self._settled = min(self._settled, max(entry.bound, bounds.complete(fixed, last)))
            return
        found, prices, best = self._bounded(fixed, int(order[len(state)]), entry.prices)
        self._note(state, prices)
        found = np.maximum(found, entry.bound)
        choices = np.flatnonzero(found < self._value_held)
        for choice in choices[np.argsort(-found[choices], kind="stable")].tolist():
            self._push(int(found[choice]), (*state, choice), best)

    def _note(self, state: tuple[int, ...], prices: list[Ints]) -> None:
        self._count += 1
        if self._count <= MOST_STATES:
            self._states[state] = prices

    @property
    def _value_held(self) -> int:
        return IMPOSSIBLE if self._held is None else self._held.value

    def _bounded(self, fixed: Ints, reduce: int, prices: Ints) -> tuple[Ints, list[Ints], Ints]:
        """Bounds of the choices of a reduce, prices of map slots that give them, and the best of these prices.

        The choice that is most promising is completed again and again. With no other reduce open, prices that prove
        its cost settle it. Else prices rise where the maps would then use more slots than there are, and fall where
        they use less (subgradient steps): so they are good for many choices at once.
        """
        bounds, used = self.bounds, [prices] if prices.any() else []
        found = last = bounds.children(fixed, reduce, prices, self.charges, None, self._value_held)
        others = int(np.count_nonzero(fixed == OPEN)) - 1
        rounds = _ROUNDS.get(others, _MANY_ROUNDS) if others else len(found)
        best, highest, step = prices, last.min(), 1.0
        for _ in range(_FIRST_ROUNDS if others and others == len(fixed) - 1 else rounds):
            choice = int(found.argmin())
            likely = self._completed(fixed, reduce, choice, prices) if found[choice] < self._value_held else None
            if likely is None or self._late():
                break
            costs = bounds.map_costs(likely)
            rows = self._try(likely, costs)
            if others:
                missing = (self._value_held - int(last[choice])) * bounds.scale
                new = _stepped(costs, bounds.room, prices, max(0.0, step * missing))
            else:
                new = slot_prices(costs, bounds.room, rows)
            if np.array_equal(new, prices):
                break
            better = bounds.children(fixed, reduce, new, self.charges, None, self._value_held)
            if (better > found).any():
                used.append(new)
            elif not others:
                break
            if better.min() > highest:
                best, highest = new, better.min()
            else:
                step *= _SHORTER
            found, last, prices = np.maximum(found, better), better, new
        return found, used, best

    def _completed(self, fixed: Ints, reduce: int, choice: int, prices: Ints) -> Ints | None:
        """All reduces placed: this one by this choice, the others where each by itself costs least."""
        likely = fixed.copy()
        likely[reduce] = choice
        others = [other for other in self.order.tolist() if likely[other] == OPEN]
        if others:
            alone, _ = self.bounds.apart(likely, others, prices)
            for other, row in zip(others, alone, strict=True):
                allowed = np.flatnonzero(self.bounds.allowed(likely, other))
                if not len(allowed):
                    return None
                likely[other] = allowed[row[allowed].argmin()]
        return likely

    # Placements ----------------------------------------------------------------------------------------------------

    def _nodes(self) -> Ints | None:
        """Node of each of the problem's tasks in the best placement."""
        if self._held is None:
            return None
        problem, bounds = self.problem, self.bounds
        nodes: Ints = np.full(len(problem.tasks), NONE, dtype=np.int64)
        host = np.append(bounds.hosts, NONE)
        nodes[problem.maps] = host[np.minimum(self._held.rows, len(bounds.hosts))]
        nodes[problem.reduces] = np.where(self._held.fixed == bounds.nowhere, NONE, self._held.fixed)
        return nodes

    def _try(self, fixed: Ints, costs: Ints) -> Ints:
        """The best rows of the maps where all reduces are placed; kept if that is the best placement so far."""
        rows = cheapest_rows(costs, self.bounds.room)
        self._keep(fixed, rows, costs)
        return rows

    def _keep(self, fixed: Ints, rows: Ints, costs: Ints) -> int:
        """What a placement costs, in units; kept if it is the best so far."""
        units = int(costs[rows, np.arange(len(rows))].sum()) // self.bounds.scale
        placed = np.flatnonzero(fixed != self.bounds.nowhere)
        value = units + int(self.problem.reduce_units[placed, fixed[placed]].sum())
        if self._held is None or value < self._held.value:
            self._held = _Held(fixed.copy(), rows, value)
        return value

    def _begin(self, cells: int) -> None:
        """First placements: what is given, maps before reduces, and dives; each bettered by moving and swapping."""
        starts = [self._given() if self.start is not None else None, self._sequential()]
        begun = [fixed for fixed in starts if fixed is not None]
        if self.bounds.products > _MOST_FOR_START or cells > _MOST_CELLS:
            return
        for fixed in itertools.chain(begun, self._dives()):
            self._improve(fixed)
            if self._begun():
                return

    def _begun(self) -> bool:
        """Whether enough was tried for a first placement, or the cheap bound proves what is held."""
        closed = self._value_held <= self.bounds.cheap
        return closed or self._evaluations >= _EVALUATIONS or self._stopped() is not None

    def _given(self) -> Ints:
        assert self.start is not None
        problem, bounds = self.problem, self.bounds
        nodes = problem.nodes_of(self.start)
        fixed = np.where(nodes[problem.reduces] == NONE, bounds.nowhere, nodes[problem.reduces])
        self._keep(fixed, self._rows_on(nodes[problem.maps]), bounds.map_costs(fixed))
        return fixed

    def _rows_on(self, nodes: Ints) -> Ints:
        """Rows of maps on these nodes (or on none)."""
        row = np.full(self.bounds.nowhere + 1, len(self.bounds.hosts))
        row[self.bounds.hosts] = np.arange(len(self.bounds.hosts))
        return row[nodes]

    def _sequential(self) -> Ints | None:
        """Maps as if nothing were to be shuffled, then the reduces that suit them best."""
        problem = self.problem
        maps = TransmissionMaps(problem.instance)
        rows = self._rows_on(maps.nodes_of(optimal_placement(maps)))
        return self._reduces_for(rows)

    def _reduces_for(self, rows: Ints) -> Ints | None:
        """The best choices of the reduces where the maps are in these rows; kept if they are."""
        table = self.bounds.given_maps(rows)
        fixed, _ = self._assigned(table)
        if fixed is not None:
            with unhurried():
                self._keep(fixed, rows, self.bounds.map_costs(fixed))
        return fixed

    def _assigned(self, table: Ints) -> tuple[Ints | None, ReducePrices | None]:
        """Reduces to nodes at least cost of a table, by the network of `transmission-reduces`; and its prices."""
        problem = self.problem
        if not problem.reduce_count:
            return np.full(len(problem.reduces), self.bounds.nowhere), None
        posed = copy.copy(TransmissionReduces(problem.instance, distinct=problem.parameters["distinct"]))
        posed.units = np.ascontiguousarray(table[:, : self.bounds.nowhere])
        profile = Profile("start", time_limit=self.profile.time_limit, random_seed=self.profile.random_seed)
        _, nodes, prices = by_arrays(posed, profile)
        return None if nodes is None else np.where(nodes == NONE, self.bounds.nowhere, nodes), prices

    def _root_charges(self) -> ReduceCharges | None:
        """Prices of where reduces may run, as the network has them where each reduce is for itself."""
        bounds, reduces = self.bounds, len(self.order)
        if not self.problem.reduce_count:
            return None
        alone, _ = bounds.apart(np.full(reduces, OPEN), self.order.tolist(), bounds.free)
        table = np.empty_like(alone)
        table[self.order] = alone - alone[:, -1:]  # leaving one out is free in the network
        lowest = min(0, int(table.min()))
        _, prices = self._assigned(table - lowest)
        if prices is None:
            return None
        slots = np.append(prices.nodes, max(0, prices.task + lowest))
        return ReduceCharges(slots, prices.pairs) if slots.any() or prices.pairs.any() else None

    def _dives(self) -> Iterator[Ints]:
        """Placements of the reduces one by one where the bound is least, the first on one of its best nodes."""
        bounds, order = self.bounds, self.order
        if not len(order):
            yield np.zeros(0, dtype=np.int64)
            return
        for first in range(_DIVES):
            fixed = np.full(len(order), OPEN)
            for place, reduce in enumerate(order.tolist()):
                check()
                found = bounds.children(fixed, reduce, bounds.free)
                choice = int(np.argsort(found, kind="stable")[min(first, self.bounds.nowhere) if place == 0 else 0])
                if found[choice] >= IMPOSSIBLE:
                    break
                fixed[reduce] = choice
            else:
                yield fixed

    def _improve(self, fixed: Ints) -> None:
        """Move one reduce, or let two swap, as long as that is better."""
        fixed = fixed.copy()
        value = self._value(fixed)
        better = True
        while better:
            better = False
            for changed in itertools.chain(self._moves(fixed, value), self._swaps(fixed)):
                if self._begun():
                    return
                found = self._value(changed)
                if found < value:
                    fixed, value, better = changed, found, True
                    break

    def _value(self, fixed: Ints) -> int:
        """Least cost of the placements of the maps beside these of the reduces, in units; the best is kept."""
        self._evaluations += 1
        costs = self.bounds.map_costs(fixed)
        return self._keep(fixed, cheapest_rows(costs, self.bounds.room), costs)

    def _moves(self, fixed: Ints, value: int) -> Iterator[Ints]:
        """Placements with one reduce elsewhere that the bound does not rule out, the most promising first."""
        for reduce in self.order.tolist():
            check()
            others = fixed.copy()
            others[reduce] = OPEN
            found = self.bounds.children(others, reduce, self.bounds.free)
            for choice in np.argsort(found, kind="stable").tolist():
                if found[choice] >= value:
                    break
                if choice != fixed[reduce]:
                    others[reduce] = choice
                    yield others.copy()

    def _swaps(self, fixed: Ints) -> Iterator[Ints]:
        for one, other in itertools.combinations(self.order.tolist(), 2):
            changed = fixed.copy()
            changed[[one, other]] = OPEN
            if fixed[one] == fixed[other] or not self.bounds.allowed(changed, one)[fixed[other]]:
                continue
            changed[one] = fixed[other]
            if self.bounds.allowed(changed, other)[fixed[one]]:
                changed[other] = fixed[one]
                yield changed
