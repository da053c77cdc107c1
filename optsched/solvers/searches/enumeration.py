"""Enumerates every placement or schedule of a small instance: slow and plain, for checks of other methods.

**Placements.** `judged` asks the problem itself about each placement, and works for every problem. The others try only
what fits; the registry names them, and the contract suite checks that they equal `judged`. All ask the problem's own
`objective` for a placement's value. `schedules` asks only once for all placements with the same loads, which is where
it saves time.

**Schedules** (`semi_active`). There are too many feasible ones to try. It suffices to try every order of each node's
tasks of a kind, and to start each task as early as possible in that order (Baker 1974: semi-active schedules):

- No value grows if no task ends later. Maps never wait for reduces. Maps decide when reduces may start, when they may
  end, and when slots of running ones become free; none of this is later if no map ends later. So maps come first, and
  an outcome of the maps that is nowhere earlier than another one is left out.
- Take a node's tasks of a kind in the order of their starts in a feasible schedule, and put each on the slot that is
  free first. Then none starts later than it did. By induction: sort the instants at which the slots become free, and
  replace those before the start of the last task by that start; then each is no later here than there. A task starts
  there no sooner than some slot is free, so it starts here no later. It ends no later, since its end never falls as its
  start grows. Its slot, the first of them, is replaced by that end.
- Repeated, this ends with tasks in the order of their starts, since no start grows and all are whole. So an order is
  left out if a task would start before the previous one.
- A task that takes no time on a node needs no slot there: a map at its release, a reduce at the end of its job's last
  map or its release. It cannot end sooner anywhere, so no other node is tried.
- Tasks of a job that take the same time everywhere are interchangeable; they keep their order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from math import comb, factorial, prod
from operator import itemgetter, le
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from optsched.core.deadline import check
from optsched.core.errors import TooLarge, UsageError
from optsched.core.instance import KINDS, MAP, REDUCE, Ints
from optsched.core.placement import NONE
from optsched.core.problem_record import imported
from optsched.core.registry import record_of
from optsched.core.results import Decision, Value
from optsched.problems import AnyProblem, Problem
from optsched.problems.base import stated
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.service_times import NEVER

if TYPE_CHECKING:  # so that enumerating one problem does not load the others
    from optsched.problems.generalized_assignment import GeneralizedAssignment
    from optsched.problems.latency import Latency
    from optsched.problems.utility import Utility

#: A feasible placement's value for comparisons (less is better), and its nodes.
Judged = tuple[Value, list[int]]

#: The most placements.
MOST_PLACEMENTS = 5_000_000

#: The most tasks, even with one place or one order each: the enumeration recurses once per task.
MOST_TASKS = 100


def best_placement(problem: Problem, most: int = MOST_PLACEMENTS) -> tuple[Value, Ints] | None:
    """The optimum and the node of each of `problem.tasks` in the first placement that attains it; None without any.

    TooLarge if there are more than `most` ways to map tasks to nodes, or more than `MOST_TASKS` tasks.

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
    """The optimum and the first decision that attains it, a placement or a schedule; None if nothing is feasible.

    TooLarge if there are more than `most` ways to place the tasks, or orders of them on nodes, or too many tasks.
    UsageError if the problem decides a flow, or a schedule without a record that names an enumeration.

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
    """Values of all Pareto-optimal placements of a problem with two components, the best first component first.

    TooLarge as for `best_placement`.

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
    """Every feasible placement with its value, by the faster enumeration of the problem's record, if there is one."""
    record = record_of(type(problem))
    if not is_small(problem, most):
        mend = "leave the route out and let optsched choose"
        if record.routes is None and record.models is None:
            kind = type(problem)
            mend = f"{kind.__name__} has no other, since no record names models or routes (optsched.core.registry)"
            owner = next((base.__name__ for base in kind.__mro__ if "program" in vars(base)), None)
            if owner is not None:
                mend = f"{kind.__name__} inherits program from {owner}: define program in {kind.__name__} itself"
        raise TooLarge(
            f'{problem.name}: route "brute-force" would try {_choices(problem)}^{len(problem.tasks)} placements; it '
            f"takes up to {most:,}, of up to {MOST_TASKS} tasks; {mend}"
        )
    quicker = record.enumeration
    enumerate_placements: Callable[[Problem], Iterator[Judged]] = judged if quicker is None else imported(quicker)
    for found in enumerate_placements(problem):
        check()
        yield found


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
        check()
        if not problem.violations(problem.placement(chosen)):
            yield _worth(problem, chosen)


def _worth(problem: Problem, nodes: Sequence[int]) -> Judged:
    """A feasible placement with its value by the problem's own objective."""
    return problem.minimised(problem.objective(problem.placement(nodes))), list(nodes)


def allocations(problem: Utility) -> Iterator[Judged]:
    """Every number of maps and reduces of each job on each node: it does not matter which tasks they are."""
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
    """One of its choices for each task (NONE if it may wait), in every way that stays within each node's room.

    `need` is what a task takes of a node's room. `room` is in whole units; its last entry is that of NONE.
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
    """Every way to fill the offered slots, of each kind, with as many tasks of the kind as possible."""
    names = list(problem.offered)
    kind = [names.index(KINDS[which]) for which in problem.instance.workload.kind[problem.tasks].tolist()]
    slots = np.array([problem.offered[name] for name in names], dtype=np.int64)
    tasks = np.bincount(kind, minlength=len(names))
    waiting = tasks - np.minimum(tasks, slots.sum(axis=1))
    one = np.eye(len(names), dtype=np.int64).tolist()
    choices = [[NONE, *np.flatnonzero(slots.any(axis=0)).tolist()]] * len(kind)
    return _within(problem, choices, lambda task, node: one[kind[task]], [*slots.T.tolist(), waiting.tolist()])


def schedules(problem: Latency) -> Iterator[Judged]:
    """Every placement of `latency`; the objective is evaluated once for all with the same loads."""
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


# Schedules ------------------------------------------------------------------------------------------------------------


#: A schedule's value for comparisons (less is better), and node and start of each task to run.
Timed = tuple[Value, tuple[list[int], list[int]]]

#: The most orders.
MOST_ORDERS = 5_000_000


def semi_active(problem: ScheduleProblem, most: int = MOST_ORDERS) -> Iterator[Timed]:
    """Schedules that include an optimum, each with its value; nothing if none is feasible.

    TooLarge if there may be more than `most` orders of the tasks on nodes, or more than `MOST_TASKS` tasks.

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems.job_times import JobTimes
    >>> problem = JobTimes(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[20, 10])))
    >>> for found in semi_active(problem):
    ...     print(found)
    ((50,), ([0, 0], [0, 20000000]))
    ((40,), ([0, 0], [10000000, 0]))
    """
    if problem.plainly_infeasible is not None:
        return
    if len(problem.tasks) > MOST_TASKS:  # the number of orders of more tasks could have more digits than fit a page
        raise _too_large(problem, f"{len(problem.tasks):,} tasks", most)
    kinds = [_Kind(problem, kind) for kind in (MAP, REDUCE)]
    orders = prod(kind.orders for kind in kinds)
    if orders > most:
        raise _too_large(problem, f"up to {orders:,} orders of tasks on nodes", most)
    maps, reduces = kinds
    worth: dict[tuple[int, ...], Value] = {}
    for after, chosen in _undominated(problem, maps):
        for placed in reduces.every(*after):
            both = chosen | placed
            ends = tuple(_completions(problem, kinds, both, after.last))
            nodes, starts = ([both[position][part] for position in range(len(both))] for part in (0, 1))
            if ends not in worth:
                worth[ends] = problem.minimised(problem.objective(problem.schedule(nodes, starts)))
            yield worth[ends], (nodes, starts)


def _too_large(problem: ScheduleProblem, what: str, most: int) -> TooLarge:
    """The error for more than `most` orders or tasks."""
    return TooLarge(
        f'{problem.name}: route "brute-force" would try {what}; it takes up to {most:,} orders, of up to {MOST_TASKS} '
        "tasks; leave the route out and let optsched choose"
    )


#: Node, start and end of tasks, by their positions.
_Placed = dict[int, tuple[int, int, int]]


class _After(NamedTuple):
    """The state after the maps: for each job when the last of them ends, and when its reduces may begin."""

    last: tuple[int, ...]
    begin: tuple[int, ...]

    @classmethod
    def of(cls, problem: ScheduleProblem, maps: _Kind, placed: _Placed) -> _After:
        """The state after these ends of maps, and those of running ones."""
        ends: list[list[int]] = [[] for _ in problem.jobs.ids]
        for job, end in (*maps.busy, *((maps.job[position], end) for position, (_, _, end) in placed.items())):
            ends[job].append(end)
        needed = problem.maps_before_reduces.tolist()
        return cls(
            tuple(max(held, default=-NEVER) for held in ends),
            tuple(sorted(held)[need - 1] if need else -NEVER for held, need in zip(ends, needed, strict=True)),
        )


def _undominated(problem: ScheduleProblem, maps: _Kind) -> list[tuple[_After, _Placed]]:
    """Outcomes of the maps, each with maps that give it, except those that are nowhere earlier than another."""
    nothing = (-NEVER,) * len(problem.jobs)
    found: dict[_After, _Placed] = {}
    for placed in maps.every(nothing, nothing):
        found.setdefault(_After.of(problem, maps, placed), placed)
    kept: list[tuple[_After, _Placed]] = []
    for after in sorted(found):  # an outcome that is nowhere later comes first
        flat = (*after.last, *after.begin)
        if not any(all(map(le, (*other.last, *other.begin), flat)) for other, _ in kept):
            kept.append((after, found[after]))
    return kept


def _completions(
    problem: ScheduleProblem, kinds: Sequence[_Kind], placed: _Placed, last: tuple[int, ...]
) -> Iterator[int]:
    """When each job ends."""
    ends = [max(problem.now, end) for end in last]
    job = problem.jobs.of_task[problem.tasks].tolist()
    held = [entry for kind in kinds for entry in kind.busy]
    for row, end in (*held, *((job[position], end) for position, (_, _, end) in placed.items())):
        ends[row] = max(ends[row], end)
    return iter(ends)


class _Kind:
    """The waiting tasks of one kind, by their positions, and the slots for them.

    `job` is the job of each. `busy` has, for each running task, its job, and its end as if the maps had ended. `orders`
    is an upper limit on the number of orders of its tasks on nodes.
    """

    def __init__(self, problem: ScheduleProblem, kind: int) -> None:
        name, nodes = KINDS[kind], len(problem.instance.cluster)
        job, (held, until, running) = problem.jobs.of_task, problem.running_of(kind)
        self._now = problem.now
        self._idle = problem.offered[name].tolist()
        self._busy_nodes = held.tolist()
        self.busy = list(zip(running.tolist(), until.tolist(), strict=True))
        self._open = np.flatnonzero(problem.room[name]).tolist()
        positions = np.flatnonzero(problem.kind == kind)
        self.job = dict(zip(positions.tolist(), job[problem.tasks[positions]].tolist(), strict=True))
        self._release = dict(zip(positions.tolist(), problem.release[positions].tolist(), strict=True))
        every = np.arange(nodes)
        self._time = {position: problem.times.on(np.full(nodes, position), every).tolist() for position in self.job}
        #: The first node with slots on which each task takes no time, or None.
        self._free = {
            position: next((node for node in self._open if not time[node]), None)
            for position, time in self._time.items()
        }
        classes: dict[tuple[int, ...], list[int]] = {}
        for position in self.job:
            if self._free[position] is None:
                classes.setdefault((self.job[position], *self._time[position]), []).append(position)
        self._classes = list(classes.values())
        waiting = sum(map(len, self._classes))
        ways = factorial(waiting) // prod(factorial(len(members)) for members in self._classes)
        self.orders = ways * comb(waiting + len(self._open) - 1, waiting) if waiting else 1

    def every(self, last: tuple[int, ...], begin: tuple[int, ...]) -> Iterator[_Placed]:
        """Every order of the tasks on nodes.

        `last` is the earliest end of each job's tasks of this kind, and `begin` when they may begin.
        """
        placed: _Placed = {}
        for position, job in self.job.items():
            node = self._free[position]
            if node is not None:
                instant = max(self._release[position], begin[job], last[job])
                placed[position] = node, instant, instant
        slots = {node: [self._now] * self._idle[node] for node in self._open}
        for node, (job, until) in zip(self._busy_nodes, self.busy, strict=True):
            slots[node].append(max(until, last[job]))
        ends = [sorted(slots[node]) for node in self._open]
        taken = [0] * len(self._classes)

        def follow(at: int, free: list[int], before: int) -> Iterator[_Placed]:
            """Every way to continue at an open node whose slots become free at these times, or at a later one."""
            check()
            if len(placed) == len(self.job):
                yield dict(placed)
                return
            for row in range(at, len(self._open)):
                node, least = self._open[row], before if row == at else -NEVER
                now_free = free if row == at else ends[row]
                for number, members in enumerate(self._classes):
                    if taken[number] == len(members):
                        continue
                    position = members[taken[number]]
                    job = self.job[position]
                    start = max(self._release[position], begin[job], now_free[0])
                    if start < least:
                        continue
                    end = max(start + self._time[position][node], last[job])
                    taken[number] += 1
                    placed[position] = node, start, end
                    yield from follow(row, sorted([*now_free[1:], end]), start)
                    del placed[position]
                    taken[number] -= 1

        return follow(0, ends[0] if ends else [], -NEVER)
