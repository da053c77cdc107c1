"""Pictures of flow networks: nodes in layers by their distance from the supplies, arcs with their flow."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.core.brief import counted
from optsched.core.errors import UsageError
from optsched.core.network import UNBOUNDED, FlowNetwork
from optsched.core.placement import NetworkFlow
from optsched.showing.figures import SMALL, WIDEST, begun, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The most nodes and arcs of a picture.
_MOST_NODES, _MOST_ARCS = 30, 60

#: Inches between nodes: across at most and at least, and down.
_ACROSS, _NEAREST, _DOWN = 1.9, 1.3, 0.85


def check_size(network: FlowNetwork) -> None:
    """Raise UsageError if the picture of a network would be unreadable."""
    if len(network) > _MOST_NODES or network.arcs > _MOST_ARCS:
        sizes = f"{counted(len(network), 'node')} and {counted(network.arcs, 'arc')}"
        raise UsageError(
            f"{network.name or 'the network'} has {sizes}; at most {_MOST_NODES} and {_MOST_ARCS} are drawn: "
            "`optsched export --to FILE.graphml` is for programs that draw more"
        )


def layers(network: FlowNetwork) -> list[list[int]]:
    """The nodes by their distance, in arcs, from where something enters; unreachable nodes come last."""
    import networkx as nx

    graph = nx.DiGraph(zip(network.tail.tolist(), network.head.tolist(), strict=True))
    graph.add_nodes_from(range(len(network)))
    sources = np.flatnonzero(network.supply > 0).tolist() or ([0] if len(network) else [])
    found = list(nx.bfs_layers(graph, sources))
    left = sorted(set(graph) - {node for level in found for node in level})
    return [*found, *([left] if left else [])]


def network_picture(network: FlowNetwork, flows: Sequence[tuple[str, NetworkFlow | None]]) -> Figure:
    """A network with each of the flows (its title, and the flow or None), side by side; UsageError if too large."""
    check_size(network)
    levels = layers(network)
    tallest = max(map(len, levels), default=1)
    step = max(_NEAREST, min(_ACROSS, (WIDEST - 0.4) / max(1, len(levels))))
    width, height = max(3.5, step * len(levels) + 0.4), _DOWN * tallest + 0.9
    columns = max(1, min(len(flows), int(WIDEST / width)))
    rows = math.ceil(len(flows) / columns)
    places = {
        node: (step * (across + 0.5), _DOWN * (rank + (tallest - len(level)) / 2 + 0.5))
        for across, level in enumerate(levels)
        for rank, node in enumerate(level)
    }
    sizes = f"{counted(len(network), 'node')}, {counted(network.arcs, 'arc')}"
    heading = filter(None, [f"{network.name or 'network'}: {sizes}", *(title for title, _ in flows)])
    with begun(width * columns, height * rows, "; ".join(heading)) as figure:
        for place, (title, flow) in enumerate(flows, 1):
            axes = figure.add_subplot(rows, columns, place)
            axes.set(xlim=(0, max(step * len(levels), 0.1)), ylim=(_DOWN * tallest, 0))
            axes.set_axis_off()
            _arcs(axes, network, places, flow)
            for node, (x, y) in places.items():
                box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "black", "linewidth": 0.8}
                supply = int(network.supply[node])
                name = short(str(network.node_ids[node]), 14) + (f"\n{supply:+d}" if supply else "")
                axes.text(x, y, name, fontsize=SMALL, ha="center", va="center", bbox=box, zorder=3)
            axes.set_title("\n".join(filter(None, [short(network.name or "network", 40), title])), fontsize=9)
            what = "units of capacity, cost of a unit" if flow is not None else "capacity, cost of a unit"
            axes.text(0, 1, f"on arcs: {what}", transform=axes.transAxes, fontsize=SMALL)
    return figure


def _arcs(axes: Axes, network: FlowNetwork, places: dict[int, tuple[float, float]], flow: NetworkFlow | None) -> None:
    """The arcs, thick if something flows; those between the same nodes are bent apart.

    Labels show the units of each arc's capacity, and the cost of a unit.
    """
    from matplotlib.patches import FancyArrowPatch

    seen: dict[tuple[int, int], int] = defaultdict(int)
    for arc, (tail, head) in enumerate(zip(network.tail.tolist(), network.head.tolist(), strict=True)):
        bend = 0.12 + 0.16 * seen[tail, head]
        seen[tail, head] += 1
        units = 0 if flow is None else int(flow.units[arc])
        look: dict[str, Any] = {
            "linewidth": 2.2 if units else 0.8,
            "color": "black" if units or flow is None else "#888888",
        }
        start, end = np.array(places[tail]), np.array(places[head])
        if tail == head:
            end = start + np.array([0.01, 0.35])
        curve = f"arc3,rad={bend}"
        arrow: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 9, "connectionstyle": curve, "zorder": 1}
        axes.add_patch(FancyArrowPatch(tuple(start), tuple(end), shrinkA=16, shrinkB=16, **arrow, **look))
        across = end - start
        middle = start + 0.42 * across + np.array([across[1], -across[0]]) * -bend * 0.48
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        weight = "bold" if units else "normal"
        capacity = "∞" if network.capacity[arc] == UNBOUNDED else str(network.capacity[arc])
        lower = f"{network.lower[arc]}.." if network.lower[arc] else ""
        text = f"{'' if flow is None else f'{units}/'}{lower}{capacity}, {network.cost[arc]}"
        x, y = middle.tolist()
        axes.text(x, y, text, fontsize=SMALL, ha="center", va="center", bbox=box, zorder=2, fontweight=weight)
