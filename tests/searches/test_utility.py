"""The engines of `utility`: patterns, thresholds, leximin, limits and interrupts."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from utility_instances import posed, problems

from optsched.certificates import certify
from optsched.errors import SolverDisagreement, TooLarge
from optsched.instances.generate import generate
from optsched.problems import Utility
from optsched.problems.base import GRID
from optsched.problems.knapsack import knapsack_bounds
from optsched.results import Limit, Proof, Termination
from optsched.routes import solve
from optsched.searches import utility as engine
from optsched.searches import utility_patterns, utility_program
from optsched.searches.utility import UtilitySearch
from optsched.searches.utility_leximin import leximin
from optsched.searches.utility_patterns import Items, all_patterns, best_patterns
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile, load_profile


@given(problems())
@settings(max_examples=60)
def test_patterns(problem: Utility) -> None:
    """Tests that best patterns fit and are worth the exact knapsack, and that maximal ones are all of them."""
    items = Items.of(problem)
    worth = np.arange(len(items.limit)) % 4 - 1
    values, patterns = best_patterns(problem.type_room, items, items.limit, worth.astype(np.float64))
    assert values.tolist() == knapsack_bounds(problem.type_room, items.demand, items.limit, worth)
    assert (patterns @ items.demand <= problem.type_room).all()
    assert (patterns <= items.limit).all()
    for room in problem.type_room:
        listed = all_patterns(room, items, 5_000)
        assert listed is not None
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
    monkeypatch.setattr(utility_patterns, "MOST_STATES", 4)
    problem = posed({"cpu": [11]}, [{"maps": 9, "map": {"cpu": 2}}, {"maps": 9, "map": {"cpu": 3}}])
    items = Items.of(problem)
    values, patterns = best_patterns(problem.type_room, items, items.limit, np.array([2.0, 3.0, 0.0, 0.0]))
    assert 0 < values[0] <= 11
    assert (patterns @ items.demand <= problem.type_room).all()
    assert solve(problem).optimal


def test_too_many_patterns() -> None:
    """Tests that a list of patterns past its limit is none, and the nodes are counted one by one."""
    problem = posed({"cpu": [9, 9]}, [{"maps": 9, "map": {"cpu": 1}}, {"maps": 9, "map": {"cpu": 2}}])
    assert all_patterns(problem.type_room[0], Items.of(problem), 1) is None


@given(problems(tasks=5))
@settings(max_examples=30)
def test_leximin(problem: Utility) -> None:
    """Tests the ordered vector of utilities against enumeration, and that its first entry is the lowest utility."""
    nodes = range(-1, len(problem.instance.cluster))
    best: list[int] = []
    for hosts in itertools.product(nodes, repeat=len(problem.tasks)):
        placement = problem.placement(list(hosts))
        if not problem.violations(placement):
            counts = problem.allocated(placement)
            units = problem.utility_units(*(part.sum(axis=1) for part in counts))
            best = max(best, sorted(units.tolist()))
    found = leximin(problem)
    assert [int(utility * GRID) for utility in found.utilities] == best
    assert not problem.violations(found.placement)
    assert len(found.proofs) == len(best)
    assert None not in found.proofs
    assert found.limit is None
    assert all(proof is Proof.SOLVER for proof in found.proofs[1:])


def test_identical_trackers_at_size() -> None:
    """Tests that 1,000 identical trackers are closed by prices and packing alone, and certified."""
    problem = Utility(generate("utility", seed=0, jobs=10, nodes=1000, maps=900, reduces=40))
    solution = solve(problem)
    assert solution.objective is not None
    assert solution.bound[0] == solution.objective[0]
    assert solution.certificates[0].kind is Proof.DUAL
    assert certify(problem, solution).valid


def test_no_exact_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where the exact program would be too large the gap is told, and leximin refuses."""
    problem = posed({"cpu": [3, 3], "disk": [3, 4]}, [{"maps": 3, "map": {"cpu": 2, "disk": 1}, "goal": 3, "time": 2}])
    monkeypatch.setattr(utility_program, "MOST_COLUMNS", 0)
    monkeypatch.setattr(UtilitySearch, "_pack_downwards", lambda *_: None)
    search = UtilitySearch(problem, Profile("exact"))
    search.run()
    assert "too large" in search.raw_status
    assert not problem.violations(search.placement)
    with pytest.raises(TooLarge, match="leximin"):
        leximin(problem)


def test_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C leaves what is held and proved."""

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "least_shortage", interrupted)
    problem = posed({"cpu": [3]}, [{"maps": 2, "map": {"cpu": 2}}])
    solution = solve(problem)
    assert (solution.limit, solution.termination) == (Limit.INTERRUPTED, Termination.FEASIBLE)
    assert certify(problem, solution).valid


def test_solver_that_misses_the_threshold() -> None:
    """Tests that counts below the threshold that was asked for are a disagreement, and not asked for for ever."""
    problem = posed({"cpu": [3, 4]}, [{"maps": 2, "map": {"cpu": 2}}])
    nothing = SolverOutcome(Termination.OPTIMAL, None, 0.0, 0.0, "", 0.0, None)
    search = UtilitySearch(
        problem, Profile("exact"), decide=lambda *_: (nothing, np.zeros((2, 2), dtype=np.int64)), shortcuts=False
    )
    with pytest.raises(SolverDisagreement, match=r"violates a lowest utility of 1\.0"):
        search.run()


def test_wrong_solver_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that counts which violate a capacity are a disagreement, not a result."""
    problem = posed({"cpu": [3, 4]}, [{"maps": 2, "map": {"cpu": 2}}])
    packing = utility_patterns.Packing.of(problem, 0)
    answer = type("Answer", (), {"x": np.array([2.0, 0.0, 1.0]), "outcome": None})
    monkeypatch.setattr(utility_program, "solve_arrays", lambda *_: answer)
    with pytest.raises(SolverDisagreement, match="violates"):
        utility_program.solve_integer_program(problem, packing, {}, load_profile("exact"), False)
