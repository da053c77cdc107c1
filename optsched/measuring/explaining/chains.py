"""Splits the gap between a placement and a better one into chains and cycles of moves, each with its gain.

If the cost is a sum of what each task pays by itself (`Problem.own_costs`), a chain gains the same whichever others are
made. Otherwise the moves are made one after another, the one that gains most first. The problem judges each in this
order: in another order its gain may differ. Moves that are feasible only together are one step. Either way gains are
exact, and sum to the gap.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain as joined
from typing import Any, Literal

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import KINDS, Ints
from optsched.core.placement import NONE, Placement
from optsched.core.registry import record_of
from optsched.core.results import Value
from optsched.problems import Problem
from optsched.problems.assignment import AssignmentProblem
from optsched.problems.base import OwnCosts, TaskProblem, exact, stated
from optsched.problems.counted_places import TaskClasses
from optsched.solvers.searches.assignment import nearest_optimum

#: The most placements that are evaluated; fewer if each takes long.
MOST_VALUES, MOST_ENTRIES = 2000, 3_000_000
#: The fewest, even then.
LEAST_VALUES = 60

Kind = Literal["chain", "cycle", "together", "rest"]


@dataclass(frozen=True, slots=True)
class Chain:
    """Moves that belong together.

    Attributes
    ----------
    positions
        The tasks that move, positions in `problem.tasks`, in the order of the moves.
    gain
        The improvement of the value, one number per component.
    kind
        `chain`: each move needs the slot that the next one leaves. `cycle`: so does the last, that of the first.
        `together`: feasible only all at once. `rest`: moves that were not split into chains, since there are too many.
    ordered
        Whether its gain is valid only after the earlier ordered ones; otherwise it does not depend on other chains.
    """

    positions: tuple[int, ...]
    gain: Value
    kind: Kind
    ordered: bool = False


@dataclass(frozen=True, eq=False)
class Difference:
    """The way from one placement to a better one.

    Attributes
    ----------
    here, there
        int64: node (or -1) of each of `problem.tasks`. `there` has the better placement's value; it may be nearer.
    chains
        Those that gain by themselves first, largest gain first; then the ordered ones, in their order.
    needed
        Whether every chain is needed: without any one of them the value is not that of the better placement.
    nearest
        Whether `there` is an optimum that moves the fewest tasks. (If a problem has several components: among the
        optima that place as many tasks of each group.)
    """

    here: Ints
    there: Ints
    chains: tuple[Chain, ...]
    needed: bool
    nearest: bool = False


def own_costs_of(problem: Problem) -> OwnCosts | None:
    """The own costs of a problem's tasks; for a class without routes in its record, not those of its base."""
    found: OwnCosts | None = stated(problem, "own_costs", None)
    return found


def paid(problem: Problem, own: OwnCosts, positions: Ints, nodes: Ints) -> Ints:
    """What tasks at some positions pay by themselves on these nodes, in units; less is better."""
    return problem.components[own.component].sign * own.units(positions, nodes)


def difference(problem: Problem, here: Placement, there: Placement) -> Difference:
    """The moves from one feasible placement to another one, which is assumed to be no worse.

    The gains sum to the difference of the two values, exactly and in each component; they are negative if it is worse.

    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))
    >>> problem = Lsap(Instance(Cluster(["a", "b"]), workload))
    >>> difference(problem, problem.placement([0, 1]), problem.placement([1, 0])).chains
    (Chain(positions=(1, 0), gain=(1,), kind='cycle', ordered=False),)
    """
    start, goal = problem.evaluate(here), problem.evaluate(there)
    last, nearest = nearer(problem, here, there)
    moves = _Moves(problem, problem.nodes_of(here), last)
    own = own_costs_of(problem)
    if own is not None and own.counted is not None and own.slots is not None:
        found = _by_own_costs(moves, own, own.counted, nearest)
        if total_gain(problem, found.chains) == better_by(problem, start, goal):
            return found
    gain = [0] * len(moves.positions) if own is None else moves.own_gain(own)
    return _Ordered(moves).difference(moves.chains(gain))


def better_by(problem: TaskProblem[Any], value: Value, other: Value) -> Value:
    """By how much the other value is better."""
    pairs = zip(problem.minimised(value), problem.minimised(other), strict=True)
    return tuple(exact(one - two) for one, two in pairs)


def total_gain(problem: Problem, chains: Iterable[Chain]) -> Value:
    """The total gain of chains, one number per component."""
    zero: Value = (0,) * len(problem.components)
    return tuple(exact(sum(column)) for column in zip(zero, *(chain.gain for chain in chains), strict=True))


def nearer(problem: Problem, here: Placement, there: Placement) -> tuple[Ints, bool]:
    """A placement of the second one's value that moves fewer tasks (node or -1 of each), and whether no optimum moves
    fewer.

    If a problem's costs are its tasks' own, it is the nearest optimum, provided that `there` is an optimum. Otherwise
    identical tasks of `there` are swapped, if the problem knows any.
    """
    first, last, goal = problem.nodes_of(here), problem.nodes_of(there), problem.objective(there)
    own, found = own_costs_of(problem), None
    classes = getattr(problem, "classes", None)
    classes = classes() if callable(classes) else classes
    if not isinstance(classes, TaskClasses):
        return last, False
    if np.array_equal(first, last):  # also where no slot is idle, so that nothing is placed
        return last, True
    recorded = record_of(type(problem)).routes is not None
    if isinstance(problem, AssignmentProblem) and recorded and own is not None and own.counted is not None:
        found = nearest_optimum(problem, first, last)
    swapped = alike_kept(classes.of_task, first, last if found is None else found)
    placement = problem.placement(swapped)
    if problem.violations(placement) or problem.objective(placement) != goal:
        return last, False
    return swapped, found is not None


class _Moves:
    """The tasks (`positions`) that are placed differently, as arcs from a place (`tail`) to another (`head`).

    A place is a node, or waiting, for one kind of task.
    """

    def __init__(self, problem: Problem, first: Ints, last: Ints) -> None:
        self.problem, self.first, self.last = problem, first, last
        self.positions: Ints = np.flatnonzero(first != last)
        self._width = len(problem.instance.cluster) + 1
        self.kind: Ints = problem.instance.workload.kind[problem.tasks]
        places = (self.kind * self._width + nodes + 1 for nodes in (first, last))  # that of waiting is a kind's first
        self.tail, self.head = (of_all[self.positions] for of_all in places)

    def waits(self, place: int) -> bool:
        """Whether a place is waiting."""
        return place % self._width == 0

    def spare(self) -> dict[int, int]:
        """How many more tasks each place may hold, here and there; without places that have no limit."""
        found: dict[int, int] = {}
        for kind, slots in self.problem.offered.items():
            number = KINDS.index(kind)
            which = self.kind == number
            placed = (nodes[which & (nodes != NONE)] for nodes in (self.first, self.last))
            left = np.maximum(slots - np.maximum(*(np.bincount(nodes, minlength=len(slots)) for nodes in placed)), 0)
            first = number * self._width
            found |= {first: 0, **dict(zip(range(first + 1, first + self._width), left.tolist(), strict=True))}
        return found

    def own_gain(self, own: OwnCosts) -> list[int]:
        """The gain of each move in the task's own costs, in units."""
        gain = np.zeros(len(self.positions), dtype=np.int64)
        for factor, nodes in ((1, self.first), (-1, self.last)):
            placed = np.flatnonzero(nodes[self.positions] != NONE)
            which = self.positions[placed]
            gain[placed] += factor * paid(self.problem, own, which, nodes[which])
        return gain.tolist()

    def chains(self, gain: list[int]) -> list[list[int]]:
        """Positions in `positions` of the moves of each chain."""
        return chains_of(self.tail, self.head, gain, self.spare())

    def kind_of(self, arcs: Sequence[int]) -> Kind:
        """Whether a chain closes."""
        return "cycle" if self.tail[arcs[0]] == self.head[arcs[-1]] else "chain"

    def tasks(self, arcs: Iterable[int]) -> tuple[int, ...]:
        """The tasks of some moves."""
        return tuple(int(self.positions[arc]) for arc in arcs)

    def after(self, nodes: Ints, positions: Sequence[int]) -> Ints:
        """Nodes after the tasks at `positions` have moved."""
        changed = nodes.copy()
        which = np.array(positions, dtype=np.int64)
        changed[which] = self.last[which]
        return changed


def _by_own_costs(moves: _Moves, own: OwnCosts, counted: Ints, nearest: bool) -> Difference:
    """The chains if only own costs change the value, unless other labels are placed; without idle chains.

    The nearest optimum has no idle ones.
    """
    gain = moves.own_gain(own)
    tails, heads = moves.tail.tolist(), moves.head.tolist()
    components = len(moves.problem.components)
    found: list[Chain] = []
    others: list[list[int]] = []
    for arcs in moves.chains(gain):
        label = Counter[int]()
        for arc in arcs:
            label[int(counted[moves.positions[arc]])] += moves.waits(tails[arc]) - moves.waits(heads[arc])
        if any(label.values()):
            others.append(arcs)
            continue
        units = sum(gain[arc] for arc in arcs)
        if units:
            if tails[arcs[0]] == heads[arcs[-1]]:  # a cycle begins where something waits, or where most is gained
                begin = max(range(len(arcs)), key=lambda at: (moves.waits(tails[arcs[at]]), gain[arcs[at]]))
                arcs = [*arcs[begin:], *arcs[:begin]]
            value = tuple(exact(units if part == own.component else 0, own.grid) for part in range(components))
            found.append(Chain(moves.tasks(arcs), value, moves.kind_of(arcs)))
    found.sort(key=lambda chain: chain.gain, reverse=True)
    rest = _Ordered(moves).difference(others)
    there = moves.after(rest.there, [*joined.from_iterable(chain.positions for chain in found)])
    return Difference(moves.first, there, (*found, *rest.chains), rest.needed, nearest)


class _Ordered:
    """Makes steps one after another, each judged by the problem. A step is a chain whose gain is not known yet."""

    def __init__(self, moves: _Moves) -> None:
        self.moves, self.problem = moves, moves.problem
        entries = len(self.problem.tasks) + len(self.problem.instance.cluster) + 500
        self._thorough = True
        self.left = max(LEAST_VALUES, min(MOST_VALUES, MOST_ENTRIES // entries))

    def _value(self, nodes: Ints) -> Value | None:
        """The value for comparisons; None if infeasible."""
        check()
        self.left -= 1
        placement = self.problem.placement(nodes)
        if self.problem.violations(placement):
            return None
        return self.problem.minimised(self.problem.objective(placement))

    def difference(self, chains: list[list[int]]) -> Difference:
        """The chains as steps from the first placement on, without unneeded ones."""
        moves = self.moves
        if not chains:
            return Difference(moves.first, moves.first, (), True)
        steps = [Chain(moves.tasks(arcs), (), moves.kind_of(arcs)) for arcs in chains]
        most = self.left // 4
        if len(steps) > most:
            steps = [*steps[: most - 1], _together(steps[most - 1 :], "rest")]
        steps, needed = self._needed(steps)
        done = list(self._made(steps))
        while len(done) < len(steps):  # a step that is feasible only together with others may be idle with them
            kept, needed = self._needed(done)
            if len(kept) == len(done):
                break
            steps, done = kept, list(self._made(kept))
        return Difference(moves.first, self._after(moves.first, done), tuple(done), needed)

    def _needed(self, steps: list[Chain]) -> tuple[list[Chain], bool]:
        """The steps that are needed, and whether all remaining ones are; the last are tried first.

        If a step is left out, others may be needed no longer, so all are tried again.
        """
        moves, most = self.moves, self.left // 2
        goal = self._value(self._after(moves.first, steps))
        kept, needed = list(steps), False
        while not needed and len(kept) <= most:
            most -= len(kept)
            needed = True
            for step in reversed(kept):
                rest = [other for other in kept if other is not step]
                if self._value(self._after(moves.first, rest)) == goal:
                    kept, needed = rest, False
        return kept, needed and all(step.kind != "rest" for step in kept)

    def _after(self, nodes: Ints, steps: Iterable[Chain]) -> Ints:
        return self.moves.after(nodes, [*joined.from_iterable(step.positions for step in steps)])

    def _made(self, steps: list[Chain]) -> Iterator[Chain]:
        nodes = self.moves.first
        value = self._value(nodes)
        assert value is not None
        waiting = self._sorted(nodes, steps)
        while waiting:
            if self.left <= 0:
                waiting = [_together(waiting, "rest")]
            chosen, after = self._next(nodes, waiting)
            nodes = self.moves.after(nodes, chosen.positions)
            gain = tuple(exact(before - now) for before, now in zip(value, after, strict=True))
            yield Chain(chosen.positions, gain, chosen.kind, True)
            taken = set(chosen.positions)
            value, waiting = after, [step for step in waiting if not taken & set(step.positions)]

    def _sorted(self, nodes: Ints, steps: list[Chain]) -> list[Chain]:
        """If there are too many steps to find the best one repeatedly: the steps, best first as judged alone."""
        self._thorough = len(steps) ** 2 // 2 <= self.left
        if self._thorough or len(steps) > self.left // 2:
            return steps
        alone = [(self._value(self.moves.after(nodes, step.positions)), step) for step in steps]
        feasible = sorted(((value, step) for value, step in alone if value is not None), key=lambda pair: pair[0])
        return [*(step for _, step in feasible), *(step for value, step in alone if value is None)]

    def _next(self, nodes: Ints, waiting: list[Chain]) -> tuple[Chain, Value]:
        """The best feasible step, or the first one; if none is feasible, a smallest set of steps that is."""
        best: tuple[Chain, Value] | None = None
        for step in waiting:
            value = self._value(self.moves.after(nodes, step.positions))
            if value is not None and (best is None or value < best[1]):
                best = step, value
                if not self._thorough:
                    break
        return best or self._smallest(nodes, waiting)

    def _smallest(self, nodes: Ints, waiting: list[Chain]) -> tuple[Chain, Value]:
        """Steps that are feasible together, and not without any one of them."""
        group = list(waiting)
        value = self._value(self._after(nodes, group))
        assert value is not None  # all of them together make the other placement
        for step in reversed(waiting):
            rest = [other for other in group if other is not step]
            without = self._value(self._after(nodes, rest)) if rest else None
            if without is not None:
                group, value = rest, without
        return _together(group, "together"), value


def _together(steps: Sequence[Chain], kind: Kind) -> Chain:
    if len(steps) == 1:
        return steps[0]
    return Chain(tuple(joined.from_iterable(step.positions for step in steps)), (), kind)


# Exchanges -----------------------------------------------------------------------------------------------------------
# The difference of two placements as chains and cycles of moves; each can be made without the others. A task that is
# placed differently is an arc from its place to its place in the other placement. Places are slots for one kind of task
# on a node, or waiting. A chain leaves a place that must hold fewer tasks, pushes on at each place without room, and
# ends at one that must hold more; a cycle changes no place's number. No chain needs room that another makes. So
# whichever of them are applied, no place holds more than it may. Nothing here knows a problem: it is arithmetic on
# arcs.


def alike_kept(classes: Ints, here: Ints, there: Ints) -> Ints:
    """`there`, with tasks of a class swapped so that as many as possible stay where they are `here`.

    Tasks of a class are the same to the problem. All are int64, shape (tasks,); a place is -1 or more.

    >>> alike_kept(np.array([0, 0, 1]), np.array([4, 5, 6]), np.array([5, 7, 4])).tolist()
    [7, 5, 4]
    """
    before, after = (list(zip(classes.tolist(), places.tolist(), strict=True)) for places in (here, there))
    common = Counter(before) & Counter(after)
    result = here.copy()
    # As many tasks of each class move as there are places of it left; both in the order of the classes.
    result[_beyond(before, common)] = there[_beyond(after, common)]
    return result


def _beyond(keys: Sequence[tuple[int, int]], common: Counter[tuple[int, int]]) -> list[int]:
    """The positions, by class, of the keys (class, place) beyond as many equal ones as are common."""
    left, found = common.copy(), []
    for position, key in enumerate(keys):
        if left[key]:
            left[key] -= 1
        else:
            found.append(position)
    return sorted(found, key=lambda position: keys[position][0])


def chains_of(tail: Ints, head: Ints, gain: Sequence[int], spare: Mapping[int, int]) -> list[list[int]]:
    """The arcs (by their position) of each chain and cycle, in the order of the moves; together they are all arcs.

    An arc goes from `tail`, where the task is, to `head`, where it must go, and has a `gain`. At a place without room
    the move that gains most pushes the one that gains least. `spare` is how many more tasks a place may hold, here or
    there, whichever is more: that many chains end there without pushing on. Other places have room for all.

    Examples
    --------
    One task goes from 0 to 1 and pushes another from 1 to 2. If 1 has room, these are two chains:

    >>> chains_of(np.array([0, 1]), np.array([1, 2]), [2, -1], {1: 0})
    [[0, 1]]
    >>> chains_of(np.array([0, 1]), np.array([1, 2]), [2, 1], {1: 1})
    [[0], [1]]
    """
    entering, leaving = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    tails, heads = tail.tolist(), head.tolist()
    for arc, (start, end) in enumerate(zip(tails, heads, strict=True)):
        leaving[start].append(arc)
        entering[end].append(arc)
    pushes = [-1] * len(tails)
    pushed = [False] * len(tails)
    for place, arrivals in entering.items():
        departures = leaving[place]
        both = min(len(arrivals), len(departures))
        pairs = both - min(spare.get(place, both), both)
        eager = sorted(arrivals, key=lambda arc: -gain[arc])[:pairs]
        for arc, other in zip(eager, sorted(departures, key=gain.__getitem__), strict=False):
            pushes[arc], pushed[other] = other, True
    chains: list[list[int]] = []
    seen = [False] * len(tails)
    begins = [arc for arc in range(len(tails)) if not pushed[arc]]
    for arc in (*begins, *range(len(tails))):
        if not seen[arc]:
            chains += _simple(arc, tails, heads, pushes, seen)
    return chains


def _simple(arc: int, tails: list[int], heads: list[int], pushes: list[int], seen: list[bool]) -> list[list[int]]:
    """The trail from an arc on, in parts that visit no place twice, except where a cycle closes."""
    parts: list[list[int]] = []
    trail: list[int] = []
    at = {tails[arc]: 0}  # how many arcs of the trail lead to a place
    while arc >= 0 and not seen[arc]:
        seen[arc] = True
        trail.append(arc)
        place = heads[arc]
        if place in at:
            cycle = trail[at[place] :]
            del trail[at[place] :]
            for part in cycle[:-1]:
                del at[heads[part]]
            parts.append(cycle)
        else:
            at[place] = len(trail)
        arc = pushes[arc]
    if trail:
        parts.append(trail)
    return parts
