"""Trees for integer programs: grown by HiGHS, proved without it, and none where there is nothing to prove."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from optsched.problems.relaxations import UNBOUNDED, IntegerProgram
from optsched.searches import program_tree
from optsched.searches.program_tree import grown_tree
from optsched.solvers.profiles import load_profile

EXACT = load_profile("exact")


def drawn(seed: int) -> tuple[IntegerProgram, int | None]:
    """Two equations or ranges over four variables, and the least cost by enumeration."""
    rng = np.random.default_rng(seed)
    matrix, cost = rng.integers(-3, 6, (2, 4)), rng.integers(-4, 9, 4)
    row, column = np.nonzero(matrix)
    least = rng.integers(3, 9, 2)
    most = np.where(rng.random(2) < 0.5, least, UNBOUNDED)
    none, three = np.zeros(4, dtype=np.int64), np.full(4, 3)
    program = IntegerProgram(cost, row, column, matrix[row, column], least, most, none, three)
    held = [
        int(cost @ values)
        for values in itertools.product(range(4), repeat=4)
        if (least <= matrix @ values).all() and (matrix @ values <= most).all()
    ]
    return program, min(held, default=None)


def test_trees_prove_optima_and_that_nothing_is_there() -> None:
    """Tests that the least cost is proved, with rays where the relaxation is empty, and no more than it."""
    larger = 0
    for seed in range(40):
        program, best = drawn(seed)
        limit = 99 if best is None else best
        tree = grown_tree(program, limit, EXACT, 500)
        assert tree is not None
        assert tree.bound(program, limit) == limit
        larger += len(tree.steps) > 1
        if best is not None:
            assert grown_tree(program, best + 1, EXACT, 500) is None
            assert tree.bound(program, best + 1) <= best
    assert larger > 5


def test_no_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that there is none where it would be too large, or HiGHS gives no duals, or such as are too large."""
    program, best = next(held for held in map(drawn, range(40)) if held[1] is not None)
    assert best is not None
    assert grown_tree(program, best, EXACT, 0) is None
    solved = program_tree.solve_uninterrupted
    for changed in (None, np.full(2, 1e300)):
        with monkeypatch.context() as patch:
            patch.setattr(
                program_tree,
                "solve_uninterrupted",
                lambda *given, changed=changed: replace(solved(*given), row_duals=changed),
            )
            assert grown_tree(program, best, EXACT, 500) is None
