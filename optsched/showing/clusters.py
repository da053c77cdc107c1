"""Clusters with placements side by side, with ids or, if they are large, as counts."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from optsched.core.instance import MAP, REDUCE, RUNNING, Floats, Instance, Ints
from optsched.core.placement import NONE
from optsched.measuring.printing import number
from optsched.problems.locality_counts import CLASSES
from optsched.showing.figures import (
    CHARACTER,
    LEGEND_SIZE,
    begun,
    keyed,
    plain,
    require,
    settings,
    short,
    trimmed,
    whole_ticks,
)
from optsched.showing.scenes import (
    IDLE,
    NEAR,
    NODE,
    PLACED,
    RACK,
    REMOTE,
    RUNS,
    TAKEN,
    WORDS,
    Scene,
    check_same,
    grouped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "drawn",
]

#: Nodes and cells of a picture with ids, at most.
_NODES, _CELLS = 40, 250


def drawn(scenes: Sequence[Scene], title: str = "") -> Figure:
    """The scenes side by side.

    Up to 40 nodes with 250 tasks and slots are drawn with their ids. Larger ones are drawn as counts: by how near tasks
    are to their data, by node, and by rack.

    Raises
    ------
    UsageError
        If there is none, they are on different clusters, or matplotlib is missing.
    """
    require()
    check_same(scenes)
    nodes, cells = len(scenes[0].instance.cluster), max(scene.size for scene in scenes)
    title = title or "; ".join(f"{scene.name}: {', '.join(scene.told)}" for scene in scenes)
    with settings():
        return (detail if nodes <= _NODES and cells <= _CELLS else summary)(scenes, title)


# Small clusters, with the ids of nodes and tasks: racks as frames, a row a node, a cell a task -----------------------
#
# A small cluster with the ids of its nodes and tasks: racks as frames, a row a node, a cell a task.

# Pages: a panel for each placement, a legend below -------------------------------------------------------------------
#
# Pictures of a cluster side by side: a panel for each placement with its title, a legend below. Lengths are inches,
# so that texts have the room that they need.

#: How each sort of cell looks; in black and white by its hatch and by how dark it is.
LOOKS: dict[int, dict[str, Any]] = {
    RUNS: {"facecolor": "#c4c4c4", "edgecolor": "#000000", "hatch": ""},
    TAKEN: {"facecolor": "#c4c4c4", "edgecolor": "#000000", "hatch": "---"},
    NODE: {"facecolor": "#e3f1fa", "edgecolor": "#000000", "hatch": ""},
    RACK: {"facecolor": "#8cc0e2", "edgecolor": "#000000", "hatch": "//////"},
    REMOTE: {"facecolor": "#d0602a", "edgecolor": "#000000", "hatch": "xxxxxx"},
    PLACED: {"facecolor": "#e3f1fa", "edgecolor": "#000000", "hatch": ""},
    IDLE: {"facecolor": "#ffffff", "edgecolor": "#000000", "hatch": "", "linestyle": ":"},
}

#: Points of the texts in a panel, and of its title.
TEXT, _TITLE = 7.0, 9.0

#: Inches of a line of a title, between panels, of a legend.
_TITLE_LINE, _BETWEEN, _LEGEND = 0.165, 0.25, 0.32

#: Inches of a page before panels go to the next row, and the least of a panel.
WIDEST, LEAST = 15.0, 2.8


def wide(text: str, size: float = TEXT) -> float:
    """Inches that a text takes; signs of East Asian scripts are twice as wide."""
    from unicodedata import east_asian_width

    return CHARACTER * size * sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def headings(scene: Scene, width: float) -> list[tuple[str, str]]:
    """The lines above a panel of a width, each with the weight of its letters."""
    lines = []
    for text, weight, size in [(scene.name, "bold", _TITLE), *((told, "normal", LEGEND_SIZE) for told in scene.told)]:
        most = max(12, int(width / (CHARACTER * size)))
        lines += [(line, weight) for line in textwrap.wrap(text, most, max_lines=3, placeholder=" ...") or [""]]
    return lines


def page(scenes: Sequence[Scene], width: float, height: float, title: str) -> tuple[Figure, list[Axes]]:
    """A figure with a panel of a size (inches) for each scene, and its headings; x is to the right and y down.

    Returns
    -------
    figure, axes
        An axes a scene, whose data are inches.
    """
    panel = max(width, LEAST)
    above = [headings(scene, panel) for scene in scenes]
    head = _TITLE_LINE * max(map(len, above)) + 0.08
    columns = max(1, min(len(scenes), int((WIDEST + _BETWEEN) // (panel + _BETWEEN))))
    rows = math.ceil(len(scenes) / columns)
    across = columns * (panel + _BETWEEN) + _BETWEEN
    down = rows * (head + height + _BETWEEN) + _LEGEND + _BETWEEN / 2
    figure = begun(across, down, title, constrained=False)
    places = []
    for place, lines in enumerate(above):
        left = _BETWEEN + (place % columns) * (panel + _BETWEEN)
        top = _BETWEEN / 2 + (place // columns) * (head + height + _BETWEEN)
        axes = figure.add_axes((left / across, 1 - (top + head + height) / down, panel / across, height / down))
        axes.set(xlim=(0, panel), ylim=(height, 0))
        axes.set_axis_off()
        for line, (text, weight) in enumerate(lines):
            at = (left / across, 1 - (top + (line + 0.7) * _TITLE_LINE) / down)
            size = _TITLE if weight == "bold" else LEGEND_SIZE
            plain(figure.text(*at, text, fontsize=size, fontweight=weight, ha="left", va="baseline"))
        places.append(axes)
    return figure, places


def key(figure: Figure, cells: Iterable[int], told: str = "") -> None:
    """The legend below: what the cells are that there are, and a remark."""
    from matplotlib.patches import Patch

    shown = sorted(set(cells))
    handles = [Patch(linewidth=0.6, **LOOKS[cell]) for cell in shown]
    names = [WORDS[cell] for cell in shown]
    if told:
        handles.append(Patch(facecolor="none", edgecolor="none"))
        names.append(told)
    if handles:
        room = figure.get_figwidth() - 0.2
        widest = max(wide(name, LEGEND_SIZE) for name in names) + 0.45
        whole = sum(wide(name, LEGEND_SIZE) + 0.45 for name in names)
        columns = len(handles) if whole < room else max(1, min(len(handles), int(room / widest)))
        grown = _LEGEND * (math.ceil(len(handles) / columns) - 1) * 0.6
        if grown:
            _heighten(figure, grown)
        keyed(figure, handles, names, loc="lower left", ncols=columns, handlelength=1.6, columnspacing=1.2)


def _heighten(figure: Figure, inches: float) -> None:
    """More room at the bottom of a figure whose axes and texts stay where they are."""
    before = figure.get_figheight()
    after = before + inches
    figure.set_figheight(after)
    for axes in figure.axes:
        place = axes.get_position()
        axes.set_position((place.x0, (place.y0 * before + inches) / after, place.width, place.height * before / after))
    for text in figure.texts:
        text.set_y((text.get_position()[1] * before + inches) / after)


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


# Clusters of any size, in counts -------------------------------------------------------------------------------------
#
# A cluster of any size in counts: how near tasks are to their data, how many a node has, and where, rack by rack.

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
