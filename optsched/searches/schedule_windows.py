"""Windows of time that prove much: which kind of slots, from when to when, and by which function of lengths.

All prices are 1 here, so that a task counts as long as it takes at least. Everything is looked at for many instants at
once; certificates recompute what is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from optsched.deadline import check
from optsched.instance import KINDS, MAP, Floats, Ints
from optsched.problems.completion_counts import cheap_limits
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_windows import Window, counted, tails
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.service_times import NEVER

__all__ = ["best_window", "counting_windows"]

#: Functions of lengths that are tried.
_FUNCTIONS = tuple(range(21))

#: So many instants, beginnings and tails are looked at.
_INSTANTS, _BEGINNINGS, _TAILS = 600, 40, 6

#: No more than so many counts of lengths at once.
_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class _Load:
    """What a window without an end is about: tasks of the same job and least time together, and what is held.

    Attributes
    ----------
    kind, begin, tail
        As of `Window`.
    job, time, count
        int64: of each group of tasks, sorted by job.
    held
        int64: microseconds after the beginning for which running tasks hold slots.
    slots
        How many there are.
    """

    kind: int
    begin: int
    tail: int
    job: Ints
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


def _loads(problem: ScheduleProblem, tailed: bool = False) -> Iterator[_Load]:
    """What windows may be about: each kind of slots, from each of some beginnings on, and with tails."""
    job = problem.jobs.of_task[problem.tasks]
    for kind, name in enumerate(KINDS):
        slots = int(problem.room[name].sum())
        own = problem.kind == kind
        if not slots or not own.any():
            continue
        runs = problem.instance.workload.kind[problem.running] == kind
        begins = _some(np.unique(np.append(problem.earliest_starts[own], problem.now)), _BEGINNINGS)
        after = _some(np.unique(np.append(tails(problem), 0)), _TAILS) if tailed and kind == MAP else np.zeros(1, int)
        for begin in begins.tolist():
            for tail in after.tolist():
                tasks = np.flatnonzero(counted(problem, Window(kind, begin, begin + 1, tail)))
                if tail:
                    tasks = tasks[_waited_for(problem, tasks)]
                pairs = np.stack([job[tasks], problem.least_times[tasks]])
                groups, count = np.unique(pairs, axis=1, return_counts=True)
                held = np.maximum(problem.busy_until[runs] - begin, 0)
                yield _Load(kind, begin, tail, groups[0], groups[1], count, held[held > 0], slots)


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
    for load in _loads(problem, tailed=True):
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


def counting_windows(problem: JobTimes, until: int, alone: Ints | None = None) -> list[Window]:
    """Windows by which few jobs have ended: at each of many instants before `until` the best one of each kind.

    What adds nothing to the others, and to counting, is left out; `alone` is as of `cheap_limits`.
    """
    weights = np.array([float(weight) for weight in problem.weights])
    ends = _instants(problem, problem.now + 1, until)
    alone = problem.earliest_completions if alone is None else alone
    best: dict[int, tuple[Floats, list[Window | None]]] = {
        kind: (np.full(len(ends), np.inf), [None] * len(ends)) for kind in range(len(KINDS))
    }
    for load in _loads(problem):
        later = np.flatnonzero(ends > load.begin)
        if not len(later):
            continue
        most, chosen = best[load.kind]
        for function in _FUNCTIONS:
            if not load.possible(ends[later], function):
                continue
            check()
            found = _weight_ended(load, ends[later], function, weights, alone)
            for place in np.flatnonzero(found < most[later] - 1e-9).tolist():
                most[later[place]] = found[place]
                chosen[later[place]] = load.window(int(ends[later[place]]), function)
    return list(_needed(problem, ends, best, alone))


def _weight_ended(load: _Load, ends: Ints, function: int, weights: Floats, alone: Ints) -> Floats:
    """How much weight of jobs can have ended by each end at most, about."""
    found = np.empty(len(ends))
    rows = max(1, _AT_ONCE // max(1, len(load.time)))
    for begin in range(0, len(ends), rows):
        part = ends[begin : begin + rows]
        need, room = load.measured(part, function)
        of_job = np.zeros((len(part), len(weights)), dtype=np.int64)
        if len(load.job):
            first = np.flatnonzero(np.append(True, load.job[1:] != load.job[:-1]))
            of_job[:, load.job[first]] = np.add.reduceat(need, first, axis=1)
        fits = (alone[None, :] <= part[:, None]) & (of_job <= room[:, None]) & (weights > 0)
        per_weight = np.where(fits, of_job / np.maximum(weights, 1e-300), np.inf)
        order = np.argsort(per_weight, axis=1, kind="stable")
        sorted_need = np.take_along_axis(np.where(fits, of_job, 0), order, axis=1)
        sorted_weight = np.take_along_axis(np.where(fits, weights, 0.0), order, axis=1)
        sums = np.cumsum(sorted_need, axis=1)
        within = sums <= room[:, None]
        found[begin : begin + rows] = (sorted_weight * within).sum(axis=1)
    return found


def _needed(
    problem: JobTimes, ends: Ints, best: dict[int, tuple[Floats, list[Window | None]]], alone: Ints
) -> Iterator[Window]:
    """The windows that say more than those that end later, and than counting."""
    limits = sorted(cheap_limits(problem, alone))
    instants = np.array([until for until, _ in limits], dtype=np.int64)
    worth = np.array([float(most) for _, most in limits])
    least = np.append(np.minimum.accumulate(worth[::-1])[::-1], np.inf)
    cheap = least[np.searchsorted(instants, ends, side="right")]
    lowest = np.inf
    for place in range(len(ends) - 1, -1, -1):
        most = min(most[place] for most, _ in best.values())
        if most < min(lowest, cheap[place]) - 1e-9:
            lowest = most
            for _, chosen in best.values():
                window = chosen[place]
                if window is not None:
                    yield window
