"""Claims of the registry as `mine` takes them: which check, how far from false, and what cannot be measured."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from optsched.heuristics import run
from optsched.instances.generate import generate
from optsched.measuring.gaps import GapReport, Reference, gap_of
from optsched.measuring.judging.expressions import evaluated
from optsched.measuring.mining.statements import margin, statement
from optsched.problems import problem
from optsched.solvers.profiles import load_profile


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <= b", 3),
        ("b <= a", -3),
        ("a < 2", -1),
        ("a <= 2", 0),
        ("a == 2", True),
        ("a == b", False),
        ("a < b < 9", True),
        ("(a < b) & (a > 1.5)", Fraction(1, 2)),
        ("(b > 4) | (a > b)", 1000),
        ("(b > 5) | (a > b)", -3),
        ("abs(a - b) + max(a, b) >= 8", 0),
    ],
)
def test_margin(text: str, expected: Any) -> None:
    """Tests that a margin is exact, and below 0 (or False) exactly where the expression is false."""
    measured = {"a": Fraction(2), "b": Fraction(5)}
    found = margin(text, measured)
    assert (found, type(found) is bool) == (expected, type(expected) is bool)
    assert (found is not False and found >= 0) == bool(evaluated(text, measured))


def test_a_check_that_is_false_comes_first() -> None:
    """Tests the check of a claim with several, and that a heuristic chooses among them, however it is written."""
    assert not statement("guo-2012/4.1-one-replica").check.holds
    assert statement("agosta/3.4-corollary-1").heuristic == "labl,lbar=inf"
    assert statement("agosta/3.4-corollary-1", "labl,variant=strict,lbar=inf").check.says == "labl <= optimum + 3"
    assert statement("fischer-2010/5-flow-bound").parameters == {"w_rem": "2"}


def report_of(heuristic: str, posed: Any) -> GapReport:
    """What a heuristic comes to."""
    return gap_of(posed, run(posed, heuristic, 0), 0, Reference.solved(posed, load_profile("exact")))


def test_other_parameters_of_the_problem_are_heeded() -> None:
    """Tests that a statement is measured on the problem of the report, not on that of the check."""
    stated = statement("agosta/3.4-theorem-3-bounds")
    posed = problem("latency", generate("latency", 1, nodes=2, tasks=3, max_load=0, replicas=2), w_rem=7)
    report = report_of("labl", posed)
    assert report.objective is not None
    assert stated(report) == Fraction(3 * 3, 2) - report.objective[0]


def test_what_cannot_be_measured_breaks_nothing() -> None:
    """Tests that an instance without what a heuristic of the check needs keeps the claim."""
    stated = statement("guo-2012/3.4-fixed-selection")
    posed = problem("lsap", generate("lsap", 0, nodes=4, tasks=3))
    assert stated(report_of("dl", posed)) is True
