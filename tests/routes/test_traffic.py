"""The routes of `traffic` and its frontier against enumeration, starts, and laws."""

from dataclasses import replace
from fractions import Fraction

import pytest
from small_problems import traffic as posed

from optsched import Termination, frontier, solve
from optsched.certificates import certify, no_room_certificate
from optsched.certificates.traffic import Cases, SlotPrices
from optsched.core.errors import OutOfTime
from optsched.problems import Traffic
from optsched.routes.traffic import ROUTES


def test_infeasible_by_packing() -> None:
    """Tests three pairs of reduces where each of two datacenters has three slots: prices prove it case by case."""
    problem = posed([[0]], reduces=2, nodes=[0, 1, 2], reduce_slots=[3, 3, 0], jobs=3, capacity="slots")
    assert problem.plainly_infeasible is None
    for route in ROUTES:
        if route == "brute-force":
            continue
        solution = solve(problem, route=route)
        assert (solution.termination, solution.decision) == (Termination.INFEASIBLE, None)
        assert certify(problem, solution).proved
    assert (len(frontier(problem)), frontier(problem).complete) == (0, True)
    assert solve(Traffic(problem.instance, capacity="slots", reduces="free")).optimal


def test_room_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that prices show no want of room where there is room, and that without time to show it there is a word."""
    full = posed([[0]], reduces=2, nodes=[0, 1, 2], reduce_slots=[3, 3, 0], jobs=3, capacity="slots")
    roomy = posed([[0]], reduces=2, nodes=[0, 1, 2], reduce_slots=[3, 3, 2], jobs=3, capacity="slots")
    solution = solve(full)
    false = replace(solution, instance_sha256=roomy.instance.sha256)
    (verdict,) = certify(roomy, false).contradicted
    assert verdict.endswith("and there can be as much: up to 60")
    assert no_room_certificate(roomy, Cases(SlotPrices.none(roomy))) is None
    for result in (lambda *_: None, out_of_time):
        monkeypatch.setattr("optsched.solvers.searches.traffic.TrafficSearch.proof", result)
        word = solve(full)
        assert (word.termination, word.certificates) == (Termination.INFEASIBLE, ())


def out_of_time(*_: object) -> None:
    """A search that is out of time."""
    raise OutOfTime("out of time")


@pytest.mark.parametrize("route", ROUTES)
def test_single_bytes(route: str) -> None:
    """Tests that traffic which differs by less than a solver's tolerance in MB, 2^-20, is kept apart by every route."""
    sizes = [4 * 2.0**-20, 5 * 2.0**-20, 2 * 2.0**-20, 0.0]
    blocks, nodes = [[1, 2], [0], [], [1, 3]], [0, 0, 1, 1]
    problem = posed(blocks, 3.0, 1, nodes, sizes, [1, 1, 2, 3], [3, 2, 1, 2], capacity="slots")
    assert solve(problem, route=route).objective == (Fraction(7, 2**20), 3)
