"""Windows of time that prove much: which kind of slots, from when to when, and by which function of lengths.

All prices are 1 here, so that a task counts as long as it takes at least. Everything is looked at for many instants at
once; certificates recompute what is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from optsched.deadline import check
from optsched.instance import KINDS, MAP, Ints
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_windows import Window, counted, tails
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.service_times import NEVER

__all__ = ["best_window"]

#: Functions of lengths that are tried.
_FUNCTIONS = tuple(range(21))

#: So many instants, beginnings and tails are looked at.
_INSTANTS, _BEGINNINGS, _TAILS = 600, 40, 6


@dataclass(frozen=True)
class _Load:
    """What a window without an end is about: tasks of the same least time together, and what is held.

    Attributes
    ----------
    kind, begin, tail
        As of `Window`.
    time, count
        int64: of each group of tasks.
    held
        int64: microseconds after the beginning for which running tasks hold slots.
    slots
        How many there are.
    """

    kind: int
    begin: int
    tail: int
    time: Ints
    count: Ints
    held: Ints
    slots: int

    def measured(self, ends: Ints, function: int) -> tuple[Ints, Ints]:
        """What each group needs, shape (ends, groups), and what there is, shape (ends,), by ends of the window."""
        long = (ends - self.begin)[:, None]
        need = _lengths(self.time[None, :], long, function) * self.count
        held = _lengths(np.minimum(self.held[None, :], long), long, function).sum(axis=1)
        whole = long[:, 0] * max(1, function)
        return need, whole * self.slots - held

    def possible(self, ends: Ints, function: int) -> bool:
        """Whether no number of `measured` is too large for 64 bits."""
        tasks = int(self.count.sum()) + self.slots + len(self.held)
        return (int(ends.max()) - self.begin) * (function + 1) * tasks < NEVER

    def window(self, end: int, function: int) -> Window:
        """The window that ends then."""
        return Window(self.kind, self.begin, int(end), self.tail, function)


def _lengths(times: Ints, long: Ints, function: int) -> Ints:
    """As `lengths`, for many windows; what does not fit counts a little more than a slot."""
    if not function:
        return np.where(times > long, long + 1, times)
    more = (function + 1) * np.minimum(times, long)
    whole = more // long
    found = np.where(more == whole * long, function * times, long * whole)
    return np.where(times > long, function * long + 1, found)


def _loads(problem: ScheduleProblem) -> Iterator[_Load]:
    """What windows may be about: each kind of slots, from each of some beginnings on, and with tails."""
    for kind, name in enumerate(KINDS):
        slots = int(problem.room[name].sum())
        own = problem.kind == kind
        if not slots or not own.any():
            continue
        runs = problem.instance.workload.kind[problem.running] == kind
        begins = _some(np.unique(np.append(problem.earliest_starts[own], problem.now)), _BEGINNINGS)
        after = _some(np.unique(np.append(tails(problem), 0)), _TAILS) if kind == MAP else np.zeros(1, int)
        for begin in begins.tolist():
            for tail in after.tolist():
                tasks = np.flatnonzero(counted(problem, Window(kind, begin, begin + 1, tail)))
                if tail:
                    tasks = tasks[_waited_for(problem, tasks)]
                time, count = np.unique(problem.least_times[tasks], return_counts=True)
                held = np.maximum(problem.busy_until[runs] - begin, 0)
                yield _Load(kind, begin, tail, time, count, held[held > 0], slots)


def _waited_for(problem: ScheduleProblem, tasks: Ints) -> Ints:
    """Of maps those that their jobs' reduces wait for, were they the shortest; positions among `tasks`."""
    runs = problem.running[problem.instance.workload.kind[problem.running] == MAP]
    started = np.bincount(problem.jobs.of_task[runs], minlength=len(problem.jobs))
    job, time = problem.jobs.of_task[problem.tasks[tasks]], problem.least_times[tasks]
    order = np.lexsort((time, job))
    place = np.arange(len(order)) - np.searchsorted(job[order], job[order])
    return np.asarray(order[place < (problem.maps_before_reduces - started)[job[order]]])


def _some(values: Ints, most: int) -> Ints:
    """At most so many of sorted values, evenly chosen, the first and the last among them."""
    if len(values) <= most:
        return values
    return values[np.unique(np.linspace(0, len(values) - 1, most).round().astype(np.int64))]


def _instants(problem: ScheduleProblem, low: int, high: int) -> Ints:
    """Instants from `low` to `high` (microseconds) at which windows may end; all at which something may, if few."""
    step = problem.lattice
    low, high = problem.next_end(low), problem.next_end(high)
    number = (high - low) // step + 1
    if number <= _INSTANTS:
        return low + step * np.arange(max(0, number), dtype=np.int64)
    even = low + step * np.linspace(0, number - 1, _INSTANTS // 2).astype(np.int64)
    lengths_of = _some(np.unique(problem.least_times[problem.least_times > 0]), 8)
    begins = _some(np.unique(problem.earliest_starts), 8)
    times = np.arange(1, 65)
    full = (begins[:, None, None] + lengths_of[None, :, None] * times[None, None, :]).ravel() - step
    full = _some(np.unique(full[(full >= low) & (full <= high)]), _INSTANTS // 2)
    return np.unique(np.append(even, full))


def best_window(problem: Makespan, below: int) -> Window | None:
    """The window that rules out the latest end before `below` (microseconds); None where none is found."""
    best: Window | None = None
    for load in _loads(problem):
        check()
        window = _latest(problem, load, below)
        if window is not None and (best is None or _end(window) > _end(best)):
            best = window
    return best


def _end(window: Window) -> int:
    return window.end + window.tail


def _latest(problem: Makespan, load: _Load, below: int) -> Window | None:
    """The window of a load that rules out the latest end before `below`."""
    area = int((load.time * load.count).sum()) + int(load.held.sum())
    plain = load.begin + load.tail + -(-area // load.slots)  # the first end that the area allows
    first = max(load.begin + load.tail + 1, problem.next_end(plain) - problem.lattice)
    ends = _instants(problem, min(first, below - 1), below - 1) - load.tail
    ends = ends[ends > load.begin]
    best: tuple[int, int] | None = None
    for function in _FUNCTIONS if len(ends) else ():
        if not load.possible(ends, function):
            continue
        need, room = load.measured(ends, function)
        out = np.flatnonzero(need.sum(axis=1) > room)
        if len(out) and (best is None or ends[out[-1]] > best[0]):
            best = int(ends[out[-1]]), function
    return None if best is None else load.window(*best)
