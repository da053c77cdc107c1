"""Limit after limit for `generalized-assignment`: nothing costs less than this, than this and a little, until it does.

A tree at a limit just above the bound leaves out most pairs of task and node at once, however dear the best placement
is that was found by then (Posta, Ferland and Michelon 2012). So the optimum is proved before, or while, it is found.
"""

from __future__ import annotations

from optsched.certificates.trees import Tree
from optsched.core.instance import Floats, Ints
from optsched.problems.capacity_knapsacks import NodePrices
from optsched.problems.generalized_assignment import GeneralizedAssignment
from optsched.searches.capacity_tree import MOST_ENTRIES, CapacityTree

__all__ = ["CapacityClimb"]

#: The first limit is above the bound by one part in so many of what is left; a tree of few steps doubles the next.
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
