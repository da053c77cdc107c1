"""Enumerates every placement of a small instance: slow and plain, to check other ways against.

`judged` asks the problem itself about each placement, and serves every problem. The others try only what fits; the
registry names them, and the contract suite holds them equal to `judged`. All ask the problem's own `objective` what a
placement is worth; `schedules` asks once for all that leave the same loads, which is where its time is saved.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter

import numpy as np

from optsched.core.errors import TooLarge, UsageError
from optsched.core.instance import KINDS, Ints
from optsched.core.placement import NONE
from optsched.core.registry import imported, record_of
from optsched.core.results import Decision, Value
from optsched.problems import AnyProblem, Problem
from optsched.problems.base import stated
from optsched.problems.generalized_assignment import GeneralizedAssignment
from optsched.problems.latency import Latency
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.utility import Utility

__all__ = [
    "MOST_PLACEMENTS",
    "Judged",
    "allocations",
    "assignments",
    "best_decision",
    "best_placement",
    "is_small",
    "judged",
    "packings",
    "pareto_values",
    "schedules",
]

#: A feasible placement's value as it compares (less is better), and its nodes.
Judged = tuple[Value, list[int]]

#: More placements than this are refused.
MOST_PLACEMENTS = 5_000_000

#: More tasks are refused even where each has one place to go: the enumeration recurses once a task.
MOST_TASKS = 100


def best_placement(problem: Problem, most: int = MOST_PLACEMENTS) -> tuple[Value, Ints] | None:
    """The optimum and the node of each of `problem.tasks` in the first placement that attains it; None without any.

    Raises
    ------
    TooLarge
        If there are more than `most` ways to map tasks to nodes, or more than `MOST_TASKS` tasks.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))
    >>> value, nodes = best_placement(Lsap(Instance(Cluster(["a", "b"]), workload)))
    >>> value, nodes.tolist()
    ((0,), [1, 0])
    """
    best: tuple[Value, list[int]] | None = None
    for key, nodes in _placements(problem, most):
        if best is None or key < best[0]:
            best = key, list(nodes)
    if best is None:
        return None
    found: Ints = np.array(best[1], dtype=np.int64)
    return problem.evaluate(problem.placement(found)), found


def best_decision(problem: AnyProblem, most: int = MOST_PLACEMENTS) -> tuple[Value, Decision] | None:
    """The optimum and the first decision that attains it, a placement or a schedule; None where nothing is feasible.

    Raises
    ------
    TooLarge
        If there are more than `most` ways to place the tasks, or orders of them on nodes, or too many tasks.
    UsageError
        If the problem decides a flow, or a schedule without a record that names an enumeration.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems.makespan import Makespan
    >>> best_decision(Makespan(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[20, 10]))))
    ((30,), <Schedule: 2 of 2 tasks run>)
    """
    if isinstance(problem, Problem):
        placed = best_placement(problem, most)
        return None if placed is None else (placed[0], problem.placement(placed[1]))
    named = record_of(type(problem)).enumeration
    if not isinstance(problem, ScheduleProblem) or named is None:
        raise UsageError(f"{problem.name} decides a {problem.decided.noun}, and no record names how to enumerate those")
    found = min(imported(named)(problem, most), key=itemgetter(0), default=None)
    return None if found is None else (problem.minimised(found[0]), problem.schedule(*found[1]))


def pareto_values(problem: Problem, most: int = MOST_PLACEMENTS) -> list[Value]:
    """Values of all Pareto-optimal placements of a problem with two components, the best of the first one first.

    Raises
    ------
    TooLarge
        As for `best_placement`.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Latency
    >>> workload = Workload(list("abcd"), replicas=Ragged.from_rows([[0]] * 4))
    >>> pareto_values(Latency(Instance(Cluster(["s1", "s2"]), workload)))
    [(3, 6), (4, 4)]
    """
    front: list[Value] = []
    for value in sorted({key for key, _ in _placements(problem, most)}):
        if not front or value[1] < front[-1][1]:
            front.append(value)
    return [problem.minimised(value) for value in front]


def _placements(problem: Problem, most: int = MOST_PLACEMENTS) -> Iterator[Judged]:
    """Every feasible placement with its value, by the quicker enumeration that the problem's record names, if any."""
    record = record_of(type(problem))
    if not is_small(problem, most):
        mend = "leave the route out and let optsched choose"
        if record.routes is None and record.models is None:
            name = type(problem).__name__
            mend = f"{name} has no other, since no record names models or routes (optsched.core.registry)"
        raise TooLarge(
            f'{problem.name}: route "brute-force" would try {_choices(problem)}^{len(problem.tasks)} placements; it '
            f"takes up to {most:,}, of up to {MOST_TASKS} tasks; {mend}"
        )
    quicker = record.enumeration
    enumerate_placements: Callable[[Problem], Iterator[Judged]] = judged if quicker is None else imported(quicker)
    return enumerate_placements(problem)


def is_small(problem: Problem, most: int = MOST_PLACEMENTS) -> bool:
    """Whether there are at most `most` ways to map tasks to nodes, and at most `MOST_TASKS` tasks."""
    tasks = len(problem.tasks)
    return tasks <= MOST_TASKS and _choices(problem) ** tasks <= most


def _choices(problem: Problem) -> int:
    """The choices of a task: any node, and none."""
    return len(problem.instance.cluster) + (not stated(problem, "places_all", False))


def judged(problem: Problem) -> Iterator[Judged]:
    """Each task on each node or nowhere, judged by the problem's own `violations` and `objective`."""
    nodes = range(0 if stated(problem, "places_all", False) else NONE, len(problem.instance.cluster))
    for chosen in itertools.product(nodes, repeat=len(problem.tasks)):
        if not problem.violations(problem.placement(chosen)):
            yield _worth(problem, chosen)


def _worth(problem: Problem, nodes: Sequence[int]) -> Judged:
    """A feasible placement with what the problem's own objective says of it."""
    return problem.minimised(problem.objective(problem.placement(nodes))), list(nodes)


def allocations(problem: Utility) -> Iterator[Judged]:
    """Every number of maps and reduces of each job on each node: which of them does not matter."""
    nodes, jobs = len(problem.instance.cluster), len(problem.jobs)
    positions = [tasks.tolist() for tasks in (*problem.map_positions, *problem.reduce_positions)]
    demand = [*problem.demand_map.tolist(), *problem.demand_reduce.tolist()]
    left, chosen, counts = problem.free.tolist(), [NONE] * len(problem.tasks), [0] * len(positions)

    def place(cell: int) -> Iterator[Judged]:
        if cell == len(positions) * nodes:
            yield _worth(problem, chosen)
            return
        row, node = divmod(cell, nodes)
        first, before = counts[row], left[node]
        fixed = None if problem.fixed is None or row < jobs else int(problem.fixed[row - jobs, node])
        for number in range(len(positions[row]) - first + 1):
            rest = [have - number * need for have, need in zip(before, demand[row], strict=True)]
            if min(rest, default=0) < 0:
                break
            if fixed is not None and number != fixed:
                continue
            tasks = positions[row][first : first + number]
            left[node], counts[row] = rest, first + number
            for task in tasks:
                chosen[task] = node
            yield from place(cell + 1)
            for task in tasks:
                chosen[task] = NONE
        left[node], counts[row] = before, first

    yield from place(0)


def _within(
    problem: Problem,
    choices: Sequence[Sequence[int]],
    need: Callable[[int, int], Sequence[int]],
    room: list[Sequence[int]],
) -> Iterator[Judged]:
    """One of its choices for each task, in every way that stays within the room of each.

    Parameters
    ----------
    problem
        What says how much a placement is worth.
    choices
        Nodes of each task, NONE among them if it may wait.
    need
        What a task takes of the room of a node.
    room
        Of each node, in whole units; the last entry is that of NONE.
    """
    chosen = [NONE] * len(choices)

    def place(task: int) -> Iterator[Judged]:
        if task == len(chosen):
            yield _worth(problem, chosen)
            return
        for node in choices[task]:
            before = room[node]
            rest = [have - use for have, use in zip(before, need(task, node), strict=True)]
            if min(rest, default=0) >= 0:
                room[node], chosen[task] = rest, node
                yield from place(task + 1)
                room[node] = before

    return place(0)


def assignments(problem: Problem) -> Iterator[Judged]:
    """Every way to fill the slots that are offered, of each kind, with as many tasks of the kind as there are for."""
    names = list(problem.offered)
    kind = [names.index(KINDS[which]) for which in problem.instance.workload.kind[problem.tasks].tolist()]
    slots = np.array([problem.offered[name] for name in names], dtype=np.int64)
    tasks = np.bincount(kind, minlength=len(names))
    waiting = tasks - np.minimum(tasks, slots.sum(axis=1))
    one = np.eye(len(names), dtype=np.int64).tolist()
    choices = [[NONE, *np.flatnonzero(slots.any(axis=0)).tolist()]] * len(kind)
    return _within(problem, choices, lambda task, node: one[kind[task]], [*slots.T.tolist(), waiting.tolist()])


def schedules(problem: Latency) -> Iterator[Judged]:
    """Every schedule of `latency`; the objective is asked once for all that leave the same loads."""
    loads = problem.initial_load.tolist()
    work = [
        [problem.w_loc if server in held else problem.w_rem for server in range(len(loads))]
        for held in (set(row.tolist()) for row in problem.replicas)
    ]
    worth: dict[tuple[int, ...], Value] = {}
    for chosen in itertools.product(range(len(loads)), repeat=len(work)):
        finish = loads.copy()
        for row, server in zip(work, chosen, strict=True):
            finish[server] += row[server]
        left = tuple(finish)
        if left not in worth:
            worth[left], _ = _worth(problem, chosen)
        yield worth[left], list(chosen)


def packings(problem: GeneralizedAssignment) -> Iterator[Judged]:
    """Every packing of `generalized-assignment` within the capacities."""
    demand = problem.demand.transpose(1, 2, 0).tolist()
    choices = [np.flatnonzero(row).tolist() for row in problem.usable]
    return _within(problem, choices, lambda task, node: demand[task][node], [*problem.capacity.T.tolist(), ()])
