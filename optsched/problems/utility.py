"""`utility`: its exact programs and the bounds that prices prove; `utility_definition` defines the problem."""

from __future__ import annotations

import copy
import math
from bisect import bisect_left
from functools import cached_property
from typing import Any, Self

import numpy as np

from optsched.core.instance import Ints
from optsched.core.placement import Placement
from optsched.core.results import Bound, Number
from optsched.problems.base import GRID, exact, exact_product
from optsched.problems.knapsack import knapsacks
from optsched.problems.programs import Limited, Program
from optsched.problems.utility_definition import (
    Allocation,
    UtilityDefinition,
    map_table,
    reduce_table,
    required_maps,
    spread_reduces,
)
from optsched.problems.utility_program import LEAST_FINITE, UtilityProgram, listed_patterns

__all__ = ["LEAST_FINITE", "Allocation", "Utility", "map_table", "reduce_table", "required_maps", "spread_reduces"]

#: Equal nodes are one host of the program if they have at most this many patterns.
_MOST_PATTERNS = 1_000


class Utility(UtilityDefinition, Limited):
    """Pending maps and reduces on trackers within their resources: maximise the lowest utility, then utilisation.

    Any task may stay unplaced: normally fewer are allocated than are pending. Slots play no part. A tracker t is
    limited by its capacity Omega_tr of each resource r (10); a task's demand, Gamma_jr, belongs to its job and kind
    (job profile). A running task holds its demand and counts as neither pending nor allocated, since (7) compares
    allocated with pending tasks.

    The first component is (8), the least utility (6) of a job. Each table (7) is rounded once to multiples of 2^-20. A
    job whose utility is minus infinity (none of its maps, or of its reduces, is allocated) gets `-penalty`. Jobs
    without a pending task do not count.

    The second component is (9), expressed by the use of the placed tasks: the sum over trackers and resources of use /
    Omega_tr. One task's share of one tracker is rounded once to a multiple of 2^-20.

    Attributes
    ----------
    jobs
        int64: indices of the jobs with pending tasks; every array below is in this order.
    map_positions, reduce_positions
        For each job the positions in `tasks` of its pending maps and of its pending reduces.
    pending_maps, pending_reduces
        int64, shape (jobs,): their numbers (s_pend, r_pend).
    required
        int64, shape (jobs,): maps that must run at once to meet the goal (s_req).
    map_utility, reduce_utility
        For each job the worth of 0, 1, ... maps or reduces, in units of 2^-20; minus infinity is `-penalty`.
    resources
        Names of the resources that pending tasks take.
    demand_grid
        int64, shape (resources,): the common denominator of all demands of the resource, as decimals.
    demand_map, demand_reduce
        int64, shape (jobs, resources): Gamma of each job's maps and reduces, in units of 1/`demand_grid[resource]`; 0
        if it has no such task.
    capacity
        int64, shape (nodes, resources), in the same units, rounded down: Omega.
    free
        int64, shape (nodes, resources): capacity that running tasks do not hold, at least 0.
    running_reduces
        int64, shape (jobs, nodes): running reduces of these jobs; `other_reduces`, shape (nodes,), those of the rest.
    fixed
        int64, shape (jobs, nodes), with `reduces=fixed`: where the reduces are (`spread_reduces`); else None.
    room
        int64, shape (nodes, resources): what fixed reduces leave free.
    lowest_units
        The value of minus infinity: `-penalty` in units.
    node_type, type_size, type_room
        Nodes of equal capacity and room are of one type: int64, shapes (nodes,), (types,), (types, resources).
    map_share, reduce_share
        int64, shape (jobs, types): what one task adds to the utilisation, in units of 2^-20.

    Examples
    --------
    Two trackers, two jobs; Sharmilarani et al., note 7:

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> cluster = Cluster(["t1", "t2"], capacity={"cpu": [5.0, 5.0], "memory": [3.0, 7.0]})
    >>> workload = Workload(
    ...     [f"m{map}" for map in range(8)], job=[0, 0, 0, 1, 1, 1, 1, 1], job_ids=["a", "b"],
    ...     goal=[3.0, 5.0], map_time=[2.0, 4.0],
    ...     demand={"cpu": [2.0] * 3 + [1.0] * 5, "memory": [2.0] * 3 + [3.0] * 5})
    >>> problem = Utility(Instance(cluster, workload))
    >>> problem.required.tolist()
    [2, 4]
    >>> placement = problem.placement([1, -1, -1, 0, 1, -1, -1, -1])
    >>> print(*(float(value) for value in problem.evaluate(placement)))
    -1.0 2.5142860412597656
    """

    @cached_property
    def posing(self) -> UtilityProgram:
        """The programs, and the meaning of their variables (`optsched.problems.utility_program`)."""
        return UtilityProgram(self, listed_patterns(self, _MOST_PATTERNS))

    def apart(self) -> Self:
        """The same problem with a program that has a variable for each task and node."""
        view = copy.copy(self)
        vars(view)["posing"] = UtilityProgram(self, {}, apart=True)
        return view

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        """The highest lowest utility; or the most utilisation with no utility below `-before`."""
        if not before:
            return self.posing.highest()
        units = math.ceil(-before[0] * GRID)
        return self.posing.most_used(max(self.lowest_units, min(units, self.saturated_units + 1)))

    def values_of(self, decision: Placement, program: Program) -> Ints:
        return self.posing.values_of(decision, program)

    def decision_of(self, values: Ints, program: Program) -> Placement:
        return self.posing.decision_of(values, program)

    def value_below(self, value: Number) -> Number:
        return exact(math.ceil(value * GRID) - 1, GRID)

    def value_from(self, value: Number) -> Number:
        return exact(-self.utility_below(math.floor(-value * GRID) + 1), GRID)

    def value_above(self, value: Number) -> Number:
        return exact(-self.utility_below(math.ceil(-value * GRID)), GRID)

    def value_left(self, multipliers: Ints, least: Number) -> Number:
        """The value that weak duality leaves."""
        whole = self.program().numbers
        left = whole.settle(whole.box, multipliers, 2**60)
        return self.value_from(least if left is None else max(least, exact(left, GRID)))

    # Bounds ----------------------------------------------------------------------------------------------------------

    def _least_cost(self, units: int, map_prices: list[int], reduce_prices: list[int]) -> int | None:
        """The least cost of counts that give each job a utility of at least `units`; None if there are none."""
        total = 0
        for job, (map_price, reduce_price) in enumerate(zip(map_prices, reduce_prices, strict=True)):
            reduces, maps = self.least_maps(job, units)
            if not len(maps):
                return None
            if map_price < 0:
                maps = np.full_like(maps, self.pending_maps[job])
            total += min(
                map_price * count + reduce_price * reduce_count
                for count, reduce_count in zip(maps.tolist(), reduces.tolist(), strict=True)
            )
        return total

    def utility_bound(self, map_prices: Ints, reduce_prices: Ints) -> int:
        """The bound on the lowest utility, in units, that prices of tasks prove; valid for any prices.

        At these prices a node holds no more than its best pattern of tasks. A utility of every job is impossible if the
        cheapest counts that give it cost more than the best patterns of all nodes together: the dual of the linear
        program over patterns (Gilmore and Gomory).

        Parameters
        ----------
        map_prices, reduce_prices
            int64, shape (jobs,): price of a map and of a reduce of each job; negative ones count as 0.
        """
        prices = [np.maximum(price, 0) for price in (map_prices, reduce_prices)]
        if self.fixed is not None:
            prices[1] = np.zeros_like(reduce_prices)
        demand, limit, _ = self.items
        most = exact_product(self.type_size, knapsacks(self.type_room, demand, limit, np.concatenate(prices)[:, None]))

        def ruled_out(units: int) -> bool:
            cost = self._least_cost(units, prices[0].tolist(), prices[1].tolist())
            return cost is None or cost > most

        # The highest possible threshold is a value that some job may have: demands change only there.
        thresholds = range(LEAST_FINITE, self.saturated_units + 1 if len(self.jobs) else 1)
        position = bisect_left(thresholds, True, key=ruled_out)
        return thresholds[position - 1] if position else self.lowest_units

    def utilisation_bound(self, units: int, map_prices: Ints, reduce_prices: Ints, scale: int) -> int:
        """The bound on the utilisation, in units, if every job has a utility of at least `units`.

        Valid for any prices (Lagrangian duality): each task earns its share and its price, each node takes its best
        pattern, and the prices of the cheapest sufficient counts are subtracted.

        Parameters
        ----------
        units
            The given lowest utility.
        map_prices, reduce_prices
            int64, shape (jobs,), of either sign, in units times `scale`.
        scale
            Denominator of the prices, above 0.
        """
        constant = self.fixed_use
        if self.fixed is not None:
            reduce_prices = np.zeros_like(reduce_prices)
        kind: Any = np.int64 if scale < 2**20 else object
        demand, limit, share = self.items
        worth = share.astype(kind) * scale + np.concatenate([map_prices, reduce_prices]).astype(kind)[:, None]
        total = exact_product(self.type_size, knapsacks(self.type_room, demand, limit, worth))
        # Nothing gives all jobs more than the highest value: higher thresholds get a bound too.
        units = min(units, self.saturated_units + 1)
        least = self._least_cost(units, map_prices.tolist(), reduce_prices.tolist())
        return constant + int((total - (least or 0)) // scale)

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """Every task allocated, and the room of each resource by itself."""
        pending = np.concatenate([self.pending_maps, self.pending_reduces])
        most = int(pending @ self.items.share.max(axis=1, initial=0))
        saturated = self.saturated_units if len(self.jobs) else 0
        found = [Bound("all-placed", "lowest-utility", exact(saturated, GRID), "lowest utility with every task placed")]
        for position, resource in enumerate(self.resources):
            units = self.utility_bound(self.demand_map[:, position], self.demand_reduce[:, position])
            meaning = f"lowest utility, with {resource} the only resource that limits the trackers together"
            found.append(
                Bound(f"all-of-{resource}", "lowest-utility", exact(units, GRID), meaning, "Sharmilarani et al., (10)")
            )
        meaning = "utilisation with every task where its share is most"
        return (*found, Bound("all-placed", "utilisation", exact(most, GRID), meaning))
