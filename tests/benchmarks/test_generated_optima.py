"""The program that compares every route on drawn instances: some agree, and each thing that may differ is found."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from optsched.core.errors import SolverDisagreement, UsageError
from optsched.core.registry import SHIPPED
from optsched.core.results import Limit, Proof, Termination

ROOT = Path(__file__).parents[2]


@pytest.fixture(name="optima")
def _optima(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("generated_optima")


def number_of(optima: ModuleType, name: str, suits: Callable[[Any], bool] = lambda posed: True) -> int:
    """The first number of a problem's instances that suits."""
    place = [record.name for record in SHIPPED].index(name)
    return next(number for number in range(place, 3000, len(SHIPPED)) if suits(optima.drawn(0, number)))


def plain(posed: Any) -> bool:
    """An instance as drawn, with something to decide, and some slot to decide on."""
    problem = posed.problem()
    if posed.kind != "as drawn" or posed.record.name == "min-cost-flow":
        return bool(posed.kind == "as drawn" and problem.instance.arcs)
    return bool(len(problem.tasks) and problem.instance.state.idle_slots.any())


def compared(optima: ModuleType, number: int, turn: int = 1) -> tuple[list[str], Counter[str]]:
    """What is wrong with an instance, and what is counted of it."""
    counts: Counter[str] = Counter()
    return optima.compared(optima.drawn(0, number), turn, counts), counts


@pytest.mark.thorough
def test_instances_agree_and_are_kept(optima: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests an instance of every problem, that what is kept is not done again, and that a line of it fails."""
    kept = tmp_path / "kept"
    arguments = ["--instances", str(len(SHIPPED)), "--processes", "1", "--seed", "5", "--json", str(kept)]
    assert optima.main(arguments) == 0
    told = capsys.readouterr().out
    for record in SHIPPED:
        assert f"| {record.name} | 1 |" in told
    (line,) = kept.read_text().splitlines()
    kept.write_text(json.dumps(json.loads(line) | {"failed": [[7, "latency: something"]]}) + "\n")
    assert optima.main(arguments) == 1
    assert "instance 7: latency: something" in capsys.readouterr().out
    assert len(kept.read_text().splitlines()) == 1


def test_problems_can_be_chosen(optima: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that only the numbers of the named problems are run, and that a name that is none is wrong usage."""
    arguments = ["--instances", str(2 * len(SHIPPED)), "--processes", "1", "--problem", "lsap", "--problem", "flow"]
    assert optima.main(arguments) == 0
    told = capsys.readouterr().out
    assert "| all | 4 |" in told
    assert "| lsap | 2 |" in told
    assert "latency |" not in told
    with pytest.raises(SystemExit):
        optima.main(["--problem", "none"])


def test_numbers_have_their_instances(optima: ModuleType) -> None:
    """Tests that no problem is left out, that a number is always the same, and the share of each kind."""
    assert [optima.drawn(1, number).record.name for number in range(len(SHIPPED))] == [entry.name for entry in SHIPPED]
    one, again, other = optima.drawn(1, 37), optima.drawn(1, 37), optima.drawn(2, 37)
    assert one.given == again.given != other.given
    asked = [optima.drawn(0, number * len(SHIPPED)).asked for number in range(16)]
    assert asked == ["as drawn"] * 8 + list(optima.KINDS)


def test_one_instance_is_told(optima: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests `--only`."""
    assert optima.main(["--only", "6"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("latency, as drawn")
    assert told.endswith("nothing is wrong with it\n")


def test_other_routes_are_looked_at(optima: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a route with another optimum, one that finds nothing feasible, one that refuses, and ones that stop."""
    number = number_of(optima, "flow", plain)
    wrong, counts = compared(optima, number)
    assert wrong == []
    assert counts["HiGHS on arrays of flow"] == 1
    solve = optima.solve

    def answering(change: Callable[[Any], Any]) -> None:
        def other(problem: Any, route: str | None = None, **named: Any) -> Any:
            found = solve(problem, route=route, **named)
            return found if route != "arrays" else change(found)

        monkeypatch.setattr(optima, "solve", other)

    def raising(error: Exception) -> Callable[[Any], Any]:
        def change(found: Any) -> Any:
            raise error

        return change

    (best,) = optima.solve(optima.drawn(0, number).problem()).objective
    answering(lambda found: replace(found, objective=(best + 1,)))
    assert f"arrays says {best + 1}, the default {best}" in compared(optima, number)[0][0]
    answering(lambda found: replace(found, termination=Termination.INFEASIBLE))
    assert f"arrays says nothing is feasible, the default {best}" in compared(optima, number)[0][0]
    stopped = {"termination": Termination.FEASIBLE, "limit": Limit.GAP}
    answering(lambda found: replace(found, **stopped, objective=(best,), bound=(best - 1,)))
    assert "arrays stops with" in compared(optima, number)[0][0]
    stopped["limit"] = Limit.TIME
    answering(lambda found: replace(found, **stopped, objective=(best,), bound=(best - 1,)))
    wrong, counts = compared(optima, number)
    assert (wrong, counts["HiGHS on arrays leaves open flow"]) == ([], 1)
    answering(lambda found: replace(found, **stopped, objective=(best - 1,), bound=(best - 1,)))
    assert f"arrays holds {best - 1}, the default says {best}" in compared(optima, number)[0][0]
    answering(lambda found: replace(found, **stopped, objective=(best,), bound=(best + 1,)))
    assert f"arrays claims the bound {best + 1}" in compared(optima, number)[0][0]
    answering(raising(UsageError("too large")))
    wrong, counts = compared(optima, number)
    assert (wrong, counts["HiGHS on arrays refuses flow"]) == ([], 1)
    answering(raising(SolverDisagreement("other value")))
    assert "arrays: other value" in compared(optima, number)[0][0]


def test_every_decision_is_tried(optima: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that another optimum of the enumeration is told: of a route, and of a network, which has none."""
    number = number_of(optima, "min-cost-flow", lambda posed: plain(posed) and len(posed.given.document["arcs"]) < 7)
    assert compared(optima, number)[1]["every decision of min-cost-flow"] == 1
    monkeypatch.setattr(optima, "_tried", lambda problem: (10**9,))
    assert "every decision says 1000000000" in compared(optima, number)[0][0]


def test_the_default_is_looked_at(optima: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a default that claims too much, one whose proof is of another bound, and one that settles nothing."""
    number = number_of(optima, "lsap-fairness", plain)
    solve = optima.solve

    def default(change: Callable[[Any], Any]) -> list[str]:
        def other(problem: Any, route: str | None = None, **named: Any) -> Any:
            found = solve(problem, route=route, **named)
            return found if route is not None else change(found)

        monkeypatch.setattr(optima, "solve", other)
        return compared(optima, number)[0]

    def less(found: Any) -> Any:
        best = (found.objective[0] - 1, *found.objective[1:])
        called = tuple(replace(entry, claim=value) for entry, value in zip(found.certificates, best, strict=True))
        return replace(found, objective=best, bound=best, certificates=called)

    told = default(less)
    assert any("not worth" in line for line in told)
    assert any("contradicted" in line for line in told)
    assert any("HiGHS" in line or "arrays says" in line for line in told)
    told = default(lambda found: replace(found, objective=tuple(map(float, found.objective))))
    assert any("is not exact" in line for line in told)
    (told,) = default(lambda found: replace(found, termination=Termination.FEASIBLE, limit=Limit.GAP))
    assert "the default settles nothing: FEASIBLE, GAP" in told


def test_words_are_counted(optima: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an optimum on a solver's word is counted as one."""
    number, solve = number_of(optima, "lsap", plain), optima.solve

    def worded(problem: Any, route: str | None = None, **named: Any) -> Any:
        found = solve(problem, route=route, **named)
        words = tuple(replace(entry, kind=Proof.SOLVER, data={}) for entry in found.certificates)
        return replace(found, certificates=words)

    assert compared(optima, number)[1]["proof of lsap: prices"] == 1
    monkeypatch.setattr(optima, "solve", worded)
    kinds = {key for key, count in compared(optima, number)[1].items() if count and key.startswith("proof of lsap")}
    assert kinds <= {"proof of lsap: a word: solver", "proof of lsap: a cheap bound"}


def test_loops_are_looked_at(optima: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that loops that decide otherwise as plain Python are told, and that nothing is compared without numba."""

    def runs(posed: Any) -> bool:
        counts: Counter[str] = Counter()
        return posed.kind == "as drawn" and not optima.compared(posed, 0, counts) and counts["compiled of latency"] > 0

    monkeypatch.setattr(optima, "compiles", lambda: True)
    number = number_of(optima, "latency", runs)
    calls: list[int] = []
    monkeypatch.setattr(optima, "columns", lambda decision: [calls.append(1), len(calls)])
    wrong, _ = compared(optima, number, turn=0)
    assert any("compiled loops give" in line and "plain Python" in line for line in wrong)
    monkeypatch.setattr(optima, "compiles", lambda: False)
    wrong, counts = compared(optima, number, turn=0)
    assert (wrong, counts["compiled of latency"]) == ([], 0)


def test_whatever_is_raised_is_told(optima: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an error of a route is a line, and not the end."""

    def broken(*_arguments: Any, **_named: Any) -> Any:
        raise ZeroDivisionError("of nothing")

    monkeypatch.setattr(optima, "solve", broken)
    assert optima.block(0, 0, 1)["failed"] == [[0, "lsap: ZeroDivisionError: of nothing"]]
