"""Tests for `draw`: what it takes, what it says of the rest, and how clusters and networks are drawn."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as drawing
from pictured import ODD, odd, outside, racked, texts
from strategies import documents, network_documents

import optsched
from optsched.core.errors import UsageError
from optsched.core.instance import PENDING
from optsched.core.network import FlowNetwork
from optsched.core.placement import NetworkFlow, Placement, Schedule
from optsched.measuring.gaps import gap
from optsched.problems.schedules import ScheduleProblem
from optsched.showing.drawing import (
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
    draw,
    drawn,
    grouped,
    headings,
    layers,
    network_picture,
    of_placement,
    of_snapshot,
    page,
    panel,
)
from optsched.showing.figures import picture, short


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
    assert len(draw(network).axes) == 1
    titles = [axes.get_title() for axes in draw(problem, optsched.solve(problem)).axes]
    assert titles == ["negative-cycle\nflow: 3", "negative-cycle\noptimum: 3"]
    nothing = NetworkFlow([0] * network.arcs)
    assert draw(problem, nothing).axes[0].get_title() == "negative-cycle\nflow, infeasible"
    assert draw(network, nothing).axes[0].get_title() == "negative-cycle\nflow"


def test_wrong_arguments() -> None:
    """Tests that what cannot be drawn is reported in one line with what to do."""
    instance, problem = racked(), optsched.problem("lsap", racked())
    other = optsched.problem("latency", "papers/fsy-not-optimal")
    for arguments, message in (
        ((instance, "dl"), "pose a problem first"),
        ((None,), "not None"),
        ((3, "dl"), "not on an int"),
        ((problem, [0, 1]), "the placement has 2 nodes"),
        ((problem, optsched.solve(other)), "another instance"),
        ((problem, optsched.gap(other, "labl")), "another instance"),
        ((optsched.load("examples/negative-cycle"), "dl"), "flows are drawn on a network"),
    ):
        with pytest.raises(UsageError, match=rf"\A.*{message}.*\Z"):
            draw(*arguments)


def test_what_is_cut_short_is_drawn_without_an_optimum() -> None:
    """Tests that without a known placement or schedule the others are drawn, and nothing at all is reported."""
    problem = optsched.problem("lsap", racked())
    assert names(draw(problem, [0, 1, 1, 2, 3], time_limit=0))[0] == "placement"
    pairs = {"cost": [[1], [1]], "demand": {"c": [[1], [1]]}}
    crowded = {"format": "optsched/1", "nodes": [{"id": "n1", "capacity": {"c": 1}, "slots": 0}], "pairs": pairs}
    crowded["tasks"] = [{"id": "a", "duration": 1}, {"id": "b", "duration": 1}]
    for name, noun in (("generalized-assignment", "placement"), ("makespan", "schedule")):
        with pytest.raises(UsageError, match=f"no {noun} is known to draw: INFEASIBLE"):
            draw(optsched.problem(name, crowded))
    assert "infeasible" in texts(draw(optsched.problem("generalized-assignment", crowded), [0, 0]))[1]


def test_values_and_gaps_of_placements() -> None:
    """Tests the words of a gap: above, at the optimum, beside 0, below a maximum, and of the optimum itself."""

    def shown(name: str, instance: str, heuristic: Any) -> str:
        problem = optsched.problem(name, instance)
        return panel(problem, optsched.gap(problem, heuristic, seed=0)).lines[0]

    problem = optsched.problem("latency", "papers/fsy-not-optimal")
    report = optsched.gap(problem, "labl")
    assert panel(problem, report, "LABL").lines[0] == "makespan 4, work 7, 33.33 % above the optimum"
    best = [text.get_text() for text in draw(report).texts]
    assert best[-3:-1] == ["optimum (proved: combinatorial)", "makespan 3, work 9"]
    again = optsched.gap(problem, lambda posed, rng: report.reference.solution.decision)
    assert panel(problem, again).lines[0] == "makespan 3, work 9, at the optimum"
    assert shown("lsap", "papers/guo-fig2", "dl") == "locality-cost 1, 1 above the optimum (over 0)"
    assert "below the optimum" in shown("utility", "papers/ras-endless-swap", "fair-sharing")


class Never:
    """A policy that takes nothing."""

    def offer(self, offer: object, view: object) -> list[int]:
        return []


def test_infeasible_failed_and_starved_are_reported() -> None:
    """Tests that a placement with violations is drawn with them, and a failure says what failed."""
    problem = optsched.problem("lsap", racked())
    crowd = optsched.gap(problem, lambda posed, rng: [0, 0, 0, 0, 0])
    assert panel(problem, crowd).lines[0].startswith("infeasible: slots")
    broken = panel(problem, optsched.gap(problem, lambda posed, rng: 1 / 0))
    assert broken.name.endswith(": failed")
    (line,) = broken.lines  # nothing is counted where there is no placement
    assert "ZeroDivisionError" in line
    assert panel(problem, optsched.gap(problem, Never(), max_idle_rounds=1)).name.endswith(": starved")


@pytest.fixture(scope="module")
def problem() -> ScheduleProblem:
    """Two jobs, four maps and two reduces."""
    return optsched.problem("job-times", "examples/order-of-jobs")


def test_values_and_gaps_are_reported(problem: ScheduleProblem) -> None:
    """Tests the names of a heuristic's schedule, a given one, and the optimum; and the picture of all of them."""
    best, report = optsched.solve(problem), gap(problem, "fair")
    empty = Schedule.empty(len(problem.instance.workload))
    figure = optsched.draw(problem, "fair", best, empty)
    titles = [title for axes in figure.axes if (title := axes.get_title(loc="left"))]
    names = [title.partition("\n")[0] for title in titles]
    assert names[0].startswith(f"fair: job time {float(report.objective[0]):g}, ")
    assert names[0].endswith("above the optimum")
    assert names[1] == f"schedule: job time {float(best.objective[0]):g}"
    assert names[2].startswith("schedule: infeasible: every-task-runs(")
    assert names[3].startswith("optimum (proved: ")
    assert titles == [f"{names[0]}\nlevels, heartbeat 3 s", *(f"{name}\n" for name in names[1:])]
    assert f"{names[3]}\n" in [axes.get_title(loc="left") for axes in optsched.draw(report).axes]
    run = optsched.simulate(problem.instance, "fair")
    titles = [axes.get_title(loc="left") for axes in optsched.draw(run, run).axes]
    assert titles.count("fair\nlevels, heartbeat 3 s") == 2


def test_what_fails_has_no_bars(problem: ScheduleProblem) -> None:
    """Tests that a heuristic that raises is named so, and a schedule of another instance is reported."""
    failed = panel(problem, gap(problem, lambda posed, rng: 1 / 0), "mine")
    assert (failed.name, len(failed.rows)) == ("mine: failed", 0)
    with pytest.raises(UsageError, match="of another instance"):
        panel(problem, Schedule.empty(1))


def test_arcs_and_their_flow() -> None:
    """Tests what stands on arcs with and without a flow: units, capacity, lower bound, cost; nodes and supplies."""
    arcs = {"capacity": [1, 2**63 - 1, 4], "lower": [0, 1, 0], "cost": [2, -5, 0]}
    network = FlowNetwork(["s", "t"], tail=[0, 0, 1], head=[1, 1, 1], supply=[3, -3], **arcs)
    flows = [("", None), ("best", NetworkFlow([1, 2, 0]))]
    figure = network_picture(network, flows)
    plain, flowing = ([text.get_text() for text in axes.texts] for axes in figure.axes)
    assert {"1, 2", "1..∞, -5", "4, 0", "s\n+3", "t\n-3"} <= set(plain)
    assert {"1/1, 2", "2/1..∞, -5", "0/4, 0"} <= set(flowing)
    assert [patch.get_linewidth() for patch in figure.axes[1].patches] == [2.2, 2.2, 0.8]
    assert picture(figure) == picture(network_picture(network, flows))


@pytest.mark.parametrize(
    ("tail", "head", "supply", "found"),
    [
        ([0, 1], [1, 2], [1, 0, -1], [[0], [1], [2]]),
        ([], [], [0, 0, 0], [[0], [1, 2]]),
        ([1, 2], [2, 1], [0, 1, -1], [[1], [2], [0]]),
    ],
)
def test_layers(tail: list[int], head: list[int], supply: list[int], found: list[list[int]]) -> None:
    """Tests distances from the supplies, cycles, and nodes that nothing reaches."""
    assert layers(FlowNetwork(["a", "b", "c"], tail=tail, head=head, supply=supply)) == found


def test_large_networks_are_not_drawn() -> None:
    """Tests that one node or arc too many is reported, with the sizes and what to do, before anything is solved."""
    names = [f"n{node}" for node in range(31)]
    largest = FlowNetwork(names[:30], tail=[0] * 60, head=[1] * 60)
    assert len(network_picture(largest, [("", None)]).axes) == 1
    for network, sizes in (
        (FlowNetwork(names, tail=[0], head=[1]), "31 nodes and 1 arc;"),
        (FlowNetwork(names[:2], tail=[0] * 61, head=[1] * 61), "2 nodes and 61 arcs;"),
    ):
        with pytest.raises(UsageError, match=f"the network has {sizes} at most 30 and 60 are drawn: .*graphml"):
            optsched.draw(optsched.problem("min-cost-flow", network))


def test_odd_names() -> None:
    """Tests that odd names of nodes are shown as they are."""
    network = FlowNetwork(list(ODD), tail=[0], head=[1])
    figure = network_picture(network, [("", None)])
    assert {short(name, 14) for name in ODD} <= set(texts(figure))
    assert picture(figure)


# Clusters --------------------------------------------------------------------------------------------------


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


@pytest.mark.thorough
@drawing(max_examples=5)
@given(network_documents())
def test_any_network_is_drawn(document: dict[str, Any]) -> None:
    """Tests the same of flow networks."""
    network = optsched.load(document)
    assert picture(optsched.draw(network, NetworkFlow(network.lower)))


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
