"""Enumeration of every placement of a small instance: slow and plain, so that other ways can be checked against it.

`judged` asks the problem itself about each placement, and serves every problem. The others know the structure of one
problem and add its costs up as they go; the registry names them, and the contract suite holds them equal to `judged`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from optsched.errors import TooLarge
from optsched.instance import LARGEST, Ints
from optsched.placement import NONE
from optsched.problems import Problem
from optsched.problems.assignment import AssignmentProblem
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
    "pareto_front",
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


def pareto_front(problem: Problem) -> list[Value]:
    """Every Pareto-optimal value of a problem with two components to be minimised, by the first of them."""
    front: list[Value] = []
    for value in sorted({key for key, _ in _placements(problem)}):
        if not front or value[1] < front[-1][1]:
            front.append(value)
    return front


def _placements(problem: Problem, most: int = MOST_PLACEMENTS) -> Iterator[Judged]:
    """Every feasible placement with its value, by the quicker enumeration that the problem's record names, if any."""
    record = record_of(type(problem))
    choices = len(problem.instance.cluster) + (not problem.places_all)
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
    nodes = range(0 if problem.places_all else NONE, len(problem.instance.cluster))
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


def assignments(problem: AssignmentProblem) -> Iterator[Judged]:
    """Every assignment of an `AssignmentProblem`, by its pair costs and pools."""
    tasks, nodes = len(problem.tasks), len(problem.capacity)
    idle = np.flatnonzero(problem.capacity > 0).tolist()
    units = np.zeros((tasks, nodes), dtype=np.int64)
    for node in idle:
        units[:, node] = problem.pair_units(np.arange(tasks), np.full(tasks, node)) + problem.surcharge[node]
    cost, left = units.tolist(), problem.capacity.tolist()
    chosen, pool_of = [NONE] * tasks, problem.pool.tolist()
    pools = [0] * len(problem.pools)

    def place(task: int, placed: int, total: int) -> Iterator[Judged]:
        if placed + (tasks - task) < problem.count:
            return
        if task == tasks:
            extra = sum(pool.cost(number) for pool, number in zip(problem.pools, pools, strict=True))
            yield (total + extra,), chosen
            return
        yield from place(task + 1, placed, total)
        if placed < problem.count:
            for node in idle:
                if left[node]:
                    left[node] -= 1
                    pools[pool_of[task]] += 1
                    chosen[task] = node
                    yield from place(task + 1, placed + 1, total + cost[task][node])
                    chosen[task] = NONE
                    pools[pool_of[task]] -= 1
                    left[node] += 1

    yield from place(0, 0, 0)


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
    """Every schedule of `latency`, task after task."""
    tasks, servers = len(problem.tasks), range(len(problem.initial_load))
    local = [set(row.tolist()) for row in problem.replicas]
    finish, chosen = problem.initial_load.tolist(), [NONE] * tasks

    def place(task: int, makespan: int, work: int) -> Iterator[Judged]:
        if task == tasks:
            yield (makespan, work), chosen
            return
        for server in servers:
            cost = problem.w_loc if server in local[task] else problem.w_rem
            finish[server] += cost
            chosen[task] = server
            yield from place(task + 1, max(makespan, finish[server]), work + cost)
            finish[server] -= cost

    yield from place(0, 0, 0)


def packings(problem: GeneralizedAssignment) -> Iterator[Judged]:
    """Every packing of `generalized-assignment` within the capacities."""
    tasks = len(problem.tasks)
    cost, chosen = (problem.sign * problem.units).tolist(), [NONE] * tasks
    demand = problem.demand.transpose(1, 2, 0).tolist()
    left = problem.capacity.T.tolist()
    choices = [np.flatnonzero(row).tolist() for row in problem.usable]

    def place(task: int, total: int) -> Iterator[Judged]:
        if task == tasks:
            yield (total,), chosen
            return
        for node in choices[task]:
            rest = [have - need for have, need in zip(left[node], demand[task][node], strict=True)]
            if min(rest, default=0) < 0:
                continue
            before, left[node], chosen[task] = left[node], rest, node
            yield from place(task + 1, total + cost[task][node])
            left[node] = before

    yield from place(0, 0)


def congestions(problem: FlowCongestion) -> Iterator[Judged]:
    """Every placement of `flow-congestion`: reading by task, load by the set of tasks on a node."""
    types, chosen = problem.types.of_task.tolist(), [NONE] * len(problem.tasks)
    left, missing = problem.slots.tolist(), problem.counts.tolist()
    waiting = np.bincount(problem.kind, minlength=len(missing)).tolist()
    columns = {node: column for column, node in enumerate(problem.idle_nodes.tolist())}
    read = problem.read_units[problem.classes.of_task].tolist()
    sets: dict[int, list[int]] = {node: [] for node in columns}

    @cache
    def load(node: int, placed: tuple[int, ...]) -> int:
        added = np.bincount(placed, minlength=len(problem.type_kind))
        return int(problem.load_units(columns[node], added[None])[0])

    def place(task: int, total: int) -> Iterator[Judged]:
        if task == len(types):
            yield (total + sum(load(node, tuple(sorted(tasks))) for node, tasks in sets.items() if tasks),), chosen
            return
        kind = problem.kind[task]
        waiting[kind] -= 1
        if missing[kind] <= waiting[kind]:
            yield from place(task + 1, total)
        if missing[kind]:
            missing[kind] -= 1
            for node in columns:
                if left[kind][node]:
                    left[kind][node] -= 1
                    sets[node].append(types[task])
                    chosen[task] = node
                    yield from place(task + 1, total + read[task][columns[node]])
                    chosen[task] = NONE
                    sets[node].pop()
                    left[kind][node] += 1
            missing[kind] += 1
        waiting[kind] += 1

    yield from place(0, 0)
