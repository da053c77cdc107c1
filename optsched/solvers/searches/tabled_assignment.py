"""Assignment problems with a table of costs, class by node: as a transportation problem, or as an assignment to slots.

The network of such a problem has an arc for each entry of the table, which makes network engines slow. `transport`
prices the entries in place, and gives prices of nodes as proof. If the table is small, or kernels are not compiled,
SciPy's rectangular assignment solves it with a row or column for each task and each slot, unless tasks and slots are
many times the classes and nodes. It gives no prices; those come from the optimal placement, by shortest paths between
nodes, in integers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from optsched.core.deadline import check
from optsched.core.instance import LARGEST, Bools, Ints
from optsched.core.placement import NONE
from optsched.core.processes.limits import has_room
from optsched.problems.assignment import BLOCK, TabledProblem
from optsched.solvers.compiled import compiles
from optsched.solvers.tables import assign_dense, transport, transport_fits

#: Up to this many entries of a table, or pairs of task and slot, SciPy finishes before kernels are loaded.
_FEW_ENTRIES, _FEW_PAIRS = 20_000, 2**19

#: SciPy is faster than the network up to this many pairs of task and slot per pair of class and node (benchmarks).
_REPEATED = 40

#: If kinds of tasks prefer different nodes, SciPy is faster than the transportation problem up to this many pairs of
#: task and slot per pair of class and node. This many kinds are compared, and half of them must differ (benchmarks).
_FEW_COPIES, _ASKED = 4, 64

#: The most entries of SciPy's matrix, 2 GB, if there is a choice of engines.
_MOST_CELLS = 2**28

#: If costs are levels, no table with more pairs of class and node is made: the network grows with the replicas.
_MOST_LEVELLED = 2**18

#: The longest seconds of SciPy's assignment, per pair of task and slot, times the tasks or slots, whichever are fewer.
_SECONDS = 1e-9


class Prices(NamedTuple):
    """Dual prices in units of the problem's grid: of one more task, of a slot on each node, of a task of each pool."""

    task: int
    nodes: Ints
    pools: Ints


def is_transported(problem: object) -> bool:
    """Whether `transport_table` should solve a problem: it has a table that is large, and kernels compile."""
    if not isinstance(problem, TabledProblem) or problem.pairs <= _FEW_ENTRIES or _is_levelled(problem):
        return False
    if not compiles():
        return False
    units = problem.class_units
    pairs = len(problem.tasks) * int(problem.capacity.sum())
    quick = pairs <= _FEW_PAIRS
    if not quick and pairs <= _FEW_COPIES * problem.pairs:
        asked = units[np.linspace(0, len(units) - 1, _ASKED).astype(np.int64)]
        quick = 2 * len(np.unique(asked.argmin(axis=1))) >= _ASKED
    large = not (quick and is_tabled(problem))
    return large and transport_fits(units.shape[0], units.shape[1], problem.largest_pair_units())


def transport_table(problem: TabledProblem) -> tuple[Ints, Ints, Ints, Prices]:
    """Class, node and number of tasks of each flow, and prices, of an optimum of a problem that places some tasks.

    OutOfTime if a deadline has passed.
    """
    idle = problem.idle_nodes
    found = transport(problem.class_units, problem.classes().size, problem.capacity[idle])
    return found.row, idle[found.column], found.units, _prices(problem, found.price, found.column_prices)


def is_tabled(problem: object) -> bool:
    """Whether `assign_table` should solve a problem: it has a table, and `table_fits`."""
    if not isinstance(problem, TabledProblem):
        return False
    tasks, slots = len(problem.tasks), int(problem.capacity.sum())
    return not _is_levelled(problem) and table_fits(tasks, slots, problem.pairs, problem.largest_pair_units())


def _is_levelled(problem: TabledProblem) -> bool:
    """Whether the network of areas should solve it."""
    return problem.near is not None and problem.pairs > _MOST_LEVELLED


def table_fits(tasks: int, slots: int, pairs: int, largest: int) -> bool:
    """Whether SciPy should assign tasks to slots.

    It should not if tasks and slots only repeat the pairs of a table, if their matrix is too large, or if doubles
    cannot represent the sums of costs up to `largest`.
    """
    cells = tasks * slots
    few = cells <= min(_MOST_CELLS, _REPEATED * pairs) and has_room(8 * cells)
    return few and 2 * min(tasks, slots) * largest < LARGEST


def seconds_at_worst(tasks: int, slots: int) -> float:
    """The longest that SciPy's assignment may take, without a check of the clock; mostly it takes a small part."""
    return _SECONDS * tasks * slots * min(tasks, slots)


def assign_table(problem: TabledProblem) -> Ints:
    """Node of each of `problem.tasks` or -1, at least cost; SciPy's rectangular assignment.

    OutOfTime if a deadline has passed. SciPy does not check the clock.
    """
    check()
    idle = problem.idle_nodes
    columns = assign_dense(problem.class_units, problem.capacity[idle], problem.count, problem.classes().of_task)
    return np.where(columns >= 0, idle[columns], NONE)


def table_prices(problem: TabledProblem, nodes: Ints) -> Prices | None:
    """Prices that prove a placement (node or -1 of each of `problem.tasks`) optimal; None if it is not.

    The price of a slot is what one more would save: the best chain in which each task moves to the place of the next,
    and a task that was left out takes the last freed place. These are shortest paths (Bellman and Ford, in integers).
    Between two nodes only the cheapest task to move counts, so the vertices are nodes, however many tasks there are.
    """
    of_class, placed = problem.classes().of_task, nodes != NONE
    column = np.searchsorted(problem.idle_nodes, nodes[placed])
    used = np.bincount(column, minlength=len(problem.idle_nodes))
    spare = problem.capacity[problem.idle_nodes] > used
    found = slot_prices(problem.class_units, of_class[placed], column, spare, np.unique(of_class[~placed]))
    if found is None:
        return None
    return _prices(problem, *found)


def _prices(problem: TabledProblem, task: int, prices: Ints) -> Prices:
    """The problem's prices, from those of one more task and of a slot on each of `idle_nodes`."""
    slots = np.zeros_like(problem.capacity)
    slots[problem.idle_nodes] = prices
    pool = next((cost for cost, size in problem.pools[0].tiers if size), 0)
    return Prices(task + pool, slots, np.array([pool], dtype=np.int64))


def slot_prices(units: Ints, row: Ints, column: Ints, spare: Bools, waiting: Ints) -> tuple[int, Ints] | None:
    """The price of one more task, and of a slot in each column, that prove an assignment; None if it is not optimal.

    `units` are costs by row and column, at most 2^60 (for a forbidden pair). `row` and `column` are those of each
    placed task, at least one; several may be equal. `spare` marks columns with an unused slot, and `waiting` are the
    rows of tasks that are not placed; if there are any, no column has a spare slot.
    """
    width = units.shape[1]
    # Each row counts once in each column that it is in.
    column, row = np.divmod(np.unique(column * len(units) + row), len(units))
    own = units[row, column]
    used, first = np.unique(column, return_index=True)
    move = np.empty((len(used), width), dtype=np.int64)
    for position, (rows, costs) in enumerate(zip(np.split(row, first[1:]), np.split(own, first[1:]), strict=True)):
        check()
        move[position] = _least(units, rows, costs)
    enter = _least(units, waiting, np.zeros_like(waiting))
    dearest = np.maximum.reduceat(own, first)
    worth = np.zeros(width, dtype=np.int64)  # how one more slot would change the cost, 0 or less
    changed = np.arange(len(used))
    for _ in range(width + 2):
        check()
        task = int((dearest - worth[used]).max())
        better = np.minimum(worth, (worth[used[changed], None] + move[changed]).min(axis=0, initial=0))
        if len(waiting):
            better = np.minimum(better, enter - task)
        if np.array_equal(better, worth):
            return None if worth[spare].any() else (task, -worth)
        changed, worth = np.flatnonzero((better < worth)[used]), better
    return None


def _least(units: Ints, rows: Ints, less: Ints) -> Ints:
    """Least of `units[row] - less` over some rows, in each column; block by block, so that memory use stays small."""
    step = max(1, BLOCK // units.shape[1])
    least = np.full(units.shape[1], np.iinfo(np.int64).max, dtype=np.int64)
    for begin in range(0, len(rows), step):
        part = slice(begin, begin + step)
        np.minimum(least, (units[rows[part]] - less[part, None]).min(axis=0), out=least)
    return least
