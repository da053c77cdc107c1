"""Start placements for the search of `transmission`: the given one, and maps before reduces.

`Incumbent` holds the best placement, here and throughout the search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.core.deadline import unhurried
from optsched.core.errors import InputError, UsageError
from optsched.core.instance import Ints
from optsched.core.placement import NONE, Placement
from optsched.problems.transmission_bounds import IMPOSSIBLE, ReduceBounds
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.searches.assignment import optimal_placement
from optsched.searches.transmission_stages import cheapest_reduces, cheapest_rows
from optsched.solvers.profiles import Profile

__all__ = ["FirstPlacements", "Incumbent"]


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
    """Finds placements before the tree is begun; the incumbent keeps the best.

    Parameters
    ----------
    bounds
        The tables by which placements are evaluated.
    incumbent
        Keeps the best placement.
    profile
        The time limit and the random seed of the network's solver.
    """

    def __init__(self, bounds: ReduceBounds, incumbent: Incumbent, profile: Profile) -> None:
        self.bounds, self.best, self.profile = bounds, incumbent, profile

    def run(self, start: Placement | None, completed: bool) -> None:
        """Evaluate a placement to begin from, and maps before reduces.

        Parameters
        ----------
        start
            A placement to begin from; None: there is none.
        completed
            Whether the maps are then assigned anew to the reduces of each.
        """
        begun = [self._from_start(start) if start is not None else None, self._sequential()]
        for fixed in begun if completed else ():
            if fixed is not None and self.best.value > self.bounds.cheap:
                self.best.complete(fixed, self.bounds.map_costs(fixed))

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
