"""Boxes, and integer programs that multipliers settle: never more than is true, and nothing cheap is cut off."""

import itertools
from dataclasses import replace

import numpy as np

from optsched.problems.relaxations import UNBOUNDED, Box, IntegerProgram


def drawn(rng: np.random.Generator, unit: int = 1) -> IntegerProgram:
    """Up to three variables and three rows, some without one of their limits; costs are multiples of `unit`."""
    width, height = int(rng.integers(1, 4)), int(rng.integers(0, 4))
    matrix = rng.integers(-2, 4, (height, width))
    row, column = np.nonzero(matrix)
    middle, spread = rng.integers(-2, 6, height), rng.integers(0, 3, height)
    ends = np.stack((middle, middle + spread))
    ends[0, rng.random(height) < 0.3], ends[1, rng.random(height) < 0.3] = -UNBOUNDED, UNBOUNDED
    lower = rng.integers(-2, 2, width)
    upper = lower + rng.integers(0, 4, width)
    cost = rng.integers(-5, 6, width) * unit
    return IntegerProgram(cost, row, column, matrix[row, column], ends[0], ends[1], lower, upper)


def solutions(program: IntegerProgram) -> list[tuple[int, tuple[int, ...]]]:
    """Cost and values of all that is in the rows and the box."""
    matrix = np.zeros((len(program.row_lower), len(program.objective)), dtype=np.int64)
    matrix[program.row, program.column] = program.value
    ranges = [range(low, high + 1) for low, high in zip(program.lower.tolist(), program.upper.tolist(), strict=True)]
    found = []
    for values in itertools.product(*ranges):
        sums = matrix @ np.array(values, dtype=np.int64)
        if ((program.row_lower <= sums) & (sums <= program.row_upper)).all():
            found.append(
                (sum(int(cost) * value for cost, value in zip(program.objective, values, strict=True)), values)
            )
    return found


def test_no_multipliers_prove_more_than_is_true() -> None:
    """Tests that bounds are at most the optimum, that what costs less than the limit is kept, and that 0 is a ray."""
    rng, proved, cut = np.random.default_rng(0), 0, 0
    for turn in range(600):
        unit = 2**40 if turn % 3 == 0 else 1
        program = drawn(rng, unit)
        held = solutions(program)
        best = min((cost for cost, _ in held), default=None)
        limit = int(rng.integers(-10, 20)) * unit
        box = program.box
        scale = int(rng.integers(0, 4)) * (2**16 if turn % 2 else 1)
        prices = rng.integers(-6, 7, len(program.row_lower)) * (max(scale, 1) * unit if turn % 5 else 1)
        found = program.settle(box, np.append(scale, prices), limit)
        for cost, values in held:
            inside = bool((box.lower <= values).all() and (np.array(values) <= box.upper).all())
            assert inside or cost >= limit
        if found is not None:
            assert found <= limit or best is None or found <= best
            assert best is None or found <= best or best >= limit
            proved += 1
        cut += bool((box.lower > program.lower).any() or (box.upper < program.upper).any())
    assert proved > 300
    assert cut > 50


def test_large_numbers_are_as_exact_as_small_ones() -> None:
    """Tests that a program scaled past int64 gives what the same gives unscaled, times the scale."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        program = drawn(rng)
        prices = rng.integers(-6, 7, len(program.row_lower))
        large = replace(program, objective=program.objective * 2**58)
        limit = int(rng.integers(-10, 20))
        boxes = program.box, large.box
        small = program.settle(boxes[0], np.append(1, prices), limit)
        again = large.settle(boxes[1], np.append(1, prices * 2**58), (limit - 1) * 2**58 + 1)
        assert again == (small * 2**58 if small < limit else (limit - 1) * 2**58 + 1)
        assert all(np.array_equal(*pair) for pair in zip(*boxes, strict=True))


def test_an_empty_box_and_its_parts() -> None:
    """Tests that what holds nothing is settled by any multipliers, and that the parts of a box share nothing."""
    program = drawn(np.random.default_rng(2))
    empty = Box(program.upper + 1, program.upper.copy())
    assert empty.empty
    assert program.settle(empty, np.zeros(1 + len(program.row_lower), dtype=np.int64), 7) == 7
    box = Box(np.array([0, 0]), np.array([5, 5]))
    less, more = box.split(1, 3)
    assert (less.upper.tolist(), more.lower.tolist()) == ([5, 3], [0, 4])
    assert (box.lower.tolist(), box.upper.tolist()) == ([0, 0], [5, 5])
    assert [part.empty for part in box.split(0, 9)] == [False, True]
