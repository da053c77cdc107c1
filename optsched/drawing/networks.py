"""Flow networks with their nodes and arcs, and the flow on them."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.brief import counted
from optsched.drawing.figures import begun, plain, settings, short
from optsched.errors import UsageError
from optsched.network import UNBOUNDED, FlowNetwork
from optsched.placement import NetworkFlow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["layers", "network_picture"]

#: Nodes and arcs of a picture, at most.
_NODES, _ARCS = 30, 60

#: Inches between nodes, across and down.
_ACROSS, _DOWN = 1.9, 0.85


def network_picture(network: FlowNetwork, flows: Sequence[tuple[str, NetworkFlow | None]]) -> Figure:
    """A network with each of the flows (its title, and the flow or None), side by side.

    Raises
    ------
    UsageError
        If it is too large, or matplotlib is missing.
    """
    check_size(network)
    with settings():
        return _drawn(network, flows)


def check_size(network: FlowNetwork) -> None:
    """Raise UsageError for a network of which no picture could be read."""
    if len(network) > _NODES or network.arcs > _ARCS:
        sizes = f"{counted(len(network), 'node')} and {counted(network.arcs, 'arc')}"
        raise UsageError(
            f"{network.name or 'the network'} has {sizes}; at most {_NODES} and {_ARCS} are drawn: "
            "`optsched export --to FILE.graphml` is for programs that draw more"
        )


def layers(network: FlowNetwork) -> list[list[int]]:
    """The nodes by their distance, in arcs, from where something enters; those that nothing reaches come last.

    >>> layers(FlowNetwork(["a", "b", "c"], tail=[0, 1], head=[1, 2], supply=[1, 0, -1]))
    [[0], [1], [2]]
    """
    after: dict[int, list[int]] = defaultdict(list)
    for tail, head in zip(network.tail.tolist(), network.head.tolist(), strict=True):
        after[tail].append(head)
    sources = np.flatnonzero(network.supply > 0).tolist() or ([0] if len(network) else [])
    depth = dict.fromkeys(sources, 0)
    queue = deque(sources)
    while queue:
        node = queue.popleft()
        for head in after[node]:
            if head not in depth:
                depth[head] = depth[node] + 1
                queue.append(head)
    found = [
        [node for node, at in depth.items() if at == level] for level in range(max(depth.values(), default=-1) + 1)
    ]
    left = [node for node in range(len(network)) if node not in depth]
    return [*found, *([left] if left else [])]


def _drawn(network: FlowNetwork, flows: Sequence[tuple[str, NetworkFlow | None]]) -> Figure:
    levels = layers(network)
    tallest = max(map(len, levels), default=1)
    width, height = max(3.5, _ACROSS * len(levels) + 0.4), _DOWN * tallest + 0.9
    places = {
        node: (_ACROSS * (across + 0.5), _DOWN * (rank + (tallest - len(level)) / 2 + 0.5))
        for across, level in enumerate(levels)
        for rank, node in enumerate(level)
    }
    figure = begun(width * len(flows), height, _title(network, flows))
    for axes, (title, flow) in zip(figure.subplots(1, len(flows), squeeze=False)[0], flows, strict=True):
        axes.set(xlim=(0, max(_ACROSS * len(levels), 0.1)), ylim=(_DOWN * tallest, 0))
        axes.set_axis_off()
        _arcs(axes, network, places, flow)
        for node, (x, y) in places.items():
            box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": "black", "linewidth": 0.8}
            supply = int(network.supply[node])
            name = short(str(network.node_ids[node]), 14) + (f"\n{supply:+d}" if supply else "")
            plain(axes.text(x, y, name, fontsize=7.5, ha="center", va="center", bbox=box, zorder=3))
        plain(axes.set_title("\n".join(filter(None, [short(network.name or "network", 40), title])), fontsize=9))
        what = "units of capacity, cost of a unit" if flow is not None else "capacity, cost of a unit"
        plain(axes.text(0, 1, f"on arcs: {what}", transform=axes.transAxes, fontsize=7))
    return figure


def _arcs(axes: Axes, network: FlowNetwork, places: dict[int, tuple[float, float]], flow: NetworkFlow | None) -> None:
    """The arcs, thick where something flows; those between the same nodes are bent apart."""
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
        told = _told(network, arc, flow)
        x, y = middle.tolist()
        plain(axes.text(x, y, told, fontsize=6.5, ha="center", va="center", bbox=box, zorder=2, fontweight=weight))


def _told(network: FlowNetwork, arc: int, flow: NetworkFlow | None) -> str:
    """What stands on an arc: units of its capacity, and the cost of a unit."""
    capacity = "∞" if network.capacity[arc] == UNBOUNDED else str(network.capacity[arc])
    lower = f"{network.lower[arc]}.." if network.lower[arc] else ""
    units = "" if flow is None else f"{flow.units[arc]}/"
    return f"{units}{lower}{capacity}, {network.cost[arc]}"


def _title(network: FlowNetwork, flows: Sequence[tuple[str, NetworkFlow | None]]) -> str:
    sizes = f"{counted(len(network), 'node')}, {counted(network.arcs, 'arc')}"
    return "; ".join(filter(None, [f"{network.name or 'network'}: {sizes}", *(title for title, _ in flows)]))
