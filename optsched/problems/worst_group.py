"""`worst-group`: the group of users whose tasks run farthest from their data, on average, as near to it as can be.

The fairness that users of a shared cluster ask of Guo et al. 2012's scheduler: that no group's data locality is much
worse than the others'. Its own fairness costs (`fair-lsap`, `lsap-fairness`) are about shares of the slots instead.
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
from optsched.problems.assignment import LevelledProblem, Pool, minimum_by_row
from optsched.problems.base import OwnCosts, exact, exact_product
from optsched.problems.groups import missing_group_of_tasks
from optsched.problems.lsap import LEVELS

__all__ = ["WorstGroup"]


class WorstGroup(LevelledProblem):
    """Exactly min(tasks, idle slots) tasks on idle slots: least highest mean locality cost of a group, then least cost.

    The mean of a group is the locality cost of its placed tasks over the number of its *pending* tasks, placed or not:
    a task that waits for the next round costs nothing in this one, as in `lsap`. Where all tasks are placed it is the
    mean over the placed ones too (Guo et al. 2012, note 11).

    With two levels of cost, as by default, the worst group's mean costs no locality: some placement attains both the
    least highest mean and the optimum of `lsap` (Guo et al. 2012, note 12).

    Attributes
    ----------
    sizes
        Pending tasks of each group.
    least, steps
        A group costs `least`, or whole multiples of its step more.

    Examples
    --------
    Two tasks compete for the slot on a. Group h has another task, so that its mean is 1/2 where it gives way:

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
    title = "tasks to idle slots, least highest mean locality cost of a group, then least locality cost"
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
        """The least cost of each group, and the step to the next: whole multiples of it are a superset of its costs."""
        on_node, in_rack, off_rack = self.levels
        near = np.bincount(self.pool, weights=self.idle_replicas.lengths, minlength=len(self.sizes))
        racked = np.bincount(self.pool, weights=self.idle_racks.lengths, minlength=len(self.sizes))
        for size, holders, racks in zip(self.sizes, near.tolist(), racked.tolist(), strict=True):
            levels = [off_rack, *[in_rack] * bool(racks), *[on_node] * bool(holders)]
            lowest = min(levels)
            if self.count < len(self.tasks):  # how many tasks of a group are placed is open
                yield 0, math.gcd(*levels) or 1
            else:
                yield lowest * size, math.gcd(*(level - lowest for level in levels)) or 1

    # Value -----------------------------------------------------------------------------------------------------------

    @property
    def own_costs(self) -> OwnCosts:
        """Of the locality cost; of the worst group's mean no task pays a part of its own."""
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
        """The highest mean of groups with these costs; 0 where no group has a task."""
        means = (Fraction(cost, size) for cost, size in zip(costs, self.sizes, strict=True) if size)
        return exact(max(means, default=0))

    def objective(self, placement: Placement) -> Value:
        return (self.worst_mean(self.costs_by_group(placement)), *super().objective(placement))

    # Means that groups can have --------------------------------------------------------------------------------------

    def most_within(self, mean: Number) -> list[int]:
        """The highest cost that each group may have at a mean of at most `mean`; below `least` where it may have none.

        >>> from optsched.instances.files import load
        >>> WorstGroup(load("examples/worst-group")).most_within(Fraction(3, 4))
        [0, 1]
        """
        return self._within(mean.numerator, mean.denominator)

    def most_below(self, mean: Number) -> list[int]:
        """As `most_within`, at a mean below `mean`; a group without tasks has no mean and pays nothing."""
        return self._rounded(math.ceil(mean * size) - 1 if size else 0 for size in self.sizes)

    def _rounded(self, costs: Iterable[int]) -> list[int]:
        """Each cost, rounded down to one that the group can have."""
        return [
            least + (cost - least) // step * step
            for cost, least, step in zip(costs, self.least, self.steps, strict=True)
        ]

    def mean_above(self, mean: Number) -> Number:
        """The least mean above `mean` that a group can have, some group having tasks."""
        return self._next(self.most_within(mean))

    def mean_from(self, mean: Number) -> Number:
        """The least mean from `mean` on that a group can have, some group having tasks."""
        return self._next(self.most_below(mean))

    def _next(self, most: Sequence[int]) -> Number:
        entries = zip(most, self.steps, self.sizes, strict=True)
        return exact(min(Fraction(cost + step, size) for cost, step, size in entries if size))

    # Bounds ----------------------------------------------------------------------------------------------------------

    def weighted_bound(self, weights: Sequence[int], task_price: int, node_prices: Ints) -> int:
        """The least weighted sum of the groups' costs that prices prove; valid whatever the prices (weak duality).

        Parameters
        ----------
        weights
            What a unit of each group's cost counts, shape (groups,), whole and 0 or more.
        task_price
            Price of placing one task more.
        node_prices
            int64, shape (nodes,): price of a slot on each node; negative ones count as 0.
        """
        if not self.count:
            return 0
        prices = np.maximum(node_prices, 0)
        reach = max(weights) * self.levels[2] + int(prices.max()) + abs(task_price)
        kind: Any = np.int64 if reach * (len(self.tasks) + 1) < 2**62 else object
        surplus = task_price - self._cheapest(np.array(weights, dtype=kind)[self.pool], prices.astype(kind))
        bound: int = task_price * self.count - sum(surplus[surplus > 0].tolist())
        return bound - exact_product(prices, self.capacity)

    def _cheapest(self, weight: Any, prices: Any) -> Any:
        """For each task the least of weighted cost and price over the nodes with idle slots."""
        on_node, in_rack, off_rack = self.levels
        idle = np.flatnonzero(self.capacity > 0)
        nearest = prices[idle].min()
        anywhere = weight * off_rack + nearest
        rack_prices = np.full(self._racks, prices.max(), dtype=prices.dtype)
        racked = idle[self.rack[idle] >= 0]
        np.minimum.at(rack_prices, self.rack[racked], prices[racked])
        local = weight * on_node + minimum_by_row(self.idle_replicas, prices, 0)
        near = weight * in_rack + minimum_by_row(self.idle_racks, rack_prices, 0)
        local = np.where(self.idle_replicas.lengths > 0, local, anywhere)
        near = np.where(self.idle_racks.lengths > 0, near, anywhere)
        return np.minimum(np.minimum(local, near), anywhere)

    def mean_bound(self, group_prices: Sequence[int], task_price: int, node_prices: Ints) -> Number:
        """The least highest mean that prices prove; valid whatever the prices.

        The costs, weighted with the prices of the groups, add up to at least `weighted_bound`. Costs go in steps: the
        bound is the first mean that a group can have at which the highest costs within it add up to so much.

        Parameters
        ----------
        group_prices
            Price of a unit of each group's cost, shape (groups,); negative ones count as 0.
        task_price, node_prices
            As `weighted_bound` takes them.
        """
        prices = [max(0, price) if size else 0 for price, size in zip(group_prices, self.sizes, strict=True)]
        due = self.weighted_bound(prices, task_price, node_prices)
        if due <= 0:
            return 0
        # Some price is positive here, or the weighted sum of any placement would be 0. Means with denominators up to n
        # are at least 1/n^2 apart: of the intervals of that length, the first at whose end enough is within holds one.
        total, slack = exact_product(prices, self.sizes), exact_product(prices, self.steps)
        unit = max(self.sizes) ** 2
        short, enough = due * unit // total - 1, -(-(due + slack) * unit // total)
        while enough - short > 1:
            middle = (short + enough) // 2
            within = exact_product(prices, self._within(middle, unit))
            short, enough = (short, middle) if within >= due else (middle, enough)
        entries = zip(prices, self._within(enough, unit), self.sizes, strict=True)
        return exact(max(Fraction(most, size) for price, most, size in entries if price))

    def _within(self, numerator: int, denominator: int) -> list[int]:
        """`most_within` of a fraction, without reducing it."""
        return self._rounded(numerator * size // denominator for size in self.sizes)

    def cost_bound(
        self, mean: Number, scale: int, group_prices: Sequence[int], task_price: int, node_prices: Ints
    ) -> int:
        """The least locality cost that prices prove for placements whose highest mean is at most `mean`.

        Parameters
        ----------
        mean
            The highest mean that a group may have.
        scale
            What a unit of locality cost counts, 1 or more: the prices are in the unit 1/`scale`.
        group_prices, task_price, node_prices
            As `mean_bound` takes them.
        """
        prices = [max(0, price) for price in group_prices]
        weighted = self.weighted_bound([scale + price for price in prices], task_price, node_prices)
        saved = exact_product(prices, self.most_within(mean))
        cost, least, step = -((saved - weighted) // scale), sum(self.least), math.gcd(*self.steps)
        bound: int = least + max(0, -((least - cost) // step)) * step
        return bound

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """No slot contended: the costs of all groups together, and of each group for itself."""
        if not self.count:
            return (Bound("best-node", "worst-mean", 0, "worst-mean, where nothing is placed"),)
        (whole,) = super().cheap_bounds()
        cheapest = self.cheapest_units(np.zeros_like(self.capacity))
        alone = []
        for group, size in enumerate(self.sizes):
            due = self.count - (len(self.tasks) - size)  # if every task of the others is placed
            alone.append(int(np.sort(cheapest[self.pool == group])[: max(0, due)].sum()))
        average = self.mean_from(Fraction(whole.value) / len(self.tasks))
        worst, told = self.worst_mean(alone), "with every slot free for every task"
        return (
            Bound("average", "worst-mean", average, f"worst-mean, as the mean of all tasks together, {told}"),
            Bound("best-node-of-group", "worst-mean", worst, f"worst-mean, of each group alone, {told}"),
            Bound("best-node", "locality-cost", whole.value, f"locality-cost, {told}"),
        )
