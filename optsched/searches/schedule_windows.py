"""Windows of time that prove much: which slots, from when to when, by which function of lengths and which prices.

Prices are 1 at first, so that a task counts as long as it takes at least. Everything is looked at for many instants at
once; certificates recompute what is kept.

Prices of nodes are duals of the program that spreads tasks over nodes, with those afar nameless: a task goes to a node
with its data, to the tasks of its lengths that go to an area around its data (a rack), or to those that go anywhere. So
there are as many variables as replicas, and lengths times nodes, and not tasks times nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from optsched.core.deadline import check
from optsched.core.instance import KINDS, MAP, Floats, Ints
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_windows import Window, counted, first_maps, lengths, ruled_out, tails, too_short
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.service_times import NEVER
from optsched.solvers.highs import LinearProgram, solve_uninterrupted
from optsched.solvers.profiles import Profile

__all__ = ["best_window", "later_window", "node_prices"]

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
        """What each group needs, shape (ends, groups), and what there is, shape (ends,), by ends of the window.

        What does not fit counts a little more than a slot.
        """
        long = (ends - self.begin)[:, None]
        whole = long * max(1, function)
        need = np.minimum(lengths(self.time[None, :], long, function), whole + 1) * self.count
        held = lengths(np.minimum(self.held[None, :], long), long, function).sum(axis=1)
        return need, whole[:, 0] * self.slots - held

    def possible(self, ends: Ints, function: int) -> bool:
        """Whether no number of `measured` is too large for 64 bits."""
        tasks = int(self.count.sum()) + self.slots + len(self.held)
        return (int(ends.max()) - self.begin) * (function + 1) * tasks < NEVER


def _loads(problem: ScheduleProblem) -> Iterator[_Load]:
    """What windows may be about: each kind of slots, from each of some beginnings on, and with tails."""
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
                held = np.maximum(until - begin, 0)
                yield _Load(kind, begin, tail, time, count, held[held > 0], slots)


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
    return None if best is None else Window(load.kind, load.begin, best[0], load.tail, best[1])


#: Prices are up to this, so that they can be multiplied by lengths.
_LARGEST = 1000

#: Larger programs are not posed: so many coefficients take seconds.
_ARCS = 200_000


class _Rows:
    """Coefficients of a program, by row and column."""

    def __init__(self) -> None:
        self.rows: list[Ints] = []
        self.columns: list[Ints] = []
        self.values: list[Floats] = []
        self.count = 0

    def arcs(self, tails: Ints, heads: Ints, weights: Floats) -> None:
        """Variables that take 1 from a row and add a weight to another one each."""
        columns = self.count + np.arange(len(tails))
        self.rows += [tails, heads]
        self.columns += [columns, columns]
        self.values += [np.ones(len(tails)), weights]
        self.count += len(tails)


def node_prices(problem: ScheduleProblem, window: Window) -> Ints | None:
    """Prices of nodes by which the tasks of a window need most; None where there are none, or the program is too large.

    Parameters
    ----------
    problem
        What it is about.
    window
        Without a tail; its prices do not count.
    """
    tasks = np.flatnonzero(counted(problem, window))
    room = problem.room[KINDS[window.kind]]
    long = window.end - window.begin
    whole = long * max(1, window.function)
    nodes, until, _ = problem.running_of(window.kind)
    held = np.zeros(len(room))
    np.add.at(held, nodes, lengths(np.clip(until - window.begin, 0, long), long, window.function) / whole)
    posed = _posed(problem, tasks, lambda times: lengths(times, long, window.function), whole, room - held)
    if posed is None:
        return None
    check()
    found = solve_uninterrupted(posed, Profile("prices of nodes"))
    if found.row_duals is None:
        return None
    duals = np.maximum(-found.row_duals[-len(room) :], 0.0)
    if duals.max(initial=0.0) <= 0:
        return None
    prices: Ints = np.rint(duals * (_LARGEST / duals.max())).astype(np.int64)
    return prices


def _posed(
    problem: ScheduleProblem, tasks: Ints, counted: Callable[[Ints], Ints], whole: int, room: Floats
) -> LinearProgram | None:
    """The least part of all nodes' room that holds the tasks; rows are tasks, groups of them by area, and nodes."""
    nodes, near = len(problem.instance.cluster), problem.times.near
    kinds, group = np.unique(counted(problem.times.by_level[tasks]), axis=0, return_inverse=True)
    group, groups = group.ravel(), len(kinds)
    direct = [level.of_tasks(tasks) for level in near[:-1][:1]]  # a single node has but one level
    arcs = sum(len(sizes) for _, sizes in direct)
    if arcs + 3 * len(tasks) + (len(near) - 1) * groups * nodes > _ARCS:
        return None
    around = near[1:] if direct else near
    widths = [int(level.area.max(initial=0)) + 1 for level in around]
    first_hub = len(tasks) + groups * np.append(0, np.cumsum(widths))
    first_node = int(first_hub[-1])
    usable = problem.room[KINDS[int(problem.kind[tasks[0]])]] > 0 if len(tasks) else np.zeros(nodes, dtype=bool)
    rows = _Rows()
    for replicas, times in direct:
        task, node, sizes = replicas.row_of, replicas.values, counted(times)
        own = usable[node] & (sizes < NEVER)
        rows.arcs(task[own], first_node + node[own], sizes[own] / whole)
    for level, width, first in zip(around, widths, first_hub.tolist(), strict=False):
        held, _ = level.of_tasks(tasks)
        hub = first + group[held.row_of] * width + held.values
        rows.arcs(held.row_of, hub, np.full(len(hub), -1.0))
    place = np.flatnonzero(usable)
    for number, size in enumerate(kinds[:, -len(around) :].tolist()):
        for level, width, first, takes in zip(around, widths, first_hub.tolist(), size, strict=False):
            if takes < NEVER:
                there = place[level.area[place] >= 0]
                hub = first + number * width + level.area[there]
                rows.arcs(hub, first_node + there, np.full(len(there), takes / whole))
    rows.rows.append(first_node + np.arange(nodes))
    rows.columns.append(np.full(nodes, rows.count))
    rows.values.append(-np.maximum(room, 0.0))
    total = first_node + nodes
    entries = np.concatenate(rows.values), (np.concatenate(rows.rows), np.concatenate(rows.columns))
    count = rows.count + 1
    due = np.concatenate([np.ones(len(tasks)), np.zeros(first_node - len(tasks))])
    return LinearProgram(
        objective=np.append(np.zeros(rows.count), 1.0),
        col_lower=np.zeros(count),
        col_upper=np.full(count, np.inf),
        integer=np.zeros(count, dtype=bool),
        row_lower=np.concatenate([due, np.full(nodes, -np.inf)]),
        row_upper=np.concatenate([due, np.zeros(nodes)]),
        matrix=sp.csr_array(entries, shape=(total, count)),
    )


def later_window(problem: Makespan, window: Window, below: int) -> Window | None:
    """A window from the same beginning with prices of nodes that rules out a later end before `below`, or None.

    Ends are tried by halves, each with the prices for it, with tasks as long as they are and by the window's function.
    """
    best, low, high = None, problem.next_end(window.end + 1), below
    while low < high:
        middle = problem.next_end((low + high) // 2)
        middle = middle if middle < high else low
        found = next((each for each in _priced(problem, window, middle) if ruled_out(problem, each)), None)
        if found is None:
            high = middle
        else:
            best, low = found, problem.next_end(middle + 1)
    return best


def _priced(problem: Makespan, window: Window, end: int) -> list[Window]:
    """Windows that end then, with prices of nodes."""
    found = []
    for function in sorted({0, window.function}):
        posed = window._replace(end=end, tail=0, function=function, prices=None)
        prices = node_prices(problem, posed)
        if prices is not None and too_short(problem, posed._replace(prices=prices)) is None:
            found.append(posed._replace(prices=prices))
    return found
