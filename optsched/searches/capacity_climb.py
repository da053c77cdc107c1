"""Limit after limit for `generalized-assignment`, and neighbourhoods of the best placement on the way.

Nothing costs less than a limit, than this and a little, until something does. A tree at a limit just above the bound
leaves out most pairs of task and node at once, however dear the best placement is that was found by then (Posta,
Ferland and Michelon 2012). So the optimum is proved before, or while, it is found.

In a neighbourhood most tasks stay where they are, and a small tree places the others (large neighbourhood search, Shaw
1998). What the Lagrangian prices say of each place guides it: tasks that are placed dearly are more often among those
that are placed anew, and only places that are not too dear are open to them (a core problem: Balas and Zemel 1980).
The tree is that of `capacity_tree`, of few cases: its bounds settle most neighbourhoods sooner than HiGHS does.
"""

from __future__ import annotations

import numpy as np

from optsched.certificates.trees import Tree
from optsched.core.deadline import check
from optsched.core.instance import Bools, Floats, Ints
from optsched.problems.generalized_assignment import CapacityKnapsacks, GeneralizedAssignment, NodePrices
from optsched.searches.capacity_tree import MOST_ENTRIES, CapacityTree

__all__ = [
    "CapacityClimb",
    "CapacityNeighbourhoods",
]

#: The first limit is above the bound by this part of what is left; a tree of few steps doubles the next.
_PARTS, _FEW = 2**10, 30


class CapacityClimb:
    """A search for the best placement, which grows its proof; it can be gone on with after it was stopped.

    Parameters
    ----------
    problem
        With at least one task, and a usable node for each.
    prices
        Prices of capacities to begin from, float64, shape (resources, nodes), in units of cost.
    nodes
        Node of each task of a feasible placement.

    Attributes
    ----------
    nodes, limit
        Of the best placement so far, and what it costs, in units to be least.
    bound
        What is proved that every placement costs; less than any before the first step.
    tree
        What proves it; None before the first step.
    """

    def __init__(self, problem: GeneralizedAssignment, prices: Floats, nodes: Ints) -> None:
        self.problem = problem
        self._tree = CapacityTree(problem, prices, nodes)
        self.nodes, self.limit = nodes, self._tree.limit
        self.bound = self.limit - 2**60
        self.tree: Tree | None = None
        self._step = 0

    @property
    def prices(self) -> NodePrices:
        """The best ones of the first case of the last tree so far."""
        return self._tree.prices

    @property
    def closed(self) -> bool:
        """Whether the best placement is proved to be one."""
        return self.bound >= self.limit

    def hold(self, nodes: Ints) -> None:
        """Take another placement, if it costs less."""
        other = CapacityTree(self.problem, self._tree.prices, nodes)
        if other.limit < self.limit:
            self.nodes, self.limit = nodes, other.limit

    def search(self, most_entries: int = MOST_ENTRIES) -> bool:
        """Climb until the bound meets the placement, or the work or a tree is too much; whether they meet.

        Raises
        ------
        OutOfTime
            At the deadline. What is held and proved stays.
        """
        left = most_entries
        while not self.closed:
            before, first = self._tree.work, self.tree is None
            try:
                done = self._tree.search(left, 0 if first else None)
            finally:
                self._take()
            left -= self._tree.work - before
            if done or self.closed:
                self._prove(self._tree.limit)
            elif first and self._tree.size:
                self._prove(self._tree.bound)
            else:
                return False
            self._raise()
        return True

    def _take(self) -> None:
        """Hold what the tree has found."""
        if self._tree.nodes is not None and self._tree.limit < self.limit:
            self.nodes, self.limit = self._tree.nodes, self._tree.limit

    def _prove(self, bound: int) -> None:
        """Keep the tree where it proves more than the last one."""
        if bound > self.bound:
            self.bound, self.tree = bound, self._tree.tree

    def _raise(self) -> None:
        """A tree at the next limit."""
        gap = self.limit - self.bound
        few = self._step and self._tree.size <= _FEW
        self._step = min(gap, 2 * self._step if few else max(1, self._step or gap // _PARTS))
        if gap > 0:
            limit = self.bound + self._step
            self._tree = CapacityTree(self.problem, self._tree.prices, limit=limit, enough=self.bound)


#: Tasks that are placed anew at first, and the fewest.
_TASKS, _FEWEST = 40, 10

#: They are a quarter more after this many settled trees that found nothing, beyond the unsettled ones; and a fifth
#: fewer after this many unsettled ones, beyond the settled ones.
_MORE, _FEWER = 40, 10

#: A place is open where it costs no more than this part of what is open between the prices' bound and the placement.
_OPEN = 8

#: The most cases of a tree.
_CASES = 20


class CapacityNeighbourhoods:
    """A search for better placements; it can be gone on with after it was stopped.

    Parameters
    ----------
    problem
        With at least one task.
    prices
        Lagrangian prices that prove a good bound.
    nodes
        Node of each task of a feasible placement.

    Attributes
    ----------
    nodes, limit
        Of the best placement so far, and what it costs, in units to be least.
    done
        Whether nothing is left to look at: all tasks were placed anew together, or the prices prove the placement.
    """

    def __init__(self, problem: GeneralizedAssignment, prices: NodePrices, nodes: Ints) -> None:
        self.problem, self._prices = problem, prices
        self._units = problem.units * problem.sign
        self._rng = np.random.default_rng(0)
        self._size, self._streak = min(_TASKS, len(nodes)), 0
        knapsacks = CapacityKnapsacks(problem)
        priced = knapsacks.priced(knapsacks.box, prices)
        self._bound = float(priced.bound) / prices.scale
        dearer = np.where(priced.free, priced.placed - priced.bound, 0).astype(np.float64) / prices.scale
        #: By how much all costs more than the bound at least with a task on a node.
        self._dearer: Floats = np.where(priced.free, np.maximum(dearer, 0.0), np.inf)
        self.nodes, self.limit = nodes, self._worth(nodes)
        self.done = self.limit <= self._bound

    def hold(self, nodes: Ints) -> None:
        """Take another feasible placement, if it costs less."""
        worth = self._worth(nodes)
        if worth < self.limit:
            self.nodes, self.limit, self._streak = nodes, worth, 0
            self.done = self.limit <= self._bound

    def search(self, trees: int) -> None:
        """Grow at most `trees` trees.

        Raises
        ------
        OutOfTime
            At the deadline. What is held stays.
        """
        for _ in range(trees):
            check()
            if self.done:
                return
            self._place_anew(self._drawn())

    def _worth(self, nodes: Ints) -> int:
        return int(self._units[np.arange(len(nodes)), nodes].sum())

    def _drawn(self) -> Bools:
        """The tasks that are placed anew, those the more likely that are where it costs more."""
        dear = self._dearer[np.arange(len(self.nodes)), self.nodes]
        weight = dear + 0.1 * dear.mean() + 1e-9
        drawn = np.zeros(len(self.nodes), dtype=bool)
        drawn[self._rng.choice(len(self.nodes), self._size, replace=False, p=weight / weight.sum())] = True
        return drawn

    def _place_anew(self, drawn: Bools) -> None:
        """Look for better places of these tasks next to the others, among those that are open; then for more, or fewer.

        What a tree finds before the deadline is held.
        """
        here = np.zeros(self._dearer.shape, dtype=bool)
        here[np.arange(len(self.nodes)), self.nodes] = True
        open_ = drawn[:, None] & (self._dearer <= (self.limit - self._bound) / _OPEN)
        tree = CapacityTree(self.problem, self._prices, limit=self.limit, within=here | open_)
        try:
            settled = tree.search(most_steps=_CASES)
        finally:
            if tree.nodes is not None:
                self.hold(tree.nodes)
        if tree.nodes is not None:
            return
        self._streak += 1 if settled else -1
        if settled and self._size == len(self.nodes):
            self.done = True
        elif self._streak >= _MORE:
            self._size, self._streak = min(-(-self._size * 5 // 4), len(self.nodes)), 0
        elif self._streak <= -_FEWER:
            self._size, self._streak = min(max(self._size * 4 // 5, _FEWEST), len(self.nodes)), 0
