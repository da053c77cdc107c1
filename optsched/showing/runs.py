"""Runs over time as pictures: how long jobs and tasks took, what ran when, and how near to its data.

Lines are told apart by marker and dashes as well as by colour. The numbers behind each picture are frames of
`optsched.measuring.timelines`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.core.brief import counted
from optsched.core.instance import KINDS
from optsched.instances.labels import assumed_in_words
from optsched.measuring.timelines import (
    Timeline,
    job_reductions,
    locality_by_size,
    running_tasks,
    time_distribution,
    timelines_of,
)
from optsched.problems.locality_counts import CLASSES
from optsched.showing.figures import begun, keyed, look, named, plain, settings, short, whole_ticks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["locality_picture", "reductions_picture", "running_picture", "times_picture"]

#: Inches of a panel, across and down; marks on a line; points of a step function that are drawn.
_WIDE, _HIGH, _MARKS, _POINTS = 4.2, 3.0, 8, 2000

#: Grey and hatching of a map by how near its data it ran.
_NEAR = {"node": ("0.3", ""), "rack": ("0.75", "//////"), "remote": ("1.0", "......")}


def times_picture(runs: Any) -> Figure:
    """The cumulative distributions of the times of jobs, maps and reduces, a line for each policy.

    These are Figures 4 and 6 of Shen et al. (2016). What has not ended is below no line. Runs of one name are put
    together.

    Parameters
    ----------
    runs
        One or several of what `optsched.measuring.timelines.timeline` takes.

    Raises
    ------
    UsageError
        If there is none, or matplotlib is missing.

    Examples
    --------
    >>> import optsched
    >>> run = optsched.simulate(optsched.load("examples/order-of-jobs"), "fifo", heartbeat=0)
    >>> [axes.get_title() for axes in times_picture(run).axes]
    ['jobs, from arrival to end', 'maps', 'reduces']
    """
    held = timelines_of(runs)
    told = {"job": "jobs, from arrival to end", "map": "maps", "reduce": "reduces"}
    frames = {of: time_distribution(held, of) for of in told}
    shown = [of for of in told if of == "job" or len(frames[of])]
    names = list(dict.fromkeys(one.name for one in held))
    with settings():
        figure = begun(_WIDE * len(shown), _HIGH + 0.4, f"Times of jobs and tasks: {', '.join(names)}")
        for of, axes in zip(shown, figure.subplots(1, len(shown), squeeze=False)[0], strict=True):
            parts = [frames[of][frames[of]["run"] == name] for name in names]
            curves = [(part["seconds"].to_numpy(), part["share"].to_numpy()) for part in parts]
            _cumulative(axes, curves, "time, s", f"{of}s", 0.0)
            axes.set_title(told[of], fontsize=9)
        _key(figure, names)
        _headed(figure, held)
    return figure


def reductions_picture(runs: Any, name: str | None = None) -> Figure:
    """The cumulative distribution over jobs of how much quicker they were with one policy than with each other one.

    This is Figure 5 of Shen et al. (2016). Left of 0 are the jobs that were slower.

    Parameters
    ----------
    runs, name
        As of `optsched.measuring.timelines.job_reductions`.

    Raises
    ------
    UsageError
        If there is nothing to compare, or matplotlib is missing.
    """
    held = timelines_of(runs)
    frame = job_reductions(held, name)
    chosen = held[-1].name if name is None else name
    names = list(dict.fromkeys(frame["run"]))
    parts = [np.sort(frame[frame["run"] == one]["reduction"].to_numpy()) for one in names]
    with settings():
        figure = begun(_WIDE + 1, _HIGH + 0.4, f"Reductions of job times by {chosen}")
        axes = figure.add_subplot()
        curves = [(100 * part, np.arange(1, len(part) + 1) / max(1, len(part))) for part in parts]
        _cumulative(axes, curves, f"job time with {short(chosen)} is less by (%)", "jobs")
        axes.axvline(0, color="black", linewidth=0.7, linestyle=":")
        _key(figure, [f"than with {one}" for one in names])
        _headed(figure, held)
    return figure


def running_picture(runs: Any) -> Figure:
    """How many maps and reduces run and wait over time, a panel for each, a line for each policy.

    On the right is the utilisation: the share of the slots on which something runs. With more than 2,000 changes there
    are as many points at equal distances, each with the mean since the one before. Runs of one name are drawn once:
    the first.

    Parameters
    ----------
    runs
        One or several of what `optsched.measuring.timelines.timeline` takes.

    Raises
    ------
    UsageError
        If there is none, or matplotlib is missing.
    """
    first: dict[str, Timeline] = {}
    for one in timelines_of(runs):
        first.setdefault(one.name, one)
    held = list(first.values())
    frame = running_tasks(held)
    kinds = [kind for kind in KINDS if bool((frame[frame["kind"] == kind][["running", "waiting"]] > 0).any(axis=None))]
    kinds = kinds or [KINDS[0]]
    names = [one.name for one in held]
    with settings():
        figure = begun(2 * _WIDE, (_HIGH - 0.4) * len(kinds) + 0.6, f"Running tasks over time: {', '.join(names)}")
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
                share = left.secondary_yaxis("right", functions=_shares(slots))
                share.set_ylabel("of the slots (%)")
            for axes in (left, right):
                axes.set_ylim(0, max(1.0, axes.get_ylim()[1]))
                whole_ticks(axes.yaxis, [])
                axes.grid(alpha=0.3)
        for axes in grid[-1]:
            axes.set_xlabel("time, s")
        _key(figure, names)
        _headed(figure, held)
    return figure


def locality_picture(runs: Any) -> Figure:
    """How near to their data the maps ran, by the size of their job: a panel for each policy, a bar for each size.

    The share on nodes with the data is Figure 7 of Shen et al. (2016).

    Parameters
    ----------
    runs
        One or several of what `optsched.measuring.timelines.timeline` takes.

    Raises
    ------
    UsageError
        If there is none, or matplotlib is missing.
    """
    held = timelines_of(runs)
    frame = locality_by_size(held)
    names = list(dict.fromkeys(one.name for one in held))
    with settings():
        figure = begun(max(_WIDE, 2.8 * len(names)) + 0.4, _HIGH + 0.4, f"Locality by job size: {', '.join(names)}")
        for axes, name in zip(figure.subplots(1, len(names), squeeze=False, sharey=True)[0], names, strict=True):
            _stacked(axes, frame[frame["run"] == name])
            plain(axes.set_title(short(name), fontsize=9))
        unit = "MB" if len(frame) and frame["unit"].iloc[0] == "MB" else "maps"
        figure.axes[0].set_ylabel("share of the maps (%)")
        for axes in figure.axes:
            axes.set_xlabel(f"size of the job ({unit})")
        from matplotlib.patches import Patch

        handles = [Patch(facecolor=grey, hatch=hatch, edgecolor="black") for grey, hatch in _NEAR.values()]
        told = ["on a node with the data", "in the rack of one", "remote"]
        keyed(figure, handles, told, loc="outside lower center", ncols=3)
        _headed(figure, held)
    return figure


def _stacked(axes: Axes, part: pd.DataFrame) -> None:
    """A bar for each size, of the shares by locality."""
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
    named(axes.xaxis, at.tolist(), names, rotation=45, ha="right", fontsize=7)
    axes.set_ylim(0, 100)


def _size(size: float) -> str:
    """A size with three digits at the least."""
    return f"{size:,.0f}" if size >= 100 else f"{size:.3g}"


def _cumulative(axes: Axes, curves: Sequence[tuple[Any, Any]], label: str, of: str, first: float | None = None) -> None:
    """A curve for each pair of sorted values and the shares that are at most so much, from the least to the largest."""
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
    """A step function in the look of its number, with some marks."""
    every = max(1, len(across) // _MARKS)
    axes.plot(across, up, drawstyle="steps-post", markevery=(every // 2, every), **look(number))


def _nothing(axes: Axes, told: str) -> None:
    """Why a panel is empty."""
    axes.text(0.5, 0.5, told, transform=axes.transAxes, ha="center", va="center")


def _headed(figure: Figure, held: Sequence[Timeline]) -> None:
    """Above the panels: what was run, how long tasks took, when slots were offered, and what else was assumed."""
    instances = list(dict.fromkeys(one.instance.name or "an instance" for one in held))
    of_names: dict[str, list[str]] = {}
    for one in held:
        if one.name not in of_names.setdefault(one.assumed or "as scheduled", []):
            of_names[one.assumed or "as scheduled"].append(one.name)
    told = [
        assumed if len(of_names) == 1 else f"{', '.join(map(short, names))}: {assumed}"
        for assumed, names in of_names.items()
    ]
    where = short(instances[0], 60) if len(instances) == 1 else counted(len(instances), "instance")
    labelled = assumed_in_words(one.instance for one in held)
    plain(figure.suptitle("\n".join([where, *told, *([labelled] if labelled else [])]), fontsize=8))


def _thinned(time: Any, value: Any) -> tuple[Any, Any]:
    """A step function; where it has too many steps, its means over equal times, each at the beginning of its own."""
    if len(time) <= _POINTS:
        return time, value
    area = np.append(0, np.cumsum(value[:-1] * np.diff(time)))
    edges = np.linspace(time[0], time[-1], _POINTS)
    means = np.diff(np.interp(edges, time, area)) / np.diff(edges)
    return edges, np.append(means, value[-1])


def _shares(slots: float) -> Any:
    """From tasks to per cent of the slots, and back."""
    return (lambda count: 100 * count / slots, lambda share: share * slots / 100)


def _key(figure: Figure, names: Sequence[str]) -> None:
    """A legend of the lines, below all panels."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], **look(number)) for number in range(len(names))]
    columns = max(1, min(len(names), int(figure.get_figwidth() / 1.8)))
    keyed(figure, lines, [short(name) for name in names], loc="outside lower center", ncols=columns)
