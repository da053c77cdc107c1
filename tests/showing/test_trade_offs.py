"""Pictures of frontiers (stairs, proofs, heuristics) and of gap matrices (what is in a cell, how dark it is)."""

from dataclasses import replace
from fractions import Fraction

import pytest
from pictured import outside, texts

import optsched
from optsched.core.errors import UsageError
from optsched.core.results import Limit, Proof
from optsched.measuring.matrix import GapMatrix, gap_matrix, posable
from optsched.routes import Frontier
from optsched.showing.figures import WIDEST, picture
from optsched.showing.trade_offs import frontier_picture, heat_map, matrix_picture

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
    """Tests that heuristics with one value share a mark, and that one without a value is reported by a word."""
    figure = frontier_picture(found, {"a": (4, 7), "_b$": (4, 7), "c": "infeasible", "d": (Fraction(9, 2), 8)})
    assert texts(figure)[1:] == ["frontier, proved", "a, _b$ (4, 7)", "c: infeasible", "d (4.5, 8)"]
    assert [line.get_marker() for line in figure.axes[0].lines[2:]] == ["s", "D"]
    assert picture(figure)


def test_what_a_solver_says_is_hollow(found: Frontier) -> None:
    """Tests that points on a solver's word are reported from proved ones, and a frontier cut short is named so."""
    first, second = found.points
    word = replace(second, certificates=tuple(replace(proof, kind=Proof.SOLVER) for proof in second.certificates))
    figure = frontier_picture(replace(found, points=(first, word), complete=False, limit=Limit.TIME))
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


@pytest.fixture(scope="module")
def matrix() -> GapMatrix:
    """Two problems on a tiny instance."""
    return gap_matrix(posable(optsched.load("papers/guo-fig2"), ["lsap", "latency"]))


def test_every_cell_is_reported(matrix: GapMatrix) -> None:
    """Tests that each cell has its gap, difference or word, and the star where it was made elsewhere."""
    figure = matrix_picture(matrix)
    axes = figure.axes[0]
    shown = [text.get_text() for text in axes.texts]
    expected = [matrix[row, column].cell() for row in matrix.heuristics for column in matrix.problems]
    assert shown == expected
    assert {"0 %", "slots *", "+1"} <= set(expected)
    assert "which the heuristic serves" in " ".join(figure.get_supxlabel().split())
    assert [label.get_text() for label in axes.get_xticklabels()] == ["lsap", "latency"]
    assert figure.get_suptitle().replace("\n", " ") == "guo-fig2: gap to each problem's own optimum, 0 in 4 of 20 cells"
    assert outside(figure) == [], "a narrow picture has its title in several lines"


def test_many_columns_stand_in_several_panels() -> None:
    """Tests that a picture stays as narrow as its texts are legible, with every column once and all rows in each."""
    columns = [f"problem-{number}" for number in range(30)]
    figure = heat_map(["a", "b"], columns, {(row, name): ("100 %", 100.0) for row in "ab" for name in columns}, "title")
    assert len(figure.axes) > 1
    assert figure.get_figwidth() <= WIDEST
    assert [label.get_text() for axes in figure.axes for label in axes.get_xticklabels()] == columns
    assert all(len(axes.get_yticklabels()) == 2 for axes in figure.axes)
    assert outside(figure) == []


def test_names_are_shown_as_they_are() -> None:
    """Tests odd and long names of rows and columns, and that the picture is the same again."""
    cells = {("_$r$", "c" * 90): ("1 %", 1.0)}
    figures = [heat_map(["_$r$"], ["c" * 90], cells, "a $title$") for _ in range(2)]
    assert figures[0].axes[0].get_yticklabels()[0].get_text() == "_$r$"
    assert len(figures[0].axes[0].get_xticklabels()[0].get_text()) == 28
    assert picture(figures[0]) == picture(figures[1])


def test_wrong_arguments() -> None:
    """Tests that a missing cell is named, and that there must be rows and columns."""
    with pytest.raises(UsageError, match="the cell of a, b"):
        heat_map(["a"], ["b"], {})
    with pytest.raises(UsageError, match="any row or column"):
        heat_map([], [], {})
