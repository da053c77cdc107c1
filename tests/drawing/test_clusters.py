"""Tests for how closely a cluster is drawn, by its size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from instance_documents import documents, network_documents
from pictured import racked, texts

import optsched
from optsched.drawing import figures
from optsched.drawing.clusters import drawn
from optsched.drawing.figures import picture
from optsched.drawing.scenes import of_placement, of_snapshot
from optsched.drawing.summary import summary
from optsched.errors import UsageError
from optsched.instance import PENDING, Instance
from optsched.network import FlowNetwork
from optsched.placement import NetworkFlow, Placement


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
@settings(max_examples=8)
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
@settings(max_examples=5)
@given(network_documents())
def test_any_network_is_drawn(document: dict[str, Any]) -> None:
    """Tests the same of flow networks."""
    network = optsched.load(document)
    assert isinstance(network, FlowNetwork)
    assert picture(optsched.draw(network, NetworkFlow(network.lower)))
