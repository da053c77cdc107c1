"""Enumerates the schedules of a small instance: slow and plain, to check other ways against.

Of all feasible schedules there are too many to try. It suffices to give each node's tasks of a kind in every order, and
to start each as early as it can be, in that order (Baker 1974: semi-active schedules):

- No value grows where no task ends later. Maps never wait for reduces, and what they do to reduces (when they may
  start, when they may end, when slots of running ones become free) is no later where no map ends later. So maps come
  first, and of two outcomes of them one that is nowhere earlier than the other is left out.
- Take a node's tasks of a kind in the order of their starts in a feasible schedule, and put each on the slot that is
  free first. Then none starts later than it did. By induction: sort the instants at which the slots become free, and
  count one that is before the start of the last task as that start; then each is no later here than there. A task
  starts there no sooner than some slot is free, so it starts here no later; it ends no later, since its end never falls
  as its start grows; and its slot, the first of them, is replaced by that end.
- Repeated, this ends with tasks in the order of their starts, since no start grows and all are whole. So an order in
  which a task would start before the last one is left out.
- A task that takes no time on a node needs no slot there: a map at its release, a reduce at the end of its job's last
  map or its release. It cannot end sooner anywhere, so no other node is tried.
- Tasks of a job that take the same time everywhere change places without a change; they keep their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb, factorial, prod
from operator import le
from typing import NamedTuple

import numpy as np

from optsched.core.deadline import check
from optsched.core.errors import TooLarge
from optsched.core.instance import KINDS, MAP, REDUCE
from optsched.core.results import Value
from optsched.problems.schedules import NEVER, ScheduleProblem

__all__ = ["Timed", "semi_active"]

#: A schedule's value as it compares (less is better), and node and start of each task to run.
Timed = tuple[Value, tuple[list[int], list[int]]]

#: More orders than this are refused.
MOST_ORDERS = 5_000_000

#: More tasks are refused even where there is one order: the enumeration recurses once a task.
MOST_TASKS = 100


def semi_active(problem: ScheduleProblem, most: int = MOST_ORDERS) -> Iterator[Timed]:
    """Schedules among which is an optimum, each with its value; nothing where none is feasible.

    Raises
    ------
    TooLarge
        If there may be more than `most` orders of the tasks on nodes, or more than `MOST_TASKS` tasks.

    Examples
    --------
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
    if len(problem.tasks) > MOST_TASKS:  # of more tasks the number of orders alone may have more digits than fit a page
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
    """The refusal of more than `most` orders or tasks."""
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
        """What these ends of maps, and those of running ones, leave."""
        ends: list[list[int]] = [[] for _ in problem.jobs.ids]
        for job, end in (*maps.busy, *((maps.job[position], end) for position, (_, _, end) in placed.items())):
            ends[job].append(end)
        needed = problem.maps_before_reduces.tolist()
        return cls(
            tuple(max(held, default=-NEVER) for held in ends),
            tuple(sorted(held)[need - 1] if need else -NEVER for held, need in zip(ends, needed, strict=True)),
        )


def _undominated(problem: ScheduleProblem, maps: _Kind) -> list[tuple[_After, _Placed]]:
    """Outcomes of the maps, each with maps that have it, without those that are nowhere earlier than another."""
    nothing = (-NEVER,) * len(problem.jobs)
    found: dict[_After, _Placed] = {}
    for placed in maps.every(nothing, nothing):
        found.setdefault(_After.of(problem, maps, placed), placed)
    kept: list[tuple[_After, _Placed]] = []
    for after in sorted(found):  # one that is nowhere later comes first
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
    """The tasks of one kind that wait, by their positions, and the slots for them.

    `job` is the job of each. `busy` is of each task that runs its job, and when it would end if the maps had ended.
    `orders` is in how many ways its tasks may follow each other on nodes, at most.
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
        self._free = {position: self._free_node(position) for position in self.job}
        classes: dict[tuple[int, ...], list[int]] = {}
        for position in self.job:
            if self._free[position] is None:
                classes.setdefault((self.job[position], *self._time[position]), []).append(position)
        self._classes = list(classes.values())
        waiting = sum(map(len, self._classes))
        ways = factorial(waiting) // prod(factorial(len(members)) for members in self._classes)
        self.orders = ways * comb(waiting + len(self._open) - 1, waiting) if waiting else 1

    def _free_node(self, position: int) -> int | None:
        """The first node with slots on which a task takes no time."""
        return next((node for node in self._open if not self._time[position][node]), None)

    def every(self, last: tuple[int, ...], begin: tuple[int, ...]) -> Iterator[_Placed]:
        """Every order of the tasks on nodes.

        `last` is when each job's tasks of this kind end at the earliest, and `begin` when they may begin.
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
            """Every way to go on at an open node whose slots become free at these times, or at a later one."""
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
