"""A cluster of any size in counts: how near tasks are to their data, how many a node has, and where, rack by rack."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from optsched.drawing.figures import begun, plain, whole_ticks
from optsched.drawing.pages import LOOKS, headings
from optsched.drawing.scenes import IDLE, NEAR, PLACED, RUNS, Scene, grouped
from optsched.instance import MAP, REDUCE, RUNNING, Floats, Instance
from optsched.problems.locality_counts import CLASSES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["by_rack", "summary"]

#: Inches of a panel.
_WIDE = 4.2

#: Bars of a histogram; fields of the heat map where racks tell no nodes apart.
_BARS, _FIELDS = 30, 400

#: What the first bars are called.
_NAMES = dict(zip((*NEAR, PLACED), (*CLASSES, "placed"), strict=True))


def summary(scenes: Sequence[Scene], title: str) -> Figure:
    """A column a scene: tasks by how near they are to their data, nodes by their tasks, tasks a node by rack.

    Of an instance on which nothing is placed: its tasks and slots, the idle slots of nodes, and where data is.
    """
    lines = [headings(scene, _WIDE) for scene in scenes]
    parts = [_parts(scene) for scene in scenes]
    rows = max(map(len, parts))
    heights = [1.5, *[1.7] * (rows - 2), 2.1]
    figure = begun((_WIDE + 0.4) * len(scenes), sum(heights) + 0.17 * max(map(len, lines)) + 0.5, title)
    grid = figure.subplots(rows, len(scenes), squeeze=False, height_ratios=heights)
    for column, (scene, shown) in enumerate(zip(scenes, parts, strict=True)):
        _counts(grid[0, column], scene)
        plain(grid[0, column].set_title("\n".join(line for line, _ in lines[column]), fontsize=8.5, loc="left"))
        for row in range(1, rows - 1):
            if row < len(shown) - 1:
                what, values = shown[row]
                _histogram(grid[row, column], values, what, [held[row][1] for held in parts if row < len(held) - 1])
            else:
                grid[row, column].set_axis_off()
        what, values = shown[-1]
        held, told = by_rack(scene.instance, values)
        highest = max(
            float(by_rack(one.instance, held[-1][1])[0].max()) for one, held in zip(scenes, parts, strict=True)
        )
        _map(grid[rows - 1, column], held, f"mean {what}: {told}", highest)
    return figure


def _parts(scene: Scene) -> list[tuple[str, Floats]]:
    """What is shown of each node: first nothing (the counts), last what the map has."""
    instance = scene.instance
    tasks = ("tasks on a node", scene.per_node.astype(np.float64))
    found = [("", np.empty(0)), tasks]
    if not sum(scene.counts.values()):
        idle = np.zeros(len(instance.cluster))
        for kind in scene.slotted:
            idle += instance.state.idle_slots if kind == MAP else instance.state.idle_reduce_slots
        blocks = instance.replicas.take(scene.tasks).values
        data = np.bincount(blocks, minlength=len(instance.cluster)).astype(np.float64)
        tasks = ("idle slots on a node", idle)
        found = [("", np.empty(0)), tasks, ("blocks of waiting tasks on a node", data)]
    if len({float(load) for load in instance.state.load[:1000].tolist()}) > 1 or instance.state.load.any():
        found.append(("load of a node before the decision", instance.state.load))
    return [*found, tasks]


def _counts(axes: Axes, scene: Scene) -> None:
    """A bar for each class with its number, and one for what waits; before anything is placed, tasks and slots."""
    hollow = {"facecolor": "white", "edgecolor": "black"}
    if sum(scene.counts.values()):
        bars = [(_NAMES[cell], count, LOOKS[cell]) for cell, count in scene.counts.items()]
    else:
        state, runs = scene.instance.state, scene.instance.state.status == RUNNING
        of_kind = np.isin(scene.instance.workload.kind, scene.kinds)
        idle = {MAP: state.idle_slots, REDUCE: state.idle_reduce_slots}
        slots = sum(int(idle[kind].sum()) for kind in scene.slotted)
        bars = [("running", int(np.count_nonzero(runs & of_kind)), LOOKS[RUNS]), ("idle slots", slots, LOOKS[IDLE])]
    bars.append(("waiting", len(scene.waiting), hollow))
    highest = max(1, *(count for _, count, _ in bars))
    for at, (_, count, look) in enumerate(bars):
        axes.barh(at, count, height=0.7, linewidth=0.6, **look)
        plain(axes.text(count + 0.01 * highest, at, str(count), va="center", fontsize=8))
    axes.set_yticks(range(len(bars)), [name for name, _, _ in bars])
    axes.set(xlim=(0, 1.2 * highest), xlabel="tasks" if sum(scene.counts.values()) else "tasks, slots")
    axes.invert_yaxis()
    whole_ticks(axes.xaxis, [highest], 5)
    axes.spines[["top", "right"]].set_visible(False)


def _histogram(axes: Axes, values: Floats, what: str, all_values: Sequence[Floats]) -> None:
    """How many nodes have how much, on the same axis in each column; where all is whole, so is the width of a bar."""
    every = np.concatenate(all_values)
    lowest, highest = float(every.min(initial=0)), float(every.max(initial=0))
    whole = bool(np.all(every == np.floor(every)))
    step = math.ceil((highest - lowest + 1) / _BARS) if whole else max(highest - lowest, 1.0) / _BARS
    edges = lowest - whole / 2 + step * np.arange(math.floor((highest - lowest) / step) + 2)
    axes.hist(values, bins=edges.tolist(), facecolor="#8cc0e2", edgecolor="black", linewidth=0.6)
    axes.set(xlabel=what, ylabel="nodes")
    whole_ticks(axes.yaxis, [1], 5)
    whole_ticks(axes.xaxis, [1 if whole else 0.5])
    axes.spines[["top", "right"]].set_visible(False)


def by_rack(instance: Instance, per_node: Floats) -> tuple[Floats, str]:
    """The mean of a number over the nodes of each rack, in the order of the file, and in words what a field is.

    Nodes without a rack are the last field. Where all nodes are in one rack or in none, a field is as many neighbouring
    nodes as make at most 400 fields.
    """
    (rack, ids, noun), count = grouped(instance), len(instance.cluster)
    racks = len(ids)
    if len(np.unique(rack)) > 1:
        field = np.where(rack >= 0, rack, racks)
        told = f"a field a {noun}" + (", the last one the nodes without" if bool((rack < 0).any()) else "")
    else:
        together = max(1, math.ceil(count / _FIELDS))
        field = np.arange(count) // together
        told = "a field a node" if together == 1 else f"a field {together} nodes"
    nodes = np.bincount(field)
    with np.errstate(invalid="ignore"):
        held = np.bincount(field, weights=per_node) / nodes
    return held[nodes > 0], told


def _map(axes: Axes, held: Floats, told: str, highest: float) -> None:
    """The fields in rows, the darker the more, with a scale; where the last row has no field, it is hatched."""
    across = max(1, min(len(held), math.ceil(math.sqrt(2.2 * len(held)))))
    shown = np.full(math.ceil(max(len(held), 1) / across) * across, np.nan)
    shown[: len(held)] = held
    image = axes.imshow(
        shown.reshape(-1, across), cmap="Greys", vmin=0, vmax=max(highest, 1), interpolation="none", aspect="auto"
    )
    axes.patch.set(hatch="////", edgecolor="#bbbbbb")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel(told, fontsize=8)
    axes.figure.colorbar(image, ax=axes, shrink=0.9, pad=0.02)
