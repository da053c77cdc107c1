"""Tests for pictures of hundreds of nodes: a square a task, counts in a bar, racks as blocks."""

from __future__ import annotations

import pytest
from pictured import outside, racked, texts

import optsched
from optsched.drawing.figures import picture, settings
from optsched.drawing.overview import overview
from optsched.drawing.scenes import NODE, RACK, REMOTE, WORDS, of_report, of_snapshot


def squares(axes: object) -> dict[str, int]:
    """How many squares of each sort."""
    shapes = [shape for shape in axes.patches if shape.get_label() in WORDS]  # type: ignore[attr-defined]
    return {shape.get_label(): len(shape.get_path().vertices) // 5 for shape in shapes}


@pytest.mark.thorough
def test_three_hundred_nodes() -> None:
    """Tests that each task is a square of its class, bars have the counts, and racks their names, in two panels."""
    instance = optsched.generate("lsap", seed=1, nodes=300, tasks=400, slots=3, racks=12)
    problem = optsched.problem("lsap", instance, levels=(0, 1, 2))
    scenes = [of_report(optsched.gap(problem, name)) for name in ("dl", "fifo")]
    with settings():
        figure = overview(scenes, "")
    for axes, scene in zip(figure.axes, scenes, strict=True):
        found = squares(axes)
        assert {cell: found.get(WORDS[cell], 0) for cell in (NODE, RACK, REMOTE)} == scene.counts
        assert sum(found.values()) == 900
        assert {"r1", "r12", str(scene.counts[NODE])} <= {text.get_text() for text in axes.texts}
    assert outside(figure) == []
    assert len(picture(figure)) < 400_000


def test_empty_nodes_are_left_out() -> None:
    """Tests that nodes with nothing on them are counted and not drawn, and so are their racks."""
    nodes = [{"id": f"n{number}", "rack": f"r{number}", "slots": int(number < 2)} for number in range(100)]
    with settings():
        figure = overview([of_snapshot(racked(nodes=nodes, tasks=[{"id": "t"}]))], "")
    shown = texts(figure)
    assert "r1" in shown
    assert "r2" not in shown
    assert "not drawn: 98 nodes without a slot or task" in shown
    assert squares(figure.axes[0]) == {"idle slot": 2}


def test_nothing_at_all() -> None:
    """Tests a cluster without a slot and a task."""
    with settings():
        figure = overview([of_snapshot(racked(nodes=[{"id": "n", "slots": 0}], tasks=[]))], "")
    assert squares(figure.axes[0]) == {}
    assert outside(figure) == []


def test_many_slots_take_lines() -> None:
    """Tests that a node with thirty slots takes three lines of ten."""
    with settings():
        figure = overview([of_snapshot(racked(nodes=[{"id": "n", "slots": 30}], tasks=[]))], "")
    (shape,) = (shape for shape in figure.axes[0].patches if shape.get_label() == "idle slot")
    corners = {(round(x, 3), round(y, 3)) for x, y in shape.get_path().vertices[::5].tolist()}
    assert (len({x for x, _ in corners}), len({y for _, y in corners})) == (10, 3)


def test_loads_are_lines() -> None:
    """Tests that each node with a load has a line as long as its load, also without a task; the legend has the most."""
    nodes = [{"id": f"n{load}", "slots": 0, "load": load} for load in (0, 2, 8)]
    with settings():
        figure = overview([of_snapshot(racked(nodes=nodes, tasks=[]))], "")
    (shape,) = (shape for shape in figure.axes[0].patches if shape.get_label() == "load")
    corners = shape.get_path().vertices[:, 0].reshape(-1, 5)
    lengths = corners.max(axis=1) - corners.min(axis=1)
    assert len(lengths) == 2
    assert round(lengths[1] / lengths[0], 6) == 4
    shown = texts(figure)
    assert "load before the decision (the longest: 8)" in shown
    assert "not drawn: 1 node without a slot or task" in shown


def test_many_panels_stay_side_by_side() -> None:
    """Tests that blocks get narrower where there are several, so that they stand in one row."""
    instance = optsched.generate("latency", nodes=300, tasks=600)
    with settings():
        figure = overview([of_snapshot(instance)] * 3, "")  # type: ignore[list-item,arg-type]
    assert len({axes.get_position().y0 for axes in figure.axes}) == 1
