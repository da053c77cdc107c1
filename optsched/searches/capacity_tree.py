"""Branch and bound for `generalized-assignment`: prices of tasks by subgradients, knapsacks, pairs that cost too much.

The relaxation and what it leaves out are those of `problems.generalized_assignment` (Posta, Ferland and Michelon 2012).
At each case prices are improved by deflected subgradients (Camerini, Fratta and Maffioli 1975), what the knapsacks hold
is repaired into a placement, and it branches on the pair of task and node whose two parts cost most. All arithmetic
that decides is in integers, so that the tree is a proof, and the same with and without compiled loops.
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

__all__ = [
    "MOST_ENTRIES",
    "MOST_STEPS",
    "CapacityTree",
    "fill_compiled",
    "improved",
    "repaired",
]

#: The most steps of a tree, and the most entries of knapsacks that a search fills: then it is given up.
MOST_STEPS, MOST_ENTRIES = 20_000, 10**10

#: What filling a knapsack costs on top of its entries, counted in entries, for each task.
_PER_TASK = 100

#: From this many entries together on knapsacks are filled by compiled loops, where there are any.
_COMPILED_FROM = 20_000

#: Rounds of improving prices at the first case, at it with prices that were improved before, and at the others.
_FIRST, _AGAIN, _OTHERS = 400, 60, 40

#: The most parts of a unit of cost in which prices are counted.
_FINEST = 2**12

#: At the first case the knapsacks are repaired into a placement once in this many rounds.
_REPAIRED = 20

#: Without a good placement prices aim at a bound that is better by this part of it.
_FAR = 20

#: The first step of prices, relative to the way to the value that is looked for; idle rounds after which it is halved.
_STEP, _PATIENCE = 1.5, 6


def fill_compiled(cost: Ints, weight: Ints, free: Bools, room: Ints) -> Filled:
    """Fill knapsacks like `generalized_assignment.fill`, by a compiled loop, for int64."""
    from optsched.solvers.knapsack_kernels import fill_one

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
    """A step of the tree to be: positions of its multipliers, and its parts, lesser values first."""

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


class CapacityTree:
    """A search for the best placement, which grows its proof; it can be gone on with after it was stopped.

    Parameters
    ----------
    problem
        With at least one task, and a usable node for each.
    prices
        Prices of capacities to begin from, float64, shape (resources, nodes), in units of cost.
    nodes
        Node of each task of a feasible placement, or None.
    costless
        Whether the search is for any placement: it ends with the first one, and its tree proves that there is none.
    limit
        Only what costs less is looked for, in units to be least; by default anything.
    enough
        What is known that every placement costs: the search ends with one that costs no more.
    within
        bool, shape (tasks, nodes): only places that are True are looked at; by default all. The tree then proves
        nothing of the others.

    Attributes
    ----------
    nodes
        Of the best placement so far, or None.
    limit
        What it costs, in units to be least; without one, more than any placement can cost.
    closed
        Whether the search is done: no placement costs less than `limit`.
    prices
        The best ones of the first case so far.
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
        self._compiled = entries >= _COMPILED_FROM and compiles()
        if self._compiled:
            self.knapsacks.fill = self._fill
        units = self.knapsacks.cost
        self.limit = self.knapsacks.beyond if limit is None else limit
        self.nodes: Ints | None = None
        self.closed = False
        self._multipliers: list[Ints] = []
        self._known: dict[bytes, int] = {}
        self._root = _Case()
        self._entries = self._steps = 0
        self._scale = max(1, min(_FINEST, 2**36 // max(1, int(np.abs(units).max()))))
        if nodes is not None:
            self._hold(nodes)
        #: Prices of the first case; they were improved before where they were given whole.
        self.prices = prices if isinstance(prices, NodePrices) else self._start(prices)
        self._rounds = _AGAIN if isinstance(prices, NodePrices) else _FIRST
        box = self.knapsacks.box
        if within is not None:
            box.upper[~within.ravel()] = 0
        self._open: list[tuple[_Case, Box, NodePrices]] = [(self._root, box, self.prices)]

    @staticmethod
    def _fill(cost: Any, weight: Ints, free: Bools, room: Ints) -> Filled:
        return fill_compiled(cost, weight, free, room) if cost.dtype == np.int64 else fill(cost, weight, free, room)

    def _start(self, prices: Floats) -> NodePrices:
        """Each task's price is what its cheapest node costs, capacities included; those of knapsacks are then free."""
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
        if not self._steps:
            return None
        # Without costs prices have no scale: they are rays.
        multipliers = [np.append(0, some[1:]) for some in self._multipliers] if self.costless else self._multipliers
        return Tree(multipliers, list(self._root.steps()))

    @property
    def bound(self) -> int:
        """The bound that the tree proves, in units to be least."""
        return self.limit if self.closed or self.tree is None else self.tree.bound(self.knapsacks, self.limit)

    @property
    def size(self) -> int:
        """How many steps the tree has, without those that are open."""
        return self._steps

    @property
    def work(self) -> int:
        """How many entries of knapsacks were filled."""
        return self._entries

    def search(self, most_entries: int = MOST_ENTRIES, most_steps: int | None = None) -> bool:
        """Search on until nothing is open, or the tree or the work is too much; whether nothing is open.

        Raises
        ------
        OutOfTime
            At the deadline. What is held and proved stays.
        """
        most = self._entries + most_entries
        most_steps = MOST_STEPS if most_steps is None else most_steps
        while self._open and (self._enough is None or self.limit > self._enough):
            if self._steps > most_steps or self._entries > most:
                return False
            case, box, prices = self._open[-1]
            prices = self._settled(case, box, prices)
            self._open.pop()
            self._steps += 1
            if not box.empty:
                self._part(case, box, prices)
        self.closed = True
        return True

    def _hold(self, nodes: Ints | None) -> None:
        if nodes is not None:
            cost = int(self.knapsacks.cost[np.arange(len(nodes)), nodes].sum())
            if cost < self.limit:
                self.limit, self.nodes = cost, nodes

    def _settled(self, case: _Case, box: Box, prices: NodePrices) -> NodePrices:
        """Narrow the box by better and better prices as long as it pays; the box is empty where nothing is left."""
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
            self._hold(box.upper.reshape(self.knapsacks.cost.shape).argmax(axis=1))
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
        self._entries += int((priced.free.sum(axis=0) * (self.knapsacks.room + 1 + _PER_TASK)).sum())
        return priced

    def _repair(self, priced: Priced, lower: Bools) -> None:
        """A placement near to what the knapsacks hold, if there is one that costs less."""
        gain = np.where(priced.free, priced.filled.including - priced.filled.without, 2**62)
        self._hold(repaired(self.problem, self.knapsacks.cost, np.where(lower, -(2**62), gain)))

    def _part(self, case: _Case, box: Box, prices: NodePrices) -> None:
        """Branch on the pair whose two parts cost most; the part with the task on the node is looked at first."""
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
    """Prices in whole numbers, as large as a certificate may hold them."""
    rounded: Ints = np.rint(np.clip(prices, -LARGEST, LARGEST)).astype(np.int64)
    return rounded


def _deflected(slope: Floats, before: Floats) -> Floats:
    """The direction of this slope, turned towards the last direction where they are more than a right angle apart."""
    length, product = float((before**2).sum()), float((slope * before).sum())
    if product >= 0 or not length:
        return slope
    turned: Floats = slope - 1.5 * product / length * before
    return turned


#: How often moves and swaps are made at most.
_ROUNDS = 200

#: The most tasks for which swaps are looked at, since there are as many as pairs of these.
_MOST_SWAPPED = 1_000

#: More than any gain; and less than any change that counts.
_NEVER, _LITTLE = 2**62, 1e-9


def repaired(problem: GeneralizedAssignment, cost: Ints, gain: Ints) -> Ints | None:
    """Each task where its gain is best among where it fits, those that would lose most first; then `improved`.

    A task that finds no room is where it gains most, and the moves afterwards take away what is too much.

    Parameters
    ----------
    problem
        The problem.
    cost
        int64, shape (tasks, nodes): cost to be least.
    gain
        int64, of the same shape: the less, the more a node wants a task.

    Returns
    -------
    Node of each task, or None where no moves make it feasible.
    """
    tasks, width = gain.shape
    gain = np.where(problem.usable, gain, _NEVER)
    spread = np.partition(gain, 1, axis=1)[:, 1] - gain.min(axis=1) if width > 1 else gain[:, 0]
    left, nodes = problem.capacity.copy(), np.full(tasks, -1, dtype=np.int64)
    for task in np.argsort(-spread, kind="stable").tolist():
        fits = problem.usable[task] & (problem.demand[:, task] <= left).all(axis=0)
        node = int(np.argmin(np.where(fits, gain[task], _NEVER) if fits.any() else gain[task]))
        nodes[task] = node
        left[:, node] -= problem.demand[:, task, node]
    return improved(problem, cost, nodes)


def improved(problem: GeneralizedAssignment, cost: Ints, nodes: Ints) -> Ints | None:
    """The placement after the best moves of a task, and swaps of two, as long as one makes it better.

    What exceeds a capacity counts first, in parts of the capacity, and the cost then. None where some of it is left.
    """
    nodes, every = nodes.copy(), np.arange(len(nodes))
    usable = np.where(problem.usable, cost, np.inf)
    demand = problem.demand / np.maximum(problem.capacity, 1)[:, None, :]
    exceeding = 1e3 * float(np.abs(cost).max(initial=0) + 1)
    for _ in range(_ROUNDS):
        used = np.zeros(problem.capacity.shape)
        for resource, taken in enumerate(demand[:, every, nodes]):
            np.add.at(used[resource], nodes, taken)
        over = _over(used)
        # A task where it must not run is as bad as one that fills its node twice.
        own = np.where(problem.usable[every, nodes], cost[every, nodes], exceeding)
        without = _over(used[:, nodes] - demand[:, every, nodes])
        moved = (
            usable
            - own[:, None]
            + exceeding * (_over(used[:, None, :] + demand) - over + (without - over[nodes])[:, None])
        )
        moved[every, nodes] = 0.0
        swapped = np.zeros((1, 1))
        if len(nodes) <= _MOST_SWAPPED:
            swapped = _swaps(usable, own, demand, used, nodes, exceeding)
        best = float(moved.min(initial=0.0)), float(swapped.min(initial=0.0))
        if min(best) > -_LITTLE:
            break
        if best[0] <= best[1]:
            task, node = np.unravel_index(int(moved.argmin()), moved.shape)
            nodes[task] = node
        else:
            one, other = np.unravel_index(int(swapped.argmin()), swapped.shape)
            nodes[[one, other]] = nodes[[other, one]]
    return None if problem.violations(problem.placement(nodes)) else nodes


def _swaps(usable: Floats, own: Floats, demand: Floats, used: Floats, nodes: Ints, exceeding: float) -> Floats:
    """The gain, or loss, where two tasks change places."""
    every = np.arange(len(nodes))
    over = _over(used)
    # What each node has with one of its tasks left out, and each other one in its place.
    there = usable[:, nodes].T - own[:, None]
    fuller = _over(used[:, nodes, None] - demand[:, every, nodes][:, :, None] + demand[:, :, nodes].transpose(0, 2, 1))
    swapped = there + exceeding * (fuller - over[nodes][:, None])
    return np.where(nodes[:, None] == nodes[None, :], 0.0, swapped + swapped.T)


def _over(used: Floats) -> Floats:
    """The parts of their capacities by which the resources are exceeded, together."""
    over: Floats = np.maximum(used - 1.0 - _LITTLE, 0.0).sum(axis=0)
    return over
