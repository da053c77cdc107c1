"""Tests for how closely a cluster is drawn, by its size."""

from __future__ import annotations

import pytest
from pictured import racked, texts

import optsched
from optsched.drawing.clusters import drawn
from optsched.drawing.scenes import of_snapshot
from optsched.errors import UsageError
from optsched.instance import Instance


def test_the_size_decides() -> None:
    """Tests ids of a small cluster, squares of hundreds of nodes, counts of thousands."""
    small, middle, large = (
        drawn([of_snapshot(instance)])
        for instance in (racked(), *(optsched.generate("latency", nodes=size, tasks=size) for size in (41, 1501)))
        if isinstance(instance, Instance)
    )
    assert "n1  load 0" in texts(small)
    assert "n1" not in texts(middle)
    assert len(middle.axes) == 1
    assert large.axes[0].get_xlabel() == "tasks, slots"


def test_the_title_says_what_is_drawn() -> None:
    """Tests that those who do not see the picture hear what is in it, and that nothing is no picture."""
    assert drawn([of_snapshot(racked())]).get_label() == "racked: 4 nodes, 2 racks, 5 tasks to place"
    with pytest.raises(UsageError, match="nothing to draw"):
        drawn([])
