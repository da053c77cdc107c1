"""Gantt charts: which task ran on which slot when, a panel for maps and one for reduces, a column for each run.

A row is a slot, and nodes are apart by lines. Jobs are told apart by grey and hatching, so that the picture can be read
in black and white. What does not fit is merged or thinned, and the picture says so:

- with more than 12 jobs the 11 with the most slot time have looks of their own, and the others share one;
- with more than 600 bars those of one look that follow one another on a slot are one bar, where the time between them
  would not be seen (1/1500 of the whole time);
- with more than 480 slots of a kind every k-th node is drawn;
- what had not ended when a run was stopped is cut off there, and starts in vain on nodes that were lost are not drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.core.brief import counted
from optsched.core.errors import UsageError
from optsched.core.instance import KINDS, Ints
from optsched.core.schedule import MICRO
from optsched.instances.labels import assumed_in_words
from optsched.measuring.timelines import Timeline, timelines_of
from optsched.showing.figures import LEGEND_SIZE, begun, keyed, named, plain, settings, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import PathPatch

__all__ = ["gantt_picture"]

#: Grey, hatching and colour of the hatching of the jobs with the most slot time; the last one is of all others.
_LOOKS: tuple[tuple[str, str, str], ...] = (
    ("0.25", "", "black"),
    ("1.0", "//////", "black"),
    ("0.78", "", "black"),
    ("0.5", "", "black"),
    ("1.0", "......", "black"),
    ("0.78", "\\\\\\\\\\\\", "black"),
    ("0.25", "xxxxxx", "white"),
    ("1.0", "------", "black"),
    ("0.5", "//////", "white"),
    ("0.78", "......", "black"),
    ("0.5", "||||||", "white"),
    ("1.0", "", "black"),
)

#: Bars before they are merged, and the share of the whole time that is not seen between them.
_BARS, _UNSEEN = 600, 1 / 1500

#: Slots of a kind before nodes are left out; names of nodes at most.
_SLOTS, _NAMES = 480, 40

#: Inches: of a slot at the most, of a panel at the most, of a column, of what is around; letters of a node's name.
_ROW, _PANEL, _COLUMN, _AROUND, _LETTERS = 0.16, 6.5, 7.0, 1.5, 14

#: Bars before their tasks have no names, and the share of the whole time that a name of a letter needs.
_TOLD, _WIDE = 60, 0.014


def gantt_picture(runs: Any, title: str = "", framed: Sequence[int] = ()) -> Figure:
    """A Gantt chart by node and kind of slot; several runs of one instance side by side.

    Parameters
    ----------
    runs
        One or several of what `optsched.measuring.timelines.timeline` takes, on clusters with the same nodes.
    title
        Above the picture. Each run has its name and what was assumed of it above its panels.
    framed
        Rows of the instance: these tasks of the first run have a thick frame.

    Raises
    ------
    UsageError
        If there is none, they are on other nodes, or matplotlib is missing.

    Examples
    --------
    >>> import optsched
    >>> run = optsched.simulate(optsched.load("examples/order-of-jobs"), "fifo", heartbeat=0)
    >>> [axes.get_ylabel() for axes in gantt_picture(run).axes]
    ['map slots', 'reduce slots']
    """
    held = timelines_of(runs)
    _check_nodes(held)
    kinds = [kind for kind in range(len(KINDS)) if any((one.kinds == kind).any() for one in held)] or [0]
    looks, legend = _looks(held)
    step = _every(held, kinds)
    rows = [_Rows(held, kind, step) for kind in kinds]
    told = _left_out(held, step)
    lines = 2 if any(one.assumed for one in held) else 1
    with settings():
        heights = [min(_PANEL, max(0.8, _ROW * one.count)) for one in rows]
        figure = begun(_COLUMN * len(held) + 0.6, sum(heights) + _AROUND, title or _title(held))
        grid = figure.subplots(
            len(rows), len(held), squeeze=False, sharex=True, gridspec_kw={"height_ratios": [h + 0.15 for h in heights]}
        )
        merged = False
        for column, one in enumerate(held):
            for place, (row, axes) in enumerate(zip(rows, grid[:, column], strict=True)):
                merged |= _panel(axes, one, row, looks[column])
                if column == 0 and len(framed):
                    _frame(axes, one, row, framed)
                if column == 0:
                    axes.set_ylabel(f"{KINDS[row.kind]} slots")
                row.label(axes, column == 0)
                if place == 0:
                    head = "\n".join([one.name, one.assumed][:lines])
                    plain(axes.set_title(head, fontsize=9, loc="left"))
                if not len(one.rows):
                    axes.text(0.5, 0.5, "nothing ran", transform=axes.transAxes, ha="center", va="center")
        if merged:
            told.append("bars of a job that follow one another on a slot are one")
        for axes in grid[-1]:
            axes.set_xlabel("\n".join(["time, s", *told]))
        _limits(grid, held)
        _legend(figure, legend)
        if title:
            plain(figure.suptitle(title, fontsize=9))
    return figure


def _title(held: Sequence[Timeline]) -> str:
    """What those hear who do not see it."""
    return f"Gantt chart of {', '.join(one.name for one in held)} on {held[0].instance.name or 'an instance'}"


def _check_nodes(held: Sequence[Timeline]) -> None:
    """Raise UsageError where runs are on other nodes: they have no rows in common."""
    for one in held[1:]:
        if one.instance.cluster.node_ids.tolist() != held[0].instance.cluster.node_ids.tolist():
            names = " and ".join(each.instance.name or "an instance" for each in (held[0], one))
            raise UsageError(f"a Gantt chart is of one cluster, and the nodes of {names} are not the same")


def _left_out(held: Sequence[Timeline], step: int) -> list[str]:
    """What is not to be seen, in words, and what of the instance was assumed."""
    vain = sum(one.vain for one in held)
    told = [
        (step > 1, f"one node in {step} is drawn"),
        (not all(one.ended.all() for one in held), "tasks that had not ended are cut off at the end"),
        (vain > 0, f"{counted(vain, 'start')} in vain, on lost nodes, not drawn"),
    ]
    assumed = assumed_in_words(one.instance for one in held)
    return [*(words for holds, words in told if holds), *([assumed] if assumed else [])]


def _looks(held: Sequence[Timeline]) -> tuple[list[Ints], list[tuple[int, str]]]:
    """The look of each bar of each run, and what looks stand for: the same job looks the same in all of them."""
    work: dict[str, float] = {}
    for one in held:
        spent = np.bincount(one.job, weights=one.ends - one.starts, minlength=len(one.jobs)).tolist()
        for job, amount in zip(one.jobs.ids, spent, strict=True):
            work[job] = work.get(job, 0.0) + amount
    own = len(_LOOKS) if len(work) <= len(_LOOKS) else len(_LOOKS) - 1
    chosen = set(sorted(work, key=lambda job: -work[job])[:own])
    number: dict[str, int] = {}
    for job in work:  # in the order of the file
        if job in chosen:
            number[job] = len(number)
    others = len(_LOOKS) - 1
    looks = [np.array([number.get(job, others) for job in one.jobs.ids], dtype=np.int64)[one.job] for one in held]
    legend = [(look, short(job, 24)) for job, look in number.items()]
    if len(work) > len(number):
        legend.append((others, f"{len(work) - len(number)} other jobs"))
    return looks, legend


def _every(held: Sequence[Timeline], kinds: Sequence[int]) -> int:
    """Every how many-th node is drawn."""
    most = max(int(np.maximum.reduce([_width(one, kind) for one in held]).sum()) for kind in kinds)
    return max(1, math.ceil(most / _SLOTS))


def _width(one: Timeline, kind: int) -> Ints:
    """Rows of each node: its slots of a kind, or as many as tasks ran at once."""
    width = one.slots[KINDS[kind]].copy()
    own = one.kinds == kind
    np.maximum.at(width, one.nodes[own], one.lanes[own] + 1)
    return width


class _Rows:
    """The rows of a panel: the slots of a kind of the nodes that are drawn."""

    def __init__(self, held: Sequence[Timeline], kind: int, step: int) -> None:
        self.kind = kind
        width = np.maximum.reduce([_width(one, kind) for one in held])
        shown = np.zeros(len(width), dtype=bool)
        shown[np.flatnonzero(width)[::step]] = True
        width = np.where(shown, width, 0)
        self.first = np.where(shown, np.cumsum(width) - width, -1)  # -1: not drawn
        self.count = max(1, int(width.sum()))
        self._nodes = np.flatnonzero(shown)
        self._width = width
        self._ids = held[0].instance.cluster.node_ids

    def label(self, axes: Axes, names: bool) -> None:
        """Lines between nodes, and names of as many of them as there is room for."""
        axes.set_ylim(self.count, 0)
        edges = np.append(self.first[self._nodes], self.count)
        axes.hlines(edges[1:-1], 0, 1, transform=axes.get_yaxis_transform(), color="0.6", linewidth=0.4)
        every = math.ceil(len(self._nodes) / _NAMES) if len(self._nodes) else 1
        told = self._nodes[::every] if names else self._nodes[:0]
        middle = self.first[told] + self._width[told] / 2
        named(axes.yaxis, middle.tolist(), [short(str(name), _LETTERS) for name in self._ids[told]], fontsize=6)
        axes.tick_params(axis="y", length=0)


def _panel(axes: Axes, one: Timeline, rows: _Rows, looks: Ints) -> bool:
    """The bars of a kind; whether some were merged."""
    own = np.flatnonzero((one.kinds == rows.kind) & (rows.first[one.nodes] >= 0))
    y = rows.first[one.nodes[own]] + one.lanes[own]
    bars = np.stack([y, looks[own], one.starts[own], one.ends[own]], axis=1)
    merged = _merged(bars, (one.last - one.begin) * _UNSEEN) if len(one.rows) > _BARS else bars
    edge = 0.5 if len(merged) <= _BARS else 0.0
    for look in np.unique(merged[:, 1]).tolist():
        row, _, start, end = merged[merged[:, 1] == look].T
        sides = np.stack([start / MICRO, row + 0.08, (end - start) / MICRO, np.full(len(row), 0.84)], axis=1)
        grey, hatch, ink = _LOOKS[look]
        rim = {"edgecolor": ink, "linewidth": edge}
        axes.add_patch(_together(sides, facecolor=grey, hatch=hatch, **rim))
        if ink != "black" or not edge:
            axes.add_patch(_together(sides, facecolor="none", edgecolor="black", linewidth=max(edge, 0.15)))
    if len(one.rows) <= _TOLD:
        _names(axes, one, own, y)
    return len(merged) < len(bars)


def _frame(axes: Axes, one: Timeline, rows: _Rows, framed: Sequence[int]) -> None:
    """Thick frames around tasks."""
    own = np.flatnonzero((one.kinds == rows.kind) & (rows.first[one.nodes] >= 0) & np.isin(one.rows, list(framed)))
    y = rows.first[one.nodes[own]] + one.lanes[own]
    start, end = one.starts[own] / MICRO, one.ends[own] / MICRO
    sides = np.stack([start, y + 0.08, end - start, np.full(len(own), 0.84)], axis=1)
    axes.add_patch(_together(sides, facecolor="none", edgecolor="white", linewidth=3.2, zorder=3))
    axes.add_patch(_together(sides, facecolor="none", edgecolor="black", linewidth=1.8, zorder=3, label="framed"))


def _merged(bars: Ints, unseen: float) -> Ints:
    """Bars (row, look, start, end) of which those of one look that follow one another on a row are one."""
    bars = bars[np.lexsort((bars[:, 2], bars[:, 0]))]
    row, look, start, end = bars.T
    apart = (row[1:] != row[:-1]) | (look[1:] != look[:-1]) | (start[1:] - end[:-1] > unseen)
    first = np.flatnonzero(np.append(True, apart))[: len(bars)]
    last = np.append(first[1:] - 1, len(bars) - 1)[: len(first)]
    return np.stack([row[first], look[first], start[first], end[last]], axis=1)


def _names(axes: Axes, one: Timeline, own: Ints, y: Ints) -> None:
    """The ids of tasks in their bars, where there is room."""
    whole = max(1, one.last - one.begin)
    for row, at in zip(own.tolist(), y.tolist(), strict=True):
        name = str(one.instance.workload.task_ids[one.rows[row]])
        start, end = int(one.starts[row]), int(one.ends[row])
        if (end - start) / whole >= _WIDE * len(name):
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            at_x = (start + end) / 2 / MICRO
            plain(axes.text(at_x, at + 0.5, short(name), fontsize=6, ha="center", va="center", bbox=box))


def _limits(grid: Any, held: Sequence[Timeline]) -> None:
    """The same time in all panels, from the first start to the last end."""
    first = min(min(one.begin, int(one.starts.min(initial=one.begin))) for one in held) / MICRO
    last = max(one.last for one in held) / MICRO
    room = 0.01 * (last - first) or 1.0
    for axes in grid.flat:
        axes.set_xlim(first - room, last + room)


def _legend(figure: Figure, looks: Sequence[tuple[int, str]]) -> None:
    """Which look is which job."""
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=grey, hatch=hatch, edgecolor=ink if hatch else "black", linewidth=0.6)
        for grey, hatch, ink in (_LOOKS[look] for look, _ in looks)
    ]
    names = [name for _, name in looks]
    if handles:
        columns = max(1, min(len(handles), int(figure.get_figwidth() / 1.5)))
        keyed(figure, handles, names, LEGEND_SIZE, loc="outside lower left", ncols=columns, handlelength=2.2)


def _together(sides: np.ndarray, **look: Any) -> PathPatch:
    """Rectangles (x, y, width, height) as one shape, which takes less room in a file than each by itself."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)])
    points = sides[:, None, :2] + corners * sides[:, None, 2:]
    codes = np.tile([Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY], len(sides))
    return PathPatch(Path(points.reshape(-1, 2), codes), **look)
