"""Flows of least cost on tables of costs, with whole prices that prove them.

`transport` finds what rows of a table send and columns take. It allocates nothing per entry of the table: the network
simplex prices entries in place, and stores flows only on the arcs of its tree, one per row and column. `assign_dense`
copies the table for SciPy, a column for each unit, and gives no prices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from optsched.core.errors import UsageError
from optsched.core.processes.limits import refuse_beyond
from optsched.solvers.compiled import ready
from optsched.solvers.networks import EXACT, PIVOTS, Ints, closer, first_tree, largest_of, until_done

#: More than every sum of costs along a path of a table, in int64 with room for twice as much.
_MOST_SUM = 2**60

#: Equal rows and columns are merged if at most this share of the entries remains.
_SMALLER = 2

_BLOCK = 2**22  # entries compared or copied at once, so that memory use stays small


class Transport(NamedTuple):
    """Who sends how much to whom at least cost, and the prices that prove it.

    `units` flow from a `row` to a `column` (int64, of equal lengths; no pair occurs twice). `price` is the cost of one
    more unit, `column_prices` the worth of a unit of a column's capacity, at least 0. A row that sends everything sends
    where cost plus column price is least, and at most `price` if others keep some; a column that could take more has
    price 0.
    """

    row: Ints
    column: Ints
    units: Ints
    price: int
    column_prices: Ints


def transport(cost: Ints, size: Ints, capacity: Ints) -> Transport:
    """Send as much as possible, the lesser of all sizes and all capacities, at least total cost.

    `cost`: int64, shape (rows, columns), at least one of each: the cost of a unit from each row to each column, any
    sign. `size`, `capacity`: int64, shapes (rows,) and (columns,): what each row has, at least 0, and what each column
    takes, at least 1.

    Notes
    -----
    Network simplex (`kernels`) on one row for all equal rows, and one column for all equal columns. Besides the table
    it takes some 100 bytes per row and column, and a copy of at most half the table if rows or columns repeat.

    UsageError if shapes or numbers do not fit, or sums of costs along a path might be too large (`transport_fits`).
    OutOfTime if a deadline has passed.

    Examples
    --------
    >>> found = transport(np.array([[5, 1], [4, 3]]), np.array([2, 1]), np.array([1, 1]))
    >>> found.row.tolist(), found.column.tolist(), found.units.tolist(), found.price, found.column_prices.tolist()
    ([1, 0], [0, 1], [1, 1], 4, [0, 3])
    """
    from optsched.solvers.kernels import ARC, IN, OUT

    rows, columns = cost.shape
    if size.shape != (rows,) or capacity.shape != (columns,) or not cost.size or size.min() < 0 or capacity.min() < 1:
        raise UsageError(f"transport needs {rows} sizes of at least 0 and {columns} capacities of at least 1")
    largest = largest_of(cost)
    if not transport_fits(rows, columns, largest):
        raise UsageError(f"sums of {rows + columns} costs up to {largest} might pass 2^60: scale the costs")
    table, of_row, of_column = _distinct(cost)
    sizes, capacities = _summed(size, of_row, len(table)), _summed(capacity, of_column, table.shape[1])
    stay = int(size.sum()) >= int(capacity.sum())
    tree, potential = _solved(table, sizes, capacities, stay, largest)
    tree = tree[:-1]
    flow = np.concatenate([tree[: len(table), IN], tree[len(table) :, OUT]])  # what could flow back
    used = (tree[:, ARC] >= 0) & (flow > 0)  # except what does not leave its row or comes from no row
    (row, column), units = np.divmod(tree[used, ARC], table.shape[1]), flow[used]
    flow, row, units = _shared(of_row, size, row, units)
    flow, column, units = _shared(of_column, capacity, column[flow], units)
    of_columns = potential[len(table) : -1][of_column]
    price = int(of_columns.max()) if stay else -int(potential[: len(table)].min())
    return Transport(row[flow], column, units, price, (price if stay else 0) - of_columns)


def transport_fits(rows: int, columns: int, largest: int) -> bool:
    """Whether `transport` can represent the sums of costs up to `largest` along any path.

    >>> transport_fits(10**6, 10**5, 2**39), transport_fits(10**6, 10**5, 2**40)
    (True, False)
    """
    return (rows + columns + 1) * (largest + 1) < _MOST_SUM


def _distinct(cost: Ints) -> tuple[Ints, Ints, Ints]:
    """The table without repeated rows and columns, and the index there of each row and column."""
    of_row = _alike(cost)
    first_row = np.unique(of_row, return_index=True)[1]
    of_column = _alike(cost.T)
    first_column = np.unique(of_column, return_index=True)[1]
    if len(first_row) * len(first_column) * _SMALLER > cost.size:
        return np.ascontiguousarray(cost), np.arange(len(of_row)), np.arange(len(of_column))
    return np.ascontiguousarray(cost[first_row][:, first_column]), of_row, of_column


def _alike(table: Ints) -> Ints:
    """A number for each row, from 0 in the order of first appearance; equal rows have the same one.

    Rows are distinguished by products with random numbers, modulo 2^64, and compared if these agree.
    """
    weights = np.random.default_rng(0).integers(0, 2**63, size=table.shape[1], dtype=np.int64)
    first, inverse = np.unique(table @ weights, return_index=True, return_inverse=True)[1:]
    of_row: Ints = inverse.ravel().astype(np.int64)
    step = max(1, _BLOCK // table.shape[1])
    later = np.flatnonzero(first[of_row] != np.arange(len(table)))
    for begin in range(0, len(later), step):
        part = later[begin : begin + step]
        if not np.array_equal(table[part], table[first[of_row[part]]]):
            return np.arange(len(table))
    return of_row


def _summed(amount: Ints, of: Ints, count: int) -> Ints:
    total = np.zeros(count, dtype=np.int64)
    np.add.at(total, of, amount)
    return total


def _solved(table: Ints, size: Ints, capacity: Ints, stay: bool, largest: int) -> tuple[Ints, Ints]:
    """Tree and potentials of an optimum; if rows may `stay` with units, the root takes what they do not send.

    Otherwise the root gives columns what no row sends.
    """
    from optsched.solvers.kernels import ROW_OF_CELLS, table_pivots

    sends = np.repeat([True, False], table.shape)
    dear = (len(sends) + 1) * (largest + 1)
    tree, potential = first_tree(sends, np.concatenate([size, capacity]), dear, spare=not stay)
    block = max(1, int(table.size**0.5 / (2 * ROW_OF_CELLS)))
    place = np.zeros(1, dtype=np.int64)
    ready(table_pivots, tree, potential, table, stay, place, block, PIVOTS)
    until_done(lambda: table_pivots(tree, potential, table, stay, place, block, PIVOTS))
    return tree, closer(potential, largest)


def _shared(of: Ints, amount: Ints, group: Ints, units: Ints) -> tuple[Ints, Ints, Ints]:
    """Distribute flows of groups among their members in turn: which flow, which member, how many units."""
    order, turn = np.argsort(of, kind="stable"), np.argsort(group, kind="stable")
    member_ends = np.cumsum(amount[order])
    begins = np.append(0, member_ends)[np.searchsorted(of[order], group[turn])]
    ahead = np.cumsum(units[turn]) - units[turn]
    begins += ahead - ahead[np.searchsorted(group[turn], group[turn])]
    ends = begins + units[turn]
    # Cut at the ends of flows and members; what lies within a flow is a piece of it.
    cuts = np.unique(np.concatenate([begins, ends, member_ends]))
    at = np.searchsorted(ends, cuts[:-1], side="right")
    within = np.append(begins, cuts[-1:])[at] <= cuts[:-1]
    flow, start = at[within], cuts[:-1][within]
    return turn[flow], order[np.searchsorted(member_ends, start, side="right")], np.diff(cuts)[within]


def assign_dense(cost: Ints, capacity: npt.NDArray[np.integer[Any]], count: int, row: Ints | None = None) -> Ints:
    """Place exactly `count` tasks at least total cost, by SciPy's assignment on a dense matrix.

    `cost` is of shape (tasks, nodes), or has one row for several tasks, given by `row` for each task. Each node takes
    up to its `capacity`, at least 0. Returns the node of each task, -1 for those that are not placed.

    Notes
    -----
    The matrix has a column for each unit of capacity. If `count` is less than tasks and units, there is a dummy column
    for each task that is left out, and a dummy row for each unit. With n rows and m >= n columns it takes O(n^2 m) time
    at worst, and 8 n m bytes.

    UsageError if `count` tasks cannot be placed, shapes do not fit, or sums of costs pass 2^53 and would not be exact.
    TooLarge if there is no memory for the matrix.

    Examples
    --------
    >>> assign_dense(np.array([[5, 1], [4, 3], [9, 2]]), np.array([1, 1]), 2).tolist()
    [1, 0, -1]
    """
    nodes = cost.shape[1]
    row = np.arange(len(cost)) if row is None else row
    tasks = len(row)
    if capacity.shape != (nodes,) or (nodes and capacity.min() < 0):
        raise UsageError(f"dense assignment needs {nodes} capacities, each at least 0")
    units = np.minimum(capacity, max(count, 0)).astype(np.int64)
    slots = int(units.sum())
    if not 0 <= count <= min(tasks, slots):
        raise UsageError(f"{count} tasks cannot be placed: there are {tasks} tasks and capacity for {slots}")
    dummies = (tasks - count, slots - count) if count < min(tasks, slots) else (0, 0)
    height, width = tasks + dummies[1], slots + dummies[0]
    refuse_beyond(8 * height * width, f"dense assignment would have a matrix of {height:,} x {width:,}", "use a flow")
    largest = largest_of(cost)
    if 2 * min(height, width) * largest >= EXACT:
        raise UsageError(
            f"sums of {min(height, width)} costs up to {largest} pass 2^53 and would not be exact: scale the costs"
        )
    from scipy.optimize import linear_sum_assignment

    node_of = np.repeat(np.arange(nodes), units)
    # SciPy copies a matrix that is higher than wide, so the array is laid out by columns and its transpose is passed.
    matrix = np.zeros((height, width), order="F" if height > width else "C")
    step = max(1, _BLOCK // max(1, width))
    for begin in range(0, tasks, step):
        part = row[begin : begin + step]
        matrix[begin : begin + len(part), :slots] = cost[part][:, node_of]
    matrix[tasks:, slots:] = np.inf  # a unit that is left out cannot take a task that is left out
    if height > width:
        columns, rows = linear_sum_assignment(matrix.T)
    else:
        rows, columns = linear_sum_assignment(matrix)
    node = np.full(tasks, -1, dtype=np.int64)
    placed = (rows < tasks) & (columns < slots)
    node[rows[placed]] = node_of[columns[placed]]
    return node
