"""`worst-group`: minimise the worst group's mean locality cost (groups of users).

Users of a shared cluster may ask for this fairness: no group's data locality is much worse than the others'. The
fairness costs of Guo et al. 2012 (`fair-lsap`, `lsap-fairness`) are about shares of the slots instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from optsched.core.errors import Fault
from optsched.core.instance import Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Bound, Component, Number, Proof, Sense, Value
from optsched.problems.assignment import LevelledProblem, Pool
from optsched.problems.base import OwnCosts, exact, exact_product
from optsched.problems.counted_places import enter_places
from optsched.problems.demands import count_limits
from optsched.problems.fair_lsap import missing_group_of_tasks
from optsched.problems.lsap import LEVELS
from optsched.problems.programs import Builder, Limited, Program


class WorstGroup(LevelledProblem, Limited):
    """Exactly min(tasks, idle slots) tasks on idle slots: minimise the worst group's mean locality cost, then the cost.

    The mean of a group is the locality cost of its placed tasks over the number of its *pending* tasks, placed or not:
    a task that waits for the next round costs nothing in this one, as in `lsap`. If all tasks are placed it is also the
    mean over the placed ones (Guo et al. 2012, note 11).

    With two levels of cost, as by default, the worst group's mean costs no locality: some placement attains both the
    least worst mean and the optimum of `lsap` (Guo et al. 2012, note 12).

    Attributes
    ----------
    sizes
        Pending tasks of each group.
    least, steps
        A group costs `least`, or more by whole multiples of its step.

    Examples
    --------
    Two tasks compete for the slot on a. Group h has another task, so its mean is 1/2 if it gives way:

    >>> from optsched.core.instance import Cluster, Ragged, State, Workload
    >>> workload = Workload(
    ...     ["t1", "t2", "t3"], replicas=Ragged.from_rows([[0], [0], [1]]), job=[0, 1, 1], job_ids=["i", "j"],
    ...     job_group=[0, 1], group_ids=["g", "h"])
    >>> cluster = Cluster(["a", "b"], slots=[1, 2])
    >>> problem = WorstGroup(Instance(cluster, workload, State.initial(cluster, workload)))
    >>> problem.evaluate(problem.placement([0, 1, 1])), problem.evaluate(problem.placement([1, 0, 1]))
    ((Fraction(1, 2), 1), (1, 1))
    """

    name = "worst-group"
    title = "tasks to idle slots: minimise the worst group's mean locality cost, then the locality cost"
    paper = "003"
    components = (
        Component("worst-mean", Sense.MIN, "level a task"),
        Component("locality-cost", Sense.MIN, "level"),
    )
    parameter_table = (LEVELS,)
    requires = ("jobs[].group", "tasks[].job")
    proof = Proof.DUAL

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        if not len(instance.workload.group_ids):
            yield Fault("groups", f"{cls.name} needs groups")
            return
        yield from missing_group_of_tasks(instance, cls.name, running=False)

    def prepare_costs(self) -> None:
        self.levels = self.parameters["levels"]
        self.group_ids: list[str] = self.instance.workload.group_ids.tolist()
        self.pool = self.instance.workload.group[self.tasks]
        self.sizes: list[int] = np.bincount(self.pool, minlength=len(self.group_ids)).tolist()
        self.pools = tuple(Pool(name, ((0, size),)) for name, size in zip(self.group_ids, self.sizes, strict=True))
        attainable = list(self._attainable())
        self.least, self.steps = [least for least, _ in attainable], [step for _, step in attainable]

    def _attainable(self) -> Iterator[tuple[int, int]]:
        """The least cost of each group, and its step: costs are among `least` plus whole multiples of it."""
        on_node, in_rack, off_rack = self.levels
        near = np.bincount(self.pool, weights=self.idle_replicas.lengths, minlength=len(self.sizes))
        racked = np.bincount(self.pool, weights=self.idle_racks.lengths, minlength=len(self.sizes))
        for size, holders, racks in zip(self.sizes, near.tolist(), racked.tolist(), strict=True):
            levels = [off_rack, *[in_rack] * bool(racks), *[on_node] * bool(holders)]
            lowest = min(levels)
            if self.count < len(self.tasks):  # the number of placed tasks of a group is open
                yield 0, math.gcd(*levels) or 1
            else:
                yield lowest * size, math.gcd(*(level - lowest for level in levels)) or 1

    # Value -----------------------------------------------------------------------------------------------------------

    @property
    def own_costs(self) -> OwnCosts:
        """Own costs of the locality cost; no task has its own part of the worst group's mean."""
        return replace(super().own_costs, component=1, counted=None)

    def costs_by_group(self, placement: Placement) -> list[int]:
        """The locality cost of each group's placed tasks."""
        nodes = self.nodes_of(placement)
        placed = np.flatnonzero(nodes != NONE)
        costs = np.zeros(len(self.sizes), dtype=np.int64)
        np.add.at(costs, self.pool[placed], self.pair_units(placed, nodes[placed]))
        found: list[int] = costs.tolist()
        return found

    def worst_mean(self, costs: Sequence[int]) -> Number:
        """The highest mean of groups with these costs; 0 if no group has a task."""
        means = (Fraction(cost, size) for cost, size in zip(costs, self.sizes, strict=True) if size)
        return exact(max(means, default=0))

    def objective(self, placement: Placement) -> Value:
        return (self.worst_mean(self.costs_by_group(placement)), *super().objective(placement))

    # Means that groups can have --------------------------------------------------------------------------------------

    def most_within(self, mean: Number) -> list[int]:
        """The highest cost of each group at a mean of at most `mean`; below `least` if there is none.

        >>> from optsched.instances.files import load
        >>> WorstGroup(load("examples/worst-group")).most_within(Fraction(3, 4))
        [0, 1]
        """
        return self._rounded(mean.numerator * size // mean.denominator for size in self.sizes)

    def most_below(self, mean: Number) -> list[int]:
        """As `most_within`, for means below `mean`; a group without tasks has no mean and pays nothing."""
        return self._rounded(math.ceil(mean * size) - 1 if size else 0 for size in self.sizes)

    def _rounded(self, costs: Iterable[int]) -> list[int]:
        """Each cost, rounded down to one that the group can have."""
        return [
            least + (cost - least) // step * step
            for cost, least, step in zip(costs, self.least, self.steps, strict=True)
        ]

    def value_below(self, value: Number) -> Number:
        entries = zip(self.most_below(value), self.sizes, strict=True)
        nothing = 0 if value > 0 else -1  # without tasks the worst mean is 0
        return exact(max((Fraction(cost, size) for cost, size in entries if size), default=nothing))

    def value_from(self, value: Number) -> Number:
        return self._next(self.most_below(value))

    def value_above(self, value: Number) -> Number:
        return self._next(self.most_within(value))

    def value_left(self, multipliers: Ints, least: Number) -> Number:
        """The least value whose groups' costs, weighted by the prices of their rows, reach the sum that is required.

        Costs go in steps, so this is often more than the relaxation gives.
        """
        program, prices = self.program(), multipliers[1:].copy()
        whole, means = program.numbers, next(family.first for family in program.rows if family.name == "group_mean")
        weights = np.maximum(-prices[means : means + len(self.sizes)], 0)
        own = (whole.row >= means) & (whole.value > 0)
        prices[means : means + len(self.sizes)] = 0
        paid = np.zeros_like(whole.objective)
        np.add.at(paid, whole.column[own], whole.value[own] * weights[whole.row[own] - means])
        due = replace(whole, objective=paid).settle(whole.box, np.append(1, prices), 2**60)
        low, high = self.value_from(least), self.value_above(self.levels[2])
        while due is not None and low < high:
            middle = self.value_from(Fraction(low + high) / 2)
            middle = middle if middle < high else low
            enough = exact_product(weights, self.most_within(middle)) >= due * (math.gcd(*self.levels) or 1)
            low, high = (low, middle) if enough else (self.value_above(middle), high)
        return low

    def _next(self, most: Sequence[int]) -> Number:
        entries = zip(most, self.steps, self.sizes, strict=True)
        return exact(min((Fraction(cost + step, size) for cost, step, size in entries if size), default=0))

    # The program -----------------------------------------------------------------------------------------------------

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        """Least cost within a limit on the means; or the least whole number that is at least every mean."""
        builder, first = Builder(), self.classes().first
        columns, owner = enter_places(self, builder, np.zeros_like(first) if before else None)
        self._enter_groups(builder, before, self.pool[first][owner], columns)
        return builder.program(len(before))

    def _enter_groups(self, builder: Builder, before: tuple[Number, ...], group: Ints, column: Ints) -> None:
        """The means of the groups, or limits on what they pay; `group` is that of each column."""
        levels, unit = np.array(self.levels), math.gcd(*self.levels) or 1
        on_node = self.places.on_node
        in_rack = sum(len(racks.areas.values) for racks in self.places.levels[1:])
        level = np.append(
            self.locality(self.classes().first[on_node.row_of], on_node.values),
            np.repeat([1, 2], [in_rack, len(group) - len(on_node.values) - in_rack]),
        )
        if not before:
            worst = builder.variables("worst_mean", [()], upper=self.levels[2], cost=1, doc="no group's mean is higher")
            rows = builder.rows(
                "group_mean", [(name,) for name in self.group_ids], upper=0, doc="in common steps of cost"
            )
            builder.enter(rows[group], column, levels[level] // unit)
            builder.enter(rows, worst, [-size for size in self.sizes])
            return
        most = self.most_within(before[0])
        limits = self._counted(most)
        if limits is None:
            highest = len(self.tasks) * self.levels[2]
            limits = [
                (number, *(levels // unit).tolist(), min(max(-1, paid), highest) // unit)
                for number, paid in enumerate(most)
            ]
        limits += [(0, 0, 0, 0, -1)] * (before[0] < 0)  # no mean is below 0
        rows = builder.rows(
            "group_limit",
            [(self.group_ids[number], str(row)) for row, (number, *_) in enumerate(limits)],
            upper=[limit[-1] for limit in limits],
            doc="the group costs no more than the limit on its mean",
        )
        for row, (number, *paid, _) in zip(rows.tolist(), limits, strict=True):
            value = np.where(group == number, np.array(paid)[level], 0)
            builder.enter(row, column[value > 0], value[value > 0])

    def _counted(self, most: Sequence[int]) -> list[tuple[int, int, int, int, int]] | None:
        """Limits on numbers of tasks instead of those on costs: (group, 0, a, b, c) as for `count_limits`.

        None if the number of tasks that pay the cost at the data is open.
        """
        on_node, in_rack, off_rack = self.levels
        if on_node and self.count < len(self.tasks):
            return None
        near, far = in_rack - on_node, off_rack - on_node
        found = []
        for group, size in enumerate(self.sizes):
            for a, b, most_of in count_limits(size, near, far, most[group] - on_node * size) if size else ():
                common = math.gcd(a, b) or 1
                found.append((group, 0, a // common, b // common, most_of // common))
        return found

    def values_of(self, decision: Placement, program: Program) -> Ints:
        values = self.place_values(decision)
        if program.component:
            return values
        worst = Fraction(self.objective(decision)[0]) / (math.gcd(*self.levels) or 1)
        return np.append(values, math.ceil(worst))

    # Bounds ----------------------------------------------------------------------------------------------------------

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """Bounds without contention for slots: the costs of all groups together, and of each group by itself."""
        if not self.count:
            return (Bound("best-node", "worst-mean", 0, "worst-mean, where nothing is placed"),)
        (whole,) = super().cheap_bounds()
        cheapest = self.cheapest_units(np.zeros_like(self.capacity))
        alone = []
        for group, size in enumerate(self.sizes):
            due = self.count - (len(self.tasks) - size)  # if every task of the others is placed
            alone.append(int(np.sort(cheapest[self.pool == group])[: max(0, due)].sum()))
        average = self.value_from(Fraction(whole.value) / len(self.tasks))
        worst, condition = self.worst_mean(alone), "with every slot open to every task"
        return (
            Bound("average", "worst-mean", average, f"worst-mean, as the mean of all tasks together, {condition}"),
            Bound("best-node-of-group", "worst-mean", worst, f"worst-mean, of each group alone, {condition}"),
            Bound("best-node", "locality-cost", whole.value, f"locality-cost, {condition}"),
        )
