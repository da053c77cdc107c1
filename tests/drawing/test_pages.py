"""Tests for panels side by side: their number in a row, their headings, the legend."""

from __future__ import annotations

import pytest
from pictured import outside, racked, texts

from optsched.drawing.figures import settings
from optsched.drawing.pages import LEAST, LOOKS, headings, key, page, wide
from optsched.drawing.scenes import IDLE, NODE, PLACED, RACK, REMOTE, WORDS, of_placement, of_snapshot
from optsched.placement import Placement


def test_wide() -> None:
    """Tests that a text of twice as many signs takes twice the room, and East Asian signs take two."""
    assert wide("abab") == pytest.approx(2 * wide("ab"))
    assert wide("漢") == pytest.approx(wide("ab"))


def test_headings_are_broken() -> None:
    """Tests that a title fits the panel: long ones are broken, very long ones end in dots."""
    scene = of_placement(racked(), Placement.empty(6), "word " * 200)
    lines = headings(scene, 3.0)
    assert [kind for _, kind in lines].count("bold") == 3
    assert lines[2][0].endswith("...")


@pytest.mark.parametrize(("count", "width", "across"), [(1, 2, 1), (3, 4, 3), (4, 4, 3), (2, 40, 1)])
def test_panels_in_rows(count: int, width: float, across: int) -> None:
    """Tests that panels stand side by side as far as a page is wide, each as large as it was asked to be."""
    scenes = [of_snapshot(racked())] * count
    with settings():
        figure, places = page(scenes, width, 2.0, "a title")
        key(figure, [IDLE])
    assert len({round(axes.get_position().x0, 6) for axes in places}) == across
    assert places[0].get_xlim() == (0, max(width, LEAST))
    assert figure.get_label() == "a title"
    assert outside(figure) == []


def test_legend_wraps_and_nothing_moves() -> None:
    """Tests that a legend that is too wide takes more lines, and the panels keep their size."""
    with settings():
        figure, (axes,) = page([of_snapshot(racked())], 2.0, 2.0, "")
        before = axes.get_position().height * figure.get_figheight()
        key(figure, LOOKS, told="a remark")
    assert axes.get_position().height * figure.get_figheight() == pytest.approx(before)
    assert texts(figure)[-8:] == [*WORDS, "a remark"]
    assert outside(figure) == []


def test_looks_differ_in_black_and_white() -> None:
    """Tests that cells differ by hatch or by how dark they are, and the three classes by both or clearly."""

    def dark(cell: int) -> float:
        colour = LOOKS[cell]["facecolor"]
        return float(sum(share * int(colour[at : at + 2], 16) for at, share in ((1, 0.299), (3, 0.587), (5, 0.114))))

    assert {cell for cell in LOOKS if cell != PLACED and LOOKS[cell] == LOOKS[PLACED]} == {NODE}
    assert len({LOOKS[cell]["hatch"] for cell in (NODE, RACK, REMOTE)}) == 3
    assert dark(NODE) - dark(RACK) > 40 < dark(RACK) - dark(REMOTE)
