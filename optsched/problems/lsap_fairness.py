"""`lsap-fairness`: locality of tasks against fairness between groups, as Guo et al. measure them (equations 5, 14, 15).

`fair-lsap` mixes the two by its own costs. Here they are two components, and the frontier shows the price of each in
the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from optsched.core.decimals import MOST_DIGITS
from optsched.core.errors import Fault, InputError, TooLarge
from optsched.core.instance import Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Bound, Component, Number, Proof, Sense, Value
from optsched.problems.assignment import LevelledProblem, Pool, minimum_by_row
from optsched.problems.base import OwnCosts, exact, exact_product
from optsched.problems.counted_places import enter_places, enter_steps, filled
from optsched.problems.fair_lsap import Groups, missing_groups
from optsched.problems.parameters import Parameter, choice
from optsched.problems.programs import Builder, Program, Programmed

#: The most units of all costs of a program; and of a distance of 1, if a common denominator is too large.
_LARGEST, _FINE = 2**52, 2**40


class LsapFairness(LevelledProblem, Programmed):
    """Exactly min(tasks, idle slots) tasks on idle slots: fewest off their data, then least fairness distance.

    The locality cost counts placed tasks off their replicas' nodes. Guo et al. only know locality of nodes, so racks
    mean nothing here. The fairness distance is the mean over the groups of |s - w|, where s is the group's share of all
    maps that run after the placement, including those that ran before. The number of placed tasks is fixed, so the
    distance is separable and convex in the numbers placed of each group. So every point of the frontier is a network
    flow.

    Attributes
    ----------
    groups
        The groups, with their shares and running maps.
    total
        Maps that run after the placement.
    steps
        For each group, how one more placed task changes `total` times its distance (with `distance=relative` divided by
        its weight): pairs (Fraction, number of tasks), increasing. At most three: towards the share, past it, beyond
        it.

    Examples
    --------
    Group h has nothing running. Its task on the idle slot is fairer; the task of g would be at its data:

    >>> from optsched.core.instance import Cluster, Ragged, Workload
    >>> workload = Workload(
    ...     ["t1", "t2"], replicas=Ragged.from_rows([[0], [1]]), job=[0, 1], job_ids=["i", "j"], job_group=[0, 1],
    ...     group_ids=["g", "h"], group_weight=[1, 1])
    >>> state = {"idle_slots": [1, 0], "group_running_tasks": [1, 0]}
    >>> problem = LsapFairness(Instance.initial(Cluster(["a", "b"]), workload, **state))
    >>> problem.evaluate(problem.placement([0, -1])), problem.evaluate(problem.placement([-1, 0]))
    ((0, Fraction(1, 2)), (1, 0))
    """

    name = "lsap-fairness"
    title = "tasks to idle slots, fewest off their data, then least fairness distance"
    paper = "003"
    components = (
        Component("locality-cost", Sense.MIN, "task off its data"),
        Component("fairness-distance", Sense.MIN, "share"),
    )
    parameter_table = (
        Parameter(
            "distance",
            "absolute",
            choice("absolute", "relative"),
            "of a group (Guo et al. 2012, (14)): |s - w|, or |s - w| / w",
        ),
    )
    requires = ("groups[].weight", "jobs[].group", "tasks[].job")
    proof = Proof.DUAL

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        relative = parameters["distance"] == "relative"
        return missing_groups(instance, cls.name, "distance=relative divides by it" if relative else None)

    def prepare_costs(self) -> None:
        self.levels = (0, 1, 1)
        self.groups = Groups.of(self.instance)
        self.relative = self.parameters["distance"] == "relative"
        self.pool = self.instance.workload.group[self.tasks]
        self.waiting: list[int] = np.bincount(self.pool, minlength=len(self.groups.ids)).tolist()
        named = zip(self.groups.ids, self.waiting, strict=True)
        self.pools = tuple(Pool(name, ((0, tasks),)) for name, tasks in named)  # free: groups do not count in locality
        self.total = sum(self.groups.running) + self.count
        self._refuse_long_fractions()
        self.steps = tuple(self._steps(group) for group in range(len(self.groups.ids)))

    def _refuse_long_fractions(self) -> None:
        """Raise InputError if distances and prices may have more digits than a file holds; 100 are kept for sums."""
        scales = [self._scale(group) for group in range(len(self.groups.ids))]
        common = math.lcm(*(scale.denominator for scale in scales)) * len(scales) * max(1, self.total)
        if common * math.ceil(max(scales)) > 10 ** (MOST_DIGITS - 100):
            message = (
                f"distance=relative divides by {len(scales)} weights, and may take fractions of more than "
                f"{MOST_DIGITS:,} digits; give weights of fewer digits, or take distance=absolute"
            )
            raise InputError([Fault("groups.weight", message)], self.place)

    def _scale(self, group: int) -> Fraction:
        return 1 / self.groups.weights[group] if self.relative else Fraction(1)

    def _steps(self, group: int) -> tuple[tuple[Fraction, int], ...]:
        tasks, scale = self.waiting[group], self._scale(group)
        due = self.groups.weights[group] * self.total - self.groups.running[group]  # this many more would be just fair
        towards = min(max(math.floor(due), 0), tasks)
        past = int(towards < tasks and 0 < due - towards < 1)
        steps = (-scale, towards), ((1 - 2 * (due - towards)) * scale, past), (scale, tasks - towards - past)
        return tuple((step, size) for step, size in steps if size)

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        """Least locality cost; or, with a limit on that in `before`, least distance.

        Costs of steps are fractions. They are rounded down if their common denominator is too large for a program.
        """
        if not before:
            return self._program(lambda step: 0, None).program()
        unit = self._distance_unit
        builder = self._program(lambda step: math.floor(self._per_task(step) * unit), math.floor(before[0]))
        doc = "1, for the distance of what runs before"
        cost = math.floor(self.distance_after(0) * unit)
        builder.variables("runs_before", [()], lower=1, upper=1, cost=cost, doc=doc)
        return builder.program(1, unit)

    def ranked(self, limit: int) -> tuple[Program, list[Fraction]]:
        """The program with at most `limit` tasks off their data and ranks as costs of steps; and the ranked steps."""
        values = sorted({step for steps in self.steps for step, _ in steps})
        rank = {step: position for position, step in enumerate(values)}
        return self._program(rank.__getitem__, limit).program(), values

    def _program(self, cost_of: Callable[[Fraction], int], limit: int | None) -> Builder:
        """The common part of the programs: places and steps; without a limit, the places have costs."""
        builder, first = Builder(), self.classes().first
        columns, owner = enter_places(self, builder, np.zeros_like(first) if limit is None else None)
        named = zip(self.groups.ids, self.steps, strict=True)
        steps = {name: [(cost_of(step), size) for step, size in steps] for name, steps in named if steps}
        names = [self.groups.ids[group] for group in self.pool[first][owner].tolist()]
        enter_steps(builder, "group_step", steps, columns, names)
        if limit is not None:
            most = max(-1, min(limit, len(self.tasks)))
            row = builder.rows("locality_limit", [()], upper=most, doc="no more tasks off their data")
            builder.enter(row, columns[self.places.units > 0])
        return builder

    def _per_task(self, step: Fraction) -> Fraction:
        """The part of the distance that one task at a step adds."""
        return step / (len(self.groups.ids) * max(self.total, 1))

    @property
    def _distance_unit(self) -> int:
        """The program's units of a distance of 1: their common denominator, if numbers stay small.

        Raises
        ------
        TooLarge
            If distances are so large that no unit is small enough.
        """
        costs = [Fraction(self.distance_after(0)), *(self._per_task(step) for steps in self.steps for step, _ in steps)]
        largest = math.ceil(max(map(abs, costs))) * (len(self.tasks) + 1)
        common = math.lcm(*(cost.denominator for cost in costs))
        unit = common if common * largest <= _LARGEST else min(_FINE, _LARGEST // max(1, largest))
        if not unit:
            raise TooLarge(f"{self.place}: distances of {largest:.3g} are too large for a program: take route flows")
        return unit

    def values_of(self, decision: Placement, program: Program) -> Ints:
        counts = zip(self.steps, self.placed_by_group(decision), strict=True)
        steps = [filled([size for _, size in steps], count) for steps, count in counts]
        return np.concatenate([self.place_values(decision), *steps, *[np.ones(1, dtype=np.int64)] * program.component])

    @property
    def own_costs(self) -> OwnCosts:
        """Own costs of the locality cost; the distance depends on how many tasks of each group are placed."""
        return replace(super().own_costs, counted=self.pool)

    def placed_by_group(self, placement: Placement) -> list[int]:
        """How many tasks of each group are placed."""
        placed = self.pool[self.nodes_of(placement) != NONE]
        counts: list[int] = np.bincount(placed, minlength=len(self.groups.ids)).tolist()
        return counts

    def objective(self, placement: Placement) -> Value:
        distance = self.groups.distance(self.placed_by_group(placement), self.relative)
        return (*super().objective(placement), exact(distance))

    def distance_after(self, steps: Number) -> Number:
        """The fairness distance of placements whose steps sum to `steps`."""
        if not self.total:
            distance = self.groups.distance(relative=self.relative)
        else:
            unplaced = [
                abs(running - weight * self.total) * self._scale(group)
                for group, (running, weight) in enumerate(zip(self.groups.running, self.groups.weights, strict=True))
            ]
            distance = (sum(unplaced, Fraction(0)) + steps) / (len(self.groups.ids) * self.total)
        return exact(distance)

    @property
    def least_distance(self) -> Number:
        """The least fairness distance of all placements, wherever their tasks run."""
        cheapest = sorted(step for steps in self.steps for step, size in steps for _ in range(size))
        return self.distance_after(sum(cheapest[: self.count], Fraction(0)))

    def distance_bound(
        self,
        locality_cost: int,
        locality_price: Number,
        task_price: Number,
        node_prices: Mapping[int, Number],
        group_prices: Sequence[Number],
    ) -> Number:
        """The least fairness distance that prices prove for placements with at most `off_data` tasks off their data.

        It is valid for any prices (weak duality), which are in the unit of `steps`.

        Parameters
        ----------
        locality_cost
            The most tasks that may be off their data.
        locality_price
            What a task off its data pays. Negative prices count as 0, also those of slots.
        task_price
            Price of placing one more task.
        node_prices
            Price of a slot on a node (index), 0 if not given.
        group_prices
            What each group charges a task instead of its step, shape (groups,).
        """
        if not self.count:
            return self.distance_after(0)
        given = [Fraction(price) for price in (locality_price, task_price, *node_prices.values(), *group_prices)]
        scale = math.lcm(*(price.denominator for price in given))
        largest = max(abs(price) for price in given)
        kind: Any = (
            np.int64 if 4 * scale * largest < 2**62 else object
        )  # shares of real weights have large denominators

        def units(price: Number) -> int:
            return int(price * scale)

        slots = np.zeros(len(self.capacity), dtype=kind)
        for node, price in node_prices.items():
            slots[node] = max(0, units(price))
        off_data = max(0, units(locality_price)) + slots[self.capacity > 0].min()
        cheapest = np.minimum(minimum_by_row(self.idle_replicas, slots, off_data), off_data)
        charged = np.array([units(price) for price in group_prices], dtype=kind)[self.pool]
        surplus = sum(np.maximum(units(task_price) - charged - cheapest, 0).tolist())
        spent = surplus + exact_product(slots, self.capacity) + max(0, units(locality_price)) * locality_cost
        saved = sum(
            (
                size * max(Fraction(0), price - step)
                for price, steps in zip(group_prices, self.steps, strict=True)
                for step, size in steps
            ),
            Fraction(0),
        )
        return self.distance_after(Fraction(units(task_price) * self.count - spent, scale) - saved)

    @property
    def first_step(self) -> Number:
        return 1

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """Each component by itself: as if no slot were contended; and the least distance, wherever tasks run.

        The first point of the frontier may be above the latter.
        """
        meaning = "fairness distance, without a limit on locality"
        fairest = Bound(
            "fair-share", "fairness-distance", self.least_distance, meaning, "Guo et al. 2012, equations 14 and 15"
        )
        return (*super().cheap_bounds(), fairest)
