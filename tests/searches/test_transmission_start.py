"""The first placement of the search of `transmission`: no longer than there is time, whatever stops it."""

from __future__ import annotations

import pytest
from stopping import clock_of_looks
from transmission_instances import drawn

from optsched.certificates import certify
from optsched.deadline import deadline
from optsched.problems.transmission import Transmission
from optsched.results import Limit
from optsched.routes import solve


@pytest.mark.parametrize("held", [True, False])
def test_bug_first_placement_did_not_look_at_the_clock(held: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a deadline at the first, second, ... look at the clock: always a placement and a bound that is proved."""
    problem = Transmission(drawn(0, 4, 3, 5, slots=1))
    monkeypatch.setattr("optsched.problems.transmission_tables._HELD", 2**24 if held else 0)
    cut = []
    for looks in (0, 1, 2, 3, 5, 8, 13, 20, 30, 45, 70):
        with clock_of_looks(), deadline(looks):
            solution = solve(problem)
        assert solution.objective is not None
        assert solution.objective >= (263,) >= solution.bound
        assert certify(problem, solution).proved
        cut.append(solution.limit is Limit.TIME)
    assert cut[:4] == [True] * 4
    assert held or all(cut)
