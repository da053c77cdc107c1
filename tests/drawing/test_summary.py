"""Tests for pictures of large clusters: counts by class, nodes by their tasks, racks by their means."""

from __future__ import annotations

import numpy as np
import pytest
from pictured import racked

import optsched
from optsched.drawing.figures import picture, settings
from optsched.drawing.scenes import of_placement, of_snapshot
from optsched.drawing.summary import by_rack, summary


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
