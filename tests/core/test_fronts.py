"""A frontier is a sequence of its points, which says where it was cut short."""

from __future__ import annotations

from dataclasses import replace

from optsched.core.fronts import Frontier
from optsched.core.placement import Placement
from optsched.core.results import Certificate, FrontierPoint, Limit, Proof, Value


def point(*objective: int) -> FrontierPoint:
    """A point whose first component is proved by a word alone, the second by prices."""
    claims = (Certificate("first", Proof.SOLVER, objective[0]), Certificate("second", Proof.DUAL, objective[1]))
    return FrontierPoint(objective, Placement.of([0]), claims)


#: Two points of a problem of whatever name.
POINTS = (point(1, 9), point(2, 4))


def found(complete: bool, limit: Limit | None = None, points: tuple[FrontierPoint, ...] = POINTS) -> Frontier:
    """A frontier with these points."""
    return Frontier("some-problem", ("first", "second"), points, complete, limit)


def test_sequence_of_points() -> None:
    """Tests length, order, single points from either end, and the objectives alone."""
    front = found(complete=True)
    values: list[Value] = [(1, 9), (2, 4)]
    assert (len(front), list(front), front[0], front[-1]) == (2, list(POINTS), POINTS[0], POINTS[1])
    assert front.values == values
    assert (list(found(True, points=())), found(True, points=()).values) == ([], [])


def test_text() -> None:
    """Tests a line of heading and one a point with its weakest proof, and that what is not complete says why."""
    assert str(found(complete=True)).splitlines() == ["some-problem: first, second", "  1, 9  solver", "  2, 4  solver"]
    shown = replace(found(True, points=()), infeasible=Certificate("feasible-decisions", Proof.DUAL, 0))
    assert str(shown).splitlines()[1:] == ["  nothing is feasible  dual"]
    assert str(found(False, Limit.TIME, ())) == "some-problem: first, second (cut short: TIME)"


def test_frame() -> None:
    """Tests a row for each point, with doubles, and that none has the same columns and types."""
    frame, none = found(complete=True).frame(), found(True, points=()).frame()
    assert frame.to_dict("list") == {"first": [1, 2], "second": [9, 4], "proof": ["solver", "solver"]}
    assert [str(kind) for kind in frame.dtypes] == [str(kind) for kind in none.dtypes] == ["float64"] * 2 + ["object"]


def test_page() -> None:
    """Tests that a notebook shows the heading and a row for each point."""
    page = found(False, Limit.TIME)._repr_html_()
    assert page.startswith("<p>some-problem: first, second (cut short: TIME)</p><table")
    assert page.count("<td>solver</td>") == 2
