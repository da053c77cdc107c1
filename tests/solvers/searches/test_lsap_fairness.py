"""Capped flows of `lsap-fairness`: they check themselves, and prices of what is not the fairest prove less."""

import pytest
from small_problems import FAIRNESS as SMALL

from optsched import generate, solve
from optsched.core.errors import SolverDisagreement
from optsched.core.placement import NONE
from optsched.problems import LsapFairness
from optsched.solvers.searches.lsap_fairness import CappedNetwork


def test_flows_check_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a flow that is not maximum is noticed."""

    class NoFlow:
        flow_value = 0

    monkeypatch.setattr("optsched.solvers.searches.lsap_fairness.maximum_flow", lambda *_: NoFlow())
    with pytest.raises(SolverDisagreement, match="SciPy places 0 of 30 tasks"):
        solve(LsapFairness(generate("fair-lsap", seed=0)))


def test_prices_of_a_placement_that_is_not_the_fairest() -> None:
    """Tests that residual levels of any placement prove a bound, and less than its value where it is not optimal."""
    network = CappedNetwork(SMALL, 2)
    bad = SMALL.placement([NONE, NONE, NONE, 1, 0])
    found = network.prices(bad)
    bound = SMALL.distance_bound(2, found.locality, found.task, found.nodes, found.groups)
    assert bound < SMALL.evaluate(bad)[1]
