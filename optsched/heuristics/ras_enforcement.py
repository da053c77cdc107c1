"""Sharmilarani et al.'s task scheduler: moves trackers from one placement to the next without overload.

It simulates over time the tasks that end and start, and orders the free slots that are advertised. The placements
come from `ras` or any other heuristic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from optsched.core.deadline import check
from optsched.core.errors import UsageError
from optsched.core.instance import MAP, REDUCE, Floats, Ints
from optsched.core.placement import MICRO, NONE, Placement, microseconds
from optsched.heuristics.running.course import WOKEN, Course, Ends, Service
from optsched.problems.utility import Utility
from optsched.problems.utility_rooms import Rooms

__all__ = ["BUFFER", "Move", "Step", "availability", "enforce"]

#: Seconds for which free slots are gathered before they are advertised in a block (Sharmilarani et al., section III.1).
BUFFER = 2.0

#: The event when free slots have been gathered: they are advertised.
_BLOCK = WOKEN + 1


@dataclass(frozen=True, slots=True)
class Step:
    """An event: at `time` seconds after the decision, `task` (index in the instance) ended or started on `node`."""

    time: float
    what: Literal["ended", "started"]
    task: int
    node: int


@dataclass(frozen=True, eq=False, slots=True)
class Move:
    """A move from one placement to the next.

    Attributes
    ----------
    steps
        What happened, in order.
    seconds
        When the next placement was reached: no tracker runs more tasks of a job than the placement has there, and none
        runs fewer while a task of the job waits.
    runs
        What runs then.
    """

    steps: tuple[Step, ...]
    seconds: float
    runs: Placement


def availability(free: npt.ArrayLike, capacity: npt.ArrayLike) -> Floats:
    """How available each tracker is: the least share of a resource that is free (Sharmilarani et al., section III.1).

    Parameters
    ----------
    free, capacity
        Shape (nodes, resources). A tracker that has nothing of a resource has none of it free.

    Returns
    -------
    Floats
        Shape (nodes,), 1 where there are no resources. Free slots are advertised on the most available tracker first.

    Examples
    --------
    >>> availability([[3, 8], [4, 2]], [[4, 8], [4, 8]]).tolist()
    [0.75, 0.25]
    """
    free, capacity = np.asarray(free, dtype=np.float64), np.asarray(capacity, dtype=np.float64)
    share = np.divide(free, capacity, out=np.zeros_like(free), where=capacity > 0)
    least: Floats = share.min(axis=1, initial=1.0)
    return least


def enforce(
    problem: Utility, current: Placement, target: Placement, seconds: npt.ArrayLike, *, buffer: float = BUFFER
) -> Move:
    """Move a cluster that runs `current` to `target`, starting tasks only where and when they fit.

    No task is stopped or moved to another tracker. `target` says how many tasks of each job a tracker is to run at
    once. Whenever tasks have ended, the trackers that are free for more take tasks, the most available tracker first. A
    tracker chooses among the jobs that run less there than they are to, that have a task waiting, and whose task fits
    what is free now. It takes the one of lowest utility (6), with what the job runs at that moment; a job's reduces go
    before its maps.

    Parameters
    ----------
    problem
        Both placements belong to it. Other tasks of the instance that run keep what they take throughout.
    current
        What runs now, by the decision before.
    target
        The decision to move to. It is read as counts, since it may place running tasks elsewhere.
    seconds
        For each of `problem.tasks` how long it runs from now on where it runs already, else from its start.
    buffer
        Seconds for which free slots are gathered, counted from the first task that ends, before they are advertised in
        a block; 0: at once. It and `seconds` count in whole microseconds.

    Returns
    -------
    Move
        The move always ends, since `target` and what ends earlier leave room for all that is to start.

    Raises
    ------
    UsageError
        If a placement overloads a tracker or is otherwise infeasible, or `seconds` or `buffer` are not finite numbers,
        0 or more.

    References
    ----------
    Sharmilarani et al., sections III.H and III.1. Which utility is meant is not said there.

    Examples
    --------
    A tracker that runs two maps of job a is to run two of job b, each twice as large:

    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> workload = Workload(
    ...     ["a1", "a2", "b1", "b2"], job=[0, 0, 1, 1], job_ids=["a", "b"], demand={"cpu": [1.0, 1.0, 2.0, 2.0]})
    >>> problem = Utility(Instance(Cluster(["t1"], capacity={"cpu": [4.0]}), workload))
    >>> current, target = problem.placement([0, 0, -1, -1]), problem.placement([-1, -1, 0, 0])
    >>> move = enforce(problem, current, target, [10, 20, 30, 30], buffer=0)
    >>> [(step.time, step.what, str(workload.task_ids[step.task])) for step in move.steps]
    [(0.0, 'started', 'b1'), (10.0, 'ended', 'a1'), (20.0, 'ended', 'a2'), (20.0, 'started', 'b2')]
    """
    lasts = np.asarray(seconds, dtype=np.float64)
    if lasts.shape != problem.tasks.shape or not (np.isfinite(lasts) & (lasts >= 0)).all():
        raise UsageError("give seconds, 0 or more, for each of the problem's tasks")
    if not 0 <= buffer < np.inf:
        raise UsageError(f"buffer is {buffer}; give seconds, 0 or more")
    for name, placement in (("current", current), ("target", target)):
        wrong = problem.violations(placement)
        if wrong:
            raise UsageError(f"the {name} placement is infeasible: {wrong[0]}")
    trackers = _Trackers(problem, current, target, lasts, int(microseconds(buffer)))
    trackers.advertise(range(len(problem.free)))
    while not trackers.reached:
        check()
        trackers.pass_block()
    return Move(tuple(trackers.steps), trackers.now / MICRO, problem.placement(trackers.placed))


class _Lasting(Service):
    """Each task takes as long as it is said to, wherever it runs; by microseconds."""

    waits_for_maps = False

    def __init__(self, takes: Ints) -> None:
        self._takes = takes.tolist()

    def started(self, task: int, node: int, now: int) -> Ends:
        return ((task, now + self._takes[task]),)


class _Trackers(Course):
    """The policy that follows a target: what runs on the trackers, and what starts where slots are advertised.

    Jobs' maps and reduces are rows: those of `problem.jobs` twice, the maps' first. Tasks are positions in
    `problem.tasks`.

    Attributes
    ----------
    steps
        What happened so far.
    rooms
        What is free on each tracker, and how many tasks of each job and kind it runs.
    placed
        Of each of `problem.tasks` where it runs now, or -1.
    """

    def __init__(self, problem: Utility, current: Placement, target: Placement, lasts: Floats, buffer: int) -> None:
        super().__init__(len(problem.tasks), _Lasting(microseconds(lasts)))
        self._problem, self._buffer = problem, buffer
        self._target = np.vstack(problem.allocated(target))
        self.rooms = Rooms(problem, problem.allocated(current))
        self.steps: list[Step] = []
        self.placed: Ints = problem.nodes_of(current).copy()
        positions = [*problem.map_positions, *problem.reduce_positions]
        self._row = np.zeros(len(problem.tasks), dtype=np.int64)
        for row, tasks in enumerate(positions):
            self._row[tasks] = row
        #: Tasks of each row that wait, the first one last.
        self._waiting = [tasks[self.placed[tasks] == NONE][::-1].tolist() for tasks in positions]
        #: Trackers on which tasks have ended since the last block.
        self._gathered: set[int] = set()
        self._gathers = False
        for task in np.flatnonzero(self.placed != NONE).tolist():
            self.starts(task, int(self.placed[task]))

    @property
    def reached(self) -> bool:
        """Whether no tracker runs more of anything than it is to."""
        return not (np.vstack(self.rooms.counts) > self._target).any()

    def pass_block(self) -> None:
        """Let time pass until the slots of the next block have been advertised."""
        self._gathers = True
        while self._gathers:
            self.step()

    def ends(self, task: int) -> None:
        super().ends(task)
        node = int(self.placed[task])
        self._change("ended", task, -1)
        self.placed[task] = NONE
        if not self._gathered:
            self.plan(self.now + self._buffer, _BLOCK, 0)
        self._gathered.add(node)

    def happens(self, what: int, index: int) -> None:
        self._gathers = False
        freed = sorted(self._gathered)
        self._gathered = set()
        self.advertise(freed)

    def advertise(self, among: Sequence[int]) -> None:
        """Start what fits on the given trackers, the most available one first."""
        nodes = np.array(among, dtype=np.int64)
        order = np.argsort(-availability(self.rooms.free[nodes], self._problem.capacity[nodes]), kind="stable")
        for node in nodes[order].tolist():
            while (row := self._row_for(node)) is not None:
                task = self._waiting[row].pop()
                self.placed[task] = node
                self._change("started", task, 1)
                self.starts(task, node)

    def _row_for(self, node: int) -> int | None:
        """The task to start on a tracker: of the jobs that may, that of lowest utility, its reduces first."""
        waits = np.array([bool(tasks) for tasks in self._waiting], dtype=bool)
        fits = np.concatenate([self.rooms.fitting(kind, node) for kind in (MAP, REDUCE)])
        runs = np.zeros(len(waits), dtype=np.int64)
        jobs = len(self._problem.jobs)
        for kind in (MAP, REDUCE):
            for job, count in self.rooms.on(kind, node).items():
                runs[kind * jobs + job] = count
        few = runs < self._target[:, node]
        able = np.flatnonzero(waits & fits & few)
        utility = self._problem.utility_units(*(np.array(placed, dtype=np.int64) for placed in self.rooms.placed))
        return int(able[np.lexsort((able < jobs, utility[able % jobs]))[0]]) if len(able) else None

    def _change(self, what: Literal["ended", "started"], task: int, count: int) -> None:
        """`count` (1 or -1) tasks more run, of the row and on the node of `task`."""
        node, (kind, job) = int(self.placed[task]), divmod(int(self._row[task]), len(self._problem.jobs))
        self.rooms.put(kind, job, node, count)
        self.steps.append(Step(self.now / MICRO, what, int(self._problem.tasks[task]), node))
