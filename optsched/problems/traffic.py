"""`traffic`: tasks to datacenters, least traffic between these, then least load (Sharmilarani et al., JoSS).

Its program, and the bounds that prices of slots prove; `traffic_definition` defines the problem.
"""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from optsched.core.instance import Ints
from optsched.core.placement import Placement
from optsched.core.results import Bound, Number
from optsched.problems.base import exact
from optsched.problems.programs import Program, Programmed
from optsched.problems.relaxations import Box
from optsched.problems.traffic_definition import TrafficDefinition
from optsched.problems.traffic_jobs import Bundle, Job
from optsched.problems.traffic_program import TrafficProgram

__all__ = ["Bundle", "Job", "Traffic"]

#: A target that no bound reaches.
_FAR = 2**60


class Traffic(TrafficDefinition, Programmed):
    """Every pending map and reduce on a node; least MB between datacenters, then fewest maps in the fullest one.

    A map's block (|B_i|) crosses if no replica is in the map's datacenter. A block that no node holds costs its size
    everywhere. What the map sends to a reduce crosses if the two are in different datacenters. It is the size in
    `shuffle` for a job that is listed there, else |B_i| FP_J (`filter_ratio`) in equal shares to all reduces of the
    job. All of these sizes are exact if they have a common denominator of at most 2^20, as thirds of decimals may; else
    each is rounded once to 2^-20 MB.

    Tasks that run or have ended stay where they are, and their exchange with pending ones counts. The load counts maps,
    since policy C spreads their rounds over datacenters.

    With `capacity=none` slots mean nothing. With `slots` a node takes as many maps and as many reduces as it has idle
    slots of each. If these do not hold all tasks, nothing is feasible: a partial placement would look cheap, since
    waiting reduces receive nothing.

    Attributes
    ----------
    datacenters, datacenter
        Ids of those that have nodes, and the index of each node's datacenter (int64, shape (nodes,)).
    maps, reduces
        int64: positions in `tasks` of the two kinds.
    map_units
        int64, shape (maps, datacenters): units of 1/`grid` MB that cross with the map there: its block, and what it
        sends to running reduces.
    jobs
        What the jobs' maps send to their reduces.
    grid
        The common denominator of all sizes and shares, 1 if they are whole; 2^20 if it would be larger.
    map_slots, reduce_slots
        int64, shape (nodes,): how many maps and reduces a node takes.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> cluster = Cluster(["a", "b"], datacenter=[0, 1], datacenter_ids=["east", "west"])
    >>> workload = Workload(["m1", "m2", "r"], kind=[0, 0, 1], replicas=Ragged.from_rows([[0], [1], []]),
    ...     size=[10, 10, 0], job=[0, 0, 0], job_ids=["j"], filter_ratio=[1.5])
    >>> problem = Traffic(Instance(cluster, workload))
    >>> problem.evaluate(problem.placement([0, 1, 0])), problem.evaluate(problem.placement([0, 0, 0]))
    ((15, 1), (10, 2))
    """

    #: The program's limit on the load.
    _limit: int | None = None

    @cached_property
    def posing(self) -> TrafficProgram:
        """The meaning of the program's variables."""
        return TrafficProgram(self)

    def within(self, limit: int | None) -> Traffic:
        """The same problem with at most `limit` maps per datacenter in its program; None: no limit."""
        return self._seen(limit, self.posing)

    def apart(self) -> Traffic:
        """The same problem with a variable for each task and each node that takes its kind."""
        return self._seen(self._limit, TrafficProgram(self, apart=True))

    def _seen(self, limit: int | None, posing: TrafficProgram) -> Traffic:
        view = copy.copy(self)
        vars(view).pop("_least_traffic", None)
        view._limit = limit
        vars(view)["posing"] = posing
        return view

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        """See `TrafficProgram`."""
        return self.posing.least_load(math.floor(before[0])) if before else self._least_traffic

    @cached_property
    def _least_traffic(self) -> Program:
        program = self.posing.least_traffic
        if self._limit is None:
            return program
        upper = program.numbers.row_upper.copy()
        upper[program.rows_of("map_slots")] = self.room_within(self._limit)
        return replace(program, numbers=replace(program.numbers, row_upper=upper))

    def values_of(self, decision: Placement, program: Program) -> Ints:
        return self.posing.values_of(decision, program)

    def decision_of(self, values: Ints, program: Program) -> Placement:
        return self.posing.decision_of(values, program)

    def price_bound(self, map_prices: Ints, reduce_prices: Ints, scale: int, limit: int | None = None) -> int:
        """Units of traffic that every placement causes at least, as prices of slots prove; valid for any prices.

        It is weak duality, with the best multipliers of all other rows (`TrafficProgram.multipliers`), rounded up to a
        multiple of `step`. Without prices it is the optimum without capacities if each job's bundles are alike.

        Parameters
        ----------
        map_prices, reduce_prices
            int64, shape (datacenters,): price of a map slot and of a reduce slot of each datacenter, in units times
            `scale`; negative ones count as 0.
        scale
            Denominator of the prices, above 0.
        limit
            A limit on the load; the bound then holds only for placements within it.
        """
        posed = self.within(limit)
        return posed.settle(posed.program().numbers.box, (map_prices, reduce_prices, scale), None)

    def settle(self, box: Box, prices: tuple[Ints, Ints, int], target: int | None) -> int:
        """Units of traffic that prices prove for a box of the program, which they narrow: at most `target`.

        Narrowing removes only placements that cause `target` units or more; None: it removes none.
        """
        if not self.datacenters:  # nothing is placed, and nothing crosses
            return 0
        target = _FAR if target is None else target
        least = -(-target // self.step) * self.step - self.step + 1  # less than this is below the target
        found = self.program().numbers.settle(box, self.posing.multipliers(*prices, box), least)
        return min(-(-(found or 0) // self.step) * self.step, target)

    @property
    def first_step(self) -> Number:
        return Fraction(1, self.grid)

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """Each job in the datacenters that are best for it alone; and the maps spread evenly."""
        free = np.zeros(len(self.datacenters), dtype=np.int64)
        best = exact(self.price_bound(free, free, 1), self.grid)
        meaning, source = "traffic, with every slot open to every task", "Sharmilarani et al., note 9"
        return (
            Bound("best-datacenter", "traffic", best, meaning, source),
            Bound("even-spread", "load", self.least_load, "load, at any traffic"),
        )
