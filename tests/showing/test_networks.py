"""Pictures of flow networks."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as drawing
from pictured import ODD, texts
from strategies import network_documents

import optsched
from optsched.core.errors import UsageError
from optsched.core.network import FlowNetwork
from optsched.core.placement import NetworkFlow
from optsched.showing.figures import picture, short
from optsched.showing.networks import layers, network_picture


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


@pytest.mark.thorough
@drawing(max_examples=5)
@given(network_documents())
def test_any_network_is_drawn(document: dict[str, Any]) -> None:
    """Tests the same of flow networks."""
    network = optsched.load(document)
    assert picture(optsched.draw(network, NetworkFlow(network.lower)))
