"""Pictures of clusters with placements."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as drawing
from pictured import ODD, odd, outside, racked, texts
from strategies import documents

import optsched
from optsched.core.errors import UsageError
from optsched.core.instance import PENDING
from optsched.core.placement import Placement
from optsched.showing.clusters import (
    IDLE,
    LEAST,
    LOOKS,
    NODE,
    OFF_RACK,
    PLACED,
    RACK,
    RUNS,
    TAKEN,
    WORDS,
    Scene,
    counts,
    detail,
    drawn,
    grouped,
    headings,
    of_placement,
    of_snapshot,
    page,
)
from optsched.showing.drawing import panel
from optsched.showing.figures import picture, short


def test_the_size_decides() -> None:
    """Tests ids of a small cluster, and counts of one with more than 40 nodes; the title says what is drawn."""
    small, large = drawn([of_snapshot(racked())]), optsched.generate("latency", nodes=41, tasks=41)
    assert "n1  load 0" in texts(small)
    assert small.get_label() == "racked: 4 nodes, 2 racks, 5 tasks to place"
    assert drawn([of_snapshot(large)]).axes[0].get_xlabel() == "tasks, slots"


def test_what_cannot_be_drawn() -> None:
    """Tests that nothing is no picture, and that scenes on different clusters are refused."""
    with pytest.raises(UsageError, match="nothing to draw"):
        drawn([])
    with pytest.raises(UsageError, match="on one cluster"):
        drawn([of_snapshot(racked()), of_snapshot(racked())])


@pytest.mark.thorough
@drawing(max_examples=8)
@given(documents())
def test_any_instance_is_drawn(document: dict[str, Any]) -> None:
    """Tests that whatever an instance holds, its picture and its counts are drawn without an error or a warning."""
    instance = optsched.load(document)
    placed = Placement(np.where(instance.state.status == PENDING, len(instance.cluster) - 1, -1))
    scenes = [of_snapshot(instance), of_placement(instance, placed)]
    assert picture(drawn(scenes))
    assert picture(counts(scenes, ""))


def test_every_id_is_there() -> None:
    """Tests that nodes with loads, racks, running and waiting tasks are named, and the legend has what is drawn."""
    figure = detail([of_snapshot(racked())], "")
    shown = texts(figure)
    for name in ("n1  load 0", "n2  load 4", "r1", "r2", "no rack", "run", "t1", "t5", "waiting"):
        assert shown.count(name) == 1, name
    assert shown[-3:] == ["runs already", "slot in use", "idle slot"]
    assert outside(figure) == []


def test_odd_names_of_a_cluster() -> None:
    """Tests that odd names are shown as they are, shortened, and that none is cut at the edge."""
    figure, again = (detail([of_snapshot(odd())], "") for _ in range(2))
    shown = texts(figure)
    assert all(short(name, 18) in shown for name in ODD)
    assert outside(figure) == []
    assert picture(figure) == picture(again)


@pytest.mark.parametrize("tasks", [0, 1, 200])
def test_one_node(tasks: int) -> None:
    """Tests a cluster of one node with no task, one, and many, which all wait."""
    instance = racked(nodes=[{"id": "n"}], tasks=[{"id": f"t{number}"} for number in range(tasks)])
    figure = detail([of_snapshot(instance)], "")
    assert sum(text.startswith("t") for text in texts(figure)) == tasks
    assert outside(figure) == []


def test_reduces_are_in_italics() -> None:
    """Tests that the ids of reduces are reported from those of maps, which the legend says."""
    problem = optsched.problem("transmission", optsched.generate("transmission", seed=1))
    figure = detail([of_placement(problem, optsched.solve(problem).decision)], "")
    style = {text.get_text(): text.get_fontstyle() for text in figure.axes[0].texts}
    assert (style["m1"], style["r1"]) == ("normal", "italic")
    assert texts(figure)[-1] == "reduces are in italics"


def test_headings_are_broken() -> None:
    """Tests that a title fits the panel: long ones are broken, very long ones end in dots."""
    scene = of_placement(racked(), Placement.empty(6), "word " * 200)
    lines = headings(scene, 3.0)
    assert [kind for _, kind in lines].count("bold") == 3
    assert lines[2][0].endswith("...")


@pytest.mark.parametrize(("count", "width", "across"), [(1, 2, 1), (3, 2, 3), (4, 4, 2), (2, 40, 1)])
def test_panels_in_rows(count: int, width: float, across: int) -> None:
    """Tests that panels stand side by side as far as a page is wide, each as large as it was asked to be."""
    with page([of_snapshot(racked())] * count, width, 2.0, "a title", [IDLE]) as (figure, places):
        pass
    assert len({round(axes.get_position().x0, 6) for axes in places}) == across
    assert places[0].get_xlim() == (0, max(width, LEAST))
    assert figure.get_label() == "a title"
    assert outside(figure) == []


def test_legend_wraps() -> None:
    """Tests that a legend that is too wide takes more lines, and the panels keep their size."""
    with page([of_snapshot(racked())], 2.0, 2.0, "", LOOKS, "a remark") as (figure, (axes,)):
        pass
    assert axes.get_position().height * figure.get_figheight() == pytest.approx(2.0)
    assert texts(figure)[-8:] == [*WORDS, "a remark"]
    assert outside(figure) == []


def test_looks_differ_in_black_and_white() -> None:
    """Tests that cells differ by hatch or by how dark they are, and the three classes by both or clearly."""

    def dark(cell: int) -> float:
        colour = LOOKS[cell]["facecolor"]
        return sum(share * int(colour[at : at + 2], 16) for at, share in ((1, 0.299), (3, 0.587), (5, 0.114)))

    assert {cell for cell in LOOKS if cell != PLACED and LOOKS[cell] == LOOKS[PLACED]} == {NODE}
    assert len({LOOKS[cell]["hatch"] for cell in (NODE, RACK, OFF_RACK)}) == 3
    assert dark(NODE) - dark(RACK) > 40 < dark(RACK) - dark(OFF_RACK)


def test_counts_of_large_clusters() -> None:
    """Tests the bars of classes side by side with those of a snapshot, which has slots in place of classes."""
    problem = optsched.problem("lsap", racked(), levels=(0, 1, 2))
    placed = of_placement(problem, problem.placement([0, 1, 2, 3, 1]), "mine")
    bars, slots = counts([placed, of_snapshot(problem.instance)], "").axes
    assert bars.get_title(loc="left").splitlines() == ["mine", "3 node, 1 rack, 1 off-rack"]
    assert [label.get_text() for label in bars.get_yticklabels()] == ["node", "rack", "off-rack", "waiting"]
    assert [bar.get_width() for bar in bars.patches] == [3, 1, 1, 0]
    assert [label.get_text() for label in slots.get_yticklabels()] == ["running", "idle slots", "waiting"]
    assert [bar.get_width() for bar in slots.patches] == [1, 5, 5]


@pytest.mark.thorough
def test_a_hundred_thousand_tasks() -> None:
    """Tests that a picture of 100,000 tasks is made of few shapes, and small."""
    figure = drawn([of_snapshot(optsched.generate("lsap", seed=1, nodes=5000, tasks=100_000, slots=20, racks=100))])
    assert sum(len(axes.patches) for axes in figure.axes) < 100
    assert len(picture(figure)) < 100_000


def cells(scene: Scene) -> list[tuple[int, int, int]]:
    """Node, what it is, and task of each cell."""
    return list(zip(*(column.tolist() for column in scene.cells), strict=True))


def test_snapshot() -> None:
    """Tests that running tasks, slots in use and idle ones are the cells, and every pending task waits."""
    scene = of_snapshot(racked())
    idle = [(node, IDLE, -1) for node in (0, 1, 1, 2, 3)]
    assert cells(scene) == [(0, RUNS, 5), (0, TAKEN, -1), *idle]
    assert scene.waiting.tolist() == [0, 1, 2, 3, 4]
    assert (scene.name, scene.lines) == ("racked", ("4 nodes, 2 racks, 5 tasks to place",))
    assert scene.size >= len(cells(scene))


def test_placement_by_hand() -> None:
    """Tests the cell of each task by how near it is to its data, the idle slots that are left, and the counts."""
    problem = optsched.problem("lsap", racked(), levels=(0, 1, 2))
    scene = of_placement(problem, problem.placement([0, 1, 2, 3, 1]), "mine")
    placed = [(0, NODE, 0), (1, NODE, 4), (1, RACK, 1), (2, NODE, 2), (3, OFF_RACK, 3)]
    assert cells(scene) == [(0, RUNS, 5), (0, TAKEN, -1), *placed]
    assert scene.lines == ("3 node, 1 rack, 1 off-rack",)
    assert scene.counts == {NODE: 3, RACK: 1, OFF_RACK: 1}


def test_without_racks_and_without_data() -> None:
    """Tests that no rack is spoken of where there is none, and nothing of data where nothing has data."""
    nodes = [{"id": "a"}, {"id": "b"}]
    bare = racked(nodes=nodes, tasks=[{"id": "t", "replicas": ["a"]}])
    assert of_placement(optsched.problem("lsap", bare), Placement.of([1])).lines[-1] == "0 node, 1 off-rack"
    empty = racked(nodes=nodes, tasks=[{"id": "t"}])
    scene = of_placement(optsched.problem("latency", empty), Placement.of([1]))
    assert scene.lines[-1] == "1 placed"
    assert cells(scene) == [(1, PLACED, 0)], "a problem without slots shows none"


def test_on_an_instance_nothing_is_judged() -> None:
    """Tests a placement without a problem: the tasks that are placed or wait, counts and no value."""
    instance = racked()
    scene = of_placement(instance, Placement.of([0, None, 2, 3, None, None]))
    assert scene.lines == ("2 node, 0 rack, 1 off-rack, 2 waiting",)
    for nodes in ([0, 1], [9, 1, 1, 1, 1, 1]):
        with pytest.raises(UsageError, match=f"placement of {len(nodes)} tasks"):
            of_placement(instance, Placement.of(nodes))


def test_datacenters_stand_for_racks() -> None:
    """Tests that nodes are together by rack, without racks by datacenter, and by nothing where there is neither."""
    nodes = [{"id": "a", "datacenter": "d"}, {"id": "b", "datacenter": "e"}]
    both = racked(nodes=[nodes[0] | {"rack": "r"}, nodes[1]], tasks=[])
    assert (grouped(both)[0].tolist(), grouped(both)[2]) == ([0, -1], "rack")
    apart = racked(nodes=nodes, tasks=[])
    index, names, noun = grouped(apart)
    assert (index.tolist(), names.tolist(), noun) == ([0, 1], ["d", "e"], "datacenter")
    assert of_snapshot(apart).lines == ("2 nodes, 2 datacenters, 0 tasks to place",)
    assert grouped(racked(nodes=[{"id": "a"}], tasks=[]))[2] == "rack"


@pytest.mark.parametrize("seed", range(3))
def test_cells_add_up(seed: int) -> None:
    """Tests that every placed and running task has one cell, that cells fill the slots, and counts are the records'."""
    instance = optsched.generate("lsap", seed=seed, nodes=7, tasks=9, slots=3, racks=2)
    problem = optsched.problem("lsap", instance)
    report = optsched.gap(problem, "dl", seed=seed)
    scene = panel(problem, report)
    node, cell, task = scene.cells
    placed = task[(task >= 0) & (cell != RUNS)]
    assert sorted(placed.tolist() + scene.waiting.tolist()) == problem.tasks.tolist()
    assert np.bincount(node, minlength=7).tolist() == instance.cluster.slots.tolist()
    for kind, name in ((NODE, "node"), (RACK, "rack"), (OFF_RACK, "off_rack")):
        assert scene.counts[kind] == sum(counted[name] for counted in report.locality.values())
