"""Tests for `draw`: what it takes, and what it says of the rest."""

from __future__ import annotations

from typing import Any

import pytest
from pictured import racked, texts

import optsched
from optsched.drawing.choosing import draw
from optsched.errors import UsageError
from optsched.network import FlowNetwork
from optsched.placement import NetworkFlow, Placement


def names(figure: Any) -> list[str]:
    """The names of the panels."""
    return [text.get_text() for text in figure.texts if text.get_fontweight() == "bold"]


def test_instances() -> None:
    """Tests a name, a document, an instance, and placements on it."""
    assert names(draw("papers/guo-fig2")) == ["guo-fig2"]
    assert names(draw({"format": "optsched/1", "nodes": [{"id": "n"}], "tasks": []})) == ["instance"]
    assert names(draw(racked(), Placement.empty(6))) == ["placement"]


@pytest.mark.thorough
def test_problems() -> None:
    """Tests that placements of all kinds stand before the optimum, which is last, and alone without them."""
    problem = optsched.problem("latency", "papers/fsy-not-optimal")
    best = "optimum (proved: combinatorial)"
    assert names(draw(problem)) == [best]
    report, solution = optsched.gap(problem, "labl"), optsched.solve(problem)
    shown = draw(problem, "round-robin", report, solution, solution.decision, [0] * 7)
    assert names(shown) == ["round-robin", "labl", "placement", "placement", "placement", best]
    assert names(draw(report)) == ["labl", best]
    assert optsched.draw is draw


def test_networks() -> None:
    """Tests a network, a problem on it, flows on both, with their values."""
    network = optsched.load("examples/negative-cycle")
    problem = optsched.problem("min-cost-flow", network)
    solution = optsched.solve(problem)
    assert isinstance(network, FlowNetwork)
    assert len(draw(network).axes) == 1
    assert [axes.get_title() for axes in draw(problem, solution).axes] == [
        "negative-cycle\nflow: 3",
        "negative-cycle\noptimum: 3",
    ]
    nothing = NetworkFlow([0] * network.arcs)
    assert draw(problem, nothing).axes[0].get_title() == "negative-cycle\nflow, infeasible"
    assert draw(network, nothing).axes[0].get_title() == "negative-cycle\nflow"


def test_studies() -> None:
    """Tests that the gaps of a study are box plots."""
    figure = draw(optsched.study("papers/fsy-not-optimal", "latency", "labl"))
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["labl"]


def test_wrong_arguments() -> None:
    """Tests that what cannot be drawn is told in one line with what to do."""
    instance, problem = racked(), optsched.problem("lsap", racked())
    other = optsched.problem("latency", "papers/fsy-not-optimal")
    wrong: list[tuple[tuple[Any, ...], str]] = [
        ((instance, "dl"), "pose a problem first"),
        ((None,), "not None"),
        ((3, "dl"), "not on an int"),
        ((problem, [0, 1]), "the placement has 2 nodes"),
        ((problem, optsched.solve(other)), "another instance"),
        ((problem, optsched.gap(other, "labl")), "another instance"),
        ((optsched.load("examples/negative-cycle"), "dl"), "flows are drawn on a network"),
    ]
    for given, told in wrong:
        with pytest.raises(UsageError, match=told) as caught:
            draw(*given)
        assert len(str(caught.value).splitlines()) == 1


def test_what_is_cut_short_is_drawn_without_an_optimum() -> None:
    """Tests that without a known placement the others are drawn, and nothing at all is told."""
    problem = optsched.problem("lsap", racked())
    assert names(draw(problem, [0, 1, 1, 2, 3], time_limit=0))[0] == "placement"
    empty = optsched.problem("generalized-assignment", _crowded())
    with pytest.raises(UsageError, match="no placement is known to draw: INFEASIBLE"):
        draw(empty)
    assert "infeasible" in texts(draw(empty, [0, 0]))[1]


def _crowded() -> Any:
    nodes = [{"id": "n1", "capacity": {"c": 1}}]
    pairs = {"cost": [[1], [1]], "demand": {"c": [[1], [1]]}}
    return optsched.load({"format": "optsched/1", "nodes": nodes, "tasks": [{"id": "a"}, {"id": "b"}], "pairs": pairs})
