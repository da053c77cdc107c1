"""Proofs of `utility` by choices of counts and cuts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from utility_instances import SWAPS, posed, problems

from optsched.certificates import certify, proved_bound
from optsched.errors import OutOfTime
from optsched.instances.generate import generate
from optsched.problems import Utility, utility_columns
from optsched.problems.base import GRID
from optsched.results import Proof
from optsched.searches import utility_choices
from optsched.searches.utility_choices import entry_by_choices
from optsched.searches.utility_leximin import leximin
from optsched.solvers.profiles import Profile, load_profile

EXACT = load_profile("exact")


@given(problems(tasks=5))
@settings(max_examples=10)
def test_entries(problem: Utility) -> None:
    """Tests that an entry is proved as it is, or not at all, and that no lower one is."""
    entries = [int(utility * GRID) for utility in leximin(problem).utilities]
    for rank, units in enumerate(entries):
        lower = entries[:rank]
        proof = entry_by_choices(problem, lower, units, EXACT)
        if proof is not None:
            given_values = tuple(value / GRID for value in lower)
            assert proof.claim * GRID == units == proved_bound(problem, proof, given_values) * GRID
        if units > problem.lowest_units:
            below = entry_by_choices(problem, lower, max([problem.utility_below(units), *lower]), EXACT)
            assert below is None or units in lower


def test_where_patterns_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a vector is proved without listing patterns."""
    job = {"maps": 5, "map": {"cpu": 2, "disk": 3}, "goal": 3, "time": 2}
    problem = posed({"cpu": [5, 7], "disk": [8, 7]}, [job] * 3)
    monkeypatch.setattr(utility_columns, "MOST_PATTERNS", 0)
    found = leximin(problem)
    assert found.proofs[1:] == (Proof.COMBINATORIAL,) * 2
    assert certify(problem, found).proved


def test_prices_of_a_shortage_are_a_cut() -> None:
    """Tests a vector that resources one by one do not prove, and prices of what fractions are short of do."""
    problem = Utility(generate("utility", nodes=4, jobs=3, maps=8, reduces=1, seed=26))
    entries = leximin(problem).utilities
    for rank, entry in enumerate(entries[:2]):
        lower = [int(utility * GRID) for utility in entries[:rank]]
        proof = entry_by_choices(problem, lower, int(entry * GRID), EXACT)
        assert proof is not None
        assert len(proof.data["cuts"]) > len(problem.resources)
        assert proved_bound(problem, proof, entries[:rank]) == entry


def test_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that there is no proof without enough cuts, nodes, programs or time, nor where fractions hold a choice."""
    half = -GRID // 2
    assert entry_by_choices(SWAPS, [], half, EXACT) is not None
    assert entry_by_choices(SWAPS, [], half - 1, EXACT) is None
    assert entry_by_choices(SWAPS, [], half, Profile("none", time_limit=0)) is None
    for name in ("_MOST_CUTS", "_MOST_PROGRAMS"):
        with monkeypatch.context() as patch:
            patch.setattr(utility_choices, name, 0)
            assert entry_by_choices(SWAPS, [], half, EXACT) is None

    def late() -> None:
        raise OutOfTime("late")

    with monkeypatch.context() as patch:
        patch.setattr(utility_choices, "check", late)
        assert entry_by_choices(SWAPS, [], half, EXACT) is None
