"""`optsched self-test`: two routes for each problem, and what is wrong is told."""

from __future__ import annotations

import pytest
from command_line import answer, run

from optsched.cli.listing import checks
from optsched.core.errors import UsageError
from optsched.core.registry import KnownOptimum, Record
from optsched.problems import PROBLEMS


def test_self_test() -> None:
    """Tests that the self-test passes here, with two routes for each problem."""
    found = answer("self-test")
    assert all(entry["holds"] for entry in found)
    named = [entry["what"].split(" by ")[0] for entry in found]
    assert {name: named.count(name) for name in named} == {"HiGHS": 1, **dict.fromkeys(PROBLEMS, 2)}


def test_self_test_fails_on_a_broken_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a solver that gets a program wrong is told, with exit code 4."""
    monkeypatch.setattr("optsched.solvers.sanity.wrong_answers", lambda: ["HiGHS#2957: optimum 28.2, HiGHS says 28"])
    result = run("self-test")
    assert result.exit_code == 4
    assert "FALSE  HiGHS" in result.stdout


@pytest.mark.parametrize("instance", ["examples/none", "examples/knapsacks"])
def test_known_optimum_that_the_library_has_not(monkeypatch: pytest.MonkeyPatch, instance: str) -> None:
    """Tests that the self-test names the record whose instance has no known optimum of the problem."""
    known = KnownOptimum(instance, ("arrays", "brute-force"))
    entry = Record(name="worst-mean", problem="wrong_problems:WorstMean", known=known)
    monkeypatch.setattr("optsched.core.registry.records", lambda: {"worst-mean": entry})
    monkeypatch.setattr("optsched.solvers.sanity.wrong_answers", list)
    with pytest.raises(UsageError, match=f'problem "worst-mean" .* names .{instance}. in its known, of which'):
        list(checks())
