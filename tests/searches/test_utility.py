"""The engines of `utility`: patterns, thresholds, limits and interrupts."""

from __future__ import annotations

import numpy as np
import pytest
from stopping import interrupted
from utility_instances import posed

from optsched.certificates import certify
from optsched.errors import SolverDisagreement
from optsched.instances.generate import generate
from optsched.problems import Utility
from optsched.results import Limit, Proof, Termination
from optsched.routes import solve
from optsched.searches import utility as engine
from optsched.searches.utility import UtilitySearch
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile


def test_identical_trackers_at_size() -> None:
    """Tests that 1,000 identical trackers are closed by prices and packing alone, and certified."""
    problem = Utility(generate("utility", seed=0, jobs=10, nodes=1000, maps=900, reduces=40))
    solution = solve(problem)
    assert solution.objective is not None
    assert solution.bound[0] == solution.objective[0]
    assert solution.certificates[0].kind is Proof.DUAL
    assert certify(problem, solution).valid


def test_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C leaves what is held and proved."""
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
