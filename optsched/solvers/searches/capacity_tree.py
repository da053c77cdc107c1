"""Branch and bound for `generalized-assignment`: prices of tasks by subgradients, knapsacks, pairs that cost too much.

The relaxation and the pairs that it leaves out are those of `problems.generalized_assignment` (Posta, Ferland and
Michelon 2012). At each case, deflected subgradients improve the prices (Camerini, Fratta and Maffioli 1975), the
content of the knapsacks is repaired into a placement, and the search branches on the pair of task and node whose two
parts cost most. All arithmetic that decides is in integers, so the tree is a proof, and the same with and without
compiled loops.

`CapacityClimb` searches it limit after limit, with neighbourhoods of the best placement in between. It tries to prove
that nothing costs less than a limit, then than a slightly higher one, until something does. A limit just above the
bound leaves out most pairs of task and node at once, however expensive the incumbent is (Posta, Ferland and Michelon
2012). So the optimum is proved before it is found, or at the same time.

In a neighbourhood most tasks stay where they are, and a small tree places the others (large neighbourhood search, Shaw
1998). The Lagrangian prices of each place guide it: expensively placed tasks are chosen more often, and only places
that are not too expensive are open to them (a core problem: Balas and Zemel 1980). The tree has few cases: its bounds
settle most neighbourhoods sooner than HiGHS does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from optsched.certificates.trees import Branch, Step, Tree
from optsched.core.deadline import check
from optsched.core.instance import LARGEST, Bools, Floats, Ints
from optsched.problems.generalized_assignment import (
    CapacityKnapsacks,
    Filled,
    GeneralizedAssignment,
    NodePrices,
    Priced,
    fill,
)
from optsched.problems.relaxations import Box
from optsched.solvers.compiled import compiles, ready
from optsched.solvers.searches.generalized_assignment import repaired

#: The most steps of a tree, and the most entries of knapsacks that a search fills before it gives up.
MOST_STEPS, MOST_ENTRIES = 20_000, 10**10

#: The overhead of filling a knapsack for each task, counted in entries.
_PER_TASK = 100

#: From this many entries together, compiled loops fill the knapsacks, if there are any.
_COMPILED_FROM = 20_000

#: Rounds of improving prices: at the first case, at it with prices that were improved before, and at the others.
_FIRST, _AGAIN, _OTHERS = 400, 60, 40

#: The finest parts of a unit of cost in which prices are counted.
_FINEST = 2**12

#: At the first case the knapsacks are repaired into a placement once in this many rounds.
_REPAIRED = 20

#: Without a good placement, prices aim at a bound that is better by this share of it.
_FAR = 20

#: The first step of prices, relative to the distance to the target; and after how many idle rounds it is halved.
_STEP, _PATIENCE = 1.5, 6


def fill_compiled(cost: Any, weight: Ints, free: Bools, room: Ints) -> Filled:
    """Fill knapsacks like `generalized_assignment.fill`, with a compiled loop for int64."""
    from optsched.solvers.kernels import fill_one

    if cost.dtype != np.int64:
        return fill(cost, weight, free, room)
    filled = Filled(np.zeros(len(room), dtype=np.int64), np.zeros_like(cost), np.zeros_like(cost))
    most = int(room.max(initial=0))
    before, after = (
        np.empty((int(free.sum(axis=0).max(initial=0)) + 1, most + 1), np.int64),
        np.empty(most + 1, np.int64),
    )
    for position, node in enumerate(np.flatnonzero(free.any(axis=0)).tolist()):
        check()
        tasks = np.flatnonzero(free[:, node])
        without, including = np.empty(len(tasks), np.int64), np.empty(len(tasks), np.int64)
        own = cost[tasks, node], weight[tasks, node]
        asked = *own, int(room[node]), before, after, without, including
        if not position:
            ready(fill_one, *asked)
        filled.least[node] = fill_one(*asked)
        filled.without[tasks, node], filled.including[tasks, node] = without, including
    return filled


@dataclass(eq=False)
class _Case:
    """A future step of the tree: positions of its multipliers, and its parts, lesser values first."""

    by: list[int] = field(default_factory=list)
    branch: Branch | None = None
    parts: tuple[_Case, ...] = ()

    def steps(self) -> Iterator[Step]:
        """The steps of the tree below, in preorder."""
        waiting = [self]
        while waiting:
            case = waiting.pop()
            yield Step(tuple(case.by), case.branch)
            waiting += reversed(case.parts)


class _Best:
    """The best placement so far: the node of each task, or None, and its cost, in units to minimise."""

    nodes: Ints | None = None
    limit: int

    def __init__(self, cost: Ints, limit: int) -> None:
        self._cost, self.limit = cost, limit

    def hold(self, nodes: Ints | None) -> bool:
        """Take another feasible placement if it costs less than the limit; returns whether it does."""
        if nodes is None:
            return False
        cost = int(self._cost[np.arange(len(nodes)), nodes].sum())
        if cost >= self.limit:
            return False
        self.limit, self.nodes = cost, nodes
        return True


class CapacityTree(_Best):
    """A search for the best placement, which grows its proof; it can be continued after a stop.

    `problem`: with at least one task, and a usable node for each. `prices`: initial prices of capacities, float64,
    shape (resources, nodes), in units of cost; or whole `NodePrices`, improved before. `nodes`: node of each task of a
    feasible placement, or None.

    With `costless` the search is for any placement: it ends with the first one, or its tree proves that there is none.
    With a `limit`, in units to minimise, only cheaper placements are searched. If every placement is known to cost at
    least `enough`, the search ends with one that costs no more. With `within` (bool, shape (tasks, nodes)) only these
    places are tried; the tree then proves nothing about the others.

    Attributes
    ----------
    limit
        Without a placement: more than any can cost.
    closed
        Whether the search is done: no placement costs less than `limit`.
    prices
        The best ones of the first case so far.
    size, work
        How many steps the tree has, without the open ones, and how many entries of knapsacks were filled.
    """

    def __init__(
        self,
        problem: GeneralizedAssignment,
        prices: Floats | NodePrices,
        nodes: Ints | None = None,
        costless: bool = False,
        limit: int | None = None,
        enough: int | None = None,
        within: Bools | None = None,
    ) -> None:
        self.problem, self.costless = problem, costless
        self._enough = 0 if costless else enough
        self.knapsacks = CapacityKnapsacks(problem)
        if costless:
            self.knapsacks.cost = np.zeros_like(self.knapsacks.cost)
        entries = int(((self.knapsacks.room + 1) * problem.usable.sum(axis=0)).sum())
        if entries >= _COMPILED_FROM and compiles():
            self.knapsacks.fill = fill_compiled
        super().__init__(self.knapsacks.cost, self.knapsacks.beyond if limit is None else limit)
        self.closed = False
        self._multipliers: list[Ints] = []
        self._known: dict[bytes, int] = {}
        self._root = _Case()
        self.work = self.size = 0
        self._scale = max(1, min(_FINEST, 2**36 // max(1, int(np.abs(self._cost).max()))))
        self.hold(nodes)
        #: Prices of the first case; if they were given whole, they were improved before.
        self.prices = prices if isinstance(prices, NodePrices) else self._start(prices)
        self._rounds = _AGAIN if isinstance(prices, NodePrices) else _FIRST
        box = self.knapsacks.box
        if within is not None:
            box.upper[~within.ravel()] = 0
        self._open: list[tuple[_Case, Box, NodePrices]] = [(self._root, box, self.prices)]

    def _start(self, prices: Floats) -> NodePrices:
        """Each task's price is the cost of its cheapest node, including capacities; knapsacks are then free."""
        problem, knapsacks = self.problem, self.knapsacks
        paid = knapsacks.cost + (prices[:, None, :] * problem.demand).sum(axis=0)
        tasks = np.where(problem.usable, paid, np.inf).min(axis=1)
        free = np.where(self._counted(), 0.0, prices)
        return NodePrices(self._scale, _whole(tasks * self._scale), _whole(free * self._scale))

    def _counted(self) -> Bools:
        """The resources for which each node's knapsack is exact, shape (resources, nodes)."""
        problem, knapsacks = self.problem, self.knapsacks
        found = np.zeros_like(problem.capacity, dtype=bool)
        for position, demand in enumerate(problem.demand):
            own, alike = np.where(problem.usable, demand, 0), knapsacks.weight
            unit = np.where(alike > 0, own // np.maximum(alike, 1), 0).max(axis=0, initial=0)
            found[position] = (own == alike * unit).all(axis=0)
        return found

    @property
    def tree(self) -> Tree | None:
        """The tree so far: open cases are leaves that prove what was known above them. None: nothing is proved."""
        if not self.size:
            return None
        # Without costs, prices have no scale: they are rays.
        multipliers = [np.append(0, some[1:]) for some in self._multipliers] if self.costless else self._multipliers
        return Tree(multipliers, list(self._root.steps()))

    @property
    def bound(self) -> int:
        """The bound that the tree proves, in units to minimise."""
        return self.limit if self.closed or self.tree is None else self.tree.bound(self.knapsacks, self.limit)

    def search(self, most_entries: int = MOST_ENTRIES, most_steps: int | None = None) -> bool:
        """Search on until nothing is open, or the tree or the work is too large; returns whether nothing is open.

        OutOfTime at the deadline. What is found and proved stays.
        """
        most = self.work + most_entries
        most_steps = MOST_STEPS if most_steps is None else most_steps
        while self._open and (self._enough is None or self.limit > self._enough):
            if self.size > most_steps or self.work > most:
                return False
            case, box, prices = self._open[-1]
            prices = self._settled(case, box, prices)
            self._open.pop()
            self.size += 1
            if not box.empty:
                self._part(case, box, prices)
        self.closed = True
        return True

    def _settled(self, case: _Case, box: Box, prices: NodePrices) -> NodePrices:
        """Narrow the box by improving prices as long as it pays; the box is empty if nothing is left."""
        first = case is self._root
        for _ in range(4):
            if box.empty or not self.knapsacks.implied(box):
                case.by = case.by or [self._numbered(prices)]
                return prices
            before = int(box.upper.sum())
            prices = self._improved(box, prices, self._rounds if first else _OTHERS)
            self.prices = prices if case is self._root else self.prices
            which = self._numbered(prices)
            while not box.empty:
                held = int(box.upper.sum())
                case.by.append(which)
                self.knapsacks.settle(box, prices.multipliers, self.limit)
                if int(box.upper.sum()) > 0.9 * held:
                    break
            if int(box.upper.sum()) > 0.8 * before:
                break
            first = False
        if not box.empty and (box.lower == box.upper).all():
            self.hold(box.upper.reshape(self.knapsacks.cost.shape).argmax(axis=1))
            case.by.append(which)
            self.knapsacks.settle(box, prices.multipliers, self.limit)
        return prices

    def _numbered(self, prices: NodePrices) -> int:
        """The position of some prices among the multipliers."""
        multipliers = prices.multipliers
        key = multipliers.tobytes()
        if key not in self._known:
            self._known[key] = len(self._multipliers)
            self._multipliers.append(multipliers)
        return self._known[key]

    def _improved(self, box: Box, prices: NodePrices, rounds: int) -> NodePrices:
        """The best prices that subgradients find from these, or the first that settle the box."""
        problem, lower = self.problem, box.lower.reshape(self.knapsacks.cost.shape) > 0
        loose = ~self._counted()
        size = np.maximum(problem.demand.mean(axis=(1, 2)), 1e-9)[:, None]
        first = rounds != _OTHERS
        best, step, idle, slope = None, _STEP, 0, (np.zeros(len(lower)), np.zeros(problem.capacity.shape))
        for turn in range(rounds):
            priced = self._priced(box, prices)
            if first and turn % _REPAIRED == 0:
                self._repair(priced, lower)
            if best is None or priced.bound > best[0]:
                best, idle = (priced.bound, prices), 0
            else:
                idle += 1
            if priced.bound > self._scale * (self.limit - 1):
                return prices
            if idle >= _PATIENCE:
                step, idle, prices = step / 2, 0, best[1]
                if step < 0.02:
                    break
                continue
            taken = lower | (priced.free & (priced.filled.including < priced.filled.without))
            short = 1.0 - taken.sum(axis=1)
            over = np.where(loose, ((problem.demand * taken).sum(axis=1) - problem.capacity) / size, 0.0)
            over = np.where((prices.capacities > 0) | (over > 0), over, 0.0)
            slope = _deflected(short, slope[0]), _deflected(over, slope[1])
            length = float((slope[0] ** 2).sum() + (slope[1] ** 2).sum())
            if not length:
                break
            aim = min(self._scale * self.limit, best[0] + abs(best[0]) // _FAR + self._scale)
            far = step * (aim - priced.least) / length
            prices = NodePrices(
                self._scale,
                _whole(prices.tasks + far * slope[0]),
                np.maximum(_whole(prices.capacities + far * slope[1] / size), 0),
            )
        assert best is not None
        if not first:
            self._repair(priced, lower)
        return best[1]

    def _priced(self, box: Box, prices: NodePrices) -> Priced:
        check()
        priced = self.knapsacks.priced(box, prices)
        self.work += int((priced.free.sum(axis=0) * (self.knapsacks.room + 1 + _PER_TASK)).sum())
        return priced

    def _repair(self, priced: Priced, lower: Bools) -> None:
        """A placement near the content of the knapsacks, if there is one that costs less."""
        gain = np.where(priced.free, priced.filled.including - priced.filled.without, 2**62)
        self.hold(repaired(self.problem, self.knapsacks.cost, np.where(lower, -(2**62), gain)))

    def _part(self, case: _Case, box: Box, prices: NodePrices) -> None:
        """Branch on the pair whose two parts cost most; the part with the task on the node comes first."""
        priced = self._priced(box, prices)
        shape = self.knapsacks.cost.shape
        placed = np.where(priced.free, priced.placed - priced.least, 2**60)
        two = np.partition(placed, 1, axis=1)[:, :2]
        other = np.where(placed == two[:, :1], two[:, 1:], two[:, :1])
        score = np.where(priced.free, np.maximum(placed, 1).astype(float) * np.maximum(other, 1), -1.0)
        variable = int(np.argmax(score))
        case.branch = Branch(variable, 0)
        case.parts = _Case(), _Case()
        assert shape[1] > 1
        self._open += [(part, there, prices) for part, there in zip(case.parts, box.split(variable, 0), strict=True)]


def _whole(prices: Floats) -> Ints:
    """Prices in whole numbers, as fine as a certificate allows."""
    rounded: Ints = np.rint(np.clip(prices, -LARGEST, LARGEST)).astype(np.int64)
    return rounded


def _deflected(slope: Floats, before: Floats) -> Floats:
    """The direction of this slope, turned towards the last direction if they are more than a right angle apart."""
    length, product = float((before**2).sum()), float((slope * before).sum())
    if product >= 0 or not length:
        return slope
    turned: Floats = slope - 1.5 * product / length * before
    return turned


# Limit after limit, and neighbourhoods --------------------------------------------------------------------------------


#: The first limit is above the bound by this share of the remaining gap; a tree of few steps doubles the next one.
_PARTS, _FEW = 2**10, 30


class CapacityClimb(_Best):
    """A search for the best placement, which grows its proof; it can be continued after a stop.

    `problem`: with at least one task, and a usable node for each. `prices`: initial prices of capacities, float64,
    shape (resources, nodes), in units of cost. `nodes`: node of each task of a feasible placement.

    Attributes
    ----------
    bound
        The proved lower bound on every placement's cost; below all costs before the first step.
    tree
        Its proof; None before the first step.
    """

    def __init__(self, problem: GeneralizedAssignment, prices: Floats, nodes: Ints) -> None:
        self.problem = problem
        self._tree = CapacityTree(problem, prices, nodes)
        super().__init__(self._tree.knapsacks.cost, self._tree.limit)
        self.nodes: Ints = nodes
        self.bound = self.limit - 2**60
        self.tree: Tree | None = None
        self._step = 0

    @property
    def prices(self) -> NodePrices:
        """The best ones of the first case of the last tree so far."""
        return self._tree.prices

    @property
    def closed(self) -> bool:
        """Whether the best placement is proved optimal."""
        return self.bound >= self.limit

    def search(self, most_entries: int = MOST_ENTRIES) -> bool:
        """Climb until the bound meets the placement, or the work or a tree is too large; returns whether they meet.

        OutOfTime at the deadline. What is found and proved stays.
        """
        left = most_entries
        while not self.closed:
            before, first = self._tree.work, self.tree is None
            try:
                done = self._tree.search(left, 0 if first else None)
            finally:
                self.hold(self._tree.nodes)
            left -= self._tree.work - before
            if done or self.closed:
                self._prove(self._tree.limit)
            elif first and self._tree.size:
                self._prove(self._tree.bound)
            else:
                return False
            gap, few = self.limit - self.bound, self._step and self._tree.size <= _FEW
            self._step = min(gap, 2 * self._step if few else max(1, self._step or gap // _PARTS))
            if gap > 0:
                limit = self.bound + self._step
                self._tree = CapacityTree(self.problem, self._tree.prices, limit=limit, enough=self.bound)
        return True

    def _prove(self, bound: int) -> None:
        """Keep the tree if it proves more than the last one."""
        if bound > self.bound:
            self.bound, self.tree = bound, self._tree.tree


#: The initial number of tasks that are placed again, and the lowest.
_TASKS, _FEWEST = 40, 10

#: The number rises by a quarter after this many settled trees that found nothing, beyond the unsettled ones; it falls
#: by a fifth after this many unsettled ones, beyond the settled ones.
_MORE, _FEWER = 40, 10

#: A place is open if its extra cost is at most this share of the gap between the prices' bound and the placement.
_OPEN = 8

#: The most cases of a tree.
_CASES = 20


class CapacityNeighbourhoods(_Best):
    """A search for better placements; it can be continued after a stop.

    `problem`: with at least one task. `prices`: Lagrangian prices that prove a good bound. `nodes`: node of each task
    of a feasible placement.

    `done`: whether nothing is left to try: all tasks were placed again together, or the prices prove the placement.
    """

    def __init__(self, problem: GeneralizedAssignment, prices: NodePrices, nodes: Ints) -> None:
        self.problem, self._prices = problem, prices
        self._rng = np.random.default_rng(0)
        self._size, self._streak = min(_TASKS, len(nodes)), 0
        knapsacks = CapacityKnapsacks(problem)
        priced = knapsacks.priced(knapsacks.box, prices)
        self._bound = float(priced.bound) / prices.scale
        dearer = np.where(priced.free, priced.placed - priced.bound, 0).astype(np.float64) / prices.scale
        #: The least total cost with a task on a node, minus the bound.
        self._dearer: Floats = np.where(priced.free, np.maximum(dearer, 0.0), np.inf)
        super().__init__(knapsacks.cost, knapsacks.beyond)
        self.nodes: Ints
        self.done = False
        self.hold(nodes)

    def hold(self, nodes: Ints | None) -> bool:
        """Take another feasible placement if it costs less; returns whether it does."""
        better = super().hold(nodes)
        if better:
            self._streak, self.done = 0, self.limit <= self._bound
        return better

    def search(self, trees: int) -> None:
        """Grow at most `trees` trees.

        OutOfTime at the deadline. What is found stays.
        """
        for _ in range(trees):
            check()
            if self.done:
                return
            self._place_anew()

    def _place_anew(self) -> None:
        """Search better places for some tasks: expensively placed ones are more likely, and then those near to one
        another.

        Only open places are tried. After that the number of tasks rises or falls. What a tree finds before the deadline
        is kept.
        """
        every = np.arange(len(self.nodes))
        dear = self._dearer[every, self.nodes]
        weight = dear + 0.1 * dear.mean() + 1e-9
        drawn = self._rng.choice(len(every), self._size, replace=False, p=weight / weight.sum())
        within = np.zeros(self._dearer.shape, dtype=bool)
        within[drawn] = self._dearer[drawn] <= (self.limit - self._bound) / _OPEN
        within[every, self.nodes] = True
        tree = CapacityTree(self.problem, self._prices, limit=self.limit, within=within)
        try:
            settled = tree.search(most_steps=_CASES)
        finally:
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
