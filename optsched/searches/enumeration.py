"""Enumeration of every placement of a small instance: slow and plain, so that other ways can be checked against it.

`judged` asks the problem itself about each placement, and serves every problem. The others know the structure of one
problem and add its costs up as they go; the registry names them, and the contract suite holds them equal to `judged`.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np

from optsched.errors import TooLarge
from optsched.instance import LARGEST, Ints
from optsched.placement import NONE
from optsched.problems import Problem
from optsched.problems.assignment import AssignmentProblem
from optsched.problems.base import stated
from optsched.problems.flow_congestion import FlowCongestion
from optsched.problems.generalized_assignment import GeneralizedAssignment
from optsched.problems.latency import Latency
from optsched.problems.lsap_fairness import LsapFairness
from optsched.problems.utility import Utility
from optsched.registry import imported, record_of
from optsched.results import Number, Value

__all__ = [
    "MOST_PLACEMENTS",
    "Judged",
    "allocations",
    "assignments",
    "best_placement",
    "congestions",
    "judged",
    "packings",
    "schedules",
    "shared_assignments",
]

#: A feasible placement's value as it compares (less is better; in units where costs are held so), and its nodes.
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
    >>> from optsched.instance import Cluster, Instance, Ragged, Workload
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


def _placements(problem: Problem, most: int = MOST_PLACEMENTS) -> Iterator[Judged]:
    """Every feasible placement with its value, by the quicker enumeration that the problem's record names, if any."""
    record = record_of(type(problem))
    choices = len(problem.instance.cluster) + (not stated(problem, "places_all", False))
    tasks = len(problem.tasks)
    if tasks > MOST_TASKS or choices**tasks > most:
        mend = "leave the route out and let optsched choose"
        if record.routes is None:
            mend = f"{type(problem).__name__} has no other, since no record names one (optsched.registry)"
        raise TooLarge(
            f'{problem.name}: route "brute-force" would try {choices}^{tasks} placements; it takes up to '
            f"{most:,}, of up to {MOST_TASKS} tasks; {mend}"
        )
    quicker = record.enumeration
    enumerate_placements: Callable[[Problem], Iterator[Judged]] = judged if quicker is None else imported(quicker)
    return enumerate_placements(problem)


def judged(problem: Problem) -> Iterator[Judged]:
    """Each task on each node or nowhere, judged by the problem's own `violations` and `objective`."""
    nodes = range(0 if stated(problem, "places_all", False) else NONE, len(problem.instance.cluster))
    for chosen in itertools.product(nodes, repeat=len(problem.tasks)):
        placement = problem.placement(chosen)
        if not problem.violations(placement):
            yield problem.minimised(problem.objective(placement)), list(chosen)


def allocations(problem: Utility) -> Iterator[Judged]:
    """Every number of maps and reduces of each job on each node: which of them does not matter."""
    nodes, jobs = len(problem.instance.cluster), len(problem.jobs)
    positions = [tasks.tolist() for tasks in (*problem.map_positions, *problem.reduce_positions)]
    demand = [*problem.demand_map.tolist(), *problem.demand_reduce.tolist()]
    share = [row[problem.node_type].tolist() for row in (*problem.map_share, *problem.reduce_share)]
    left, chosen, counts = problem.free.tolist(), [NONE] * len(problem.tasks), [0] * len(positions)

    def place(cell: int, used: int) -> Iterator[Judged]:
        if cell == len(positions) * nodes:
            maps, reduces = np.split(np.array(counts, dtype=np.int64), 2)
            if problem.coupled and problem.violations(problem.placement(chosen)):
                return
            yield (-int(problem.utility_units(maps, reduces).min(initial=LARGEST)), -used), chosen
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
            yield from place(cell + 1, used + number * share[row][node])
            for task in tasks:
                chosen[task] = NONE
        left[node], counts[row] = before, first

    yield from place(0, 0)


def _within(
    choices: Sequence[Sequence[int]], need: Callable[[int, int], Sequence[int]], room: list[Sequence[int]]
) -> Iterator[list[int]]:
    """One of its choices for each task, in every way that stays within the room of each.

    Parameters
    ----------
    choices
        Nodes of each task, NONE among them if it may wait.
    need
        What a task takes of the room of a node.
    room
        Of each node, in whole units; the last entry is that of NONE.

    Yields
    ------
    list of int
        The node of each task. It is the same list each time.
    """
    chosen = [NONE] * len(choices)

    def place(task: int) -> Iterator[list[int]]:
        if task == len(chosen):
            yield chosen
            return
        for node in choices[task]:
            before = room[node]
            rest = [have - use for have, use in zip(before, need(task, node), strict=True)]
            if min(rest, default=0) >= 0:
                room[node], chosen[task] = rest, node
                yield from place(task + 1)
                room[node] = before

    return place(0)


def assignments(problem: AssignmentProblem) -> Iterator[Judged]:
    """Every assignment of an `AssignmentProblem`, by its pair costs, surcharges and pools."""
    tasks, nodes = len(problem.tasks), len(problem.capacity)
    idle = np.flatnonzero(problem.capacity > 0).tolist()
    units = np.zeros((tasks, nodes + 1), dtype=np.int64)
    for node in idle:
        units[:, node] = problem.pair_units(np.arange(tasks), np.full(tasks, node)) + problem.surcharge[node]
    cost, pool_of = units.tolist(), problem.pool.tolist()
    room: list[Sequence[int]] = [*((free,) for free in problem.capacity.tolist()), (tasks - problem.count,)]
    for chosen in _within([[NONE, *idle]] * tasks, lambda task, node: (1,), room):
        pools = Counter(pool for pool, node in zip(pool_of, chosen, strict=True) if node != NONE)
        total = sum(row[node] for row, node in zip(cost, chosen, strict=True))
        yield (total + sum(problem.pools[pool].cost(number) for pool, number in pools.items()),), chosen


def shared_assignments(problem: LsapFairness) -> Iterator[Judged]:
    """Every assignment of `lsap-fairness`, with the distance of the groups' shares."""
    group_of = problem.pool.tolist()

    @cache
    def distance(groups: tuple[int, ...]) -> Number:
        return problem.groups.distance(np.bincount(groups, minlength=len(problem.pools)), problem.relative)

    for (cost,), chosen in assignments(problem):
        placed = (group for group, node in zip(group_of, chosen, strict=True) if node != NONE)
        yield (cost, distance(tuple(sorted(placed)))), chosen


def schedules(problem: Latency) -> Iterator[Judged]:
    """Every schedule of `latency`, with the loads that it leaves."""
    loads = problem.initial_load.tolist()
    work = [
        [problem.w_loc if server in held else problem.w_rem for server in range(len(loads))]
        for held in (set(row.tolist()) for row in problem.replicas)
    ]
    for chosen in itertools.product(range(len(loads)), repeat=len(work)):
        finish = loads.copy()
        for row, server in zip(work, chosen, strict=True):
            finish[server] += row[server]
        added = sum(finish) - sum(loads)
        yield (max((finish[server] for server in chosen), default=0), added), list(chosen)


def packings(problem: GeneralizedAssignment) -> Iterator[Judged]:
    """Every packing of `generalized-assignment` within the capacities."""
    cost, demand = (problem.sign * problem.units).tolist(), problem.demand.transpose(1, 2, 0).tolist()
    choices = [np.flatnonzero(row).tolist() for row in problem.usable]
    for chosen in _within(choices, lambda task, node: demand[task][node], [*problem.capacity.T.tolist(), ()]):
        yield (sum(row[node] for row, node in zip(cost, chosen, strict=True)),), chosen


def congestions(problem: FlowCongestion) -> Iterator[Judged]:
    """Every placement of `flow-congestion`: reading by task, load by the set of tasks on a node."""
    kind, types = problem.kind.tolist(), problem.types.of_task.tolist()
    columns = {node: column for column, node in enumerate(problem.idle_nodes.tolist())}
    read = problem.read_units[problem.classes.of_task].tolist()
    slot = np.eye(len(problem.counts), dtype=np.int64).tolist()
    waiting = np.bincount(problem.kind, minlength=len(problem.counts)) - problem.counts

    @cache
    def load(node: int, placed: tuple[int, ...]) -> int:
        added = np.bincount(placed, minlength=len(problem.type_kind))
        return int(problem.load_units(columns[node], added[None])[0])

    room = [*problem.slots.T.tolist(), waiting.tolist()]
    for chosen in _within([[NONE, *columns]] * len(types), lambda task, node: slot[kind[task]], room):
        sets: dict[int, list[int]] = {}
        total = 0
        for task, node in enumerate(chosen):
            if node != NONE:
                sets.setdefault(node, []).append(types[task])
                total += read[task][columns[node]]
        yield (total + sum(load(node, tuple(sorted(tasks))) for node, tasks in sets.items()),), chosen
