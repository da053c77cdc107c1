"""Pictures of clusters with placements, side by side: with the ids of nodes and tasks, or, if large, as counts.

A `Scene` is the content of one placement's panel: for each node its cells (running tasks, placed tasks, idle slots),
the waiting tasks, and lines of text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from optsched.core.brief import counted
from optsched.core.errors import UsageError
from optsched.core.instance import KINDS, MAP, PENDING, REDUCE, RUNNING, Instance, Ints, Strings
from optsched.core.placement import NONE, Placement
from optsched.measuring.printing import number
from optsched.problems import Problem
from optsched.problems.locality_counts import NAMES, locality
from optsched.showing.figures import SMALL, WIDEST, begun, fold, keyed, require, short, trimmed, whole_ticks, wide

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The sorts of cells, in their order on a node: a running task, a slot taken by something unlisted, a placed task by
#: its locality or if nothing has data, an idle slot.
RUNS, TAKEN, NODE, RACK, OFF_RACK, PLACED, IDLE = range(7)

#: Their names in legends.
WORDS = (
    "runs already",
    "slot in use",
    "on a node with its data",
    "in a rack with its data",
    "off-rack",
    "placed",
    "idle slot",
)

#: The look of each sort of cell; in black and white its hatch and darkness distinguish it.
LOOKS: dict[int, dict[str, Any]] = {
    RUNS: {"facecolor": "#c4c4c4", "edgecolor": "#000000", "hatch": ""},
    TAKEN: {"facecolor": "#c4c4c4", "edgecolor": "#000000", "hatch": "---"},
    NODE: {"facecolor": "#e3f1fa", "edgecolor": "#000000", "hatch": ""},
    RACK: {"facecolor": "#8cc0e2", "edgecolor": "#000000", "hatch": "//////"},
    OFF_RACK: {"facecolor": "#d0602a", "edgecolor": "#000000", "hatch": "xxxxxx"},
    PLACED: {"facecolor": "#e3f1fa", "edgecolor": "#000000", "hatch": ""},
    IDLE: {"facecolor": "#ffffff", "edgecolor": "#000000", "hatch": "", "linestyle": ":"},
}

#: The cells of placed tasks by their class (`optsched.problems.locality_counts`), and their names in counts.
NEAR = (NODE, RACK, OFF_RACK)
_NAMES = dict(zip((*NEAR, PLACED), (*NAMES, "placed"), strict=True))


@dataclass(frozen=True, eq=False)
class Scene:
    """A cluster with one placement, or none.

    `name` names what placed the tasks, and `lines` are printed below it. `tasks` are decided; only they are placed in
    `placement`, which is of the instance. `kinds` of tasks are shown, and the slots of the kinds `slotted`.
    """

    instance: Instance
    name: str
    lines: tuple[str, ...]
    tasks: Ints
    placement: Placement
    kinds: tuple[int, ...] = (MAP,)
    slotted: tuple[int, ...] = (MAP,)

    @cached_property
    def near(self) -> Ints:
        """The sort of cell of each of `tasks`; `NONE` for a waiting one."""
        nodes = self.placement.nodes[self.tasks]
        if not self.has_data:
            return np.where(nodes == NONE, NONE, PLACED)
        classes = locality(self.instance, self.placement)[self.tasks]
        return np.where(nodes == NONE, NONE, np.array(NEAR)[classes])

    @cached_property
    def has_data(self) -> bool:
        """Whether any task has data anywhere, so that some are nearer to their data than others."""
        return bool(len(self.instance.replicas.values)) or self.instance.workload.shuffle is not None

    @cached_property
    def waiting(self) -> Ints:
        """The waiting tasks."""
        left: Ints = self.tasks[self.placement.nodes[self.tasks] == NONE]
        return left

    @cached_property
    def counts(self) -> dict[int, int]:
        """The number of placed tasks by sort of cell, zeros too; racks only if there are some."""
        racks = bool((self.instance.cluster.rack != NONE).any())
        sorts = [cell for cell in NEAR if cell != RACK or racks] if self.has_data else [PLACED]
        return {cell: int(np.count_nonzero(self.near == cell)) for cell in sorts}

    def counted(self) -> str:
        """The counts in words: `14 node, 92 rack, 25 off-rack`, and how many wait."""
        counts = [f"{count} {_NAMES[cell]}" for cell, count in self.counts.items()]
        return ", ".join([*counts, *([f"{len(self.waiting)} waiting"] if len(self.waiting) else [])])

    def idle_slots(self, kind: int) -> Ints:
        """The slots of a kind on each node that are idle before the placement."""
        state = self.instance.state
        return state.idle_slots if kind == MAP else state.idle_reduce_slots

    @cached_property
    def runs(self) -> Ints:
        """The running tasks of the kinds."""
        state, kind = self.instance.state, self.instance.workload.kind
        return np.flatnonzero((state.status == RUNNING) & np.isin(kind, self.kinds) & (state.node != NONE))

    @cached_property
    def cells(self) -> tuple[Ints, Ints, Ints]:
        """The cells: node, sort, and the task (or `NONE`), by node, then maps before reduces, then as above."""
        cluster, state, of_task = self.instance.cluster, self.instance.state, self.instance.workload.kind
        columns: list[tuple[Ints, Ints, Ints, Ints]] = []

        def add(nodes: Ints, cell: int | Ints, tasks: Ints | int, kind: int) -> None:
            size = len(nodes)
            columns.append((nodes, np.full(size, kind), np.broadcast_to(cell, size), np.broadcast_to(tasks, size)))

        for kind in self.kinds:
            runs = self.runs[of_task[self.runs] == kind]
            add(state.node[runs], RUNS, runs, kind)
            shown = (of_task[self.tasks] == kind) & (self.near != NONE)
            placed = self.tasks[shown]
            add(self.placement.nodes[placed], self.near[shown], placed, kind)
            if kind in self.slotted:
                slots, idle = (cluster.slots, cluster.reduce_slots)[kind], self.idle_slots(kind)
                used = (np.bincount(nodes, minlength=len(idle)) for nodes in (state.node[runs], columns[-1][0]))
                for cell, amount in ((TAKEN, slots - idle - next(used)), (IDLE, idle - next(used))):
                    add(np.repeat(np.arange(len(idle)), np.maximum(amount, 0)), cell, NONE, kind)
        of_node, kinds, cells, tasks = (np.concatenate(column) for column in zip(*columns, strict=True))
        order = np.lexsort((tasks, cells, kinds, of_node))
        return of_node[order], cells[order], tasks[order]

    @cached_property
    def size(self) -> int:
        """The most possible cells, found without making them."""
        cluster, tasks = self.instance.cluster, len(self.instance.workload)
        return tasks + sum(int((cluster.slots, cluster.reduce_slots)[kind].sum()) for kind in self.slotted)


def grouped(instance: Instance) -> tuple[Ints, Strings, str]:
    """The groups of nodes: the rack of each (or `NONE`), the racks' ids, and `rack`; the datacenters if the cluster has
    no racks.
    """
    cluster = instance.cluster
    if bool((cluster.rack != NONE).any()) or not bool((cluster.datacenter != NONE).any()):
        return cluster.rack, cluster.rack_ids, "rack"
    return cluster.datacenter, cluster.datacenter_ids, "datacenter"


def of_snapshot(instance: Instance) -> Scene:
    """An instance before any decision: every pending task waits."""
    scene = of_placement(instance, Placement.empty(len(instance.workload)), instance.name or "instance")
    _, ids, noun = grouped(instance)
    sizes = [counted(len(instance.cluster), "node"), *([counted(len(ids), noun)] if len(ids) else [])]
    return replace(scene, lines=(", ".join([*sizes, counted(len(scene.tasks), "task") + " to place"]),))


def of_placement(
    posed: Problem | Instance, placement: Placement, name: str = "placement", lines: Sequence[str] = ()
) -> Scene:
    """A placement on an instance, or of a problem, with the counts of its tasks below the other `lines`.

    UsageError if it has another number of tasks, or lacks a node.
    """
    instance = posed.instance if isinstance(posed, Problem) else posed
    placement.to_dict(instance)
    if isinstance(posed, Problem):
        tasks, kinds = posed.tasks, posed.kinds
        slotted = tuple(kind for kind in kinds if KINDS[kind] in posed.offered)
    else:
        of_task = instance.workload.kind
        kinds = slotted = (MAP, REDUCE) if bool((of_task == REDUCE).any()) else (MAP,)
        decided = (placement.nodes != NONE) | (instance.state.status == PENDING)
        tasks = np.flatnonzero(decided & np.isin(of_task, kinds))
    scene = Scene(instance, name, tuple(lines), tasks, placement, kinds, slotted)
    return replace(scene, lines=(*scene.lines, scene.counted()))


# Pictures ------------------------------------------------------------------------------------------------------------

#: The most nodes and cells of a picture with ids.
_NODES, _CELLS = 40, 250


def drawn(scenes: Sequence[Scene]) -> Figure:
    """The scenes side by side.

    Up to 40 nodes with 250 tasks and slots are drawn with their ids. For larger ones bars show how many tasks have
    which locality. UsageError if there is none, they are on different clusters, or matplotlib is missing.
    """
    require()
    if not scenes:
        raise UsageError("there is nothing to draw: give an instance, or placements on it")
    if len({id(scene.instance.cluster) for scene in scenes}) > 1:
        raise UsageError("placements side by side are on one cluster; draw those on another one apart")
    nodes, cells = len(scenes[0].instance.cluster), max(scene.size for scene in scenes)
    title = "; ".join(f"{scene.name}: {', '.join(scene.lines)}" for scene in scenes)
    return (detail if nodes <= _NODES and cells <= _CELLS else counts)(scenes, title)


# Pages: a panel for each placement, a legend below -------------------------------------------------------------------
#
# Lengths are inches, so that texts have the room they need.

#: Points of the title of a panel.
_TITLE = 9.0

#: Inches of a line of a title, between panels, of a line of a legend.
_TITLE_LINE, _BETWEEN, _LEGEND = 0.165, 0.25, 0.2

#: Inches: the least size of a panel, and the most of its content.
LEAST, _MOST = 2.8, WIDEST - 2 * _BETWEEN


def headings(scene: Scene, width: float) -> list[tuple[str, str]]:
    """The lines above a panel of a width, each with its font weight."""
    lines = []
    for text, weight, size in [(scene.name, "bold", _TITLE), *((part, "normal", SMALL) for part in scene.lines)]:
        lines += [(line, weight) for line in fold(text, width, size, max_lines=3, placeholder=" ...") or [""]]
    return lines


@contextmanager
def page(
    scenes: Sequence[Scene], width: float, height: float, title: str, cells: Iterable[int] = (), remark: str = ""
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure with a panel of a size (inches) for each scene, with its headings; the axes have inches, y goes down.

    The legend below names the `cells`, and has a remark.
    """
    from matplotlib.patches import Patch

    panel = max(width, LEAST)
    above = [headings(scene, panel) for scene in scenes]
    head = _TITLE_LINE * max(map(len, above)) + 0.08
    columns = max(1, min(len(scenes), int((WIDEST - _BETWEEN) // (panel + _BETWEEN))))
    rows = math.ceil(len(scenes) / columns)
    across = columns * (panel + _BETWEEN) + _BETWEEN
    shown = sorted(set(cells))
    names = [*(WORDS[cell] for cell in shown), *([remark] if remark else [])]
    lengths = [wide(name, SMALL) + 0.45 for name in names]
    room = across - 0.2
    keys = len(names) if sum(lengths) < room else max(1, min(len(names), int(room / max(lengths))))
    below = _LEGEND * math.ceil(len(names) / keys) + 0.12 if names else 0.0
    down = rows * (head + height + _BETWEEN) + below + _BETWEEN / 2
    with begun(across, down, title, constrained=False) as figure:
        places = []
        for place, lines in enumerate(above):
            left = _BETWEEN + (place % columns) * (panel + _BETWEEN)
            top = _BETWEEN / 2 + (place // columns) * (head + height + _BETWEEN)
            axes = figure.add_axes((left / across, 1 - (top + head + height) / down, panel / across, height / down))
            axes.set(xlim=(0, panel), ylim=(height, 0))
            axes.set_axis_off()
            for line, (text, weight) in enumerate(lines):
                at = (left / across, 1 - (top + (line + 0.7) * _TITLE_LINE) / down)
                size = _TITLE if weight == "bold" else SMALL
                figure.text(*at, text, fontsize=size, fontweight=weight, ha="left", va="baseline")
            places.append(axes)
        if names:
            handles = [Patch(linewidth=0.6, **LOOKS[cell]) for cell in shown]
            handles += [Patch(facecolor="none", edgecolor="none")] * bool(remark)
            keyed(figure, handles, names, loc="lower left", ncols=keys, handlelength=1.6, columnspacing=1.2)
        yield figure, places


#: Inches: a row and its cell, the hatched strip of a cell, room around things, the name of a rack, between racks.
_ROW, _CELL, _STRIP, _ROOM, _NAME, _APART = 0.25, 0.2, 0.13, 0.06, 0.2, 0.12

#: The most cells in a line of a node, letters of a node's and of a task's name, and inches of the racks before a
#: further column.
_LINE, _NODE_LETTERS, _TASK_LETTERS, _HIGH = 8, 18, 12, 6.5


class Rows(NamedTuple):
    """The positions of everything, in inches from the upper left corner.

    `width` and `height` are of all racks, `label` and `cell` the widths of a node's label and of a cell; `line` is the
    number of cells in a line of a node. `node` has x and y of each node's row, `frames` the racks' names with x, y,
    width and height.
    """

    width: float
    height: float
    label: float
    cell: float
    line: int
    node: np.ndarray
    frames: list[tuple[str, float, float, float, float]]


def detail(scenes: Sequence[Scene], title: str) -> Figure:
    """The scenes side by side: the same node is at the same place in each."""
    instance = scenes[0].instance
    tasks, cut = trimmed(instance.workload.task_ids.tolist(), _TASK_LETTERS)
    labels, cut_ids = trimmed(instance.cluster.node_ids.tolist(), _NODE_LETTERS)
    loads = instance.state.load
    if loads.any():
        numbers = [int(load) if float(load).is_integer() else float(load) for load in loads]
        labels = [f"{name}  load {number(load)}" for name, load in zip(labels, numbers, strict=True)]
    most = np.max([np.bincount(scene.cells[0], minlength=len(labels)) for scene in scenes], axis=0).astype(np.int64)
    rows = _rows(instance, most, labels, max([wide(task, SMALL) for task in tasks], default=0.0))
    per_line = max(1, int(rows.width / rows.cell))
    waiting = max(math.ceil(len(scene.waiting) / per_line) for scene in scenes)
    height = rows.height + (_NAME + waiting * _ROW if waiting else 0)
    cells = {cell for scene in scenes for cell in np.unique(scene.cells[1]).tolist()}
    notes = [f"{what} {how}" for what, how in (("tasks", cut), ("nodes", cut_ids)) if how]
    if any(bool((scene.instance.workload.kind[scene.tasks] == REDUCE).any()) for scene in scenes):
        notes.append("reduces are in italics")
    with page(scenes, rows.width, height, title, cells, "; ".join(notes)) as (figure, places):
        for axes, scene in zip(places, scenes, strict=True):
            _racks(axes, rows, labels)
            _cells(axes, scene, rows, tasks)
            _waiting(axes, scene, rows, tasks, per_line)
    return figure


def _rows(instance: Instance, most: Ints, labels: Sequence[str], widest: float) -> Rows:
    """The rows of nodes, rack by rack, in columns of about equal height; a rack's nodes stand next to each other if
    there is room.
    """
    label = max([wide(text, SMALL) for text in labels], default=0.0) + _ROOM
    cell = _STRIP + widest + 0.13
    line = max(1, min(_LINE, int((_MOST - 2 * _ROOM - label) / cell)))
    lines = np.maximum(1, -(-most // line))
    wide_node = label + max(1, min(line, int(most.max(initial=1)))) * cell
    rack, ids, noun = grouped(instance)
    racks = [
        (short(str(ids[index]), 24), np.flatnonzero(rack == index)) for index in np.unique(rack[rack >= 0]).tolist()
    ]
    bare = np.flatnonzero(rack < 0)
    if len(bare):
        racks.append((f"no {noun}" if racks else "", bare))
    abreast = max(int((LEAST - 2 * _ROOM) / wide_node), math.ceil(max(len(of) for _, of in racks) * _ROW / _HIGH))
    abreast = max(1, min(abreast, int((_MOST - 2 * _ROOM) / wide_node)))
    width = max([2 * _ROOM + abreast * wide_node, *(wide(name, SMALL) + 2 * _ROOM for name, _ in racks)])
    splits = [np.array_split(nodes, min(abreast, len(nodes))) for _, nodes in racks]
    heights = [
        _ROW * max(int(lines[part].sum()) for part in parts) + 2 * _ROOM + (_NAME if name else 0)
        for (name, _), parts in zip(racks, splits, strict=True)
    ]
    columns = max(1, min(math.ceil(sum(heights) / _HIGH), int(_MOST / (width + _APART))))
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
    return Rows(max(x + width + 0.02, LEAST), tallest, label, cell, line, node, frames)


def _racks(axes: Axes, rows: Rows, labels: Sequence[str]) -> None:
    """The frames with their names, and the labels of the nodes."""
    from matplotlib.patches import Rectangle

    for name, x, y, width, height in rows.frames:
        look: dict[str, Any] = {"facecolor": "none", "edgecolor": "#888888", "linewidth": 0.8, "clip_on": False}
        axes.add_patch(Rectangle((x, y), width, height, **look))
        if name:
            axes.text(x + _ROOM, y + 0.7 * _NAME, name, fontsize=SMALL, fontweight="bold", va="baseline")
    for label, (x, y) in zip(labels, rows.node.tolist(), strict=True):
        axes.text(x, y + _CELL / 2, label, fontsize=SMALL, va="center")


def _cells(axes: Axes, scene: Scene, rows: Rows, tasks: Sequence[str]) -> None:
    """The cells of each node: a strip with the look in the legend, and a name; a slot has that look as a whole."""
    from matplotlib.patches import Rectangle

    node, cell, task = scene.cells
    rank = np.arange(len(node)) - np.searchsorted(node, node)
    x = rows.node[node, 0] + rows.label + rank % rows.line * rows.cell
    y = rows.node[node, 1] + rank // rows.line * _ROW
    reduces = scene.instance.workload.kind == REDUCE
    side = rows.cell - 0.04
    for left, top, sort, of in zip(x.tolist(), y.tolist(), cell.tolist(), task.tolist(), strict=True):
        look = LOOKS[sort]
        if sort in (TAKEN, IDLE):
            axes.add_patch(Rectangle((left, top), side, _CELL, linewidth=0.6, **look))
            continue
        ground = look["facecolor"] if sort == RUNS else "#ffffff"
        axes.add_patch(Rectangle((left, top), side, _CELL, linewidth=0.6, facecolor=ground, edgecolor="#000000"))
        axes.add_patch(Rectangle((left, top), _STRIP - 0.02, _CELL, linewidth=0.6, **look))
        style = "italic" if reduces[of] else "normal"
        axes.text(left + _STRIP, top + _CELL / 2, tasks[of], fontsize=SMALL, va="center", fontstyle=style)


def _waiting(axes: Axes, scene: Scene, rows: Rows, tasks: Sequence[str], per_line: int) -> None:
    """The waiting tasks, below the racks."""
    if not len(scene.waiting):
        return
    axes.text(_ROOM, rows.height + 0.6 * _NAME, "waiting", fontsize=SMALL, fontweight="bold", va="baseline")
    for rank, task in enumerate(scene.waiting.tolist()):
        x = _ROOM + rank % per_line * rows.cell
        y = rows.height + _NAME + rank // per_line * _ROW + _CELL / 2
        axes.text(x, y, tasks[task], fontsize=SMALL, va="center")


# Clusters of any size, in counts -------------------------------------------------------------------------------------

#: Inches of a panel, across and down.
_WIDE, _HIGH_COUNTS = 4.2, 1.5


def counts(scenes: Sequence[Scene], title: str) -> Figure:
    """A panel for each scene: bars of the tasks by locality, and of the waiting ones.

    Without a placement: the running tasks, idle slots and waiting tasks of the instance.
    """
    lines = [headings(scene, _WIDE) for scene in scenes]
    columns = min(len(scenes), int(WIDEST / (_WIDE + 0.4)))
    rows = math.ceil(len(scenes) / columns)
    with begun((_WIDE + 0.4) * columns, rows * (_HIGH_COUNTS + 0.17 * max(map(len, lines)) + 0.3), title) as figure:
        for number_of, (scene, above) in enumerate(zip(scenes, lines, strict=True), 1):
            axes = figure.add_subplot(rows, columns, number_of)
            axes.set_title("\n".join(line for line, _ in above), fontsize=8.5, loc="left")
            placed = sum(scene.counts.values())
            if placed:
                bars = [(_NAMES[cell], count, LOOKS[cell]) for cell, count in scene.counts.items()]
            else:
                idle = sum(int(scene.idle_slots(kind).sum()) for kind in scene.slotted)
                bars = [("running", len(scene.runs), LOOKS[RUNS]), ("idle slots", idle, LOOKS[IDLE])]
            bars.append(("waiting", len(scene.waiting), {"facecolor": "white", "edgecolor": "black"}))
            highest = max(1, *(count for _, count, _ in bars))
            for at, (_, count, look) in enumerate(bars):
                axes.barh(at, count, height=0.7, linewidth=0.6, **look)
                axes.text(count + 0.01 * highest, at, str(count), va="center", fontsize=8)
            axes.set_yticks(range(len(bars)), [name for name, _, _ in bars])
            axes.set(xlim=(0, 1.2 * highest), xlabel="tasks" if placed else "tasks, slots")
            axes.invert_yaxis()
            whole_ticks(axes.xaxis, [highest], 5)
            axes.spines[["top", "right"]].set_visible(False)
    return figure
