"""Tests for how closely a cluster is drawn, by its size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as drawing
from instance_documents import documents, network_documents
from pictured import ODD, odd, outside, racked, texts

import optsched
from optsched.core.errors import UsageError
from optsched.core.instance import PENDING, Instance
from optsched.core.network import FlowNetwork
from optsched.core.placement import NetworkFlow, Placement
from optsched.showing import figures
from optsched.showing.clusters import LEAST, LOOKS, by_rack, detail, drawn, headings, key, page, summary, wide
from optsched.showing.figures import picture, settings, short
from optsched.showing.scenes import IDLE, NODE, PLACED, RACK, REMOTE, WORDS, of_placement, of_snapshot


def test_the_size_decides() -> None:
    """Tests ids of a small cluster, and counts of one with more than 40 nodes."""
    large = optsched.generate("latency", nodes=41, tasks=41)
    assert isinstance(large, Instance)
    assert "n1  load 0" in texts(drawn([of_snapshot(racked())]))
    assert drawn([of_snapshot(large)]).axes[0].get_xlabel() == "tasks, slots"


def test_the_title_says_what_is_drawn() -> None:
    """Tests that those who do not see the picture hear what is in it, and that nothing is no picture."""
    assert drawn([of_snapshot(racked())]).get_label() == "racked: 4 nodes, 2 racks, 5 tasks to place"
    with pytest.raises(UsageError, match="nothing to draw"):
        drawn([])


@pytest.mark.thorough
@drawing(max_examples=8)
@given(documents())
def test_any_instance_is_drawn(document: dict[str, Any]) -> None:
    """Tests that whatever an instance holds, its picture and its counts are drawn without an error or a warning."""
    instance = optsched.load(document)
    assert isinstance(instance, Instance)
    placed = Placement(np.where(instance.state.status == PENDING, len(instance.cluster) - 1, -1))
    scenes = [of_snapshot(instance), of_placement(instance, placed)]
    assert picture(drawn(scenes))
    with figures.settings():
        assert picture(summary(scenes, ""))


@pytest.mark.thorough
@drawing(max_examples=5)
@given(network_documents())
def test_any_network_is_drawn(document: dict[str, Any]) -> None:
    """Tests the same of flow networks."""
    network = optsched.load(document)
    assert isinstance(network, FlowNetwork)
    assert picture(optsched.draw(network, NetworkFlow(network.lower)))


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


def test_what_is_placed() -> None:
    """Tests the bars of classes, the histogram of tasks on nodes, and that the map is of racks."""
    problem = optsched.problem("lsap", racked(), levels=(0, 1, 2))
    with settings():
        figure = summary([of_placement(problem, problem.placement([0, 1, 2, 3, 1]), "mine")], "")
    counts, tasks, load, field, _ = figure.axes
    assert counts.get_title(loc="left").splitlines()[:2] == ["mine", "locality-cost 3"]
    assert [label.get_text() for label in counts.get_yticklabels()] == ["node", "rack", "remote", "waiting"]
    assert [bar.get_width() for bar in counts.patches] == [3, 1, 1, 0]
    assert [bar.get_height() for bar in tasks.patches] == [0, 2, 2]
    assert load.get_xlabel() == "load of a node before the decision"
    assert field.get_xlabel() == "mean tasks on a node: a field a rack, the last one the nodes without"
    assert field.images[0].get_array().compressed().tolist() == [2, 1, 1]


def test_snapshot_and_placement_side_by_side() -> None:
    """Tests columns with different rows: of a snapshot slots and data, and the map last in both."""
    instance = racked()
    problem = optsched.problem("lsap", instance)
    with settings():
        figure = summary([of_snapshot(instance), of_placement(problem, problem.placement([0, 1, 2, 3, 1]))], "")
    labels = [axes.get_xlabel() for axes in figure.axes]
    assert "idle slots on a node" in labels
    assert "blocks of waiting tasks on a node" in labels
    assert sum(label.startswith("mean ") for label in labels) == 2
    bars = figure.axes[0]
    assert [label.get_text() for label in bars.get_yticklabels()] == ["running", "idle slots", "waiting"]
    assert [bar.get_width() for bar in bars.patches] == [1, 5, 5]


def test_by_rack() -> None:
    """Tests means over racks, over nodes where there are no racks, and over neighbours where nodes are many."""
    held, told = by_rack(racked(), np.array([2.0, 4, 5, 6]))
    assert (held.tolist(), told) == ([3, 5, 6], "a field a rack, the last one the nodes without")
    few = racked(nodes=[{"id": "a"}, {"id": "b"}], tasks=[])
    assert by_rack(few, np.array([1.0, 3])) == (pytest.approx([1, 3]), "a field a node")
    one = racked(nodes=[{"id": "a", "rack": "r"}, {"id": "b", "rack": "r"}], tasks=[])
    assert by_rack(one, np.array([1.0, 3])) == (pytest.approx([1, 3]), "a field a node"), "one rack tells nothing"
    many = optsched.generate("latency", nodes=1001, tasks=1)
    held, told = by_rack(many, np.arange(1001.0))
    assert (len(held), told) == (334, "a field 3 nodes")
    assert held[0] == 1


@pytest.mark.thorough
def test_a_hundred_thousand_tasks() -> None:
    """Tests that a picture of 100,000 tasks is made of few shapes, and small."""
    instance = optsched.generate("lsap", seed=1, nodes=5000, tasks=100_000, slots=20, racks=100)
    with settings():
        figure = summary([of_snapshot(instance)], "")  # type: ignore[arg-type]
    assert sum(len(axes.patches) for axes in figure.axes) < 100
    assert len(picture(figure)) < 100_000
