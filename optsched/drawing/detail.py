"""A small cluster with the ids of its nodes and tasks: racks as frames, a row a node, a cell a task."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from optsched.drawing.figures import plain, short, trimmed
from optsched.drawing.pages import LEAST, LOOKS, TEXT, key, page, wide
from optsched.drawing.scenes import IDLE, RUNS, TAKEN, Scene, grouped
from optsched.instance import REDUCE, Instance, Ints
from optsched.placement import NONE
from optsched.printing import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["detail"]

#: Inches: a row and the cell in it, the hatched strip of a cell, room around things, the name of a rack, between racks.
_ROW, _CELL, _STRIP, _ROOM, _NAME, _APART = 0.25, 0.2, 0.13, 0.06, 0.2, 0.12

#: Cells in a line of a node, letters of a node's and of a task's name, inches of the racks before a further column.
_LINE, _NODE_LETTERS, _TASK_LETTERS, _HIGH = 8, 18, 12, 6.5


class Rows(NamedTuple):
    """Where everything is, in inches from the upper left corner.

    Attributes
    ----------
    width, height
        Of all racks.
    label, cell
        Widths of a node's label and of a cell.
    node
        x and y of each node's row, shape (nodes, 2).
    frames
        The racks' names, with x, y, width and height.
    """

    width: float
    height: float
    label: float
    cell: float
    node: np.ndarray
    frames: list[tuple[str, float, float, float, float]]


def detail(scenes: Sequence[Scene], title: str) -> Figure:
    """The scenes side by side: the same node is at the same place in each."""
    instance = scenes[0].instance
    tasks, cut = trimmed(instance.workload.task_ids.tolist(), _TASK_LETTERS)
    labels, cut_ids = _labels(instance)
    most = np.max([np.bincount(scene.cells[0], minlength=len(labels)) for scene in scenes], axis=0).astype(np.int64)
    rows = _rows(instance, most, labels, max([wide(task) for task in tasks], default=0.0))
    per_line = max(1, int(rows.width / rows.cell))
    waiting = max(math.ceil(len(scene.waiting) / per_line) for scene in scenes)
    height = rows.height + (_NAME + waiting * _ROW if waiting else 0)
    figure, places = page(scenes, rows.width, height, title)
    for axes, scene in zip(places, scenes, strict=True):
        _racks(axes, rows, labels)
        _cells(axes, scene, rows, tasks)
        _waiting(axes, scene, rows, tasks, per_line)
    cells = {cell for scene in scenes for cell in np.unique(scene.cells[1]).tolist()}
    told = [f"{what} {how}" for what, how in (("tasks", cut), ("nodes", cut_ids)) if how]
    if any(scene.instance.workload.kind[scene.tasks].tolist().count(REDUCE) for scene in scenes):
        told.append("reduces are in italics")
    key(figure, cells, told="; ".join(told))
    return figure


def _labels(instance: Instance) -> tuple[list[str], str]:
    """What stands before a node's cells: its id, and its load where there are loads; and what all ids share."""
    ids, cut = trimmed(instance.cluster.node_ids.tolist(), _NODE_LETTERS)
    loads = instance.state.load
    if not loads.any():
        return ids, cut
    whole = [int(load) if float(load).is_integer() else float(load) for load in loads]
    return [f"{name}  load {number(load)}" for name, load in zip(ids, whole, strict=True)], cut


def _rows(instance: Instance, most: Ints, labels: Sequence[str], widest: float) -> Rows:
    """The rows of nodes, rack by rack, in columns of about equal height; a rack's nodes stand beside each
    other where there is room.
    """
    label = max([wide(text) for text in labels], default=0.0) + _ROOM
    cell = _STRIP + widest + 0.13
    lines = np.maximum(1, -(-most // _LINE))
    wide_node = label + max(1, min(_LINE, int(most.max(initial=1)))) * cell
    rack, ids, noun = grouped(instance)
    racks = [
        (short(str(ids[index]), 24), np.flatnonzero(rack == index)) for index in np.unique(rack[rack >= 0]).tolist()
    ]
    bare = np.flatnonzero(rack < 0)
    if len(bare):
        racks.append((f"no {noun}" if racks else "", bare))
    beside = max(1, int((LEAST - 2 * _ROOM) / wide_node), math.ceil(max(len(of) for _, of in racks) * _ROW / _HIGH))
    width = max([2 * _ROOM + beside * wide_node, *(wide(name) + 2 * _ROOM for name, _ in racks)])
    splits = [np.array_split(nodes, min(beside, len(nodes))) for _, nodes in racks]
    heights = [
        _ROW * max(int(lines[part].sum()) for part in parts) + 2 * _ROOM + (_NAME if name else 0)
        for (name, _), parts in zip(racks, splits, strict=True)
    ]
    columns = max(1, math.ceil(sum(heights) / _HIGH))
    limit = sum(heights) / columns
    node, frames = np.zeros((len(labels), 2)), []
    x = y = tallest = 0.0
    for (name, _), parts, height in zip(racks, splits, heights, strict=True):
        if y > 0 and y + height / 2 > limit:
            x, y = x + width + _APART, 0.0
        frames.append((name, x, y, width, height))
        top = y + _ROOM + (_NAME if name else 0)
        for number_of, part in enumerate(parts):
            node[part, 0] = x + _ROOM + number_of * wide_node
            node[part, 1] = top + _ROW * np.concatenate([[0], np.cumsum(lines[part])[:-1]])
        y += height + _APART
        tallest = max(tallest, y)
    return Rows(max(x + width + 0.02, LEAST), tallest, label, cell, node, frames)


def _racks(axes: Axes, rows: Rows, labels: Sequence[str]) -> None:
    """The frames with their names, and the labels of the nodes."""
    from matplotlib.patches import Rectangle

    for name, x, y, width, height in rows.frames:
        look: dict[str, Any] = {"facecolor": "none", "edgecolor": "#888888", "linewidth": 0.8, "clip_on": False}
        axes.add_patch(Rectangle((x, y), width, height, **look))
        if name:
            text = axes.text(x + _ROOM, y + 0.7 * _NAME, name, fontsize=TEXT, fontweight="bold", va="baseline")
            plain(text)
    for label, (x, y) in zip(labels, rows.node.tolist(), strict=True):
        plain(axes.text(x, y + _CELL / 2, label, fontsize=TEXT, va="center"))


def _cells(axes: Axes, scene: Scene, rows: Rows, tasks: Sequence[str]) -> None:
    """The cells of each node."""
    node, cell, task = scene.cells
    rank = np.arange(len(node)) - np.searchsorted(node, node)
    x = rows.node[node, 0] + rows.label + rank % _LINE * rows.cell
    y = rows.node[node, 1] + rank // _LINE * _ROW
    reduces = scene.instance.workload.kind == REDUCE
    for left, top, sort, of in zip(x.tolist(), y.tolist(), cell.tolist(), task.tolist(), strict=True):
        _cell(axes, (left, top), rows.cell, sort, "" if of == NONE else tasks[of], bool(of != NONE and reduces[of]))


def _cell(axes: Axes, corner: tuple[float, float], width: float, sort: int, name: str, reduce: bool) -> None:
    """A cell: a strip that looks as the legend says, and a name; of a slot the whole cell looks so."""
    from matplotlib.patches import Rectangle

    side = width - 0.04
    look = LOOKS[sort]
    if sort in (TAKEN, IDLE):
        axes.add_patch(Rectangle(corner, side, _CELL, linewidth=0.6, **look))
        return
    ground = look["facecolor"] if sort == RUNS else "#ffffff"
    axes.add_patch(Rectangle(corner, side, _CELL, linewidth=0.6, facecolor=ground, edgecolor="#000000"))
    axes.add_patch(Rectangle(corner, _STRIP - 0.02, _CELL, linewidth=0.6, **look))
    style = "italic" if reduce else "normal"
    plain(axes.text(corner[0] + _STRIP, corner[1] + _CELL / 2, name, fontsize=TEXT, va="center", fontstyle=style))


def _waiting(axes: Axes, scene: Scene, rows: Rows, tasks: Sequence[str], per_line: int) -> None:
    """The tasks that wait, below the racks."""
    if not len(scene.waiting):
        return
    plain(axes.text(_ROOM, rows.height + 0.6 * _NAME, "waiting", fontsize=TEXT, fontweight="bold", va="baseline"))
    for rank, task in enumerate(scene.waiting.tolist()):
        x = _ROOM + rank % per_line * rows.cell
        y = rows.height + _NAME + rank // per_line * _ROW + _CELL / 2
        plain(axes.text(x, y, tasks[task], fontsize=TEXT, va="center"))
