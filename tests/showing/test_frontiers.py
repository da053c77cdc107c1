"""Tests for pictures of frontiers: the staircase, what is proved, heuristics, units and ticks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from pictured import texts

import optsched
from optsched.core.results import Certificate, FrontierPoint, Limit, Proof
from optsched.routes import Frontier
from optsched.showing.figures import begun, picture, settings
from optsched.showing.frontiers import frontier_picture, staircase, values_of

PROBLEM = optsched.problem("latency", "papers/fsy-not-optimal")


@pytest.fixture(scope="module")
def found() -> Frontier:
    """The two points (3, 9) and (4, 7)."""
    return optsched.frontier(PROBLEM)


def test_staircase_and_points(found: Frontier) -> None:
    """Tests the corners of the stairs, from above the first point to the right of the last, units and whole ticks."""
    axes = frontier_picture(found, {"labl": (4, 7), "round-robin": (5, 11)}, "fsy").axes[0]
    stairs, points, *heuristics = axes.lines
    assert stairs.get_drawstyle() == "steps-post"
    assert list(zip(*stairs.get_data(), strict=True))[1:-1] == [(3, 9), (4, 7)]
    assert (stairs.get_ydata()[0], stairs.get_xdata()[-1]) == (axes.get_ylim()[1], axes.get_xlim()[1])
    assert list(zip(*points.get_data(), strict=True)) == [(3, 9), (4, 7)]
    assert points.get_markerfacecolor() == "black"
    assert [(*line.get_xdata(), *line.get_ydata()) for line in heuristics] == [(4, 7), (5, 11)]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("makespan (units of work)", "work (units of work)")
    assert all(tick == int(tick) for tick in [*axes.get_xticks(), *axes.get_yticks()])
    assert axes.figure.get_suptitle() == "fsy: latency: 1 of 2 heuristics on the frontier"


def test_legend_names_every_heuristic(found: Frontier) -> None:
    """Tests that heuristics with one value share a mark, and that one without a value is told by a word."""
    figure = frontier_picture(found, {"a": (4, 7), "_b$": (4, 7), "c": "infeasible", "d": (Fraction(9, 2), 8)})
    assert texts(figure)[1:] == ["frontier, proved", "a, _b$ (4, 7)", "c: infeasible", "d (4.5, 8)"]
    assert [line.get_marker() for line in figure.axes[0].lines[2:]] == ["s", "D"]
    assert picture(figure)


def test_what_a_solver_says_is_hollow(found: Frontier) -> None:
    """Tests that points on a solver's word are told from proved ones, and a frontier cut short is named so."""
    first, second = found.points
    word = tuple(replace(certificate, kind=Proof.SOLVER) for certificate in second.certificates)
    assert isinstance(word[0], Certificate)
    cut = replace(
        found, points=(first, FrontierPoint(second.objective, second.placement, word)), complete=False, limit=Limit.TIME
    )
    figure = frontier_picture(cut)
    shown = {line.get_label(): line for line in figure.axes[0].lines}
    assert shown["frontier, proved"].get_xdata().tolist() == [3]
    assert shown["frontier, a solver's word"].get_xdata().tolist() == [4]
    assert shown["frontier, a solver's word"].get_markerfacecolor() == "white"
    assert figure.get_suptitle() == "latency (not complete)"


def test_no_point_and_one_point(found: Frontier) -> None:
    """Tests a frontier without a point, and one of a single point."""
    none = frontier_picture(replace(found, points=(), complete=False))
    assert len(none.axes[0].lines) == 0
    assert picture(none)
    one = frontier_picture(replace(found, points=found.points[:1]))
    assert one.axes[0].get_xlim()[0] < 3 < one.axes[0].get_xlim()[1]


def test_fractions_have_their_own_ticks() -> None:
    """Tests that a component with fractions is not forced to whole ticks, and its unit is there."""
    problem = optsched.problem("lsap-fairness", optsched.generate("lsap-fairness", seed=0, nodes=10, tasks=8))
    axes = frontier_picture(optsched.frontier(problem)).axes[0]
    assert axes.get_ylabel() == "fairness-distance (share)"
    assert any(tick != int(tick) for tick in axes.get_yticks())


def test_reports_and_own_axes(found: Frontier) -> None:
    """Tests that reports are taken, and that stairs can be drawn into axes of one's own."""
    reports = [optsched.gap(PROBLEM, "labl"), optsched.gap(PROBLEM, lambda problem, rng: None)]  # type: ignore[arg-type,return-value]
    assert list(values_of(reports).values()) == [(4, 7), "failed"]
    assert "labl (4, 7)" in texts(frontier_picture(found, reports))
    with settings():
        axes = begun(2, 2).subplots()
        staircase(axes, found, "mine")
        staircase(axes, found, "")
    assert [str(line.get_label()) for line in axes.lines[1::2]] == ["mine, proved", "_unnamed"]
