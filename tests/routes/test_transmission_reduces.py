"""The routes of `transmission-reduces` against enumeration, limits, and solvers that err."""

from dataclasses import replace

import numpy as np
import pytest
from transmission_instances import posed

from optsched import Limit, Termination, certify, solve
from optsched.core.errors import SolverDisagreement
from optsched.solvers.answers import SolverOutcome
from optsched.solvers.profiles import load_profile


def test_limits_leave_a_placement_and_the_cheap_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a solver that stops without an answer leaves reduces placed one by one, and a bound with its proof."""
    profile = load_profile("exact").with_limits(time_limit=0.0)
    problem = posed([1.0, 2.0, 3.0], [1] * 4)
    stopped = SolverOutcome(Termination.NO_SOLUTION, Limit.TIME, None, None, "time limit", 0.0, None)
    monkeypatch.setattr("optsched.routes.transmission_reduces.by_arrays", lambda *_: (stopped, None, None))
    solution = solve(problem, profile)
    # In turn, each on its best node that is left: 1 MB stays, 2 MB go 2 and 3 MB go 4; the other way round it is 8.
    assert (solution.termination, solution.limit, solution.objective) == (Termination.FEASIBLE, Limit.TIME, (16,))
    assert solution.bound == (problem.cheap_bounds()[0].value,)
    assert certify(problem, solution).proved
    held = solve(problem, profile, start=problem.placement([2, 1, 0]))
    assert (held.termination, held.objective) == (Termination.FEASIBLE, (10,))


def test_wrong_words_of_a_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an optimum in a solver's words that is none is a disagreement, or else the program finds a better."""
    problem = posed([1.0, 2.0], [1] * 4)
    lie = SolverOutcome(Termination.OPTIMAL, None, 99.0, 99.0, "optimal", 0.0, None)
    nodes = np.array([1, 3])
    monkeypatch.setattr("optsched.routes.transmission_reduces.by_arrays", lambda *_: (lie, nodes, None))
    with pytest.raises(SolverDisagreement, match=r"the solver says 99\.0"):
        solve(problem)
    worse = replace(lie, objective=20.0)
    monkeypatch.setattr("optsched.routes.transmission_reduces.by_arrays", lambda *_: (worse, nodes, None))
    solution = solve(problem)
    assert (solution.termination, solution.objective, solution.bound) == (Termination.OPTIMAL, (2,), (2,))
    assert certify(problem, solution).proved
