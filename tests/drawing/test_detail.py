"""Tests for pictures of small clusters: every id is there, in its place, and nothing is cut."""

from __future__ import annotations

import pytest
from pictured import ODD, odd, outside, racked, texts

import optsched
from optsched.drawing.detail import detail
from optsched.drawing.figures import picture, settings, short
from optsched.drawing.scenes import of_placement, of_snapshot
from optsched.placement import Placement


def test_every_id_is_there() -> None:
    """Tests that nodes with loads, racks, running and waiting tasks are named, and the legend has what is drawn."""
    instance = racked()
    with settings():
        figure = detail([of_snapshot(instance)], "")
    shown = texts(figure)
    for name in ("n1  load 0", "n2  load 4", "r1", "r2", "no rack", "run", "t1", "t5", "waiting"):
        assert shown.count(name) == 1, name
    assert shown[-3:] == ["runs already", "slot in use", "idle slot"]
    assert outside(figure) == []


def test_nodes_stay_where_they_are() -> None:
    """Tests that side by side a node is at the same place in each panel, and tasks are in the row of their node."""
    instance = racked()
    problem = optsched.problem("lsap", instance)
    scenes = [of_placement(problem, problem.placement(nodes)) for nodes in ([0, 1, 2, 3, 1], [2, 1, 0, 1, 3])]
    with settings():
        figure = detail(scenes, "")
    found = [{text.get_text(): text.get_position() for text in axes.texts} for axes in figure.axes]
    for name in ("n1  load 0", "n2  load 4", "n3  load 0", "n4  load 0"):
        assert found[0][name] == found[1][name]
    assert found[0]["t1"][1] == found[0]["n1  load 0"][1]
    assert found[1]["t1"][1] == found[1]["n3  load 0"][1]


def test_odd_names() -> None:
    """Tests that odd names are shown as they are, shortened, and that none is cut at the edge."""
    with settings():
        figure, again = (detail([of_snapshot(odd())], "") for _ in range(2))
    shown = texts(figure)
    assert all(short(name, 18) in shown for name in ODD)
    assert outside(figure) == []
    assert picture(figure) == picture(again)


@pytest.mark.parametrize("tasks", [0, 1, 200])
def test_one_node(tasks: int) -> None:
    """Tests a cluster of one node with no task, one, and many, which all wait."""
    instance = racked(nodes=[{"id": "n"}], tasks=[{"id": f"t{number}"} for number in range(tasks)])
    with settings():
        figure = detail([of_snapshot(instance)], "")
    assert sum(text.startswith("t") for text in texts(figure)) == tasks
    assert outside(figure) == []


def test_reduces_are_in_italics() -> None:
    """Tests that the ids of reduces are told from those of maps, which the legend says."""
    problem = optsched.problem("transmission", optsched.generate("transmission", seed=1))
    scene = of_placement(problem, Placement.empty(len(problem.instance.workload)))
    placed = of_placement(problem, optsched.solve(problem).decision)  # type: ignore[arg-type]
    with settings():
        figure = detail([scene, placed], "")
    style = {text.get_text(): text.get_fontstyle() for text in figure.axes[1].texts}
    assert (style["m1"], style["r1"]) == ("normal", "italic")
    assert texts(figure)[-1] == "reduces are in italics"
