"""The integer program of `utility`: where it would be too large, and solvers that hold nonsense."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from utility_instances import posed, problems

from optsched.core.errors import SolverDisagreement
from optsched.core.placement import Placement
from optsched.problems import Utility
from optsched.problems.base import GRID
from optsched.problems.utility_program import Hosts
from optsched.routes import solve
from optsched.searches import utility_columns
from optsched.searches.enumeration import judged
from optsched.searches.utility import UtilitySearch
from optsched.solvers.profiles import Profile, load_profile


def test_no_exact_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where the exact program would be too large the gap is told."""
    problem = posed({"cpu": [3, 3], "disk": [3, 4]}, [{"maps": 3, "map": {"cpu": 2, "disk": 1}, "goal": 3, "time": 2}])
    monkeypatch.setattr(utility_columns, "MOST_COLUMNS", 0)
    monkeypatch.setattr(UtilitySearch, "_pack_downwards", lambda *_: None)
    search = UtilitySearch(problem, Profile("exact"))
    search.run()
    assert "too large" in search.raw_status
    assert not problem.violations(search.placement)


@pytest.mark.parametrize(("x", "told"), [([2.0, 0.0, 1.0], "violates capacity"), ([1.0, 0.0, 1.0], "what a job needs")])
def test_wrong_solver_is_caught(monkeypatch: pytest.MonkeyPatch, x: list[float], told: str) -> None:
    """Tests that counts which violate a capacity, or are too few, are a disagreement, not a result."""
    problem = posed({"cpu": [3, 4]}, [{"maps": 2, "map": {"cpu": 2}}])
    answer = type("Answer", (), {"x": np.array(x), "outcome": None})
    monkeypatch.setattr(utility_columns, "solve_arrays", lambda *_: answer)
    with pytest.raises(SolverDisagreement, match=told):
        utility_columns.solve_packing(problem, Hosts.of(problem, {}), GRID, load_profile("exact"), False)


def test_too_many_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the columns of the single trackers alone are counted, and just as many as are allowed are taken."""
    problem = posed({"cpu": [3, 5, 3]}, [{"maps": 9, "map": {"cpu": 1}}])
    columns = 2 * len(problem.jobs)  # of the one tracker that is like no other
    monkeypatch.setattr(utility_columns, "MOST_COLUMNS", columns)
    assert utility_columns.exact_hosts(problem) is not None
    monkeypatch.setattr(utility_columns, "MOST_COLUMNS", columns - 1)
    assert utility_columns.exact_hosts(problem) is None


@pytest.mark.parametrize("reduces", ["free", "fixed"])
def test_counts_are_those_of_the_placement(reduces: str) -> None:
    """Tests counts by tracker of a placement and back; fixed reduces are not counted, but come back."""
    job = {"maps": 2, "reduces": 1, "map": {"cpu": 1}, "reduce": {"cpu": 2}}
    problem = posed({"cpu": [4, 2]}, [job, {"maps": 1, "map": {"cpu": 1}}], reduces=reduces)
    best = solve(problem).decision
    assert isinstance(best, Placement)
    counts = utility_columns.counts_of(problem, best)
    assert counts[:2].sum(axis=1).tolist() == [2, 1]
    assert counts[2:].sum() == (reduces == "free")
    again = problem.placement_of(utility_columns.allocation_of(problem, counts))
    assert problem.evaluate(again) == problem.evaluate(best)


@given(problems(tasks=5, nodes=2, reduces="free"))
@settings(max_examples=25)
def test_utilisation_against_enumeration(problem: Utility) -> None:
    """Tests the most utilisation of counts with which no job is worth less than the lowest that any placement has."""
    hosts = utility_columns.exact_hosts(problem)
    assert hosts is not None
    outcome, counts = utility_columns.solve_packing(problem, hosts, problem.lowest_units, Profile("exact"), True)
    values = [value for value, _ in judged(problem)]
    assert counts is not None
    assert outcome.objective == pytest.approx(min(float(use) for _, use in values) * GRID, abs=1e-3)
    found = problem.placement_of(utility_columns.allocation_of(problem, counts))
    assert problem.minimised(problem.evaluate(found))[1] == min(use for _, use in values)
