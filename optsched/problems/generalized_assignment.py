"""`generalized-assignment`: every task on a node, within the nodes' capacities, at least or most total cost.

Costs and demands are those of `pairs`. None of the five papers poses it. It is the outside check, since its published
optima are known (OR-Library).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from optsched.core.decimals import common_grid, rounded_in_words, rounded_units, whole_units
from optsched.core.errors import Fault, InputError
from optsched.core.instance import LARGEST, Bools, Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Bound, Component, Number, Proof, Sense, Value, Violation
from optsched.problems.base import OwnCosts, Parameter, choice, exact, exact_product
from optsched.problems.counted_places import CountedPlaces, Places, TaskClasses, enter_columns
from optsched.problems.programs import Builder, Program, Programmed
from optsched.problems.resource_units import capacity_units, demand_fault

__all__ = ["GeneralizedAssignment"]


class GeneralizedAssignment(CountedPlaces, Programmed):
    """Every pending map on a node that it may use, no resource of a node overdrawn, at least or most total cost.

    Costs are exact where they have a common denominator of at most 2^20, as decimals of up to six places do; else each
    is rounded once to a multiple of 2^-20. Demands are compared exactly: those of a resource must have such a
    denominator. With one resource, demands of 1 and capacities of 1 it is the plain assignment problem.

    Attributes
    ----------
    units
        int64, shape (tasks, nodes): cost of each pair in units of 1/`grid`.
    grid
        The common denominator of all costs, 1 where they are whole; 2^20 where it is above that.
    sign
        1 for `sense=min`, -1 for `sense=max`: `sign * units` is minimised.
    resources
        Names of the resources that are demanded.
    demand
        int64, shape (resources, tasks, nodes), in units of 1/`demand_grid[resource]`.
    capacity
        int64, shape (resources, nodes), in the same units, rounded down to a whole one.
    demand_grid
        int64, shape (resources,): the common denominator of the demands, 1 where they are whole.
    usable
        bool, shape (tasks, nodes): pairs that are allowed and fit on an empty node.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Pairs, Workload
    >>> pairs = Pairs(cost=[[1.0, 4.0], [2.0, 9.0]], demand={"weight": [[2.0, 2.0], [2.0, 2.0]]})
    >>> cluster = Cluster(["a", "b"], capacity={"weight": [3.0, 3.0]})
    >>> problem = GeneralizedAssignment(Instance(cluster, Workload(["t1", "t2"], pairs=pairs)))
    >>> problem.evaluate(problem.placement([1, 0]))
    (6,)
    >>> print(*problem.violations(problem.placement([0, 0])))
    capacity(weight, a) by 1
    """

    name = "generalized-assignment"
    title = "every task on a node within its capacities, least or most total cost"
    paper = "OR-Library"
    components = (Component("cost", Sense.MIN, "unit of cost"),)
    parameter_table = (
        Parameter("sense", "min", choice("min", "max"), "whether the total cost is to be least or most"),
    )
    requires = ("pairs.cost", "nodes[].capacity of each resource in pairs.demand")
    proof = Proof.DUAL
    places_all = True
    always_feasible = False

    @classmethod
    def missing(cls, instance: Instance, parameters: Mapping[str, Any]) -> Iterator[Fault]:
        pairs, capacity = instance.workload.pairs, instance.cluster.capacity
        if pairs is None or pairs.cost is None:
            yield Fault("pairs.cost", f"{cls.name} needs a cost for each pair of task and node")
            return
        for resource in pairs.demand:
            for node in np.flatnonzero(np.isnan(capacity[resource])).tolist():
                yield Fault(f"nodes[{node}].capacity.{resource}", f"{cls.name} needs it: pairs.demand names it")

    def prepare(self) -> None:
        pairs = self.instance.workload.pairs
        assert pairs is not None
        assert pairs.cost is not None  # else `missing` says so
        sense = Sense(self.parameters["sense"])
        self.sign = 1 if sense is Sense.MIN else -1
        self.components = (Component("cost", sense, "unit of cost"),)
        cost = pairs.cost[self.tasks]
        self.grid = common_grid(cost)
        self.units: Ints = rounded_units(cost, self.grid)
        faults = []
        if int(np.abs(self.units).max(initial=0)) * len(self.tasks) > LARGEST:
            faults.append(Fault("pairs.cost", f"costs may total too much, past 2^53/{self.grid}; scale them down"))
        self.resources = tuple(pairs.demand)
        shape = (len(self.resources), *cost.shape)
        self.demand: Ints = np.zeros(shape, dtype=np.int64)
        self.capacity: Ints = np.zeros((shape[0], shape[2]), dtype=np.int64)
        self.demand_grid: Ints = np.ones(shape[0], dtype=np.int64)
        for position, resource in enumerate(self.resources):
            demand = pairs.demand[resource][self.tasks]
            grid, fault = demand_fault(self.name, demand, len(self.tasks))
            if fault is not None:
                faults.append(Fault(f"pairs.demand.{resource}", fault))
                continue
            self.demand_grid[position] = grid
            self.demand[position] = whole_units(demand, grid)
            self.capacity[position] = capacity_units(self.instance.cluster.capacity[resource], grid)
        if faults:
            raise InputError(faults, self.place)
        allowed = np.ones(cost.shape, dtype=bool) if pairs.allowed is None else pairs.allowed[self.tasks]
        self.usable: Bools = allowed & (self.demand <= self.capacity[:, None, :]).all(axis=0)
        self._allowed = allowed
        for array in (self.units, self.demand, self.capacity, self.demand_grid, self.usable):
            array.setflags(write=False)

    @property
    def remark(self) -> str | None:
        """The remark that costs without a common denominator are rounded."""
        pairs = self.instance.workload.pairs
        assert pairs is not None
        assert pairs.cost is not None
        return rounded_in_words(pairs.cost[self.tasks].ravel(), self.grid, "costs")

    @property
    def stranded(self) -> Ints:
        """Positions in `tasks` of those that fit on no node that they may use: with any there is no placement."""
        return np.flatnonzero(~self.usable.any(axis=1)).astype(np.int64)

    @property
    def plainly_infeasible(self) -> str | None:
        if not len(self.stranded):
            return None
        task = self.instance.workload.task_ids[self.tasks[self.stranded[0]]]
        return f"{task} fits on no node that it may use"

    @property
    def own_costs(self) -> OwnCosts:
        """The cost of each pair of task and node."""
        return OwnCosts(0, self.grid, lambda positions, nodes: self.units[positions, nodes], np.zeros_like(self.tasks))

    def classes(self) -> TaskClasses:
        """Tasks that are the same to the problem: same costs, demands and nodes that they may use."""
        return self._classes

    @cached_property
    def _classes(self) -> TaskClasses:
        rows = zip(self.units, self.demand.transpose(1, 0, 2), self.usable, strict=True)
        return TaskClasses.from_keys([tuple(part.tobytes() for part in row) for row in rows])

    def every_place(self) -> Places:
        first = self._classes.first
        return self.places_of_table(self.usable[first], self.sign * self.units[first])

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        """All tasks of each class on nodes within the capacities.

        A capacity is counted in the largest unit that divides all demands, so that no solver's tolerance is
        as large as a demand.
        """
        builder, classes = Builder(), self._classes
        columns, owner = enter_columns(self, builder, np.zeros_like(classes.first), "cost")[0], self.places.row_of
        node, first = self.places.on_node.values, classes.first
        tasks = self.instance.workload.task_ids[self.tasks[first]].tolist()
        assigned = builder.rows(
            "assigned",
            [(name,) for name in tasks],
            lower=classes.size,
            upper=classes.size,
            over="CLASSES",
            doc="all tasks of the class are placed",
        )
        builder.enter(assigned[owner], columns)
        demand = self.demand[:, first[owner], node]
        steps = np.array([max(1, math.gcd(*row)) for row in demand.tolist()], dtype=np.int64)
        nodes = self.instance.cluster.node_ids.tolist()
        capacity = builder.rows(
            "capacity",
            [(resource, name) for resource in self.resources for name in nodes],
            upper=(self.capacity // steps[:, None]).ravel(),
            doc="no node gives more of a resource than it has",
        ).reshape(self.capacity.shape)
        for row, taken in zip(capacity, demand // steps[:, None], strict=True):
            builder.enter(row[node[taken > 0]], columns[taken > 0], taken[taken > 0])
        return builder.program(unit=self.sign * self.grid)

    def values_of(self, decision: Placement, program: Program) -> Ints:
        return self.place_values(decision)

    def objective(self, placement: Placement, /) -> Value:
        units = self.units[np.arange(len(self.tasks)), self.nodes_of(placement)]
        return (exact(int(units.sum()), self.grid),)

    def constraint_violations(self, placement: Placement) -> Iterator[Violation]:
        task_ids = self.instance.workload.task_ids[self.tasks].tolist()
        node_ids = self.instance.cluster.node_ids.tolist()
        nodes = self.nodes_of(placement)
        for task in np.flatnonzero(nodes == NONE).tolist():
            yield Violation("assigned", (task_ids[task],), 1)
        placed = np.flatnonzero(nodes != NONE)
        hosts = nodes[placed]
        for task in placed[~self._allowed[placed, hosts]].tolist():
            yield Violation("allowed", (task_ids[task], node_ids[nodes[task]]), 1)
        for position, resource in enumerate(self.resources):
            used = np.zeros(len(node_ids), dtype=np.int64)
            np.add.at(used, hosts, self.demand[position, placed, hosts])
            for node in np.flatnonzero(used > self.capacity[position]).tolist():
                over = exact(int(used[node] - self.capacity[position, node]), int(self.demand_grid[position]))
                yield Violation("capacity", (resource, node_ids[node]), over)

    def price_bound(self, prices: Ints, scale: int) -> int:
        """The bound, in units, that prices of capacities prove (Lagrangian duality). It is valid for any prices.

        Each task takes the node that is cheapest when it also pays for its demand. What the capacities earn is taken
        off. Every placement costs a whole number of units, so the result is rounded to one.

        Parameters
        ----------
        prices
            int64, shape (resources, nodes): price of a unit of capacity, in units of cost times `scale`; negative
            ones count as 0.
        scale
            Denominator of the prices, above 0.
        """
        if not self.units.size:
            return 0
        prices = np.maximum(prices, 0)
        largest = scale * int(np.abs(self.units).max()) + sum(
            int(prices[position].max()) * int(self.demand[position].max()) for position in range(len(self.resources))
        )
        kind: Any = np.int64 if largest < 2**62 else object
        paid = self.units.astype(kind) * (self.sign * scale)
        for price, demand in zip(prices, self.demand, strict=True):
            paid += price.astype(kind) * demand.astype(kind)
        paid = np.where(self.usable, paid, paid.max())
        total = sum(paid.min(axis=1).tolist()) - exact_product(prices, self.capacity)
        bound: int = -(-total // scale)
        return self.sign * bound

    def cheap_bounds(self) -> tuple[Bound, ...]:
        """The sum of each task's own best node: no capacity is ever contended."""
        best = self.price_bound(np.zeros_like(self.capacity), 1)
        return (Bound("best-node", "cost", exact(best, self.grid), "cost, with every capacity free for every task"),)
