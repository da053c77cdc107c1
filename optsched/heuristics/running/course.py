"""Runs tasks over time from event to event: they start, take the time that a service gives, and end.

The engine of simulations (`heuristics.simulating.engine`) derives from `Course` and decides which tasks start.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np

from optsched.core.brief import brief
from optsched.core.deprecated import Renamed, take_former
from optsched.core.errors import HeuristicFailed, OptschedError
from optsched.core.instance import LARGEST, RUNNING, Floats, Instance, Ints, State
from optsched.core.outside import raised
from optsched.core.placement import microseconds

__all__ = [
    "Course",
    "END",
    "Ends",
    "NEVER",
    "Progress",
    "Service",
    "WAKE",
    "WOKEN",
]

# How long tasks take -------------------------------------------------------------------------------------------------
# Services give the durations of tasks over time; they are in `optsched.heuristics.simulating`. All times are whole
# microseconds; tasks and nodes are indices of the instance.

#: Stands for a task in an answer of a service that wants to be woken at a time.
WAKE = -1

#: Tasks, each with the microsecond at which it currently ends.
Ends = Iterable[tuple[int, int]]

_NONE: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Progress:
    """What has become known about running tasks since the last call.

    Attributes
    ----------
    tasks, bytes_read
        Tasks, and the MB of its input that each has read by now.
    entries, emitted
        Entries of the instance's shuffle, and the MB that were emitted by now.
    """

    tasks: Ints
    bytes_read: Floats
    entries: Ints
    emitted: Floats


class Service(ABC):
    """Gives the ends of tasks.

    Every answer is a row of pairs (task, end): each of these running tasks ends at its `end`, now or later, unless a
    later answer changes it. A task that no answer has named yet runs on. `(WAKE, time)` asks to be `woken` at that
    time; a later one replaces an earlier one. The same calls get the same answers.

    At one instant tasks end first, in the order of the instance. Then the service is woken, jobs arrive, and tasks
    start.

    Attributes
    ----------
    waits_for_maps
        Whether a reduce whose time is over before its job's last map has ended ends with that map. False: the service
        handles that itself.
    stateless
        Whether it stores nothing about running tasks, so that it may be prepared with another instance while they run.
    """

    waits_for_maps: bool = True
    stateless: bool = False

    def prepare(self, instance: Instance) -> None:  # noqa: B027  # what needs nothing of the instance need not say so
        """Start over with an instance; called once per run, before everything else.

        Raises
        ------
        MissingField
            If the instance lacks what it needs.
        """

    @abstractmethod
    def started(self, task: int, node: int, now: int) -> Ends:
        """A task starts at `now`. Those that run at the snapshot come first, in the order of their starts."""

    def ended(self, task: int, now: int) -> Ends:
        """A task has ended at the time that the service gave."""
        return _NONE

    def stopped(self, task: int, now: int) -> Ends:
        """A task was removed from its node before its end, and waits again."""
        return _NONE

    def node_changed(self, node: int, there: bool, now: int) -> Ends:
        """A node is lost, or is back; tasks that ran on a lost one are stopped next."""
        return _NONE

    def woken(self, now: int) -> Ends:
        """The requested time has come."""
        return _NONE

    def progress(self, beats: Ints, now: int) -> Progress | None:
        """What policies learn before the first offer of an instant; a service that reports nothing does not define it.

        Parameters
        ----------
        beats
            int64, shape (nodes,): the last heartbeat of each node, at which its tasks reported.
        now
            The time.
        """
        return None

    def __init_subclass__(cls) -> None:
        take_former(cls, "told", "label")

    told = Renamed("label")

    @property
    def label(self) -> str:
        """Its name in records of runs."""
        return type(self).__name__

    def __repr__(self) -> str:
        return brief(f"Service {self.label}")


#: The end of a task that has not ended.
NEVER = 2**60

#: The order of events at an instant: tasks end, the service is woken; then planned events, by their numbers.
END, WOKEN = range(2)


class Course:
    """Running tasks and future events, in order of (time in whole microseconds, kind of event, index).

    The service must be prepared already.

    Attributes
    ----------
    now
        The time.
    node, start, end
        For each task: where it ran, and from when to when; -1 and `NEVER` if it did not.
    running
        How many tasks run.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.heuristics.simulating import Recorded
    >>> service = Recorded()
    >>> service.prepare(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[2, 3])))
    >>> course = Course(2, service)
    >>> course.starts(0, 0)
    >>> course.starts(1, 0)
    >>> while course.coming < NEVER:
    ...     course.step()
    >>> course.end
    [2000000, 3000000]
    """

    def __init__(self, tasks: int, service: Service, now: int = 0) -> None:
        self.service, self.now = service, now
        self.node, self.start, self.end = [-1] * tasks, [NEVER] * tasks, [NEVER] * tasks
        self.running = 0
        #: The current end of each task, and the future events; an end that has moved since is skipped.
        self._due = [NEVER] * tasks
        self._heap: list[tuple[int, int, int]] = []
        self._wakes = NEVER

    @property
    def coming(self) -> int:
        """The time of the next event; `NEVER` if there is none."""
        return self._heap[0][0] if self._heap else NEVER

    def plan(self, time: int, what: int, index: int) -> None:
        """Call `happens` at a time."""
        heappush(self._heap, (time, what, index))

    def step(self) -> None:
        """Process the next event."""
        time, what, index = heappop(self._heap)
        if time != self.now:
            self.moves_to(time)
        if what == END:
            if self._due[index] == time:
                self._due[index] = NEVER
                self.ends(index)
        elif what != WOKEN:
            self.happens(what, index)
        elif self._wakes == time:
            self._wakes = NEVER
            self.ask("woken", time)

    def starts(self, task: int, node: int) -> None:
        """A task starts."""
        now = self.now
        self.node[task], self.start[task] = node, now
        self.running += 1
        self.ask("started", task, node, now)

    def resume(self, state: State) -> None:
        """Continue the tasks that run in a snapshot, in the order of their starts; what should be over ends now."""
        begun = microseconds(np.nan_to_num(state.start))
        running = np.flatnonzero(state.status == RUNNING)
        for task in running[np.argsort(begun[running], kind="stable")].tolist():
            self.node[task], self.start[task] = int(state.node[task]), int(begun[task])
            self.running += 1
            self.ask("started", task, self.node[task], self.start[task], by=self.now)

    def stops(self, task: int) -> None:
        """A running task is removed from its node, and may start over."""
        self.node[task], self.start[task], self._due[task] = -1, NEVER, NEVER
        self.running -= 1
        self.ask("stopped", task, self.now)

    def moves_to(self, time: int) -> None:
        """Time passes."""
        self.now = time

    def ends(self, task: int) -> None:
        """The time of a task is over."""
        self.end[task] = self.now
        self.running -= 1
        self.ask("ended", task, self.now)

    def happens(self, what: int, index: int) -> None:
        """A planned event happens."""
        raise AssertionError(f"nothing of kind {what} is planned")

    def label(self, task: int) -> str:
        """The name of a task in messages."""
        return str(task)

    def ask(self, what: str, *arguments: Any, by: int | None = None) -> None:
        """Ask the service, and process its answer; HeuristicFailed describes faults of a user's own service."""
        try:
            self._take(getattr(self.service, what)(*arguments), by)
        except Exception as error:
            if isinstance(error, OptschedError) or type(self.service).__module__.startswith("optsched."):
                raise
            raise HeuristicFailed(
                f"the service {type(self.service).__name__} raised {raised(error)} in {what}; it must answer a row of "
                "pairs: a running task, and the microsecond at which it ends"
            ) from error

    def _take(self, ends: Iterable[tuple[int, int]] | None, by: int | None = None) -> None:
        """Process an answer of the service, None for none; ends before `by` are moved to `by`."""
        for task, end in () if ends is None else ends:
            if type(end) is not int or not self.now <= end <= LARGEST:
                end = self._checked(task, end, by)
            if task == WAKE:
                self._wakes = end
                heappush(self._heap, (end, WOKEN, 0))
            elif not 0 <= task < len(self.start) or self.start[task] == NEVER or self.end[task] != NEVER:
                raise HeuristicFailed(f"the service {type(self.service).__name__} names {task!r}, no task that runs")
            elif self._due[task] != end:
                self._due[task] = end
                heappush(self._heap, (end, END, task))

    def _checked(self, task: int, end: Any, by: int | None) -> int:
        """The end in a service's answer; HeuristicFailed if it is invalid."""
        if isinstance(end, int | np.integer) and not isinstance(end, bool):
            units = int(end) if by is None else max(int(end), by)
            if self.now <= units <= LARGEST:
                return units
        name = self.label(task) if task != WAKE else "the service itself"
        raise HeuristicFailed(
            f'the service {type(self.service).__name__} answers {end!r} for "{name}" at {self.now}; give whole '
            "microseconds, now or later"
        )
