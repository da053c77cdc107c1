"""The program that compares every route on drawn instances: some agree, and each thing that may differ is found."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from optsched.core.errors import SolverDisagreement, UsageError
from optsched.core.registry import SHIPPED
from optsched.core.results import Limit, Proof, Termination


def number_of(study: ModuleType, name: str, suits: Callable[[Any], bool] = lambda posed: True) -> int:
    """The first number of a problem's instances that suits."""
    place = [record.name for record in SHIPPED].index(name)
    return next(number for number in range(place, 3000, len(SHIPPED)) if suits(study.drawn(0, number)))


def plain(posed: Any) -> bool:
    """An instance as drawn, with something to decide, and some slot to decide on."""
    if posed.kind != "as drawn":
        return False
    problem = posed.problem()
    if posed.record.name == "min-cost-flow":
        return bool(problem.instance.arcs)
    return bool(len(problem.tasks) and problem.instance.state.idle_slots.any())


def compared(study: ModuleType, number: int, turn: int = 1) -> tuple[list[str], Counter[str]]:
    """What is wrong with an instance, and what is counted of it."""
    counts: Counter[str] = Counter()
    return study.compared(study.drawn(0, number), turn, counts), counts


def with_answers(
    study: ModuleType, number: int, change: Callable[[Any], Any], suits: Callable[[str | None], bool]
) -> tuple[list[str], Counter[str]]:
    """The same where the answers of the routes that suit are changed ones."""
    solve = study.solve

    def other(problem: Any, route: str | None = None, **named: Any) -> Any:
        found = solve(problem, route=route, **named)
        return change(found) if suits(route) else found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "solve", other)
        return compared(study, number)


def test_problems_can_be_chosen(study: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that only the numbers of the named problems are run, and that a name that is none is wrong usage."""
    run: list[str] = []
    monkeypatch.setattr(study, "compared", lambda posed, turn, counts: run.append(posed.record.name) or [])
    number = str(len(SHIPPED))
    assert study.main(["--instances", number, "--processes", "1", "--problem", "latency", "--problem", "lsap"]) == 0
    assert run == ["lsap", "latency"]
    with pytest.raises(SystemExit):
        study.main(["--problem", "none"])


def test_numbers_have_their_instances(study: ModuleType) -> None:
    """Tests that no problem is left out, that a number is always the same, and the share of each kind."""
    assert [study.drawn(1, number).record.name for number in range(len(SHIPPED))] == [entry.name for entry in SHIPPED]
    one, again, other = study.drawn(1, 37), study.drawn(1, 37), study.drawn(2, 37)
    assert one.given == again.given != other.given
    asked = [study.drawn(0, number * len(SHIPPED)).asked for number in range(16)]
    assert asked == ["as drawn"] * 8 + list(study.KINDS)


def raising(error: Exception) -> Callable[[Any], Any]:
    """An answer that is none."""

    def change(found: Any) -> Any:
        raise error

    return change


def test_other_routes_are_looked_at(study: ModuleType) -> None:
    """Tests a route with another optimum, one that finds nothing feasible, one that refuses, and ones that stop."""
    number = number_of(study, "flow", plain)
    wrong, counts = compared(study, number)
    assert (wrong, counts["HiGHS on arrays of flow"]) == ([], 1)
    (best,) = study.solve(study.drawn(0, number).problem()).objective

    def stopped(limit: Limit, held: int, bound: int) -> Callable[[Any], Any]:
        values = {"termination": Termination.FEASIBLE, "objective": (best + held,), "bound": (best + bound,)}
        return lambda found: replace(found, limit=limit, **values)

    def otherwise(change: Callable[[Any], Any]) -> tuple[list[str], Counter[str]]:
        return with_answers(study, number, change, lambda route: route == "arrays")

    shown: list[tuple[Callable[[Any], Any], str]] = [
        (lambda found: replace(found, objective=(best + 1,)), f"says {best + 1}, the default {best}"),
        (lambda found: replace(found, termination=Termination.INFEASIBLE), "says nothing is feasible, the default"),
        (stopped(Limit.GAP, 0, -1), "stops with"),
        (stopped(Limit.TIME, -1, -1), f"holds {best - 1}, the default says {best}"),
        (stopped(Limit.TIME, 0, 1), f"claims the bound {best + 1}"),
    ]
    for change, line in shown:
        assert f"arrays {line}" in otherwise(change)[0][0]
    assert "arrays: other value" in otherwise(raising(SolverDisagreement("other value")))[0][0]
    for change, counted in (
        (stopped(Limit.TIME, 0, -1), "HiGHS on arrays leaves open flow"),
        (raising(UsageError("too large")), "HiGHS on arrays refuses flow"),
    ):
        wrong, counts = otherwise(change)
        assert (wrong, counts[counted]) == ([], 1)


def test_every_decision_is_tried(study: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that another optimum of the enumeration is reported: of a route, and of a network, which has none."""
    number = number_of(study, "min-cost-flow", lambda posed: plain(posed) and len(posed.given.document["arcs"]) < 7)
    assert compared(study, number)[1]["every decision of min-cost-flow"] == 1
    monkeypatch.setattr(study, "_tried", lambda problem: (10**9,))
    assert "every decision says 1000000000" in compared(study, number)[0][0]


def test_the_default_is_looked_at(study: ModuleType) -> None:
    """Tests a default that claims too much, one whose proof is of another bound, and one that settles nothing."""
    number = number_of(study, "lsap-fairness", plain)

    def less(found: Any) -> Any:
        best = (found.objective[0] - 1, *found.objective[1:])
        called = tuple(replace(entry, claim=value) for entry, value in zip(found.certificates, best, strict=True))
        return replace(found, objective=best, bound=best, certificates=called)

    def real(found: Any) -> Any:
        return replace(found, objective=tuple(map(float, found.objective)))

    def unsettled(found: Any) -> Any:
        return replace(found, termination=Termination.FEASIBLE, limit=Limit.GAP)

    for change, lines in (
        (less, ("not worth", "contradicted", "says")),
        (real, ("is not exact",)),
        (unsettled, ("the default settles nothing: FEASIBLE, GAP",)),
    ):
        wrong, _ = with_answers(study, number, change, lambda route: route is None)
        assert all(any(line in text for text in wrong) for line in lines), wrong


def test_words_are_counted(study: ModuleType) -> None:
    """Tests that an optimum on a solver's word is counted as one."""
    number = number_of(study, "lsap", plain)
    assert compared(study, number)[1]["proof of lsap: prices"] == 1

    def worded(found: Any) -> Any:
        words = tuple(replace(entry, kind=Proof.SOLVER, data={}) for entry in found.certificates)
        return replace(found, certificates=words)

    counts = with_answers(study, number, worded, lambda route: True)[1]
    kinds = {key for key, count in counts.items() if count and key.startswith("proof of lsap")}
    assert kinds <= {"proof of lsap: a word: solver", "proof of lsap: a cheap bound"}


def test_loops_are_looked_at(study: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that loops that decide otherwise as plain Python are shown, and that nothing is compared without numba."""

    def runs(posed: Any) -> bool:
        counts: Counter[str] = Counter()
        return posed.kind == "as drawn" and not study.compared(posed, 0, counts) and counts["compiled of latency"] > 0

    monkeypatch.setattr(study, "compiles", lambda: True)
    number = number_of(study, "latency", runs)
    calls: list[int] = []
    monkeypatch.setattr(study, "columns", lambda decision: [calls.append(1), len(calls)])
    wrong, _ = compared(study, number, turn=0)
    assert any("compiled loops give" in line and "plain Python" in line for line in wrong)
    monkeypatch.setattr(study, "compiles", lambda: False)
    wrong, counts = compared(study, number, turn=0)
    assert (wrong, counts["compiled of latency"]) == ([], 0)


def test_whatever_is_raised_is_reported(study: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an error of a route is a line, and not the end."""
    monkeypatch.setattr(study, "solve", lambda *_, **named: raising(ZeroDivisionError("of nothing"))(None))
    assert study.check_instance(0, (), 0, Counter()) == ["lsap: ZeroDivisionError: of nothing"]
