"""Why jobs of a schedule end when they do: what each task waited for, and the chain of tasks that the makespan is.

From the instant at which its job has arrived (or the snapshot, if that is later) a task waits

- for maps: until so many maps of its job have ended that a reduce may start;
- for slots: from then on, as long as no slot of its kind is free anywhere;
- beside free slots: as long as some node has one free, which the schedule passes by.

The chain of the makespan goes back from the last end. Before each task stands what it started after: the task that left
its slot, the map that its job's reduces waited for, or the arrival of its job; whichever was last. What lies in between
is time in which it could have started.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from optsched.instance import KINDS, MAP, REDUCE, Floats, Ints
from optsched.placement import NONE
from optsched.problems.schedules import NEVER, ScheduleProblem
from optsched.schedule import MICRO, Schedule

__all__ = ["Link", "Waits"]


@dataclass(frozen=True, slots=True)
class Link:
    """A task of the chain of the makespan, and what it started after.

    Attributes
    ----------
    task, node
        Rows of the instance.
    start, end
        Microseconds from which and to which it is in the chain.
    why
        `arrival`: of its job, or the beginning. `slot`: `after` left the slot. `maps`: `after` was the map that its
        job's reduces waited for. `ends-with`: it is a reduce, and ended only with `after`, a map of its job, before
        which the chain goes on. `runs`: it ran at the beginning.
    after
        The row of the task before, or -1.
    idle
        Microseconds for which it could have started already.
    """

    task: int
    node: int
    start: int
    end: int
    why: str
    after: int
    idle: int


class Waits:
    """What the tasks of a feasible schedule waited for.

    Parameters
    ----------
    problem
        What the schedule is of.
    schedule
        Feasible.

    Attributes
    ----------
    tasks
        int64: the rows of the tasks that the schedule starts.
    starts, ends
        int64, of each of these: microseconds.
    maps, slots, passed
        int64, of each of these: microseconds for which it waited for maps, for slots, and beside free slots.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Workload
    >>> from optsched.problems.makespan import Makespan
    >>> problem = Makespan(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[10, 20])))
    >>> waits = Waits(problem, problem.schedule([0, 0], [0, 12_000_000]))
    >>> waits.slots.tolist(), waits.passed.tolist()
    ([0, 10000000], [0, 2000000])
    >>> [(link.task, link.why, link.idle) for link in waits.chain]
    [(0, 'arrival', 0), (1, 'slot', 2000000)]
    """

    def __init__(self, problem: ScheduleProblem, schedule: Schedule) -> None:
        self.problem = problem
        self._nodes = schedule.nodes.copy()
        self._nodes[problem.running] = problem.instance.state.node[problem.running]
        self._ends = problem.ends(schedule)
        self._starts = np.full(len(self._nodes), -NEVER)
        self._starts[problem.tasks] = schedule.starts[problem.tasks]
        self.tasks: Ints = problem.tasks
        self.starts: Ints = schedule.starts[problem.tasks]
        self.ends: Ints = self._ends[problem.tasks]
        self._from_when = problem.reduces_from(self._ends)
        job = problem.jobs.of_task[self.tasks]
        ready = problem.release.copy()
        reduces = (problem.kind == REDUCE) & (self._from_when[job] < NEVER)
        ready[reduces] = np.maximum(ready[reduces], self._from_when[job[reduces]])
        self.maps: Ints = ready - problem.release
        self.passed: Ints = np.zeros(len(self.tasks), dtype=np.int64)
        for kind in (MAP, REDUCE):
            own = problem.kind == kind
            self.passed[own] = self._free_until(kind, self.starts[own]) - self._free_until(kind, ready[own])
        self.slots: Ints = self.starts - ready - self.passed

    def _free_until(self, kind: int, instants: Ints) -> Ints:
        """For how many microseconds before each instant a slot of a kind was free somewhere."""
        room = int(self.problem.room[KINDS[kind]].sum())
        runs = np.flatnonzero((self.problem.instance.workload.kind == kind) & (self._nodes != NONE))
        runs = runs[(self._ends[runs] < NEVER) & (self._ends[runs] > self.problem.now)]
        begin, end = np.sort(np.maximum(self._starts[runs], self.problem.now)), np.sort(self._ends[runs])
        time = np.unique(np.concatenate([[self.problem.now], begin, end, instants]))
        busy = np.searchsorted(begin, time, side="right") - np.searchsorted(end, time, side="right")
        free = np.append(0, np.cumsum(np.diff(time) * (busy[:-1] < room)))
        return np.asarray(free[np.searchsorted(time, instants)])

    @cached_property
    def causes(self) -> dict[str, Floats]:
        """The seconds of each cause, by its name; shape (tasks,)."""
        return {"maps": self.maps / MICRO, "slots": self.slots / MICRO, "passed": self.passed / MICRO}

    def last_of(self, job: int) -> int:
        """The task of a job that ends last, a row of the instance: of those the first, or the one that starts last."""
        own = np.flatnonzero((self.problem.jobs.of_task == job) & (self._ends < NEVER) & (self._nodes != NONE))
        return int(own[np.lexsort((own, -self._starts[own], -self._ends[own]))[0]])

    @cached_property
    def chain(self) -> tuple[Link, ...]:
        """The tasks that the makespan is made of, the first first; none where nothing runs."""
        runs = np.flatnonzero((self._nodes != NONE) & (self._ends < NEVER) & (self._ends > self.problem.now))
        if not len(runs):
            return ()
        last = int(runs[np.lexsort((runs, -self._starts[runs], -self._ends[runs]))[0]])
        links: list[Link] = []
        seen: set[int] = set()
        while last != NONE and last not in seen:
            seen.add(last)  # tasks that take no time may be after each other
            links.append(self._link(last))
            last = links[-1].after
        return tuple(links[::-1])

    def _link(self, task: int) -> Link:
        """A task, and what it started after."""
        problem, end = self.problem, int(self._ends[task])
        node, job = int(self._nodes[task]), int(problem.jobs.of_task[task])
        position = int(np.searchsorted(problem.tasks, task))
        pending = position < len(problem.tasks) and problem.tasks[position] == task
        start = int(self._starts[task]) if pending else problem.now
        late = self._last_map(task, start, position if pending else None)
        if late != NONE:
            return Link(task, node, end, end, "ends-with", late, 0)
        if not pending:
            return Link(task, node, start, end, "runs", NONE, 0)
        found = [(int(problem.release[position]), 0, "arrival", NONE)]
        if self.maps[position]:
            when = int(self._from_when[job])
            of_job = (problem.jobs.of_task == job) & (problem.instance.workload.kind == MAP) & (self._ends == when)
            found.append((when, 1, "maps", int(np.flatnonzero(of_job)[0])))
        found += self._left(task, start)
        when, _, why, after = max(found)
        return Link(task, node, start, end, why, after, start - when)

    def _last_map(self, task: int, start: int, position: int | None) -> int:
        """The map of its job that a reduce ended with, though its own time was over before; -1: it was not."""
        problem = self.problem
        if problem.instance.workload.kind[task] != REDUCE:
            return NONE
        if position is None:
            own = int(problem.busy_until[np.searchsorted(problem.running, task)])
        else:
            own = start + int(problem.times.on(np.array([position]), self._nodes[[task]])[0])
        if own >= self._ends[task]:
            return NONE
        of_job = (problem.jobs.of_task == problem.jobs.of_task[task]) & (problem.instance.workload.kind == MAP)
        return int(np.flatnonzero(of_job & (self._ends == self._ends[task]))[0])

    def _left(self, task: int, start: int) -> list[tuple[int, int, str, int]]:
        """The task that left the slot: the last that ended on the node by then while all its slots were taken."""
        problem = self.problem
        kind = int(problem.instance.workload.kind[task])
        same = (self._nodes == self._nodes[task]) & (problem.instance.workload.kind == kind) & (self._ends < NEVER)
        same &= (self._ends > self._starts) & (self._starts < start)
        same[task] = False
        others = np.flatnonzero(same)
        begin, end = self._starts[others], self._ends[others]
        room = int(problem.room[KINDS[kind]][self._nodes[task]])
        for when in np.unique(end[end <= start])[::-1].tolist():
            if np.count_nonzero((begin < when) & (end >= when)) >= room:
                return [(when, 2, "slot", int(others[end == when][0]))]
        return []
