"""Explains why a problem is infeasible: a minimal set of tasks that cannot be placed together.

Tasks are taken out and limits of nodes lifted, one after another, as long as an exact route says that what is left is
infeasible. Where nodes only count their tasks it is a Hall violator: these tasks can only go to these nodes, which have
one slot too few.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from optsched.core.errors import OptschedError
from optsched.core.instance import FINISHED, KINDS, MAP, REDUCE, Instance
from optsched.core.registry import imported, record_of
from optsched.core.results import Number, Termination
from optsched.heuristics.running.known import posed_on
from optsched.measuring.gaps import Reference
from optsched.problems import Problem
from optsched.solvers.profiles import Profile

__all__ = ["MOST_SOLVES", "Conflict", "conflict_of", "only_with", "with_room"]

_NONE: Mapping[Any, Any] = MappingProxyType({})

#: The most questions to an exact route.
MOST_SOLVES = 500


@dataclass(frozen=True, slots=True)
class Conflict:
    """Tasks that cannot be placed together, even with no other task placed.

    Attributes
    ----------
    tasks
        Their ids.
    nodes
        Ids of the nodes whose limits forbid it: those of all others could be lifted at once, and none of these with
        them. With `slots` these are all nodes that any of the tasks may use.
    slots
        How many of the tasks the nodes hold, one fewer than there are, where they are counted; else None.
    irreducible
        Whether it was verified that without any one of the tasks the others can be placed.
    """

    tasks: tuple[str, ...]
    nodes: tuple[str, ...]
    slots: int | None
    irreducible: bool


def conflict_of(problem: Problem, profile: Profile) -> Conflict | None:
    """A minimal conflict of an infeasible problem; None where no set of its tasks explains that nothing is feasible.

    The `profile` is for each of `MOST_SOLVES` questions at most.

    Examples
    --------
    Two tasks may only use node a, which holds one:

    >>> from optsched.core.instance import Cluster, Pairs, Workload
    >>> from optsched.problems import GeneralizedAssignment
    >>> from optsched.solvers.profiles import load_profile
    >>> pairs = Pairs(cost=[[1.0, 1.0]] * 3, allowed=[[True, False], [True, True], [True, False]],
    ...               demand={"slots": [[1.0, 1.0]] * 3})
    >>> cluster = Cluster(["a", "b"], capacity={"slots": [1.0, 5.0]})
    >>> problem = GeneralizedAssignment(Instance(cluster, Workload(["t1", "t2", "t3"], pairs=pairs)))
    >>> conflict_of(problem, load_profile("exact"))
    Conflict(tasks=('t1', 't3'), nodes=('a',), slots=1, irreducible=True)
    """
    asked = _Asked(problem, profile)
    few = _too_many_of_a_kind(problem)
    tasks = few if few and asked.infeasible(few) else asked.fewer(range(len(problem.tasks)))
    if tasks is None:
        return None
    tasks, counted = asked.without_idle(tasks), record_of(type(problem)).slots
    sure, slots = asked.sure, len(tasks) - 1 if few and len(tasks) == len(few) else None
    held = None if counted is None else imported(counted)(problem)
    if held is None:
        nodes = asked.limits(tasks)
    else:  # nodes only count the tasks that may use them
        usable: Any = problem
        nodes = np.flatnonzero(usable.usable[tasks].any(axis=0)).tolist()
        slots = int(held[nodes].sum()) if sure else None
    ids, node_ids = problem.instance.workload.task_ids[problem.tasks], problem.instance.cluster.node_ids
    return Conflict(tuple(map(str, ids[tasks])), tuple(map(str, node_ids[nodes])), slots, sure)


def _too_many_of_a_kind(problem: Problem) -> list[int]:
    """Positions of one task more than there are slots for its kind; empty where every kind has slots for all."""
    kinds = problem.instance.workload.kind[problem.tasks]
    for name, slots in problem.offered.items():
        positions = np.flatnonzero(kinds == KINDS.index(name))
        if len(positions) > slots.sum():
            return [int(position) for position in positions[: int(slots.sum()) + 1]]
    return []


def only_with(problem: Problem, positions: Sequence[int], unlimited: Sequence[int] = ()) -> Problem:
    """The problem with only some of its tasks to place, the others gone, and without the limits of some nodes."""
    instance, tasks = problem.instance, len(problem.tasks)
    gone = np.delete(problem.tasks, list(positions))
    status, node = instance.state.status.copy(), instance.state.node.copy()
    status[gone], node[gone] = FINISHED, 0
    changed = instance.with_state(replace(instance.state, status=status, node=node))
    if len(unlimited):
        pairs = instance.workload.pairs
        demand = {} if pairs is None else {name: float(each.max(initial=0.0)) for name, each in pairs.demand.items()}
        capacity = {name: math.ceil(demand.get(name, 0.0)) * tasks for name in instance.cluster.capacity}
        changed = with_room(changed, unlimited, {MAP: tasks, REDUCE: tasks}, capacity)
    return posed_on(problem, changed)


def with_room(
    instance: Instance, nodes: Sequence[int], slots: Mapping[int, int] = _NONE, capacity: Mapping[str, Number] = _NONE
) -> Instance:
    """The instance with more room on some nodes: idle slots by kind, and capacity by resource, in its own units.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Workload
    >>> held = Instance(Cluster(["a"], capacity={"cpu": [0.1]}), Workload(["t"]))
    >>> with_room(held, [0], capacity={"cpu": Fraction(1, 5)}).cluster.capacity["cpu"].tolist()
    [0.3]
    """
    cluster, state = instance.cluster, instance.state
    chosen = np.isin(np.arange(len(cluster)), nodes)
    for kind, count in slots.items():
        of_all, idle = ("slots", "idle_slots") if kind == MAP else ("reduce_slots", "idle_reduce_slots")
        cluster = replace(cluster, **{of_all: getattr(cluster, of_all) + count * chosen})
        state = replace(state, **{idle: getattr(state, idle) + count * chosen})
    grown = {name: amounts.copy() for name, amounts in cluster.capacity.items()}
    for name, amount in capacity.items():
        grown[name][chosen] = [float(Fraction(str(held)) + Fraction(amount)) for held in grown[name][chosen].tolist()]
    return replace(instance, cluster=replace(cluster, capacity=grown), state=state)


class _Asked:
    """Asks the exact route whether some of the tasks can be placed; `sure`: it always gave an answer."""

    def __init__(self, problem: Problem, profile: Profile) -> None:
        self.problem, self.profile = problem, profile
        self.left, self.sure = MOST_SOLVES, True

    def infeasible(self, positions: Sequence[int], unlimited: Sequence[int] = ()) -> bool:
        """Whether these tasks are proved to be too many; False also where nothing is proved."""
        if not self.left:
            self.sure = False
            return False
        self.left -= 1
        try:
            posed = only_with(self.problem, sorted(positions), unlimited)
        except OptschedError:  # what is left of the instance is no such problem
            self.sure = False
            return False
        solved = Reference.solved(posed, self.profile).solution
        infeasible = solved.termination is Termination.INFEASIBLE
        self.sure &= infeasible or solved.decision is not None
        return infeasible

    def fewer(self, positions: Sequence[int]) -> list[int] | None:
        """Tasks that are too many, by looking for the last task of a conflict again and again (QuickXplain's idea)."""
        found: list[int] = []
        rest = list(positions)
        if not self.infeasible(rest):
            return None
        while not (found and self.infeasible(found)):
            low, high = 0, len(rest)  # with `high` of the rest it is infeasible
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if self.infeasible([*found, *rest[:middle]]) else (middle, high)
            if not self.sure or not high:
                return [*found, *rest]
            found.append(rest[high - 1])
            rest = rest[: high - 1]
        return found

    def without_idle(self, positions: Sequence[int]) -> list[int]:
        """The tasks without those that can be left out, each tried."""
        kept = list(positions)
        for position in reversed(positions):
            others = [other for other in kept if other != position]
            if others and self.infeasible(others):
                kept = others
        return sorted(kept)

    def limits(self, positions: Sequence[int]) -> list[int]:
        """Nodes whose limits are needed for the conflict: those of the others can all be lifted."""
        nodes = range(len(self.problem.instance.cluster))
        lifted: list[int] = []
        for node in nodes:
            if self.infeasible(positions, [*lifted, node]):
                lifted.append(node)
        return [node for node in nodes if node not in lifted]
