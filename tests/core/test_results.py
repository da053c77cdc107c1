"""What solving gives: which kind of proof is the weakest, and what is said of a solution in text."""

import pickle
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from optsched.core.placement import Placement
from optsched.core.results import (
    Certificate,
    Frontier,
    FrontierPoint,
    Limit,
    Proof,
    Solution,
    Termination,
    Violation,
    digest_of,
)


def certificates(*kinds: Proof) -> tuple[Certificate, ...]:
    """One of each kind."""
    return tuple(Certificate("cost", kind, 3) for kind in kinds)


def solution(**changes: Any) -> Solution:
    """A proved solution of two components, with changes."""
    parts: dict[str, Any] = {
        "problem": "latency",
        "parameters": {},
        "instance_sha256": "0" * 64,
        "decision": Placement([0]),
        "objective": (3, Fraction(1, 2)),
        "bound": (3, Fraction(1, 2)),
        "termination": Termination.OPTIMAL,
        "limit": None,
        "certificates": certificates(Proof.COMBINATORIAL, Proof.DUAL),
        "route": "search",
        "build_seconds": 0.25,
        "solve_seconds": 0.5,
        "solver": {},
        "raw_status": "done",
    }
    return Solution(**parts | changes)


def test_proofs_are_ordered_from_the_strongest() -> None:
    """Tests that a word is the weakest kind, and that only what needs no solver can be checked."""
    ranked = [Proof.DUAL, Proof.COMBINATORIAL, Proof.ENUMERATION, Proof.SOLVER]
    assert sorted(Proof, key=lambda kind: kind.rank) == ranked
    assert [kind for kind in Proof if kind.checkable] == ranked[:2]


@pytest.mark.parametrize(
    ("kinds", "weakest"),
    [
        ((Proof.DUAL, Proof.SOLVER), Proof.SOLVER),
        ((Proof.COMBINATORIAL, Proof.DUAL), Proof.COMBINATORIAL),
        ((Proof.DUAL,), None),
        ((), None),
        ((Proof.DUAL, Proof.ENUMERATION), Proof.ENUMERATION),
        ((Proof.ENUMERATION, Proof.DUAL), Proof.ENUMERATION),
    ],
)
def test_a_solution_is_proved_as_its_weakest_component(kinds: tuple[Proof, ...], weakest: Proof | None) -> None:
    """Tests that the weakest kind stands for the solution, and none where a component has no bound."""
    claims = certificates(*kinds)
    assert solution(certificates=claims).certificate is weakest
    if len(kinds) == 2:
        assert FrontierPoint((1, 2), Placement([0]), claims).certificate is weakest


class Counted:
    """Has a digest, and counts who asks for it."""

    asked = 0

    @property
    def sha256(self) -> str:
        """The digest."""
        self.asked += 1
        return "1" * 64


def test_digest_is_made_when_one_looks() -> None:
    """Tests that a solution asks for the digest of what it is of once, when it is read, and that copies have it."""
    whole = Counted()
    held = solution(instance_sha256=digest_of(whole))
    assert (repr(held), whole.asked) == (repr(solution()), 0)
    assert held.instance_sha256 == held.instance_sha256 == "1" * 64
    assert whole.asked == 1
    assert held == solution(instance_sha256="1" * 64) != solution()
    later = Frontier("p", ("a", "b"), (), True, None, {}, digest_of(whole))
    copied = pickle.loads(pickle.dumps(later))
    assert (copied.instance_sha256, whole.asked) == ("1" * 64, 2)
    assert replace(solution(), instance_sha256="2" * 64).instance_sha256 == "2" * 64
    assert not hasattr(Solution, "instance_sha256")  # no default


def test_text_of_a_solution() -> None:
    """Tests that the text says why it stopped, what is held and proved, and that unknown is a word."""
    assert solution().optimal
    assert str(solution()).splitlines() == [
        "latency: OPTIMAL",
        "  objective 3, 1/2",
        "  bound     3, 1/2",
        "  proof     combinatorial",
        "  route     search in 0.750 s",
    ]
    stopped = solution(
        objective=None, bound=(3, None), termination=Termination.NO_SOLUTION, limit=Limit.TIME, certificates=()
    )
    assert not stopped.optimal
    assert str(stopped).splitlines()[:4] == [
        "latency: NO_SOLUTION (limit TIME)",
        "  objective unknown",
        "  bound     3, unknown",
        "  proof     none",
    ]


def test_text_of_a_violation() -> None:
    """Tests that a violation names the constraint, every id and the amount."""
    assert str(Violation("slots", ("n1", "n2"), Fraction(1, 3))) == "slots(n1, n2) by 1/3"
    assert str(Violation("cardinality", (), 6)) == "cardinality: 6 tasks too few placed"
    assert str(Violation("cardinality", ("map",), 1)) == "cardinality(map): 1 task too few placed"


def test_frame_of_a_solution() -> None:
    """Tests a row for each component, with doubles, and nothing where nothing is held or proved."""
    frame = solution(objective=(Fraction(1, 2), 3), bound=(Fraction(1, 4), None), certificates=certificates(Proof.DUAL))
    rows = frame.frame()
    assert rows["objective"].tolist() == [0.5, 3]
    assert rows["bound"].isna().tolist() == [False, True]
    assert rows["proof"].tolist() == ["dual", None]
    assert solution(objective=None, bound=(None,), certificates=()).frame()["objective"].isna().tolist() == [True]


def test_page_of_a_solution() -> None:
    """Tests that a notebook shows why it stopped, and a table that says what is unknown."""
    page = solution(objective=None, bound=(None,), certificates=(), problem="a<b")._repr_html_()
    assert page.startswith("<p>a&lt;b: ")
    assert "<td>unknown</td>" in page


def point(*objective: int) -> FrontierPoint:
    """A point whose first component is proved by a word alone, the second by prices."""
    claims = (Certificate("first", Proof.SOLVER, objective[0]), Certificate("second", Proof.DUAL, objective[1]))
    return FrontierPoint(objective, Placement.of([0]), claims)


POINTS = (point(1, 9), point(2, 4))


def found(complete: bool, limit: Limit | None = None, points: tuple[FrontierPoint, ...] = POINTS) -> Frontier:
    """A frontier with these points."""
    return Frontier("some-problem", ("first", "second"), points, complete, limit)


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
    assert frame.dtypes.tolist() == none.dtypes.tolist()


def test_page() -> None:
    """Tests that a notebook shows the heading and a row for each point."""
    page = found(False, Limit.TIME)._repr_html_()
    assert page.startswith("<p>some-problem: first, second (cut short: TIME)</p><table")
    assert page.count("<td>solver</td>") == 2
