"""The engines of `min-cost-flow`: potentials of optimal flows alone, and solvers that err."""

import numpy as np
import pytest
from small_problems import FLOWS as SMALL

from optsched import Termination, certify, solve
from optsched.core.errors import SolverDisagreement
from optsched.core.placement import NetworkFlow
from optsched.solvers.answers import SolverOutcome
from optsched.solvers.profiles import load_profile
from optsched.solvers.searches import min_cost_flow


def test_flow_that_is_not_optimal_has_no_potentials() -> None:
    """Tests that a flow above the least cost gets no potentials."""
    assert min_cost_flow.potentials_of(SMALL, NetworkFlow([0, 3, 4, 1])) is None
    assert min_cost_flow.potentials_of(SMALL, NetworkFlow([1, 2, 4, 1])) is not None
    assert min_cost_flow.cheapest_of(SMALL, NetworkFlow([0, 3, 4, 1])) == NetworkFlow([1, 2, 4, 1])


def test_wrong_solvers_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a flow that is none is a disagreement, and that duals past 2^53 are not taken for potentials."""
    with pytest.raises(SolverDisagreement, match="conservation"):
        min_cost_flow.whole_flow(SMALL, np.array([0, 0, 0, 1]))
    outcome = SolverOutcome(Termination.OPTIMAL, None, 7.0, 7.0, "Optimal", 0.0, None)
    values = SMALL.values_of(NetworkFlow([1, 2, 4, 1]), SMALL.program()).astype(float)
    answer = type("Answer", (), {"x": values, "row_duals": np.full(3, 1e300), "outcome": outcome})
    monkeypatch.setattr(min_cost_flow, "solve_arrays", lambda *_: answer)
    assert min_cost_flow.by_arrays(SMALL, load_profile("exact"))[2] is None
    assert certify(SMALL, solve(SMALL)).proved
