"""Better placements of `generalized-assignment`: most tasks stay where they are, and a small tree places the others.

Large neighbourhood search (Shaw 1998). What the Lagrangian prices say of each place guides it: tasks that are placed
dearly are more often among those that are placed anew, and only places that are not too dear are open to them (a core
problem: Balas and Zemel 1980). The tree is that of `capacity_tree`, of few cases: its bounds are so much better than
those of the linear relaxation that it settles most neighbourhoods sooner than HiGHS does.
"""

from __future__ import annotations

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import Bools, Floats, Ints
from optsched.problems.capacity_knapsacks import CapacityKnapsacks, NodePrices
from optsched.problems.generalized_assignment import GeneralizedAssignment
from optsched.searches.capacity_tree import CapacityTree

__all__ = ["CapacityNeighbourhoods"]

#: So many tasks are placed anew at first, and so many at least.
_TASKS, _FEWEST = 40, 10

#: They are a quarter more after so many settled trees that found nothing, beyond the unsettled ones; and a fifth fewer
#: after so many unsettled ones, beyond the settled ones.
_MORE, _FEWER = 40, 10

#: A place is open where it costs no more than this part of what is open between the prices' bound and the placement.
_OPEN = 8

#: A tree has so many cases at most.
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
        """Grow so many trees at most.

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
        """Look for better places of these tasks beside the others, among those that are open; then for more, or fewer.

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
