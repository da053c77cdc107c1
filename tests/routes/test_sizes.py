"""Tests of `optsched.routes.sizes`: models that do not fit are refused before they are built."""

from __future__ import annotations

import pytest

import optsched
from optsched.errors import TooLarge
from optsched.models import lsap
from optsched.problems import AnyProblem, Lsap
from optsched.processes import Limits, contained
from optsched.routes import sizes, solve
from optsched.routes.sizes import model_sizes, refuse_beyond_memory


@pytest.fixture(scope="module")
def large() -> AnyProblem:
    """A problem whose literal model takes some 600 MB."""
    return optsched.problem("lsap", optsched.generate("lsap", nodes=500, tasks=500))


def test_model_beyond_the_memory_is_refused(large: AnyProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that nothing is built where there is no memory for it, and that the message has sizes and the way out."""
    monkeypatch.setattr(lsap, "build_pulp", None)
    monkeypatch.setattr(sizes, "available_mb", lambda: 200)
    told = (
        r"lsap: the literal model would have 250,001 variables, 1,000 constraints and 750,001 coefficients, and take "
        r'about 608 MB where there are 200; take route "network", the default$'
    )
    with pytest.raises(TooLarge, match=told):
        solve(large, route="pulp")
    refuse_beyond_memory(large, "pyomo")


def test_limit_of_memory_counts(large: AnyProblem) -> None:
    """Tests that a limit on memory refuses what would be killed at it, in the process of the solve."""
    with contained(Limits(60, 400)), pytest.raises(TooLarge, match="take about 608 MB where there are"):
        solve(large, route="pulp")


def test_default_route_has_no_other(monkeypatch: pytest.MonkeyPatch, large: AnyProblem) -> None:
    """Tests that no other route is named where the default one is a model, and nothing told where nothing is known."""
    monkeypatch.setattr(sizes, "available_mb", lambda: 200)
    monkeypatch.setattr("optsched.routes.routes_of", lambda problem: ("pulp",))
    with pytest.raises(TooLarge, match=r"take smaller instances$"):
        refuse_beyond_memory(large, "pulp")
    monkeypatch.delattr(lsap, "literal_size")
    assert list(model_sizes(large)) == ["pyomo"]
    refuse_beyond_memory(large, "pulp")


def test_problem_without_models() -> None:
    """Tests that a class that no record names has no sizes."""

    class Own(Lsap):
        """A problem of one's own."""

    assert model_sizes(Own(optsched.load("papers/guo-fig2"))) == {}
