"""Tests for pictures of flow networks."""

from __future__ import annotations

import numpy as np
import pytest
from pictured import ODD, texts

import optsched
from optsched.drawing.figures import picture, short
from optsched.drawing.networks import layers, network_picture
from optsched.network import FlowNetwork
from optsched.placement import NetworkFlow


def test_arcs_and_their_flow() -> None:
    """Tests what stands on arcs with and without a flow: units, capacity, lower bound, cost; nodes and supplies."""
    network = FlowNetwork(
        ["s", "t"],
        tail=[0, 0, 1],
        head=[1, 1, 1],
        capacity=[1, 2**63 - 1, 4],
        lower=[0, 1, 0],
        cost=[2, -5, 0],
        supply=[3, -3],
    )
    flows = [("", None), ("best", NetworkFlow([1, 2, 0]))]
    figure = network_picture(network, flows)
    plain, flowing = ([text.get_text() for text in axes.texts] for axes in figure.axes)
    assert {"1, 2", "1..∞, -5", "4, 0", "s\n+3", "t\n-3"} <= set(plain)
    assert {"1/1, 2", "2/1..∞, -5", "0/4, 0"} <= set(flowing)
    widths = [patch.get_linewidth() for patch in figure.axes[1].patches]
    assert widths == [2.2, 2.2, 0.8]
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


@pytest.mark.thorough
def test_large_networks_are_summed_up() -> None:
    """Tests that of a large network costs, capacities and the flow's costs are spread, and the title has its sizes."""
    network = optsched.generate("min-cost-flow", seed=1, nodes=60, arcs=300)
    assert isinstance(network, FlowNetwork)
    flow = NetworkFlow(np.ones(network.arcs, dtype=int))
    figure = network_picture(network, [("", None), ("all", flow)])
    assert figure.axes[0].get_title(loc="left").splitlines()[0].endswith(f"60 nodes, {network.arcs} arcs")
    assert sum(bar.get_height() for bar in figure.axes[5].patches) == network.arcs
    assert [axes.get_xlabel() for axes in figure.axes][:2] == ["cost of a unit"] * 2


def test_odd_names() -> None:
    """Tests that odd names of nodes are shown as they are."""
    network = FlowNetwork(list(ODD), tail=[0], head=[1])
    figure = network_picture(network, [("", None)])
    assert {short(name, 14) for name in ODD} <= set(texts(figure))
    assert picture(figure)
