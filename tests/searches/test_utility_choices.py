"""Proofs of `utility` by choices of counts and cuts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from utility_instances import SWAPS, posed, problems

from optsched.certificates import certify, proved_bound
from optsched.errors import OutOfTime
from optsched.instances.generate import generate
from optsched.problems import Utility, utility_columns
from optsched.problems import utility_choices as choices
from optsched.problems.base import GRID
from optsched.problems.utility_columns import TaskPrices
from optsched.results import Certificate, Proof
from optsched.routes import solve
from optsched.searches import utility_choices
from optsched.searches.utility_by_maps import ByMapsSearch
from optsched.searches.utility_choices import entry_by_choices, most_by_choices
from optsched.searches.utility_leximin import leximin
from optsched.searches.utility_program import counts_of
from optsched.solvers.profiles import Profile, load_profile

EXACT = load_profile("exact")


@given(st.one_of(problems(tasks=5), problems(tasks=5, nodes=2, phase="by-maps")))
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


#: Prices leave a gap of its utilisation, with free reduces and with fixed ones.
GAP = {"seed": 7, "nodes": 4, "types": 1, "jobs": 3, "maps": 8}


@pytest.mark.parametrize("reduces", ["free", "fixed"])
def test_use(reduces: str) -> None:
    """Tests that cuts prove the utilisation where a reduce takes more beside more maps, and no less than it."""
    problem = Utility(generate("utility", **GAP), phase="by-maps", reduces=reduces)
    solution = solve(problem)
    proof = solution.certificates[1]
    assert (solution.optimal, proof.kind, "cuts" in proof.data) == (True, Proof.COMBINATORIAL, True)
    assert certify(problem, solution).proved
    lower = replace(proof, claim=proof.claim - Fraction(1, GRID))
    assert proved_bound(problem, lower, solution.objective) >= proof.claim


@given(problems(tasks=5, nodes=2, phase="by-maps"))
@settings(max_examples=15)
def test_use_is_what_enumeration_says(problem: Utility) -> None:
    """Tests that a utilisation which cuts prove is the truth, from nothing that is packed on."""
    best = solve(problem, route="brute-force").objective
    if best is None or not len(problem.jobs) or not problem.coupled:
        return
    search = ByMapsSearch(problem, EXACT)
    units = int(best[0] * GRID)
    search._used_most(units)
    held = solve(problem).decision
    assert held is not None
    search.counts = counts_of(problem, held)
    search.certificates = (Certificate("lowest-utility", Proof.SOLVER, best[0]),)
    if search._by_columns(units, TaskPrices.none(problem)):
        assert search.certificates[1].claim == best[1]
        assert proved_bound(problem, search.certificates[1], best) == best[1]


def test_use_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that there is no proof with too many choices, cuts or pairs, no time, or a choice that is not packed."""
    problem = Utility(generate("utility", **GAP), phase="by-maps")
    units = int(solve(problem).objective[0] * GRID)
    search = ByMapsSearch(problem, EXACT)
    search._used_most(units)

    def proof(profile: Profile = EXACT) -> Certificate | None:
        return most_by_choices(problem, units, search._used_prices, 0, lambda relaxation: 0, profile)

    assert proof() is None
    assert proof(Profile("none", time_limit=0)) is None
    for module, name, value in (
        (utility_choices, "_MOST_CUTS", 0),
        (choices, "_MOST_ENTRIES", 1),
        (choices, "_MOST_PAIRS", 1),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, value)
            assert proof() is None

    def late() -> None:
        raise OutOfTime("late")

    monkeypatch.setattr(choices, "check", late)
    assert proof() is None


def test_use_from_nothing() -> None:
    """Tests that choices which fractions hold are packed, until none is left that uses more."""
    problem = Utility(generate("utility", **GAP), phase="by-maps")
    best = solve(problem).objective
    search = ByMapsSearch(problem, EXACT)
    search.certificates = (Certificate("lowest-utility", Proof.SOLVER, best[0]),)
    search._used_most(int(best[0] * GRID))
    assert search._by_columns(int(best[0] * GRID), TaskPrices.none(problem))
    assert search.certificates[1].claim == best[1] == problem.objective(search.placement)[1]
