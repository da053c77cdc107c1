"""Tests for what a picture of a cluster shows: cells, what waits, values and gaps."""

from __future__ import annotations

import numpy as np
import pytest
from pictured import racked

import optsched
from optsched.core.errors import UsageError
from optsched.core.instance import Instance
from optsched.core.placement import Placement
from optsched.showing.scenes import (
    IDLE,
    NODE,
    PLACED,
    RACK,
    REMOTE,
    RUNS,
    TAKEN,
    check_same,
    grouped,
    of_placement,
    of_report,
    of_snapshot,
    of_solution,
)


def cells(scene: object) -> list[tuple[int, int, int]]:
    """Node, what it is, and task of each cell."""
    return list(zip(*(column.tolist() for column in scene.cells), strict=True))  # type: ignore[attr-defined]


def test_snapshot() -> None:
    """Tests that running tasks, slots in use and idle ones are the cells, and every pending task waits."""
    scene = of_snapshot(racked())
    assert cells(scene) == [
        (0, RUNS, 5),
        (0, TAKEN, -1),
        (0, IDLE, -1),
        (1, IDLE, -1),
        (1, IDLE, -1),
        (2, IDLE, -1),
        (3, IDLE, -1),
    ]
    assert scene.waiting.tolist() == [0, 1, 2, 3, 4]
    assert (scene.name, scene.told) == ("racked", ("4 nodes, 2 racks, 5 tasks to place",))
    assert scene.size >= len(cells(scene))


def test_placement_by_hand() -> None:
    """Tests the cell of each task by how near it is to its data, the idle slots that are left, and the counts."""
    problem = optsched.problem("lsap", racked(), levels=(0, 1, 2))
    scene = of_placement(problem, problem.placement([0, 1, 2, 3, 1]), "mine")
    assert cells(scene) == [
        (0, RUNS, 5),
        (0, TAKEN, -1),
        (0, NODE, 0),
        (1, NODE, 4),
        (1, RACK, 1),
        (2, NODE, 2),
        (3, REMOTE, 3),
    ]
    assert scene.told == ("locality-cost 3", "3 node, 1 rack, 1 remote")
    assert scene.per_node.tolist() == [2, 2, 1, 1]
    assert scene.counts == {NODE: 3, RACK: 1, REMOTE: 1}


def test_counts_are_those_of_records() -> None:
    """Tests that a picture counts as the records do, maps and reduces, and what waits."""
    problem = optsched.problem("transmission", optsched.generate("transmission", seed=3))
    report = optsched.gap(problem, "quincy")
    scene = of_report(report)
    assert report.locality is not None
    for cell, name in ((NODE, "node"), (RACK, "rack"), (REMOTE, "remote")):
        assert scene.counts[cell] == sum(counts[name] for counts in report.locality.values())
    assert sum(scene.counts.values()) + len(scene.waiting) == len(problem.tasks)
    assert set(scene.kinds) == set(scene.slotted) == {0, 1}


def test_without_racks_and_without_data() -> None:
    """Tests that no rack is spoken of where there is none, and nothing of data where nothing has data."""
    nodes = [{"id": "a"}, {"id": "b"}]
    bare = racked(nodes=nodes, tasks=[{"id": "t", "replicas": ["a"]}])
    assert of_placement(optsched.problem("lsap", bare), Placement.of([1])).told[-1] == "0 node, 1 remote"
    empty = racked(nodes=nodes, tasks=[{"id": "t"}])
    scene = of_placement(optsched.problem("latency", empty), Placement.of([1]))
    assert scene.told[-1] == "1 placed"
    assert cells(scene) == [(1, PLACED, 0)], "a problem without slots shows none"


def test_values_and_gaps_are_told() -> None:
    """Tests the words of a gap: above, at the optimum, beside 0, below a maximum, and of the optimum itself."""
    problem = optsched.problem("latency", "papers/fsy-not-optimal")
    report = optsched.gap(problem, "labl")
    assert of_report(report, "LABL").told[0] == "makespan 4, work 7, 33.33 % above the optimum"
    best = of_solution(problem, report.reference.solution)
    assert best is not None
    assert (best.name, best.told[0]) == ("optimum (proved: combinatorial)", "makespan 3, work 9")
    again = optsched.gap(problem, lambda posed, rng: report.reference.solution.decision)
    assert of_report(again).told[0] == "makespan 3, work 9, at the optimum"
    zero = optsched.gap(optsched.problem("lsap", "papers/guo-fig2"), "dl", seed=0)
    assert of_report(zero).told[0] == "locality-cost 1, 1 above the optimum (over 0)"
    most = optsched.problem("utility", "papers/ras-endless-swap")
    below = optsched.gap(most, "fair-sharing")
    if below.deciding is not None and below.deciding[0]:
        assert "below the optimum" in of_report(below).told[0]


def test_infeasible_failed_and_starved_are_told() -> None:
    """Tests that a placement with violations is drawn with them, and a failure says what failed."""
    problem = optsched.problem("lsap", racked())
    crowd = optsched.gap(problem, lambda posed, rng: [0, 0, 0, 0, 0])
    scene = of_report(crowd)
    assert scene.told[0].startswith("infeasible: slots")
    assert scene.per_node.tolist() == [6, 0, 0, 0]
    broken = of_report(optsched.gap(problem, lambda posed, rng: 1 / 0))  # type: ignore[arg-type,return-value]
    assert broken.name.endswith(": failed")
    assert "ZeroDivisionError" in broken.told[0]
    assert len(broken.told) == 1, "nothing is counted where there is no placement"

    class Never:
        """Takes nothing."""

        def offer(self, offer: object, view: object) -> list[int]:
            return []

    assert of_report(optsched.gap(problem, Never(), max_idle_rounds=1)).name.endswith(": starved")


def test_on_an_instance_nothing_is_judged() -> None:
    """Tests a placement without a problem: the tasks that are placed or wait, counts and no value."""
    instance = racked()
    scene = of_placement(instance, Placement.of([0, None, 2, 3, None, None]))
    assert scene.told == ("2 node, 0 rack, 1 remote, 2 waiting",)
    with pytest.raises(UsageError, match="placement of 2 tasks"):
        of_placement(instance, Placement.of([0, 1]))
    with pytest.raises(UsageError, match="placement of 6 tasks"):
        of_placement(instance, Placement.of([9, 1, 1, 1, 1, 1]))


def test_scenes_are_on_one_cluster() -> None:
    """Tests that scenes on different clusters, or none, are refused."""
    one, other = of_snapshot(racked()), of_snapshot(racked())
    with pytest.raises(UsageError, match="on one cluster"):
        check_same([one, other])
    with pytest.raises(UsageError, match="nothing to draw"):
        check_same([])
    check_same([one, of_placement(one.instance, Placement.empty(6))])


def test_datacenters_stand_for_racks() -> None:
    """Tests that nodes are together by rack, without racks by datacenter, and by nothing where there is neither."""
    both = racked(nodes=[{"id": "a", "rack": "r", "datacenter": "d"}, {"id": "b", "datacenter": "e"}], tasks=[])
    assert (grouped(both)[0].tolist(), grouped(both)[2]) == ([0, -1], "rack")
    apart = racked(nodes=[{"id": "a", "datacenter": "d"}, {"id": "b", "datacenter": "e"}], tasks=[])
    index, names, noun = grouped(apart)
    assert (index.tolist(), names.tolist(), noun) == ([0, 1], ["d", "e"], "datacenter")
    assert of_snapshot(apart).told == ("2 nodes, 2 datacenters, 0 tasks to place",)
    assert grouped(racked(nodes=[{"id": "a"}], tasks=[]))[2] == "rack"


@pytest.mark.parametrize("seed", range(5))
def test_cells_add_up(seed: int) -> None:
    """Tests that every placed and running task has one cell, and that cells fill the slots of nodes."""
    instance = optsched.generate("lsap", seed=seed, nodes=7, tasks=9, slots=3, racks=2)
    problem = optsched.problem("lsap", instance)
    assert isinstance(instance, Instance)
    scene = of_report(optsched.gap(problem, "dl", seed=seed))
    node, cell, task = scene.cells
    placed = task[(task >= 0) & (cell != RUNS)]
    assert sorted(placed.tolist() + scene.waiting.tolist()) == problem.tasks.tolist()
    assert np.bincount(node, minlength=7).tolist() == instance.cluster.slots.tolist()
