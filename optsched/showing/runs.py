"""Runs over time as pictures: which task ran when on which slot, times of jobs and tasks, and the locality of tasks.

Lines differ in marker and dashes as well as in colour. The numbers behind each picture are frames of
`optsched.measuring.timelines`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.core.brief import assumed_in_words, counted
from optsched.core.errors import UsageError
from optsched.core.instance import KINDS, Ints
from optsched.core.placement import MICRO
from optsched.measuring.printing import number
from optsched.measuring.timelines import (
    Timeline,
    job_reductions,
    locality_by_size,
    running_tasks,
    time_distribution,
    timelines_of,
)
from optsched.problems.locality_counts import CLASSES
from optsched.showing.figures import SMALL, WIDEST, begun, fold, keyed, look, short, whole_ticks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["gantt_picture", "locality_picture", "reductions_picture", "running_picture", "times_picture"]

#: Inches of a panel, across and down, and down if several stand below one another; marks on a line; drawn points of a
#: step function.
_WIDE, _HIGH, _LOW, _MARKS, _POINTS = 4.2, 3.0, 2.3, 8, 2000

#: Grey and hatching of a map by its locality.
_NEAR = {"node": ("0.3", ""), "rack": ("0.75", "//////"), "off_rack": ("1.0", "......")}


def times_picture(runs: Any) -> Figure:
    """The cumulative distributions of the times of jobs, maps and reduces, a line for each policy.

    These are Figures 4 and 6 of Shen et al. (2016). Unfinished jobs and tasks are below no line. Runs of one name are
    merged. `runs` are one or several values that `optsched.measuring.timelines.timeline` takes. UsageError if there is
    none, or matplotlib is missing.

    Examples
    --------
    >>> import optsched
    >>> run = optsched.simulate(optsched.load("examples/order-of-jobs"), "fifo", heartbeat=0)
    >>> [axes.get_title() for axes in times_picture(run).axes]
    ['jobs, from arrival to end', 'maps', 'reduces']
    """
    held = timelines_of(runs)
    titles = {"job": "jobs, from arrival to end", "map": "maps", "reduce": "reduces"}
    frames = {of: time_distribution(held, of) for of in titles}
    shown = [of for of in titles if of == "job" or len(frames[of])]
    names = list(dict.fromkeys(one.name for one in held))
    with begun(_WIDE + 2, _LOW * len(shown) + 0.8, f"Times of jobs and tasks: {', '.join(names)}") as figure:
        for of, axes in zip(shown, figure.subplots(len(shown), squeeze=False)[:, 0], strict=True):
            parts = [frames[of][frames[of]["run"] == name] for name in names]
            curves = [(part["seconds"].to_numpy(), part["share"].to_numpy()) for part in parts]
            _cumulative(axes, curves, "time (s)", f"{of}s", 0.0)
            axes.set_title(titles[of], fontsize=9)
        _key(figure, names)
        jobs = frames["job"].groupby("run")
        ended = all(name in jobs.groups and jobs["share"].max()[name] == 1 for name in names)
        _headed(figure, held, "mean job time", jobs["seconds"].mean().to_dict() if ended else {}, "s")
    return figure


def reductions_picture(runs: Any, name: str | None = None) -> Figure:
    """The cumulative distribution over jobs of how much faster they were with one policy than with each other one.

    This is Figure 5 of Shen et al. (2016). Left of 0 are the jobs that were slower. `runs` and `name` are those of
    `optsched.measuring.timelines.job_reductions`. UsageError if there is nothing to compare, or matplotlib is missing.
    """
    held = timelines_of(runs)
    frame = job_reductions(held, name)
    chosen = held[-1].name if name is None else name
    names = list(dict.fromkeys(frame["run"]))
    parts = [np.sort(frame[frame["run"] == one]["reduction"].to_numpy()) for one in names]
    with begun(_WIDE + 1, _HIGH + 0.4, f"Reductions of job times by {chosen}") as figure:
        axes = figure.add_subplot()
        curves = [(100 * part, np.arange(1, len(part) + 1) / max(1, len(part))) for part in parts]
        _cumulative(axes, curves, f"job time with {short(chosen)} is less by (%)", "jobs")
        axes.axvline(0, color="black", linewidth=0.7, linestyle=":")
        _key(figure, [f"than with {one}" for one in names])
        means = (100 * frame.groupby("run")["reduction"].mean()).to_dict()
        _headed(figure, held, f"mean reduction of a job's time by {short(chosen)}", means, "%")
    return figure


def running_picture(runs: Any) -> Figure:
    """How many maps and reduces run and wait over time, a panel for each, a line for each policy.

    On the right is the utilisation: the share of the slots on which something runs. With more than 2,000 changes there
    are as many points at equal distances, each with the mean since the previous point. Of runs with one name only the
    first is drawn. `runs` are one or several values that `optsched.measuring.timelines.timeline` takes. UsageError if
    there is none, or matplotlib is missing.
    """
    first: dict[str, Timeline] = {}
    for one in timelines_of(runs):
        first.setdefault(one.name, one)
    held = list(first.values())
    frame = running_tasks(held)
    kinds = [kind for kind in KINDS if bool((frame[frame["kind"] == kind][["running", "waiting"]] > 0).any(axis=None))]
    kinds = kinds or [KINDS[0]]
    names = [one.name for one in held]
    with begun(2 * _WIDE, (_HIGH - 0.4) * len(kinds) + 0.6, f"Running tasks over time: {', '.join(names)}") as figure:
        grid = figure.subplots(len(kinds), 2, squeeze=False, sharex=True)
        for (left, right), kind in zip(grid, kinds, strict=True):
            for number in range(len(held)):
                part = frame[(frame["number"] == number) & (frame["kind"] == kind)]
                for axes, column in ((left, "running"), (right, "waiting")):
                    _line(axes, *_thinned(part["time"].to_numpy(), part[column].to_numpy()), number)
            slots = float(frame[frame["kind"] == kind]["slots"].max())
            left.set_ylabel(f"running {kind}s")
            right.set_ylabel(f"waiting {kind}s")
            if slots:
                left.axhline(slots, color="black", linewidth=0.7, linestyle=":")
                to_and_fro = (lambda count, of=slots: 100 * count / of, lambda share, of=slots: share * of / 100)
                share = left.secondary_yaxis("right", functions=to_and_fro)
                share.set_ylabel("of the slots (%)")
            for axes in (left, right):
                axes.set_ylim(0, max(1.0, axes.get_ylim()[1]))
                whole_ticks(axes.yaxis, [])
                axes.grid(alpha=0.3)
        for axes in grid[-1]:
            axes.set_xlabel("time (s)")
        _key(figure, names)
        _headed(figure, held)
    return figure


def locality_picture(runs: Any) -> Figure:
    """The locality of the maps, by the size of their job: a panel for each policy, a bar for each size.

    The share on nodes with the data is Figure 7 of Shen et al. (2016). `runs` are one or several values that
    `optsched.measuring.timelines.timeline` takes. UsageError if there is none, or matplotlib is missing.
    """
    held = timelines_of(runs)
    frame = locality_by_size(held)
    names = list(dict.fromkeys(one.name for one in held))
    columns = min(len(names), int(WIDEST / 2.8))
    rows = math.ceil(len(names) / columns)
    wide = max(_WIDE, 2.8 * columns) + 0.4
    with begun(wide, _HIGH * rows + 0.4, f"Locality by job size: {', '.join(names)}") as figure:
        unit = "MB" if len(frame) and frame["unit"].iloc[0] == "MB" else "maps"
        for number, name in enumerate(names):
            axes = figure.add_subplot(rows, columns, number + 1)
            _stacked(axes, frame[frame["run"] == name])
            axes.set_title(short(name), fontsize=9)
            axes.set_xlabel(f"size of the job ({unit})")
            axes.set_ylabel("share of the maps (%)")
        from matplotlib.patches import Patch

        handles = [Patch(facecolor=grey, hatch=hatch, edgecolor="black") for grey, hatch in _NEAR.values()]
        labels = ["on a node with the data", "in the rack of one", "off-rack"]
        keyed(figure, handles, labels, loc="outside lower center", ncols=3)
        local = (frame["maps"] * frame["node"]).groupby(frame["run"]).sum() / frame.groupby("run")["maps"].sum()
        _headed(figure, held, "node-local maps", (100 * local).to_dict(), "%")
    return figure


def _stacked(axes: Axes, part: pd.DataFrame) -> None:
    """A bar for each size, with the shares by locality."""
    at = np.arange(len(part))
    below = np.zeros(len(part))
    for near in CLASSES:
        grey, hatch = _NEAR[near]
        height = 100 * part[near].to_numpy()
        axes.bar(at, height, bottom=below, width=0.8, color=grey, hatch=hatch, edgecolor="black", linewidth=0.6)
        below = below + height
    names = [
        _size(least) if least == most else f"{_size(least)} to {_size(most)}"
        for least, most in zip(part["least"], part["most"], strict=True)
    ]
    if not len(part):
        _nothing(axes, "no map of a job ran")
    axes.xaxis.set_ticks(at.tolist(), names, rotation=45, ha="right", fontsize=SMALL)
    axes.set_ylim(0, 100)


def _size(size: float) -> str:
    """A size with at least three digits."""
    return f"{size:,.0f}" if size >= 100 else f"{size:.3g}"


def _cumulative(axes: Axes, curves: Sequence[tuple[Any, Any]], label: str, of: str, first: float | None = None) -> None:
    """A curve for each pair of sorted values and cumulative shares, from the least to the largest."""
    some = [values for values, _ in curves if len(values)]
    if some:
        first = min(float(values[0]) for values in some) if first is None else first
        last = max(float(values[-1]) for values in some)
        for number, (values, share) in enumerate(curves):
            if len(values):
                kept = np.unique(np.linspace(0, len(values) - 1, _POINTS).astype(np.int64))  # all, where they are few
                up = 100 * share[kept]
                _line(axes, np.array([first, *values[kept], last]), np.array([0, *up, up[-1]]), number)
    else:
        _nothing(axes, f"no {of} to compare" if first is None else f"no {of[:-1]} ended")
    axes.set_ylim(-3, 103)
    axes.set_xlabel(label)
    axes.set_ylabel(f"share of {of} (%)")
    axes.grid(alpha=0.3)


def _line(axes: Axes, across: Any, up: Any, number: int) -> None:
    """A step function with the look of its number, and some marks."""
    every = max(1, len(across) // _MARKS)
    axes.plot(across, up, drawstyle="steps-post", markevery=(every // 2, every), **look(number))


def _nothing(axes: Axes, text: str) -> None:
    """Why a panel is empty."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center")


def _headed(
    figure: Figure,
    timelines: Sequence[Timeline],
    what: str = "",
    values: Mapping[Any, float] | None = None,
    unit: str = "",
) -> None:
    """Above the panels: the runs, the rules of task times, the offers of slots, and other assumptions.

    `values` are the results of each policy, `what` their meaning.
    """
    instances = list(dict.fromkeys(one.instance.name or "an instance" for one in timelines))
    of_names: dict[str, list[str]] = {}
    for one in timelines:
        if one.name not in of_names.setdefault(one.assumed or "as scheduled", []):
            of_names[one.assumed or "as scheduled"].append(one.name)
    lines = [
        assumed if len(of_names) == 1 else f"{', '.join(map(short, names))}: {assumed}"
        for assumed, names in of_names.items()
    ]
    where = short(instances[0], 60) if len(instances) == 1 else counted(len(instances), "instance")
    if values:
        found = sorted(values.items(), key=lambda entry: entry[1])
        where += f": {what} " + ", ".join(f"{number(round(value, 1))} {unit} ({short(name)})" for name, value in found)
    labelled = assumed_in_words(one.instance for one in timelines)
    head = fold(where, figure.get_figwidth(), SMALL)
    figure.suptitle("\n".join([*head, *lines, *([labelled] if labelled else [])]), fontsize=SMALL)


def _thinned(time: Any, value: Any) -> tuple[Any, Any]:
    """A step function; if it has too many steps, its means over equal times, each at the beginning of its time."""
    if len(time) <= _POINTS:
        return time, value
    area = np.append(0, np.cumsum(value[:-1] * np.diff(time)))
    edges = np.linspace(time[0], time[-1], _POINTS)
    means = np.diff(np.interp(edges, time, area)) / np.diff(edges)
    return edges, np.append(means, value[-1])


def _key(figure: Figure, names: Sequence[str]) -> None:
    """A legend of the lines, below all panels."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], **look(number)) for number in range(len(names))]
    columns = max(1, min(len(names), int(figure.get_figwidth() / 1.8)))
    keyed(figure, lines, [short(name) for name in names], loc="outside lower center", ncols=columns)


# Gantt charts --------------------------------------------------------------------------------------------------------
#
# A row is a slot, and lines separate nodes. Jobs differ in grey and hatching, so that the picture can be read in black
# and white. If not everything fits, it is merged or thinned, and the picture says so:
#
# - with more than 12 jobs the 11 with the most slot time have their own looks, and the others share one;
# - with more than 600 bars, consecutive bars of one look on a slot are one bar, if the time between them would be
# invisible (1/1500 of the whole time);
# - with more than 480 slots of a kind every k-th node is drawn;
# - tasks that had not ended when a run was stopped are cut off there;
# - starts in vain, on lost nodes, are not drawn.

#: Grey, hatching and colour of the hatching of the jobs with the most slot time; the last one is for all others.
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

#: The number of bars from which they are merged, and the invisible share of the whole time between them.
_BARS, _UNSEEN = 600, 1 / 1500

#: The number of slots of a kind from which nodes are left out.
_SLOTS = 480

#: Inches: of a slot at most, of a node's name, of a panel at most, of all panels, of the surroundings; letters of a
#: node's name.
_ROW, _NAME, _PANEL, _WIDTH, _AROUND, _LETTERS = 0.16, 0.16, 6.5, 7.6, 1.5, 14

#: The number of bars from which tasks have no names, and the share of the whole time that a one-letter name needs.
_MOST_ROWS, _LETTER = 60, 0.014


def gantt_picture(runs: Any, title: str = "", framed: Sequence[int] = ()) -> Figure:
    """A Gantt chart by node and kind of slot; several runs of one instance below one another.

    Parameters
    ----------
    runs
        One or several values that `optsched.measuring.timelines.timeline` takes, on clusters with the same nodes.
    title
        Above the picture. Above its panels each run has its name and its assumptions.
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
    for one in held[1:]:
        if one.instance.cluster.node_ids.tolist() != held[0].instance.cluster.node_ids.tolist():
            names = " and ".join(each.instance.name or "an instance" for each in (held[0], one))
            raise UsageError(f"a Gantt chart is of one cluster, and the nodes of {names} are not the same")
    kinds = [kind for kind in range(len(KINDS)) if any((one.kinds == kind).any() for one in held)] or [0]
    looks, legend = _looks(held)
    most_slots = max(int(np.maximum.reduce([_width(one, kind) for one in held]).sum()) for kind in kinds)
    step = max(1, math.ceil(most_slots / _SLOTS))  # every step-th node is drawn
    rows = [_Rows(held, kind, step) for kind in kinds]
    notes = _left_out(held, step)
    lines = 2 if any(one.assumed for one in held) else 1
    most = _PANEL / min(2, len(held))
    heights = [min(most, max(0.8, _ROW * one.count)) for one in rows]
    of = f"Gantt chart of {', '.join(one.name for one in held)} on {held[0].instance.name or 'an instance'}"
    with begun(_WIDTH, (sum(heights) + 0.2 * lines) * len(held) + _AROUND, title or of) as figure:
        panels = figure.subplots(
            len(held) * len(rows), squeeze=False, sharex=True, height_ratios=[h + 0.15 for h in heights] * len(held)
        )
        grid = panels.reshape(len(held), len(rows))
        merged = False
        for number, one in enumerate(held):
            for place, (row, axes, height) in enumerate(zip(rows, grid[number], heights, strict=True)):
                merged |= _panel(axes, one, row, looks[number], () if number else framed)
                axes.set_ylabel(f"{KINDS[row.kind]} slots")
                row.label(axes, int(height / _NAME))
                if place == 0:
                    head = "\n".join([one.name, one.assumed][:lines])
                    axes.set_title(head, fontsize=9, loc="left")
                if not len(one.rows):
                    _nothing(axes, "nothing ran")
        if merged:
            notes.append("bars of a job that follow one another on a slot are one")
        grid[-1, -1].set_xlabel("\n".join(["time (s)", *notes]))
        first = min(min(one.begin, int(one.starts.min(initial=one.begin))) for one in held) / MICRO
        last = max(one.last for one in held) / MICRO
        room = 0.01 * (last - first) or 1.0
        for axes in grid.flat:
            axes.set_xlim(first - room, last + room)
        _legend(figure, legend)
        if title:
            figure.suptitle(title, fontsize=9)
    return figure


def _left_out(timelines: Sequence[Timeline], step: int) -> list[str]:
    """The remarks on invisible parts, and on the assumptions about the instance."""
    vain = sum(one.vain for one in timelines)
    notes = [
        (step > 1, f"one node in {step} is drawn"),
        (not all(one.ended.all() for one in timelines), "tasks that had not ended are cut off at the end"),
        (vain > 0, f"{counted(vain, 'start')} in vain, on lost nodes, not drawn"),
    ]
    assumed = assumed_in_words(one.instance for one in timelines)
    return [*(words for holds, words in notes if holds), *([assumed] if assumed else [])]


def _looks(timelines: Sequence[Timeline]) -> tuple[list[Ints], list[tuple[int, str]]]:
    """The look of each bar of each run, and the meaning of looks: the same job looks the same in all runs."""
    work: dict[str, float] = {}
    for one in timelines:
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
    looks = [np.array([number.get(job, others) for job in one.jobs.ids], dtype=np.int64)[one.job] for one in timelines]
    legend = [(look, short(job, 24)) for job, look in number.items()]
    if len(work) > len(number):
        legend.append((others, f"{len(work) - len(number)} other jobs"))
    return looks, legend


def _width(one: Timeline, kind: int) -> Ints:
    """Rows of each node: its slots of a kind, or as many as its simultaneous tasks."""
    width = one.slots[KINDS[kind]].copy()
    own = one.kinds == kind
    np.maximum.at(width, one.nodes[own], one.lanes[own] + 1)
    return width


class _Rows:
    """The rows of a panel: the slots of a kind on the drawn nodes."""

    def __init__(self, timelines: Sequence[Timeline], kind: int, step: int) -> None:
        self.kind = kind
        width = np.maximum.reduce([_width(one, kind) for one in timelines])
        shown = np.zeros(len(width), dtype=bool)
        shown[np.flatnonzero(width)[::step]] = True
        width = np.where(shown, width, 0)
        self.first = np.where(shown, np.cumsum(width) - width, -1)  # -1: not drawn
        self.count = max(1, int(width.sum()))
        self._nodes = np.flatnonzero(shown)
        self._width = width
        self._ids = timelines[0].instance.cluster.node_ids

    def label(self, axes: Axes, names: int) -> None:
        """Lines between nodes, and at most this many of their names."""
        axes.set_ylim(self.count, 0)
        edges = np.append(self.first[self._nodes], self.count)
        axes.hlines(edges[1:-1], 0, 1, transform=axes.get_yaxis_transform(), color="0.6", linewidth=0.4)
        named_nodes = self._nodes[:: max(1, math.ceil(len(self._nodes) / names))]
        middle = self.first[named_nodes] + self._width[named_nodes] / 2
        axes.yaxis.set_ticks(
            middle.tolist(),
            [short(str(name), _LETTERS) for name in self._ids[named_nodes]],
            fontsize=SMALL,
        )
        axes.tick_params(axis="y", length=0)


def _panel(axes: Axes, one: Timeline, rows: _Rows, looks: Ints, framed: Sequence[int]) -> bool:
    """The bars of a kind, those of `framed` tasks with thick frames; whether some were merged."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    def draw(bars: Ints, **look: Any) -> None:
        """Bars as one shape, which takes less room in a file than single bars."""
        row, _, start, end = bars.T
        sides = np.stack([start / MICRO, row + 0.08, (end - start) / MICRO, np.full(len(row), 0.84)], axis=1)
        corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
        polygons = sides[:, None, :2] + corners * sides[:, None, 2:]
        axes.add_patch(PathPatch(Path.make_compound_path_from_polys(polygons), **look))

    own = np.flatnonzero((one.kinds == rows.kind) & (rows.first[one.nodes] >= 0))
    y = rows.first[one.nodes[own]] + one.lanes[own]
    bars = np.stack([y, looks[own], one.starts[own], one.ends[own]], axis=1)
    merged = _merged(bars, (one.last - one.begin) * _UNSEEN) if len(one.rows) > _BARS else bars
    edge = 0.5 if len(merged) <= _BARS else 0.0
    for own_look in np.unique(merged[:, 1]).tolist():
        alike = merged[merged[:, 1] == own_look]
        grey, hatch, ink = _LOOKS[own_look]
        draw(alike, facecolor=grey, hatch=hatch, edgecolor=ink, linewidth=edge)
        if ink != "black" or not edge:
            draw(alike, facecolor="none", edgecolor="black", linewidth=max(edge, 0.15))
    if len(one.rows) <= _MOST_ROWS:
        _names(axes, one, own, y)
    if len(framed):
        chosen = bars[np.isin(one.rows[own], list(framed))]
        draw(chosen, facecolor="none", edgecolor="white", linewidth=3.2, zorder=3)
        draw(chosen, facecolor="none", edgecolor="black", linewidth=1.8, zorder=3, label="framed")
    return len(merged) < len(bars)


def _merged(bars: Ints, unseen: float) -> Ints:
    """Bars (row, look, start, end); consecutive ones of one look on a row are merged."""
    bars = bars[np.lexsort((bars[:, 2], bars[:, 0]))]
    row, look, start, end = bars.T
    apart = (row[1:] != row[:-1]) | (look[1:] != look[:-1]) | (start[1:] - end[:-1] > unseen)
    first = np.flatnonzero(np.append(True, apart))[: len(bars)]
    last = np.append(first[1:] - 1, len(bars) - 1)[: len(first)]
    return np.stack([row[first], look[first], start[first], end[last]], axis=1)


def _names(axes: Axes, one: Timeline, own: Ints, y: Ints) -> None:
    """The ids of tasks in their bars, if there is room."""
    length = max(1, one.last - one.begin)
    for row, at in zip(own.tolist(), y.tolist(), strict=True):
        name = str(one.instance.workload.task_ids[one.rows[row]])
        start, end = int(one.starts[row]), int(one.ends[row])
        if (end - start) / length >= _LETTER * len(name):
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            at_x = (start + end) / 2 / MICRO
            axes.text(at_x, at + 0.5, short(name), fontsize=SMALL, ha="center", va="center", bbox=box)


def _legend(figure: Figure, looks: Sequence[tuple[int, str]]) -> None:
    """The legend: which look is which job."""
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=grey, hatch=hatch, edgecolor=ink if hatch else "black", linewidth=0.6)
        for grey, hatch, ink in (_LOOKS[look] for look, _ in looks)
    ]
    names = [name for _, name in looks]
    if handles:
        columns = max(1, min(len(handles), int(figure.get_figwidth() / 1.5)))
        keyed(figure, handles, names, SMALL, loc="outside lower left", ncols=columns, handlelength=2.2)
