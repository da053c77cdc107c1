"""Trees over the columns of `utility`: the most utilisation against enumeration, and where there is none."""

from __future__ import annotations

import pytest
from utility_instances import SWAPS

from optsched.certificates import certify
from optsched.core.errors import OutOfTime
from optsched.core.results import Proof
from optsched.instances.generate import generate
from optsched.problems import Utility
from optsched.problems.base import GRID
from optsched.problems.utility_columns import TaskPrices
from optsched.routes import solve
from optsched.searches import utility_columns
from optsched.searches.enumeration import best_placement
from optsched.searches.utility_columns import most_utilisation, no_higher
from optsched.solvers.profiles import Profile, load_profile

EXACT = load_profile("exact")


def test_most_utilisation() -> None:
    """Tests that from any placement the best is found, and proved, where prices say nothing; against enumeration."""
    best = best_placement(SWAPS)
    assert best is not None
    lowest, used = (int(value * GRID) for value in best[0])
    for held in (0, used - 1, used):
        found = most_utilisation(SWAPS, lowest, TaskPrices.none(SWAPS), held, EXACT)
        assert found is not None
        assert found.proof is not None
        assert (found.proof.claim, found.proof.kind) == (best[0][1], Proof.COMBINATORIAL)
        assert (found.counts is None) == (held == used)


@pytest.mark.parametrize(
    ("seed", "reduces"),
    [
        (3, "free"),
        (5, "fixed"),
        *(pytest.param(seed, "free", marks=pytest.mark.thorough) for seed in (0, 1, 2, 4)),
        *(pytest.param(seed, "fixed", marks=pytest.mark.thorough) for seed in range(5)),
    ],
)
def test_solutions_are_proved(seed: int, reduces: str) -> None:
    """Tests that on instances where prices leave gaps nothing rests on a solver's word."""
    problem = Utility(generate("utility", nodes=4, types=2, jobs=3, maps=5, reduces=1, seed=seed), reduces=reduces)
    solution = solve(problem)
    assert certify(problem, solution).proved
    assert solve(problem, route="pyomo").objective == solution.objective


def test_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that there is no tree of too many columns or programs, nor past a deadline, and that a word is left."""
    none = TaskPrices.none(SWAPS)
    half = -GRID // 2
    assert no_higher(SWAPS, half, EXACT) is not None
    assert no_higher(SWAPS, half, Profile("none", time_limit=0)) is None
    assert most_utilisation(SWAPS, half, none, 0, Profile("none", time_limit=0)) is None
    with monkeypatch.context() as patch:
        patch.setattr(utility_columns, "_MOST_COLUMNS", 1)
        assert most_utilisation(SWAPS, half, none, 0, EXACT) is None
    with monkeypatch.context() as patch:
        patch.setattr(utility_columns, "_MOST_SOLVED", 1)
        assert no_higher(SWAPS, half, EXACT) is None
        found = most_utilisation(SWAPS, half, none, 0, EXACT)
        assert found is not None
        assert (found.proof, found.counts is None) == (None, False)

    def late(*_: object) -> None:
        raise OutOfTime("late")

    with monkeypatch.context() as patch:
        patch.setattr(utility_columns, "settling_tree", late)
        assert no_higher(SWAPS, half, EXACT) is None
