"""`generalized-assignment`: every task on a node, within the nodes' capacities, at least or most total cost.

Costs and demands come from `pairs`. None of the five papers poses it. It is an outside check: its published optima
(OR-Library) are known.

`CapacityKnapsacks` bounds it within a box: each node is a knapsack, and each task pays a price for its place. The
constraint that each task is on one node is relaxed (Lagrangian relaxation: Ross and Soland 1975, Fisher, Jaikumar and
Van Wassenhove 1986). The values of a knapsack with and without a task bound the cost of having the task there. Pairs
that cost too much leave the box (Posta, Ferland and Michelon 2012).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from optsched.core.deadline import check
from optsched.core.decimals import common_grid, rounded_in_words, rounded_units, whole_units
from optsched.core.errors import Fault, InputError
from optsched.core.instance import LARGEST, Bools, Instance, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Bound, Component, Number, Proof, Sense, Value, Violation
from optsched.problems.base import OwnCosts, exact, exact_product
from optsched.problems.counted_places import CountedPlaces, Places, TaskClasses, enter_columns
from optsched.problems.demands import capacity_units, demand_fault
from optsched.problems.parameters import Parameter, choice
from optsched.problems.programs import Builder, Program, Programmed
from optsched.problems.relaxations import Box


class GeneralizedAssignment(CountedPlaces, Programmed):
    """Every pending map on a node that it may use, within every resource of every node, at least or most total cost.

    Costs are exact if they have a common denominator of at most 2^20, as decimals of up to six places do; else each is
    rounded once to a multiple of 2^-20. Demands are compared exactly: those of a resource must have such a denominator.
    With one resource, demands of 1 and capacities of 1 it is the plain assignment problem.

    Attributes
    ----------
    units
        int64, shape (tasks, nodes): cost of each pair in units of 1/`grid`.
    grid
        The common denominator of all costs, 1 if they are whole; 2^20 if it would be larger.
    sign
        1 for `sense=min`, -1 for `sense=max`: `sign * units` is minimised.
    resources
        Names of the demanded resources.
    demand
        int64, shape (resources, tasks, nodes), in units of 1/`demand_grid[resource]`.
    capacity
        int64, shape (resources, nodes), in the same units, rounded down.
    demand_grid
        int64, shape (resources,): the common denominator of the demands, 1 if they are whole.
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
        assert pairs.cost is not None  # otherwise `missing` has raised
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
        """Positions in `tasks` of tasks that fit on no node that they may use; any one makes placement impossible."""
        return np.flatnonzero(~self.usable.any(axis=1)).astype(np.int64)

    @property
    def plainly_infeasible(self) -> str | None:
        if not len(self.stranded):
            return None
        task = self.task_ids[self.stranded[0]]
        return f"{task} fits on no node that it may use"

    @property
    def own_costs(self) -> OwnCosts:
        """The cost of each pair of task and node."""
        return OwnCosts(0, self.grid, lambda positions, nodes: self.units[positions, nodes], np.zeros_like(self.tasks))

    def classes(self) -> TaskClasses:
        """Tasks that the problem does not distinguish: same costs, demands and usable nodes."""
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

        A capacity is counted in the largest unit that divides all demands, so that every demand is larger than a
        solver's tolerance.
        """
        builder, classes = Builder(), self._classes
        columns, owner = enter_columns(self, builder, np.zeros_like(classes.first), "cost")[0], self.places.row_of
        node, first = self.places.on_node.values, classes.first
        tasks = self.task_ids[first].tolist()
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
        task_ids = self.task_ids.tolist()
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

        Each task takes the node that is cheapest when it also pays for its demand. The earnings of the capacities are
        subtracted. Every placement costs a whole number of units, so the result is rounded up.

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
        """The sum over tasks of the cost on their own best nodes: as if no capacity were contended."""
        best = self.price_bound(np.zeros_like(self.capacity), 1)
        return (Bound("best-node", "cost", exact(best, self.grid), "cost, with every capacity free for every task"),)


#: A knapsack holds at least this many units, and this many per task; a larger capacity is divided.
_LEAST_WIDTH, _WIDTH = 2**10, 2**7

#: The most entries of a knapsack's table, beyond the least width: the checker must have the memory.
_MOST_ENTRIES = 2**26

#: Sums below this, in absolute value, are exact in int64, and so are a few times larger ones.
_EXACT = 2**60


class Filled(NamedTuple):
    """The least costs of knapsacks: each one's, shape (nodes,); without each task and with it, shape (tasks, nodes).

    The latter two are meaningful only for pairs that may be chosen.
    """

    least: Any
    without: Any
    including: Any


def fill(cost: Any, weight: Ints, free: Bools, room: Ints) -> Filled:
    """Fill each node's knapsack at least cost, by dynamic programming forwards and backwards over its tasks.

    `cost`: whole numbers of either sign, shape (tasks, nodes): of a task in the knapsack. `weight`, `room`: int64,
    shapes (tasks, nodes) and (nodes,), 0 or more. `free`: bool, shape (tasks, nodes): the pairs that may be chosen;
    each fits into an empty knapsack.

    >>> cost, weight = np.array([[-5], [-4], [-3]]), np.array([[2], [2], [1]])
    >>> filled = fill(cost, weight, np.ones((3, 1), dtype=bool), np.array([3]))
    >>> filled.least.tolist(), filled.without.ravel().tolist(), filled.including.ravel().tolist()
    ([-8], [-7, -8, -5], [-8, -7, -8])
    """
    filled = Filled(np.zeros(len(room), dtype=cost.dtype), np.zeros_like(cost), np.zeros_like(cost))
    for node in np.flatnonzero(free.any(axis=0)).tolist():
        check()
        tasks, space = np.flatnonzero(free[:, node]), int(room[node])
        weights, costs = weight[tasks, node].tolist(), cost[tasks, node].tolist()
        before = np.zeros((len(tasks) + 1, space + 1), dtype=cost.dtype)
        for at, (heavy, price) in enumerate(zip(weights, costs, strict=True)):
            before[at + 1] = before[at]
            np.minimum(before[at + 1, heavy:], before[at, : space + 1 - heavy] + price, out=before[at + 1, heavy:])
        filled.least[node] = before[-1, -1]
        after = np.zeros(space + 1, dtype=cost.dtype)
        for at in reversed(range(len(tasks))):
            heavy, price = weights[at], costs[at]
            filled.without[tasks[at], node] = (before[at] + after[::-1]).min()
            left = space + 1 - heavy
            filled.including[tasks[at], node] = price + (before[at, :left] + after[:left][::-1]).min()
            np.minimum(after[heavy:], after[:left] + price, out=after[heavy:])
    return filled


class NodePrices(NamedTuple):
    """Multipliers by part: the scale, the price of a place of each task, and that of each capacity, 0 or more.

    int64, shapes (tasks,) and (resources, nodes), in units of cost over `scale`; with the scale 0 they are a ray.
    """

    scale: int
    tasks: Ints
    capacities: Ints

    @property
    def multipliers(self) -> Ints:
        """One array: the multipliers of `CapacityKnapsacks.settle`."""
        return np.concatenate(([self.scale], self.tasks, self.capacities.ravel()))


class CapacityKnapsacks:
    """The relaxation: a variable for each pair of task and node, row by row, 1 if the task is there.

    A node's knapsack counts one resource, the one that all its tasks together exceed most; the others count only by
    their prices. If its capacity makes the table too large, capacity and demands are divided and rounded down. Both
    admit more, so the bounds stay bounds. Once a node's tasks are settled, all capacities are checked exactly.

    `fill` fills the knapsacks; a search may use a quicker equivalent.

    Examples
    --------
    Three tasks want node n0, which holds one of them. At the price 3 of a place for each, the relaxation proves 6.

    >>> from optsched.core.instance import Cluster, Instance, Pairs, Workload
    >>> pairs = Pairs([[0.0, 3.0]] * 3, {"weight": [[2.0, 0.0]] * 3})
    >>> cluster = Cluster(["n0", "n1"], capacity={"weight": [3.0, 9.0]})
    >>> problem = GeneralizedAssignment(Instance(cluster, Workload(["a", "b", "c"], pairs=pairs)))
    >>> knapsacks = CapacityKnapsacks(problem)
    >>> prices = NodePrices(1, np.array([3, 3, 3]), np.array([[0, 0]]))
    >>> knapsacks.settle(knapsacks.box, prices.multipliers, 100)
    6
    """

    def __init__(self, problem: GeneralizedAssignment) -> None:
        self.problem = problem
        self.fill: Callable[[Any, Ints, Bools, Ints], Filled] = fill
        self.cost: Ints = problem.units * problem.sign
        tasks, nodes = self.cost.shape
        self.weight, self.room = np.zeros((tasks, nodes), dtype=np.int64), np.zeros(nodes, dtype=np.int64)
        for node in range(nodes if len(problem.resources) else 0):
            # The resource that the node's knapsack counts, and its unit there.
            usable, capacity = problem.usable[:, node], problem.capacity[:, node]
            demand = problem.demand[:, usable, node]
            total, count = demand.sum(axis=1), demand.shape[1]
            scarce = int(np.argmax(total.astype(float) / (capacity + 1).astype(float)))
            room = min(int(capacity[scarce]), int(total[scarce]))
            unit = max(1, math.gcd(*demand[scarce].tolist()))
            unit *= -(-(room // unit + 1) // max(_LEAST_WIDTH, min(_WIDTH * count, _MOST_ENTRIES // (count + 1))))
            self.room[node] = room // unit
            self.weight[:, node] = np.where(usable, problem.demand[scarce, :, node] // unit, 0)

    @property
    def beyond(self) -> int:
        """More than the cost of any placement, in units to minimise."""
        if not self.cost.size:
            return 1
        dearest = np.where(self.problem.usable, self.cost, self.cost.min(axis=1, keepdims=True)).max(axis=1)
        return int(dearest.sum()) + 1

    @property
    def box(self) -> Box:
        """Each task on no node, or on one that it may use."""
        upper = self.problem.usable.astype(np.int64).ravel()
        return Box(np.zeros_like(upper), upper)

    def read(self, multipliers: Ints) -> NodePrices:
        """Multipliers by part; negative ones count as 0 if they must not be negative."""
        tasks = len(self.problem.tasks)
        capacities = np.maximum(multipliers[tasks + 1 :], 0).reshape(self.problem.capacity.shape)
        return NodePrices(max(int(multipliers[0]), 0), multipliers[1 : tasks + 1], capacities)

    def settle(self, box: Box, multipliers: Ints, limit: int) -> int | None:
        """The bound that the prices prove of a box, which they narrow; see `problems.relaxations.Relaxation.settle`."""
        if box.empty or not self.implied(box):
            return limit
        if (box.lower == box.upper).all():  # only one placement is left, and its cost is known
            value = int(self.cost.ravel()[box.upper > 0].sum())
            if value < limit:
                return value
            self._emptied(box)
            return limit
        prices = self.read(multipliers)
        priced = self.priced(box, prices)
        most = prices.scale * (limit - 1)
        pairs = box.upper.reshape(self.cost.shape)
        pairs[priced.free & (priced.placed > most)] = 0
        if priced.bound > most or not self.implied(box):
            self._emptied(box)
            return limit
        return -(-priced.bound // prices.scale) if prices.scale else None

    def implied(self, box: Box) -> bool:
        """Narrow the box by what each task and each capacity implies by itself; False if the box becomes empty.

        A task with one node left is there, and nowhere else. A task that does not fit with the tasks that are surely on
        a node is not there.
        """
        lower, upper = (ends.reshape(self.cost.shape) for ends in box)
        demand, capacity = self.problem.demand, self.problem.capacity
        while True:
            lower[(upper > 0) & (upper.sum(axis=1) == 1)[:, None]] = 1
            upper[(lower == 0) & (lower.sum(axis=1) > 0)[:, None]] = 0
            left = capacity - (demand * lower).sum(axis=1)
            if (left < 0).any() or not upper.any(axis=1).all() or (lower.sum(axis=1) > 1).any():
                self._emptied(box)
                return False
            crowded = (upper > lower) & (demand > left[:, None, :]).any(axis=0)
            if not crowded.any():
                return True
            upper[crowded] = 0

    @staticmethod
    def _emptied(box: Box) -> None:
        box.lower[:1], box.upper[:1] = 1, 0

    def priced(self, box: Box, prices: NodePrices) -> Priced:
        """The relaxation of a nonempty box at these prices."""
        lower, upper = (ends.reshape(self.cost.shape) > 0 for ends in box)
        free = upper & ~lower
        kind = self._kind(prices)
        cost = self.cost.astype(kind) * prices.scale - prices.tasks.astype(kind)[:, None]
        for price, demand in zip(prices.capacities, self.problem.demand, strict=True):
            cost += price.astype(kind) * demand.astype(kind)
        room = self.room - (self.weight * lower).sum(axis=0)
        filled = self.fill(cost, self.weight, free, room)
        constant = sum(prices.tasks.tolist()) - exact_product(prices.capacities, self.problem.capacity)
        least = constant + sum(cost[lower].tolist()) + sum(filled.least.tolist())
        # A task is on one node, so the other nodes are without it.
        spared = np.where(free, filled.without - filled.least, 0)
        more = np.where(free, filled.including - filled.least - spared, 0) + spared.sum(axis=1)[:, None]
        placed = least + (more if abs(least) < _EXACT else more.astype(object))  # the sum may exceed int64
        open_ = free.any(axis=1)
        beyond = int(np.abs(placed).max(initial=0)) + 1
        best = np.where(free, placed, beyond)[open_].min(axis=1) if open_.any() else np.zeros(0, dtype=kind)
        return Priced(max([least, *best.tolist()]), least, free, placed, filled)

    def _kind(self, prices: NodePrices) -> Any:
        """int64 if it holds every sum; else Python's own integers."""
        dearest = int(np.abs(self.cost).max(initial=0)) * prices.scale + int(np.abs(prices.tasks).max(initial=0))
        for price, demand in zip(prices.capacities, self.problem.demand, strict=True):
            dearest += int(price.max(initial=0)) * int(demand.max(initial=0))
        earned = exact_product(prices.capacities, self.problem.capacity)
        return np.int64 if dearest * (sum(self.cost.shape) + 2) * 4 + earned < _EXACT else object


class Priced(NamedTuple):
    """The relaxation's answer for a box at some prices, all times their scale.

    Attributes
    ----------
    bound
        The least cost of anything in the box.
    least
        The same by the knapsacks alone, without requiring a node for each task.
    free
        bool, shape (tasks, nodes): pairs that are open.
    placed
        Whole numbers, shape (tasks, nodes): the least cost with the task on the node, for open pairs.
    filled
        The knapsacks.
    """

    bound: int
    least: int
    free: Bools
    placed: Any
    filled: Filled
