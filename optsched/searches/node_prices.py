"""Prices of nodes for windows of time: duals of the program that spreads tasks over nodes, with those afar nameless.

A task goes to a node with its data, to the tasks of its lengths that go to an area around its data (a rack), or to
those that go anywhere. So there are as many variables as replicas, and lengths times nodes, and not tasks times nodes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from optsched.deadline import check
from optsched.instance import KINDS, Floats, Ints
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_windows import Window, counted, lengths, ruled_out, too_short
from optsched.problems.schedules import ScheduleProblem
from optsched.problems.service_times import NEVER
from optsched.solvers.highs import LinearProgram, solve_uninterrupted
from optsched.solvers.profiles import Profile

__all__ = ["later_window", "node_prices"]

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
    runs = problem.instance.workload.kind[problem.running] == window.kind
    held = np.zeros(len(room))
    busy = lengths(np.clip(problem.busy_until[runs] - window.begin, 0, long), long, window.function)
    np.add.at(held, problem.instance.state.node[problem.running[runs]], busy / whole)
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
