"""Transportation on a table: optimal by its own prices, equal to SciPy's assignment, whatever repeats."""

import itertools
from collections import Counter

import numpy as np
import pytest
from engines import KERNELS, ints, plain
from hypothesis import given
from hypothesis import strategies as st

from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime, UsageError
from optsched.solvers.tables import Transport, assign_dense, transport

Table = tuple[np.ndarray, np.ndarray, np.ndarray]


def drawn(seed: int) -> Table:
    """Costs (often equal, sometimes negative or near 2^52), sizes (some 0) and capacities of up to 7 x 7."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(1, 8, 2)
    kind = seed % 5
    cost = rng.integers(*[(0, 2), (-3, 10), (0, 1000), (0, 2**52), (7, 8)][kind], (rows, columns))
    cost = cost[rng.integers(0, rows, rows)] if seed % 3 == 0 else cost
    cost = cost[:, rng.integers(0, columns, columns)] if seed % 4 == 0 else cost
    return cost, rng.integers(0, 5, rows), rng.integers(1, 5, columns)


def proved_cost(table: Table, found: Transport) -> int:
    """The cost of what was found, feasible, and equal to the bound that its prices prove."""
    cost, size, capacity = table
    count = min(int(size.sum()), int(capacity.sum()))
    assert (found.units > 0).all()
    assert int(found.units.sum()) == count
    assert len(set(zip(found.row.tolist(), found.column.tolist(), strict=True))) == len(found.units)
    sent, taken = np.zeros_like(size), np.zeros_like(capacity)
    np.add.at(sent, found.row, found.units)
    np.add.at(taken, found.column, found.units)
    assert (sent <= size).all()
    assert (taken <= capacity).all()
    assert (found.column_prices >= 0).all()
    value = sum(map(int, cost[found.row, found.column] * found.units))
    surplus = np.maximum(0, found.price - (cost + found.column_prices).min(axis=1))
    assert value == found.price * count - sum(map(int, surplus * size)) - sum(map(int, found.column_prices * capacity))
    return value


def by_assignment(table: Table) -> int:
    """The least cost by SciPy's assignment of units to units."""
    cost, size, capacity = table
    row = np.repeat(np.arange(len(size)), size)
    columns = assign_dense(cost, capacity, min(len(row), int(capacity.sum())), row)
    return int(cost[row[columns >= 0], columns[columns >= 0]].sum())


def test_small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the kernels as plain Python on small tables: proved by their prices, and equal to SciPy's assignment."""
    plain(monkeypatch, KERNELS)
    for seed in range(150):
        table = drawn(seed)
        value = proved_cost(table, transport(*table))
        if table[0].max() < 2**40:
            assert value == by_assignment(table)


def test_large_tables() -> None:
    """Tests tables of some hundred rows, compiled: rows that stay, columns with room, neither; twice the same flows."""
    pytest.importorskip("numba")
    for seed, capacity in enumerate((1, 3, 4)):
        rng = np.random.default_rng(seed)
        table = rng.integers(0, 10**6, (300, 100)), np.ones(300, dtype=np.int64), np.full(100, capacity)
        first, second = transport(*table), transport(*table)
        assert proved_cost(table, first) == by_assignment(table)
        assert all(map(np.array_equal, first, second))


def test_rows_that_only_seem_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that rows whose products agree by chance are not made one."""
    plain(monkeypatch, KERNELS)

    class Blind:
        def integers(self, *_: object, size: int, **__: object) -> np.ndarray:
            return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr(np.random, "default_rng", lambda _: Blind())
    table = np.arange(12).reshape(4, 3), np.ones(4, dtype=np.int64), np.ones(3, dtype=np.int64)
    assert proved_cost(table, transport(*table)) == by_assignment(table)


def test_what_transport_refuses() -> None:
    """Tests that wrong shapes, empty columns, no rows and costs beyond int64 are refused, and a deadline ends it."""
    one = np.ones(1, dtype=np.int64)
    for cost, size, capacity in (
        (np.zeros((1, 2), dtype=np.int64), one, one),
        (np.zeros((0, 1), dtype=np.int64), one[:0], one),
        (np.zeros((1, 1), dtype=np.int64), -one, one),
        (np.zeros((1, 1), dtype=np.int64), one, 0 * one),
    ):
        with pytest.raises(UsageError, match="sizes of at least 0"):
            transport(cost, size, capacity)
    with pytest.raises(UsageError, match="scale the costs"):
        transport(np.full((1, 1), -(2**60)), one, one)
    with deadline(0), pytest.raises(OutOfTime):
        transport(np.zeros((1, 1), dtype=np.int64), one, one)


# By SciPy -------------------------------------------------------------------------------------------------------------


@given(data=st.data())
def test_dense_assignment(data: st.DataObject) -> None:
    """Tests that exactly `count` tasks are placed within capacities, at the least cost of all such placements."""
    tasks, nodes = data.draw(st.integers(0, 4)), data.draw(st.integers(1, 3))
    cost = ints([[data.draw(st.integers(-9, 9)) for _ in range(nodes)] for _ in range(tasks)]).reshape(tasks, nodes)
    capacity = [data.draw(st.integers(0, 3)) for _ in range(nodes)]
    count = data.draw(st.integers(0, min(tasks, sum(capacity))))
    node = assign_dense(cost, ints(capacity), count).tolist()

    def value(choice: tuple[int, ...]) -> int:
        return int(sum(cost[task, n] for task, n in enumerate(choice) if n >= 0))

    def allowed(choice: tuple[int, ...]) -> bool:
        placed = Counter(n for n in choice if n >= 0)
        return placed.total() == count and all(placed[n] <= capacity[n] for n in range(nodes))

    assert allowed(tuple(node))
    assert value(tuple(node)) == min(
        value(choice) for choice in itertools.product(range(-1, nodes), repeat=tasks) if allowed(choice)
    )


def test_dense_assignment_is_exact_in_large_integers() -> None:
    """Tests that costs that differ in the last of 50 bits are distinguished."""
    big = 2**49
    assert assign_dense(ints([[big, big + 1], [big + 1, big + 1]]), ints([1, 1]), 2).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("cost", "capacity", "count", "message"),
    [
        ([[1, 2]], [1, 1], 2, "2 tasks cannot be placed"),
        ([[1, 2]], [0, 0], 1, "capacity for 0"),
        ([[1, 2]], [1, 1], -1, "-1 tasks cannot be placed"),
        ([[1, 2]], [1], 1, "2 capacities"),
        ([[1, 2]], [1, -1], 1, "2 capacities"),
        ([[2**52, 0]], [1, 1], 1, "pass 2\\^53"),
        ([[-(2**63), 0]], [1, 1], 1, "pass 2\\^53"),
    ],
)
def test_dense_assignment_of_wrong_input(cost: list[list[int]], capacity: list[int], count: int, message: str) -> None:
    """Tests that what cannot be placed, or would not be exact in doubles, is refused."""
    with pytest.raises(UsageError, match=message):
        assign_dense(ints(cost), ints(capacity), count)
