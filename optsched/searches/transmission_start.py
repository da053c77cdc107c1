"""Start placements for the search of `transmission`: the given one, maps before reduces, dives; each improved.

`Incumbent` holds the best placement, here and throughout the search.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from optsched.core.deadline import check, unhurried
from optsched.core.errors import InputError, UsageError
from optsched.core.instance import Ints
from optsched.core.placement import NONE, Placement
from optsched.problems.transmission_bounds import IMPOSSIBLE, ReduceBounds
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.problems.transmission_tables import OPEN
from optsched.searches.assignment import optimal_placement
from optsched.searches.transmission_stages import cheapest_reduces, cheapest_rows
from optsched.solvers.profiles import Profile

__all__ = ["FirstPlacements", "Incumbent"]

# `searches.transmission` explains these, and what "states", "the gap" and "large" are.

#: With more products in the bounds a first placement is not bettered at all: one bound then takes 0.8 s of processor
#: time, and a round of moves takes one a reduce. Without bettering the gap of large instances is 6,713, with it 6,289.
_MOST_FOR_START = 2**25

#: Placements of the reduces that are evaluated at most: time before the tree against a good placement at a limit. With
#: 1, 100, 1,000, 3,000 and 10,000 the gap of large instances is 6,646, 6,618, 6,549, 6,289 and 6,310. On instances that
#: are proved it does not matter: 1,601 states with 1, and 1,614 with any of the others.
_EVALUATIONS = 3000

#: Dives that are bettered, as long as evaluations are left. With 0, 4, 8 and 16 the gap of large instances is 6,412,
#: 6,545, 6,289 and 6,289; on instances that are proved there are 1,614 to 1,616 states with any of them.
_DIVES = 8


class _Best(NamedTuple):
    """A placement: choices of the reduces, as in `ReduceTables`; rows of the maps; cost in units."""

    fixed: Ints
    rows: Ints
    value: int


class Incumbent:
    """The best placement so far.

    Parameters
    ----------
    bounds
        The tables by which placements are evaluated.
    """

    def __init__(self, bounds: ReduceBounds) -> None:
        self.bounds = bounds
        self._best: _Best | None = None

    @property
    def value(self) -> int:
        """The cost of the best placement, in units; `IMPOSSIBLE` where there is none yet."""
        return IMPOSSIBLE if self._best is None else self._best.value

    @property
    def nodes(self) -> Ints | None:
        """Node of each of the problem's tasks in the best placement; None where there is none yet."""
        if self._best is None:
            return None
        problem, bounds = self.bounds.problem, self.bounds
        nodes: Ints = np.full(len(problem.tasks), NONE, dtype=np.int64)
        host = np.append(bounds.hosts, NONE)
        nodes[problem.maps] = host[np.minimum(self._best.rows, len(bounds.hosts))]
        nodes[problem.reduces] = np.where(self._best.fixed == bounds.nowhere, NONE, self._best.fixed)
        return nodes

    def keep(self, fixed: Ints, rows: Ints, costs: Ints) -> int:
        """Keep a placement if it is the best so far; returns its cost, in units.

        Parameters
        ----------
        fixed
            int64, shape (reduces,): the choice of each reduce.
        rows
            int64, shape (maps,): the row of each map.
        costs
            `map_costs(fixed)` of the bounds.
        """
        problem = self.bounds.problem
        units = int(costs[rows, np.arange(len(rows))].sum()) // self.bounds.scale
        placed = np.flatnonzero(fixed != self.bounds.nowhere)
        value = units + int(problem.reduce_units[placed, fixed[placed]].sum())
        if self._best is None or value < self._best.value:
            self._best = _Best(fixed.copy(), rows, value)
        return value

    def complete(self, fixed: Ints, costs: Ints) -> Ints:
        """The cheapest rows of the maps where all reduces are placed; the placement is kept if it is the best so far.

        Parameters are as in `keep`.
        """
        rows = cheapest_rows(costs, self.bounds.room)
        self.keep(fixed, rows, costs)
        return rows


class FirstPlacements:
    """Looks for good placements before the tree is begun; the best is kept by the incumbent.

    Parameters
    ----------
    bounds
        The bounds that guide dives and moves.
    order
        int64, shape (reduces,): the order in which a dive places the reduces.
    best
        Keeps the best placement.
    profile
        The time limit and the random seed of the network's solver.
    stopped
        Whether a limit of the search is reached.
    """

    def __init__(
        self, bounds: ReduceBounds, order: Ints, incumbent: Incumbent, profile: Profile, stopped: Callable[[], bool]
    ) -> None:
        self.bounds, self.order, self.best, self.profile, self._stopped = bounds, order, incumbent, profile, stopped
        self.evaluations = 0

    def run(self, placement: Placement | None, bettered: bool) -> None:
        """Hold a placement.

        Parameters
        ----------
        placement
            A placement to begin from.
        bettered
            Whether time may be spent on moves and swaps, from these placements and from dives.
        """
        starts = [self._from_start(placement) if placement is not None else None, self._sequential()]
        begun = [fixed for fixed in starts if fixed is not None]
        if not bettered or self.bounds.products > _MOST_FOR_START:
            return
        for fixed in itertools.chain(begun, self._dives()):
            self._improve(fixed)
            if self._enough():
                return

    def _enough(self) -> bool:
        """Whether enough was tried, or the cheap bound proves what is held."""
        closed = self.best.value <= self.bounds.cheap
        return closed or self.evaluations >= _EVALUATIONS or self._stopped()

    # Where to begin ---------------------------------------------------------------------------------------------------

    def _from_start(self, start: Placement) -> Ints:
        problem, bounds = self.bounds.problem, self.bounds
        nodes = problem.nodes_of(start)
        fixed = np.where(nodes[problem.reduces] == NONE, bounds.nowhere, nodes[problem.reduces])
        self.best.keep(fixed, self._rows_on(nodes[problem.maps]), bounds.map_costs(fixed))
        return fixed

    def _rows_on(self, nodes: Ints) -> Ints:
        """Rows of maps on these nodes (or on none)."""
        row = np.full(self.bounds.nowhere + 1, len(self.bounds.hosts))
        row[self.bounds.hosts] = np.arange(len(self.bounds.hosts))
        return row[nodes]

    def _sequential(self) -> Ints | None:
        """Maps as if nothing were to be shuffled, then the reduces that suit them best.

        None where costs are near 2^53: those of maps alone are added up more roughly, and may be refused.
        """
        try:
            maps = TransmissionMaps(self.bounds.problem.instance)
            rows = self._rows_on(maps.nodes_of(optimal_placement(maps)))
        except (InputError, UsageError):
            return None
        return self._reduces_for(rows)

    def _reduces_for(self, rows: Ints) -> Ints | None:
        """The best choices of the reduces where the maps are in these rows; kept if they are."""
        table = self.bounds.given_maps(rows)
        fixed, _ = cheapest_reduces(self.bounds, table, self.profile)
        if fixed is not None:
            with unhurried():
                self.best.keep(fixed, rows, self.bounds.map_costs(fixed))
        return fixed

    def _dives(self) -> Iterator[Ints]:
        """Placements of the reduces one by one where the bound is least, the first on one of its best nodes."""
        bounds, order = self.bounds, self.order
        if not len(order):
            yield np.zeros(0, dtype=np.int64)
            return
        for first in range(_DIVES):
            fixed = np.full(len(order), OPEN)
            for position, reduce in enumerate(order.tolist()):
                check()
                found = bounds.children(fixed, reduce, bounds.free)
                choice = int(np.argsort(found, kind="stable")[min(first, bounds.nowhere) if position == 0 else 0])
                if found[choice] >= IMPOSSIBLE:
                    break
                fixed[reduce] = choice
            else:
                yield fixed

    # Bettering --------------------------------------------------------------------------------------------------------

    def _improve(self, fixed: Ints) -> None:
        """Move one reduce, or let two swap, as long as that is better."""
        fixed = fixed.copy()
        value = self.value(fixed)
        better = True
        while better:
            better = False
            for changed in itertools.chain(self._moves(fixed, value), self._swaps(fixed)):
                if self._enough():
                    return
                found = self.value(changed)
                if found < value:
                    fixed, value, better = changed, found, True
                    break

    def value(self, fixed: Ints) -> int:
        """Least cost of the placements of the maps for these of the reduces, in units; the best is kept."""
        self.evaluations += 1
        costs = self.bounds.map_costs(fixed)
        return self.best.keep(fixed, cheapest_rows(costs, self.bounds.room), costs)

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
