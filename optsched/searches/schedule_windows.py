"""Finds windows of time that prove a good bound of a makespan: which slots, which instants, which function.

A task counts as long as it takes at least. Everything is looked at for many instants at once; certificates recompute
what is kept. Windows are exact to the microsecond, where prices of slots by time round to a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import KINDS, MAP, Ints
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_windows import Window, counted, first_maps, lengths, tails
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.service_times import NEVER

__all__ = ["best_window"]

#: Functions of lengths that are tried.
_FUNCTIONS = tuple(range(21))

#: Instants, beginnings and tails that are looked at.
_INSTANTS, _BEGINNINGS, _TAILS = 600, 40, 6


@dataclass(frozen=True)
class _Load:
    """The load of a window without an end: tasks of the same least time together, and slots that running tasks hold.

    Attributes
    ----------
    kind, begin, tail
        As of `Window`.
    time, count
        int64: of each group of tasks.
    busy
        int64: microseconds after the beginning for which running tasks hold slots.
    slots
        How many there are.
    """

    kind: int
    begin: int
    tail: int
    time: Ints
    count: Ints
    busy: Ints
    slots: int

    def measured(self, ends: Ints, function: int) -> tuple[Ints, Ints]:
        """The need of each group, shape (ends, groups), and the supply, shape (ends,), by ends of the window.

        What does not fit counts a little more than a slot.
        """
        long = (ends - self.begin)[:, None]
        whole = long * max(1, function)
        need = np.minimum(lengths(self.time[None, :], long, function), whole + 1) * self.count
        taken = lengths(np.minimum(self.busy[None, :], long), long, function).sum(axis=1)
        return need, whole[:, 0] * self.slots - taken

    def possible(self, ends: Ints, function: int) -> bool:
        """Whether no number of `measured` is too large for 64 bits."""
        tasks = int(self.count.sum()) + self.slots + len(self.busy)
        return (int(ends.max()) - self.begin) * (function + 1) * tasks < NEVER


def _loads(problem: ScheduleProblem) -> Iterator[_Load]:
    """The loads of windows: each kind of slots, from each of some beginnings on, and with tails."""
    for kind, name in enumerate(KINDS):
        slots = int(problem.room[name].sum())
        own = problem.kind == kind
        if not slots or not own.any():
            continue
        until = problem.running_of(kind)[1]
        begins = _some(np.unique(np.append(problem.earliest_starts[own], problem.now)), _BEGINNINGS)
        after = _some(np.unique(np.append(tails(problem), 0)), _TAILS) if kind == MAP else np.zeros(1, int)
        for begin in begins.tolist():
            for tail in after.tolist():
                tasks = np.flatnonzero(counted(problem, Window(kind, begin, begin + 1, tail)))
                if tail:
                    tasks = tasks[first_maps(problem, tasks, problem.least_times[tasks])]
                time, count = np.unique(problem.least_times[tasks], return_counts=True)
                busy = np.maximum(until - begin, 0)
                yield _Load(kind, begin, tail, time, count, busy[busy > 0], slots)


def _some(values: Ints, most: int) -> Ints:
    """Choose at most `most` of sorted values evenly, the first and the last among them."""
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
    area = int((load.time * load.count).sum()) + int(load.busy.sum())
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
    return None if best is None else Window(load.kind, load.begin, best[0], load.tail, best[1])
