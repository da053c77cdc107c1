"""Solves changed instances: which tasks make a problem infeasible, and what one more slot, replica or room is worth.

A conflict is a minimal set of tasks that cannot be placed together. Tasks are removed and limits of nodes lifted, one
after another, as long as an exact route says that the rest is infeasible. If nodes only count their tasks, it is a Hall
violator: these tasks can only go to these nodes, which have one slot too few.

Prices of a certificate and the optimum's own placement say where a change may be worth something. They only give
limits: a price is the most that a slot can be worth, and the saving of the same placement is the least that a replica
is worth. The reported worth is the result of solving again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, islice, zip_longest
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from optsched.core.deadline import check
from optsched.core.errors import OptschedError
from optsched.core.instance import FINISHED, KINDS, MAP, REDUCE, Instance, Ints, Ragged
from optsched.core.placement import NONE, Placement
from optsched.core.problem_record import imported
from optsched.core.registry import record_of
from optsched.core.results import Number, Solution, Termination, Value
from optsched.heuristics.running.known import posed_on
from optsched.measuring.explaining.chains import better_by, own_costs_of, paid
from optsched.measuring.gaps import Reference
from optsched.problems import Problem
from optsched.problems.base import exact
from optsched.solvers.profiles import Profile

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
        Ids of the nodes whose limits forbid it: those of all others could be lifted together, and none of these in
        addition. With `slots` these are all nodes that any of the tasks may use.
    slots
        How many of the tasks the nodes hold, one less than there are, if they are counted; else None.
    irreducible
        Whether it was verified that without any one of the tasks the others can be placed.
    """

    tasks: tuple[str, ...]
    nodes: tuple[str, ...]
    slots: int | None
    irreducible: bool


def conflict_of(problem: Problem, profile: Profile) -> Conflict | None:
    """A minimal conflict of an infeasible problem; None if no set of its tasks explains the infeasibility.

    The `profile` applies to each of at most `MOST_SOLVES` questions.

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
    ids, node_ids = problem.task_ids, problem.instance.cluster.node_ids
    return Conflict(tuple(map(str, ids[tasks])), tuple(map(str, node_ids[nodes])), slots, sure)


def _too_many_of_a_kind(problem: Problem) -> list[int]:
    """Positions of one task more than there are slots for its kind; empty if every kind has enough slots."""
    kinds = problem.instance.workload.kind[problem.tasks]
    for name, slots in problem.offered.items():
        positions = np.flatnonzero(kinds == KINDS.index(name))
        if len(positions) > slots.sum():
            return [int(position) for position in positions[: int(slots.sum()) + 1]]
    return []


def only_with(problem: Problem, positions: Sequence[int], unlimited: Sequence[int] = ()) -> Problem:
    """The problem with only some of its tasks to place, the others removed, and without the limits of some nodes."""
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
        """Whether these tasks are proved to be too many; False also if nothing is proved."""
        if not self.left:
            self.sure = False
            return False
        self.left -= 1
        try:
            posed = only_with(self.problem, sorted(positions), unlimited)
        except OptschedError:  # the rest of the instance is no such problem
            self.sure = False
            return False
        solved = Reference.solved(posed, self.profile).solution
        infeasible = solved.termination is Termination.INFEASIBLE
        self.sure &= infeasible or solved.decision is not None
        return infeasible

    def fewer(self, positions: Sequence[int]) -> list[int] | None:
        """Tasks that are too many, by repeatedly finding the last task of a conflict (QuickXplain's idea)."""
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


# What one more slot, replica or room for a task is worth --------------------------------------------------------------


#: Replicas that are tried for each one asked for; those that do not help the present placement are skipped.
LOOKED_AT = 4


@dataclass(frozen=True, slots=True)
class Worth:
    """The worth of a change of the instance.

    Attributes
    ----------
    change
        `slot`: one more slot, which is idle, for one kind of task on a node. `replica`: one more replica of a task's
        block. `capacity`: as much more of a node's capacities as one more task needs there.
    node
        Id of the node.
    of
        `map` or `reduce` for a slot, else the id of the task.
    promised
        For a slot: its price in the certificate, the most that it can be worth as long as no more tasks are placed. For
        a replica, and for capacity with that task moved there: by how much the optimum's own placement improves, the
        least that it is worth. One number per component; None if there is no price, or tasks pay something else after
        one more slot.
    objective
        The optimum of the changed instance; None if it was not proved within the limit.
    gain
        By how much the optimum is better, one number per component; None if it was not proved.
    placed
        How many more tasks the optimum places: their cost is in `objective`, and a gain may be negative because of it.
    more
        For capacity: by how much each resource grows.
    """

    change: str
    node: str
    of: str
    promised: Value | None
    objective: Value | None = None
    gain: Value | None = None
    placed: int = 0
    more: Mapping[str, Number] = field(default_factory=dict)


#: A change that may be worth something, not solved yet, and the problem with it.
Candidate: TypeAlias = tuple[Worth, Problem]


def worths(problem: Problem, best: Solution, last: Ints, prefer: Ints, most: int, profile: Profile) -> list[Worth]:
    """The worth of slots, replicas and room for tasks, the best first, by at most `most` solves.

    `best` is the proved optimum, `last` the node (or -1) of each of `problem.tasks` in an optimum. The tasks at the
    positions `prefer` are examined first if nothing else decides.
    """
    assert best.objective is not None
    assert isinstance(best.decision, Placement)
    slots, replicas = _slots(problem, best, last, prefer), _replicas(problem, last, prefer, most)
    taken = chain.from_iterable(zip_longest(slots, replicas, rooms(problem, last)))
    found = []
    for worth, changed in islice((entry for entry in taken if entry is not None), most):
        check()
        solved = Reference.solved(changed, profile).solution
        if solved.optimal and solved.objective is not None and isinstance(solved.decision, Placement):
            gain = better_by(problem, best.objective, solved.objective)
            placed = solved.decision.placed - best.decision.placed
            worth = replace(worth, objective=solved.objective, gain=gain, placed=placed)
        found.append(worth)
    # Changes that place more tasks are not comparable, and come after the others; unproved ones come last.
    nothing: Value = (0,) * len(problem.components)
    found.sort(key=lambda worth: (worth.gain is not None, not worth.placed, worth.gain or nothing), reverse=True)
    return found


def with_replica(instance: Instance, task: int, node: int) -> Instance:
    """The instance with a replica of a task's block on a node that has none."""
    held = instance.replicas
    starts = held.starts + (np.arange(len(held.starts)) > task)
    replicas = Ragged(starts, np.insert(held.values, held.starts[task + 1], node))
    return replace(instance, workload=replace(instance.workload, replicas=replicas))


def _slots(problem: Problem, best: Solution, last: Ints, prefer: Ints) -> Iterator[Candidate]:
    """Nodes by the price of a slot, then full ones, those with most of the preferred tasks first."""
    kinds = problem.instance.workload.kind[problem.tasks]
    for name, slots in problem.offered.items():
        kind = KINDS.index(name)
        prices = _prices(problem, best) if len(problem.offered) == 1 else {}
        at = last[(kinds == kind) & (last != NONE)]
        used = np.bincount(at, minlength=len(slots))
        wanted = np.bincount(last[prefer][(kinds[prefer] == kind) & (last[prefer] != NONE)], minlength=len(slots))
        full = np.flatnonzero((used >= slots) & (used > 0))
        dear = sorted(prices, key=lambda node: -prices[node])
        for node in dict.fromkeys([*dear, *full[np.argsort(-wanted[full], kind="stable")].tolist()]):
            changed = posed_on(problem, with_room(problem.instance, [node], {kind: 1}))
            if not np.array_equal(changed.offered[name], slots):
                priced = node in prices and changed.due == problem.due and _same_costs(problem, changed, node)
                yield _candidate("slot", changed, node, name, (prices[node],) if priced else None)


def _same_costs(problem: Problem, changed: Problem, node: int) -> bool:
    """Whether tasks pay the same on a node after one more slot: a share of all slots may change, too."""
    if len(problem.components) > 1:
        return False
    before, after = own_costs_of(problem), own_costs_of(changed)
    if before is None or after is None:
        return before is after
    tasks = np.arange(len(problem.tasks))
    there = np.full(len(tasks), node)
    return before.grid == after.grid and np.array_equal(before.units(tasks, there), after.units(tasks, there))


def _prices(problem: Problem, best: Solution) -> dict[int, Number]:
    """The prices of slots in certificates, by node; of several certificates the first."""
    for certificate in best.certificates:
        if "node_prices" in certificate.data:
            unit = Fraction(str(certificate.data.get("unit", 1)))
            index = problem.instance.node_index
            prices = {index[node]: Fraction(price) * unit for node, price in certificate.data["node_prices"].items()}
            return {node: exact(*price.as_integer_ratio()) for node, price in prices.items() if price > 0}
    return {}


def _replicas(problem: Problem, last: Ints, prefer: Ints, most: int) -> Iterator[Candidate]:
    """A replica of a task where the optimum places it: tasks that pay most first, and only if it helps."""
    start = problem.objective(problem.placement(last))
    looked = 0
    for position in _paying(problem, last, prefer):
        node = int(last[position])
        if node in problem.replicas[position]:
            continue
        if looked == LOOKED_AT * most:
            return
        looked += 1
        changed = posed_on(problem, with_replica(problem.instance, int(problem.tasks[position]), node))
        gain = better_by(problem, start, changed.objective(changed.placement(last)))
        if gain > (0,) * len(gain):
            yield _candidate("replica", changed, node, _id(problem, position), gain)


def _candidate(
    change: str, changed: Problem, node: int, of: str, promised: Value | None, more: Mapping[str, Number] | None = None
) -> Candidate:
    return Worth(change, str(changed.instance.cluster.node_ids[node]), of, promised, more=more or {}), changed


def _id(problem: Problem, position: int) -> str:
    return str(problem.instance.workload.task_ids[problem.tasks[position]])


def _paying(problem: Problem, last: Ints, prefer: Ints) -> list[int]:
    """Positions of placed tasks: those that pay most by themselves first, or else the preferred ones first."""
    placed = np.flatnonzero(last != NONE)
    own = own_costs_of(problem)
    if own is None:
        first = prefer[last[prefer] != NONE]
        return list(dict.fromkeys([*first.tolist(), *placed.tolist()]))
    order = np.argsort(-paid(problem, own, placed, last[placed]), kind="stable")
    found: list[int] = placed[order].tolist()
    return found


# Room ----------------------------------------------------------------------------------------------------------------
# Room for one more task: how much more of each resource a node would need, and what that would save. It is for problems
# whose nodes have capacities of any kind: a task of the optimum is put on another node, and the problem's own judgement
# says which capacities are exceeded there, and by how much.

#: The most moves of a task to another node that are judged.
JUDGED = 200


def rooms(problem: Problem, last: Ints) -> list[Candidate]:
    """For each node the room for the task that gains most there, the largest gain first.

    Moves without gain are left out, and so are nodes that running tasks overload. `last` is as for `worths`.
    """
    if not problem.instance.cluster.capacity:
        return []
    best: dict[int, tuple[Value, Candidate]] = {}
    for position, node in _moves(problem, last):
        found = _room(problem, last, position, node)
        if found is not None and (node not in best or found[0] > best[node][0]):
            best[node] = found
    return [room for _, room in sorted(best.values(), key=lambda entry: entry[0], reverse=True)]


def _moves(problem: Problem, last: Ints) -> Iterator[tuple[int, int]]:
    """Tasks and nodes for them: by each one's own saving, or else waiting tasks first, spread over all nodes."""
    width = len(problem.instance.cluster)
    positions, nodes = (side.reshape(-1) for side in np.indices((len(last), width)))
    apart = last[positions] != nodes
    positions, nodes = positions[apart], nodes[apart]
    own = own_costs_of(problem)
    if own is None or (last == NONE).any():
        order = np.argsort(last[positions] != NONE, kind="stable")
        waiting = int((last[positions] == NONE).sum())
        order = order[: waiting or None]
        order = order[:: 1 + len(order) // JUDGED]
    else:
        saved = paid(problem, own, positions, last[positions]) - paid(problem, own, positions, nodes)
        order = np.argsort(-saved, kind="stable")
        order = order[saved[order] > 0][:JUDGED]
    return zip(positions[order].tolist(), nodes[order].tolist(), strict=True)


def _room(problem: Problem, last: Ints, position: int, node: int) -> tuple[Value, Candidate] | None:
    """The room for a task on a node with its gain, if it only lacks room there and gains something."""
    moved = last.copy()
    moved[position] = node
    name = str(problem.instance.cluster.node_ids[node])
    more: dict[str, Number] = {}
    for wrong in problem.violations(problem.placement(moved)):
        if wrong.constraint != "capacity" or wrong.ids[-1] != name:
            return None
        more[wrong.ids[0]] = wrong.amount
    if not more:
        return None
    changed = posed_on(problem, with_room(problem.instance, [node], capacity=more))
    placement = changed.placement(moved)
    if changed.violations(placement):
        return None
    gain = better_by(problem, problem.objective(problem.placement(last)), changed.objective(placement))
    if gain <= (0,) * len(gain):
        return None
    return gain, _candidate("capacity", changed, node, _id(problem, position), gain, more)
