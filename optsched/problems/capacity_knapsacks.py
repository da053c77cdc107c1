"""Bounds of `generalized-assignment` within a box: each node is a knapsack, and each task pays a price for its place.

Relaxed is that every task is on one node (Lagrangian relaxation: Ross and Soland 1975, Fisher, Jaikumar and Van
Wassenhove 1986). What each knapsack is worth with a task and without it says what the task costs at least where it is.
What costs too much is left out of the box (Posta, Ferland and Michelon 2012).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import Bools, Ints
from optsched.problems.base import exact_product
from optsched.problems.generalized_assignment import GeneralizedAssignment
from optsched.problems.relaxations import Box

__all__ = ["CapacityKnapsacks", "Filled", "NodePrices", "fill"]

#: Units that a knapsack holds, at least and for each task, beyond which its capacity is divided.
_LEAST_WIDTH, _WIDTH = 2**10, 2**7

#: The most entries of a knapsack's table, beyond the least width: who checks must have the memory.
_MOST_ENTRIES = 2**26

#: Sums below this, in size, are exact in int64, some times as large ones too.
_EXACT = 2**60


class Filled(NamedTuple):
    """The least costs of knapsacks: of each, shape (nodes,); of each without a task and with it, shape (tasks, nodes).

    The latter two mean something only for pairs that may be chosen.
    """

    least: Any
    without: Any
    including: Any


def fill(cost: Any, weight: Ints, free: Bools, room: Ints) -> Filled:
    """Fill a knapsack a node at least cost, by dynamic programming forwards and backwards over its tasks.

    Parameters
    ----------
    cost
        Whole numbers of either sign, shape (tasks, nodes): of a task in the knapsack.
    weight, room
        int64, shape (tasks, nodes) and (nodes,), 0 or more; what may be chosen fits into an empty knapsack.
    free
        bool, shape (tasks, nodes): what may be chosen.

    Examples
    --------
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
    """Multipliers taken apart: the scale, the price of a place of each task, and of each capacity, 0 or more.

    int64, shapes (tasks,) and (resources, nodes), in units of cost over `scale`; with the scale 0 they are a ray.
    """

    scale: int
    tasks: Ints
    capacities: Ints

    @property
    def multipliers(self) -> Ints:
        """One array: what `CapacityKnapsacks` settles by."""
        return np.concatenate(([self.scale], self.tasks, self.capacities.ravel()))


class CapacityKnapsacks:
    """The relaxation: a variable for each pair of task and node, row by row, 1 where the task is there.

    A node's knapsack counts one resource, the one that all its tasks together exceed most; the others count by their
    prices alone. Where its capacity makes too large a table, capacity and demands are divided and rounded down. Both
    let more in, so the bounds stay bounds; and all capacities hold once their tasks are settled.

    Parameters
    ----------
    problem
        The problem.
    filling
        What fills the knapsacks: `fill`, or the like.

    Examples
    --------
    Three tasks want node n0, which holds one of them: at the price 3 of a place, of 1, the relaxation says 6.

    >>> from optsched.core.instance import Cluster, Instance, Pairs, Workload
    >>> pairs = Pairs([[0.0, 3.0]] * 3, {"weight": [[2.0, 0.0]] * 3})
    >>> cluster = Cluster(["n0", "n1"], capacity={"weight": [3.0, 9.0]})
    >>> problem = GeneralizedAssignment(Instance(cluster, Workload(["a", "b", "c"], pairs=pairs)))
    >>> knapsacks = CapacityKnapsacks(problem)
    >>> prices = NodePrices(1, np.array([3, 3, 3]), np.array([[0, 0]]))
    >>> knapsacks.settle(knapsacks.box, prices.multipliers, 100)
    6
    """

    def __init__(
        self, problem: GeneralizedAssignment, filling: Callable[[Any, Ints, Bools, Ints], Filled] = fill
    ) -> None:
        self.problem, self.fill = problem, filling
        self.cost: Ints = problem.units * problem.sign
        tasks, nodes = self.cost.shape
        self.weight, self.room = np.zeros((tasks, nodes), dtype=np.int64), np.zeros(nodes, dtype=np.int64)
        for node in range(nodes if len(problem.resources) else 0):
            self._weigh(node)

    def _weigh(self, node: int) -> None:
        """Choose the resource that the node's knapsack counts, and the unit that it counts it in."""
        problem = self.problem
        demand, capacity = problem.demand[:, problem.usable[:, node], node], problem.capacity[:, node]
        total = demand.sum(axis=1)
        scarce = int(np.argmax([float(all_) / float(most + 1) for all_, most in zip(total, capacity, strict=True)]))
        room = min(int(capacity[scarce]), int(total[scarce]))
        unit = max(1, math.gcd(*demand[scarce].tolist()))
        tasks = demand.shape[1]
        unit *= -(-(room // unit + 1) // max(_LEAST_WIDTH, min(_WIDTH * tasks, _MOST_ENTRIES // (tasks + 1))))
        self.room[node] = room // unit
        self.weight[:, node] = np.where(problem.usable[:, node], problem.demand[scarce, :, node] // unit, 0)

    @property
    def beyond(self) -> int:
        """More than any placement costs, in units to be least."""
        if not self.cost.size:
            return 1
        dearest = np.where(self.problem.usable, self.cost, self.cost.min(axis=1, keepdims=True)).max(axis=1)
        return int(dearest.sum()) + 1

    @property
    def box(self) -> Box:
        """Each task on no node, or one that it may use."""
        upper = self.problem.usable.astype(np.int64).ravel()
        return Box(np.zeros_like(upper), upper)

    def read(self, multipliers: Ints) -> NodePrices:
        """Multipliers taken apart; what is negative and may not be counts as 0."""
        tasks = len(self.problem.tasks)
        capacities = np.maximum(multipliers[tasks + 1 :], 0).reshape(self.problem.capacity.shape)
        return NodePrices(max(int(multipliers[0]), 0), multipliers[1 : tasks + 1], capacities)

    def settle(self, box: Box, multipliers: Ints, limit: int) -> int | None:
        """The bound that the prices prove of a box, which they narrow; see `problems.relaxations.Relaxation.settle`."""
        if box.empty or not self.implied(box):
            return limit
        if (box.lower == box.upper).all():  # one placement is left, which costs what it costs
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
        """Narrow the box by what each task and each capacity implies by itself; False where nothing is left in it.

        A task with one node left is there, and nowhere else; what does not fit there with the tasks that are there for
        sure is not there.
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
        """The relaxation of a box that is not empty, at these prices."""
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
        # A task is on one node, so the others are without it.
        spared = np.where(free, filled.without - filled.least, 0)
        more = np.where(free, filled.including - filled.least - spared, 0) + spared.sum(axis=1)[:, None]
        placed = least + (more if abs(least) < _EXACT else more.astype(object))  # all knapsacks together may be past it
        open_ = free.any(axis=1)
        beyond = int(np.abs(placed).max(initial=0)) + 1
        best = np.where(free, placed, beyond)[open_].min(axis=1) if open_.any() else np.zeros(0, dtype=kind)
        return Priced(max([least, *best.tolist()]), least, free, placed, filled)

    def _kind(self, prices: NodePrices) -> Any:
        """int64 where it holds every sum; else Python's own integers."""
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
        What all that is in the box costs at least.
    least
        The same by the knapsacks alone, without looking where each task is.
    free
        bool, shape (tasks, nodes): pairs that are open.
    placed
        Whole numbers, shape (tasks, nodes): what it costs at least with the task on the node, where that is open.
    filled
        The knapsacks.
    """

    bound: int
    least: int
    free: Bools
    placed: Any
    filled: Filled
