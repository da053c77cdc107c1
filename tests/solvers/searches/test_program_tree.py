"""Trees of cases over integer programs: against enumeration, and where they are given up."""

import itertools
from typing import Any

import numpy as np
import pytest

from optsched.core.instance import Ints
from optsched.problems.relaxations import UNBOUNDED, IntegerProgram
from optsched.solvers import highs
from optsched.solvers.answers import INTERRUPTED
from optsched.solvers.highs import ArraySolution, solve_arrays
from optsched.solvers.profiles import Profile
from optsched.solvers.searches import program_tree
from optsched.solvers.searches.program_tree import as_arrays, settling_tree

EXACT = Profile("exact")


def drawn(seed: int) -> IntegerProgram:
    """A program of four variables and three rows, some of them equations, some with one limit."""
    rng = np.random.default_rng(seed)
    matrix: Ints = rng.integers(-3, 6, size=(3, 4))
    row, column = np.nonzero(matrix)
    inside = matrix @ rng.integers(0, 3, size=4)
    lower = np.where(rng.random(3) < 0.7, inside - rng.integers(0, 2, size=3), -UNBOUNDED)
    upper = np.where(rng.random(3) < 0.5, inside + rng.integers(-1, 2, size=3), UNBOUNDED)
    upper = np.maximum(upper, lower)
    box = np.zeros(4, dtype=np.int64), np.full(4, 2, dtype=np.int64)
    return IntegerProgram(rng.integers(-9, 10, size=4), row, column, matrix[row, column], lower, upper, *box)


def least(program: IntegerProgram) -> int | None:
    """The least cost, by trying all; None where nothing is within the rows."""
    matrix = np.zeros((3, 4), dtype=np.int64)
    matrix[program.row, program.column] = program.value
    found = []
    for values in itertools.product(range(3), repeat=4):
        held = matrix @ np.array(values)
        if (program.row_lower <= held).all() and (held <= program.row_upper).all():
            found.append(int(program.objective @ np.array(values)))
    return min(found, default=None)


@pytest.mark.parametrize("seed", range(60))
def test_trees(seed: int) -> None:
    """Tests that a tree settles a program at its least cost, or anywhere where nothing is in it, and never higher."""
    program = drawn(seed)
    best = least(program)
    limit = 50 if best is None else best
    tree = settling_tree(program, limit, EXACT, 500)
    assert tree.bound(program, limit) == limit
    if best is not None:
        assert settling_tree(program, best + 1, EXACT, 500) is None
        assert round(solve_arrays(as_arrays(program), EXACT).outcome.objective or 0) == best
        assert tree.bound(program, best + 5) <= best


def test_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a tree is given up where it takes too many programs, at a limit on time, and without exact prices."""
    seed = next(seed for seed in range(60) if len(tree_of(seed)) > 1)
    program = drawn(seed)
    best = least(program)
    limit = 50 if best is None else best
    assert settling_tree(program, limit, EXACT, 0) is None
    assert settling_tree(program, limit, EXACT, 2) is None
    assert settling_tree(program, limit, Profile("none", time_limit=0), 500) is None
    monkeypatch.setattr(program_tree, "whole_prices", lambda duals: None)
    assert settling_tree(program, limit, EXACT, 500) is None


def test_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C while HiGHS runs gives up more than the tree."""

    def cut_short(*given: Any) -> ArraySolution:
        return ArraySolution(INTERRUPTED, None, None, None)

    monkeypatch.setattr(highs, "solve_arrays", cut_short)
    with pytest.raises(KeyboardInterrupt):
        settling_tree(drawn(0), 0, EXACT, 500)


def tree_of(seed: int) -> list[object]:
    """The steps of a drawn program's tree."""
    best = least(drawn(seed))
    tree = settling_tree(drawn(seed), 50 if best is None else best, EXACT, 500)
    return list(tree.steps)
