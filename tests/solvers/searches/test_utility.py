"""The engines of `utility`: patterns, thresholds, limits and interrupts."""

import pytest
from stopping import interrupted
from utility_instances import posed

from optsched import Limit, Proof, Termination, certify, generate, solve
from optsched.problems import Utility
from optsched.solvers.searches import utility as engine


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
