"""The search of `utility`: patterns, programs and trees over them, thresholds, limits and interrupts."""

import itertools

import numpy as np
import pytest
from engines import interrupted
from hypothesis import given, settings
from small_problems import SWAPS, no_prices
from small_problems import utility as posed
from strategies import problems

from optsched import Limit, Proof, Termination, certify, generate, solve
from optsched.core.errors import OutOfTime, SolverDisagreement
from optsched.problems import Utility
from optsched.problems.base import GRID
from optsched.problems.knapsack import knapsack_bounds
from optsched.problems.utility_program import UtilityProgram, maximal_patterns
from optsched.solvers.profiles import Profile, load_profile
from optsched.solvers.searches import utility as engine
from optsched.solvers.searches.enumeration import best_placement, judged
from optsched.solvers.searches.utility import UtilitySearch, best_patterns, most_utilisation


@given(problems("utility"))
def test_patterns(problem: Utility) -> None:
    """Tests that best patterns fit and are worth the exact knapsack, and that maximal ones are all of them."""
    items = problem.items
    worth = np.arange(len(items.limit)) % 4 - 1
    values, patterns = best_patterns(problem.type_room, items.demand, items.limit, worth.astype(np.float64))
    assert values.tolist() == knapsack_bounds(problem.type_room, items.demand, items.limit, worth)
    assert (patterns @ items.demand <= problem.type_room).all()
    assert (patterns <= items.limit).all()
    for kind, room in enumerate(problem.type_room):
        listed = maximal_patterns(problem, kind, 5_000)
        ranges = (range(most + 1) for most in items.limit.tolist())
        fitting = [counts for counts in itertools.product(*ranges) if (np.array(counts) @ items.demand <= room).all()]
        held = set(fitting)
        maximal = {
            counts
            for counts in fitting
            if not any((*counts[:item], counts[item] + 1, *counts[item + 1 :]) in held for item in range(len(counts)))
        }
        assert {tuple(row) for row in listed.tolist()} == maximal
        assert len(listed) == len(maximal)


def test_divided_rooms_give_patterns_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that with too few states for the room a pattern is found that fits, if not the best."""
    monkeypatch.setattr(engine, "MOST_STATES", 4)
    problem = posed({"cpu": [11]}, [{"maps": 9, "map": {"cpu": 2}}, {"maps": 9, "map": {"cpu": 3}}])
    items = problem.items
    values, patterns = best_patterns(problem.type_room, items.demand, items.limit, np.array([2.0, 3.0, 0.0, 0.0]))
    assert 0 < values[0] <= 11
    assert (patterns @ items.demand <= problem.type_room).all()
    assert solve(problem).optimal


EXACT = load_profile("exact")


def test_most_utilisation() -> None:
    """Tests that from any placement the best is found, and proved, where prices say nothing; against enumeration."""
    best = best_placement(SWAPS)
    lowest, used = (int(value * GRID) for value in best[0])
    for held in (0, used - 1, used):
        found = most_utilisation(SWAPS, lowest, no_prices(SWAPS), held, EXACT)
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
    none = no_prices(SWAPS)
    half = -GRID // 2
    assert most_utilisation(SWAPS, half, none, 0, Profile("none", time_limit=0)) is None
    with monkeypatch.context() as patch:
        patch.setattr(engine, "_MOST_COLUMNS", 1)
        assert most_utilisation(SWAPS, half, none, 0, EXACT) is None
    with monkeypatch.context() as patch:
        patch.setattr(engine, "_MOST_SOLVED", 1)
        found = most_utilisation(SWAPS, half, none, 0, EXACT)
        assert (found.proof, found.counts is None) == (None, False)

    def late(*_: object) -> None:
        raise OutOfTime("late")

    with monkeypatch.context() as patch:
        patch.setattr(engine, "settling_tree", late)
        found = most_utilisation(SWAPS, half, none, 0, EXACT)
        assert found.proof is None


def test_no_exact_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where the exact program would be too large the gap is reported."""
    problem = posed({"cpu": [3, 3], "disk": [3, 4]}, [{"maps": 3, "map": {"cpu": 2, "disk": 1}, "goal": 3, "time": 2}])
    monkeypatch.setattr(engine, "MOST_COLUMNS", 0)
    monkeypatch.setattr(UtilitySearch, "_pack_downwards", lambda *_: None)
    monkeypatch.setattr(UtilitySearch, "_fill", lambda *_: None)
    solution = solve(problem)
    assert "too large" in solution.raw_status
    assert solution.limit is Limit.GAP
    assert certify(problem, solution).valid


@pytest.mark.parametrize(
    ("x", "message"), [([2.0, 0.0, 1.0], "violates capacity"), ([1.0, 0.0, 1.0], "what a job needs")]
)
def test_wrong_solver_is_caught(monkeypatch: pytest.MonkeyPatch, x: list[float], message: str) -> None:
    """Tests that counts which violate a capacity, or are too few, are a disagreement, not a result."""
    problem = posed({"cpu": [3, 4]}, [{"maps": 2, "map": {"cpu": 2}}])
    answer = type("Answer", (), {"x": np.array(x), "outcome": None})
    monkeypatch.setattr(engine, "solve_arrays", lambda *_: answer)
    with pytest.raises(SolverDisagreement, match=message):
        engine.solve_packing(UtilityProgram(problem, {}), GRID, load_profile("exact"), False)


def test_too_many_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the columns of the single trackers alone are counted, and just as many as are allowed are taken."""
    problem = posed({"cpu": [3, 5, 3]}, [{"maps": 9, "map": {"cpu": 1}}])
    columns = 2 * len(problem.jobs)  # of the one tracker that is like no other
    monkeypatch.setattr(engine, "MOST_COLUMNS", columns)
    assert not engine.is_too_large(problem)
    monkeypatch.setattr(engine, "MOST_COLUMNS", columns - 1)
    assert engine.is_too_large(problem)


@pytest.mark.parametrize("reduces", ["free", "fixed"])
def test_counts_are_those_of_the_placement(reduces: str) -> None:
    """Tests counts by tracker of a placement and back; fixed reduces are not counted, but come back."""
    job = {"maps": 2, "reduces": 1, "map": {"cpu": 1}, "reduce": {"cpu": 2}}
    problem = posed({"cpu": [4, 2]}, [job, {"maps": 1, "map": {"cpu": 1}}], reduces=reduces)
    best = solve(problem).decision
    counts = problem.items_on(best)
    assert counts[:2].sum(axis=1).tolist() == [2, 1]
    assert counts[2:].sum() == (reduces == "free")
    again = problem.placed(counts)
    assert problem.evaluate(again) == problem.evaluate(best)


@given(problems("utility", tasks=5, nodes=2, reduces="free"))
@settings(max_examples=25)
def test_utilisation_against_enumeration(problem: Utility) -> None:
    """Tests the most utilisation of counts with which no job is worth less than the lowest that any placement has."""
    outcome, counts = engine.solve_packing(problem.posing, problem.lowest_units, EXACT, True)
    most = min(value[1] for value, _ in judged(problem))
    assert outcome.objective == pytest.approx(float(most) * GRID, abs=1e-3)
    assert problem.minimised(problem.evaluate(problem.placed(counts)))[1] == most


@pytest.mark.thorough
def test_many_jobs_on_alike_trackers() -> None:
    """Tests that 20 jobs on 200 trackers are closed by prices, where patterns of the linear program do not add up."""
    problem = Utility(generate("utility", seed=1, jobs=20, nodes=200, maps=600))
    solution = solve(problem)
    assert solution.optimal
    assert [certificate.kind for certificate in solution.certificates] == [Proof.DUAL] * 2
    assert certify(problem, solution).valid


def test_identical_trackers_at_size() -> None:
    """Tests that 300 identical trackers are closed by prices and packing alone, and certified."""
    problem = Utility(generate("utility", seed=0, jobs=5, nodes=300, maps=300, reduces=20))
    solution = solve(problem)
    assert solution.bound[0] == solution.objective[0]
    assert solution.certificates[0].kind is Proof.DUAL
    assert certify(problem, solution).valid


def test_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C leaves what is held and proved."""
    monkeypatch.setattr(engine, "fractions", interrupted)
    problem = posed({"cpu": [3]}, [{"maps": 2, "map": {"cpu": 2}}])
    solution = solve(problem)
    assert (solution.limit, solution.termination) == (Limit.INTERRUPTED, Termination.FEASIBLE)
    assert certify(problem, solution).valid
