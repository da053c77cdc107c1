"""Windows of time by which the tasks of a kind do not all end so soon; certificates recompute what is kept.

With a function of lengths a window is exact to the microsecond, where prices of slots by time round to a step. With
prices of nodes it shows that the data of many tasks is on few nodes. These prices are duals of the program that spreads
tasks over nodes. Tasks that take the same time in an area (a node, a rack, anywhere) meet at a hub, from which they go
on to its nodes: so there are as many variables as replicas, and hubs times nodes, and not tasks times nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from optsched.core.deadline import check
from optsched.core.instance import KINDS, Floats, Ints
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_bounds import Window, counted, ruled_out, too_short
from optsched.problems.schedules import ScheduleProblem
from optsched.solvers.highs import LinearProgram, solve_uninterrupted
from optsched.solvers.profiles import Profile

__all__ = ["latest_window", "node_prices"]

#: Prices are up to this, so that they can be multiplied by lengths.
_LARGEST = 1000

#: Larger programs are not posed: this many variables take seconds.
_ARCS = 100_000

#: Functions of lengths, and the most beginnings, that are tried.
_FUNCTIONS, _BEGINNINGS = range(4), 8


def latest_window(problem: Makespan, kind: int, low: int, high: int) -> Window | None:
    """A window that rules out an end, by halves the latest; None: no end. The problem is not plainly infeasible.

    `low` is the first end that is not ruled out, `high` one that is attained; microseconds.
    """
    best, low = None, problem.next_end(max(low, problem.now + 1))
    while low < high:
        middle = problem.next_end((low + high) // 2)
        middle = middle if middle < high else low
        usable = (window for window in _windows(problem, kind, middle) if too_short(problem, window) is None)
        window = next((window for window in usable if ruled_out(problem, window)), None)
        if window is not None:
            best, low = window, problem.next_end(middle + 1)
        else:
            high = middle
    return best


def _windows(problem: Makespan, kind: int, end: int) -> Iterator[Window]:
    """Windows up to an end: from the snapshot and some releases on by functions of lengths, then at prices of nodes."""
    begins = np.unique(np.append(problem.earliest_starts[problem.kind == kind], problem.now))
    chosen = np.unique(np.linspace(0, len(begins) - 1, _BEGINNINGS).round().astype(np.int64))
    for begin in begins[chosen].tolist():
        for function in _FUNCTIONS if begin < end else ():
            yield Window(kind, begin, end, function=function)
    posed = Window(kind, problem.now, end)
    prices = node_prices(problem, posed)
    if prices is not None:
        yield posed._replace(prices=prices)


def node_prices(problem: ScheduleProblem, window: Window) -> Ints | None:
    """Prices of nodes by which the tasks of a window need most; None where there are none, or the program is too large.

    Lengths count as they are: tail, function and prices of the window do not matter.
    """
    long, room = window.end - window.begin, problem.room[KINDS[window.kind]].astype(np.float64)
    nodes, until, _ = problem.running_of(window.kind)
    np.subtract.at(room, nodes, np.clip(until - window.begin, 0, long) / long)
    posed = _posed(problem, np.flatnonzero(counted(problem, window)), long, np.maximum(room, 0.0))
    if posed is None:
        return None
    found = solve_uninterrupted(posed, Profile("prices of nodes"))
    if found.row_duals is None:
        return None
    duals = np.maximum(-found.row_duals[-len(room) :], 0.0)
    if duals.max(initial=0.0) <= 0:
        return None
    prices: Ints = np.rint(duals * (_LARGEST / duals.max())).astype(np.int64)
    return prices


def _posed(problem: ScheduleProblem, tasks: Ints, long: int, room: Floats) -> LinearProgram | None:
    """The least part of all nodes' room that holds the tasks; rows are tasks, hubs and nodes."""
    usable = room > 0
    arcs: list[tuple[Ints, Ints, Floats]] = []  # the row that a variable takes 1 from, and what it adds to another one
    into_nodes: list[tuple[Ints, Ints, Floats]] = []
    hubs = len(tasks)
    for level in problem.times.near:
        check()
        held, times = level.of_tasks(tasks)
        fits = times <= long
        keys, place = np.unique(np.stack([held.values, times])[:, fits], axis=1, return_inverse=True)
        arcs.append((held.row_of[fits], hubs + place.ravel(), np.full(int(fits.sum()), -1.0)))
        if sum(len(tails) for tails, _, _ in arcs) + len(keys[0]) * int(usable.sum()) ** (len(arcs) > 1) > _ARCS:
            return None
        hub, node = np.nonzero((keys[0][:, None] == level.area[None, :]) & usable)
        into_nodes.append((hubs + hub, node, keys[1][hub] / long))
        hubs += len(keys[0])
    arcs += [(tails, hubs + node, weights) for tails, node, weights in into_nodes]
    tails, heads, weights = (np.concatenate(parts) for parts in zip(*arcs, strict=True))
    count, column = len(tails), np.arange(len(tails))
    rows = np.concatenate([tails, heads, hubs + np.arange(len(room))])
    columns = np.concatenate([column, column, np.full(len(room), count)])
    values = np.concatenate([np.ones(count), weights, -room])
    due = np.append(np.ones(len(tasks)), np.zeros(hubs - len(tasks)))
    return LinearProgram(
        objective=np.append(np.zeros(count), 1.0),
        col_lower=np.zeros(count + 1),
        col_upper=np.full(count + 1, np.inf),
        integer=np.zeros(count + 1, dtype=bool),
        row_lower=np.concatenate([due, np.full(len(room), -np.inf)]),
        row_upper=np.concatenate([due, np.zeros(len(room))]),
        matrix=sp.csr_array((values, (rows, columns)), shape=(hubs + len(room), count + 1)),
    )
