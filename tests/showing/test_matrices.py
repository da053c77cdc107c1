"""Tests for heat maps: what stands in each cell, and how dark it is."""

from __future__ import annotations

import math

import pytest
from pictured import outside

import optsched
from optsched.core.errors import UsageError
from optsched.measuring.matrix import GapMatrix, gap_matrix, posable
from optsched.showing.figures import WIDEST, picture
from optsched.showing.matrices import heat_map, matrix_picture


@pytest.fixture(scope="module")
def matrix() -> GapMatrix:
    """Two problems on a tiny instance."""
    return gap_matrix(posable(optsched.load("papers/guo-fig2"), ["lsap", "latency"]))  # type: ignore[arg-type]


def test_every_cell_is_told(matrix: GapMatrix) -> None:
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


def test_dark_is_large() -> None:
    """Tests that a larger gap is darker, from 400 % on the same, and none is no colour; texts stay readable."""
    cells = {("r", str(gap)): (f"{gap}", gap) for gap in (0.0, 5.0, 60.0, 400.0, 9e9, math.inf)}
    cells["r", "none"] = ("starved", None)
    axes = heat_map(["r"], [column for _, column in cells], cells).axes[0]
    (image,) = axes.images
    depths = image.get_array()[0]
    assert depths[0] < depths[1] < depths[2] < depths[3] == depths[4] == depths[5]
    assert depths.mask.tolist() == [False] * 6 + [True]
    for text, depth in zip(axes.texts, depths[:6], strict=False):
        red, green, blue, _ = image.cmap(image.norm(depth))
        light = 0.299 * red + 0.587 * green + 0.114 * blue
        assert (text.get_color() == "black") == (light > 0.45), text.get_text()


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
