"""Gaps of many runs as pictures: box plots, empirical distributions, performance profiles (Dolan and Moré 2002).

Each has a panel for each problem. A run without a gap is never dropped silently: it counts among the runs, and the
picture says how many there are and why.

- *infeasible*, *starved*, *failed*, and if a column `status` says so *out of time*, *out of memory*, *crashed*: the run
  has no value.
- *over 0*: the reference is 0, so the gap is a difference. `absolute=True` draws it, and so does a panel that would
  otherwise be empty.
- *unknown*: no reference is known, or an earlier component already differs.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from optsched.core.brief import counted
from optsched.core.errors import UsageError, described
from optsched.measuring.printing import figures, percent
from optsched.problems import PROBLEMS
from optsched.showing.figures import SMALL, begun, fold, keyed, look, short, whole_ticks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from optsched.measuring.studies.tables import GapReports

__all__ = ["Runs", "box_plot", "distribution", "gaps_picture", "performance_profile", "ratios", "runs_of"]

#: Inches of a panel, without the names next to it; of a row of a box plot; of a line of a legend.
_PANEL, _ROW, _LINE = 3.0, 0.26, 0.175

#: Inches of a panel of curves, across; from its axis down to its legend; of a line of a title.
_CURVES, _BELOW, _TITLE = 4.7, 0.45, 4.2

#: From this number of problems on, panels stand in two columns.
_ONE_COLUMN = 3

#: Where the largest value is this many times the smallest that is not 0, the axis is logarithmic.
_WIDE = 50


@dataclass(frozen=True)
class Runs:
    """The runs of a heuristic in a problem: the drawn value of each, and the number without one, by the reason."""

    values: tuple[float, ...]
    without: Mapping[str, int]

    @property
    def count(self) -> int:
        """The number of runs, with a value and without."""
        return len(self.values) + sum(self.without.values())

    def lacking(self) -> str:
        """The runs without a value, in words: `2 infeasible, 1 over 0`; empty if there is none."""
        return ", ".join(f"{number} {reason}" for reason, number in self.without.items())


Panels = dict[str, dict[str, Runs]]


def box_plot(frame: pd.DataFrame | GapReports, *, component: int = 1, absolute: bool = False) -> Figure:
    """The gaps of each heuristic as a box: one row for each heuristic, one panel for each problem.

    A box is from the lower to the upper quartile, with a line at the median and a diamond at the mean. Whiskers end at
    the last run within 1.5 times the box; circles are runs beyond. Next to it are the numbers of runs, of runs with gap
    0, and of runs without a gap, which are in no box.

    Parameters
    ----------
    frame
        `GapReports.frame()`, a row for each run, or the `GapReports`. The columns `problem`, `heuristic`, `feasible`,
        `relative_gap_i` and `absolute_gap_i` are needed; `status` (as in records), `starved`, `error`, `component_i`
        and `termination` say more.
    component
        The component whose gaps are drawn, from 1.
    absolute
        Differences instead of shares of the reference, which may be 0. If all gaps of a panel are over 0, so that there
        is no share to draw, it shows differences in any case.

    Raises
    ------
    UsageError
        If there is no run, a column is missing, or matplotlib is.

    Examples
    --------
    >>> import optsched
    >>> figure = box_plot(optsched.study("papers/guo-table2", "fair-lsap", ["dl", "fair"]))
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['dl', 'fair']
    """
    return _boxed(frame, component, absolute, curves=False)


def _titled(axes: Axes, title: str) -> None:
    """The finding, above a panel; broken if it is long."""
    axes.set_title("\n".join(fold(title, _TITLE, 9)), fontsize=9)


def _least_and_most(problem: str, rows: Mapping[str, Runs], absolute: bool) -> str:
    """The problem, and the heuristics with the smallest and the largest mean gap, if all their runs have one."""
    means = {name: statistics.fmean(runs.values) for name, runs in rows.items() if not runs.without}
    if len(set(means.values())) < 2:
        return problem
    least, largest = (f"{(figures if absolute else percent)(gap)} ({_who(means, gap)})" for gap in _ends(means))
    return f"{problem}: smallest mean gap {least}, largest {largest}"


def _most_often(problem: str, rows: Mapping[str, Runs], start: float, what: str) -> str:
    """The problem, and the heuristics with the most runs at `start`, if that distinguishes heuristics."""
    shares = {name: sum(value <= start for value in runs.values) / runs.count for name, runs in rows.items()}
    least, most = _ends(shares)
    return problem if least == most else f"{problem}: most often {what}: {_who(shares, most)}, {percent(most)} of runs"


def _ends(values: Mapping[str, float]) -> tuple[float, float]:
    return min(values.values()), max(values.values())


def _who(values: Mapping[str, float], value: float) -> str:
    names = [short(name) for name, found in values.items() if found == value]
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} heuristics"


def _boxes(axes: Axes, rows: Mapping[str, Runs], factor: float) -> None:
    """A box for each heuristic, the first on top, with its runs next to it: `30 runs, 18 at 0`."""
    positions = list(range(len(rows), 0, -1))
    values = [[factor * value for value in runs.values] for runs in rows.values()]
    line = {"color": "black", "linewidth": 1.0}
    axes.boxplot(
        values,
        positions=positions,
        orientation="horizontal",
        widths=0.62,
        showmeans=True,
        patch_artist=True,
        boxprops={"facecolor": "#cfe3f1", "edgecolor": "black", "linewidth": 0.8},
        medianprops={**line, "linewidth": 2.0},
        whiskerprops=line,
        capprops=line,
        flierprops={"marker": "o", "markersize": 3.5, "markerfacecolor": "none", "markeredgecolor": "black"},
        meanprops={"marker": "D", "markersize": 4, "markerfacecolor": "white", "markeredgecolor": "black"},
        manage_ticks=False,
    )
    axes.set_ylim(0.4, len(rows) + 0.6)
    axes.yaxis.set_ticks(positions, [short(name) for name in rows])
    _spread(axes, [value for row in values for value in row])
    right = axes.secondary_yaxis("right")
    right.tick_params(length=0, labelsize=SMALL)
    remarks = []
    for runs in rows.values():
        lacking = f"; not in the box: {runs.lacking()}" if runs.without else ""
        remarks.append(f"{counted(runs.count, 'run')}, {sum(value == 0 for value in runs.values)} at 0{lacking}")
    right.yaxis.set_ticks(positions, remarks)
    axes.grid(axis="x", alpha=0.3)


def distribution(frame: pd.DataFrame | GapReports, *, component: int = 1, absolute: bool = False) -> Figure:
    """The empirical distribution of gaps: for each gap, the share of a heuristic's runs that do not exceed it.

    The share is of all runs. A run without a gap exceeds every gap, so a curve may end below 100 %. Next to the name is
    the number of such runs, with the reasons.

    Parameters
    ----------
    frame, component, absolute
        As for `box_plot`.

    Raises
    ------
    UsageError
        As for `box_plot`.

    Examples
    --------
    >>> import optsched
    >>> figure = distribution(optsched.study("papers/guo-table2", "fair-lsap", ["dl", "fair"]))
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['dl', 'fair']
    """
    frame = _checked(frame, component)
    panels, differing = _drawable(frame, component, absolute)
    factors = {problem: 1 if problem in differing else 100 for problem in panels}
    labels = {problem: _gap_label(frame, problem, component, problem in differing) for problem in panels}
    return _curves(panels, factors, labels, 0, "optimal", _spread)


def gaps_picture(frame: pd.DataFrame | GapReports, *, component: int = 1, absolute: bool = False) -> Figure:
    """For each problem a box plot, with the empirical distribution below it. See `box_plot` and `distribution`.

    Examples
    --------
    >>> import optsched
    >>> figure = gaps_picture(optsched.study("papers/guo-table2", "fair-lsap", ["dl", "fair"]))
    >>> [axes.get_title() for axes in figure.axes]
    ['fair-lsap', 'fair-lsap']
    """
    return _boxed(frame, component, absolute, curves=True)


def _boxed(frame: pd.DataFrame | GapReports, component: int, absolute: bool, curves: bool) -> Figure:
    """A panel of boxes for each problem, each with one of curves below it if they are requested."""
    frame = _checked(frame, component)
    panels, differing = _drawable(frame, component, absolute)
    looks = {name: look(number) for number, name in enumerate(frame["heuristic"].astype(str).unique())}
    heights = []
    for rows in panels.values():
        heights += [_ROW * len(rows) + 0.75, _PANEL - 0.5 + _LINE * len(rows) + _BELOW][: 1 + curves]
    with begun(7.0, sum(heights) + 0.2, ", ".join(panels) if curves else "") as figure:
        grid = figure.subplots(len(heights), squeeze=False, height_ratios=heights).reshape(len(panels), -1)
        for places, (problem, rows) in zip(grid, panels.items(), strict=True):
            factor = 1 if problem in differing else 100
            _boxes(places[0], rows, factor)
            _titled(places[0], _least_and_most(problem, rows, problem in differing))
            for axes in places[1:]:
                _spread(axes, [factor * value for runs in rows.values() for value in runs.values])
                _steps_of(axes, rows, looks, factor, 0)
                _titled(axes, _most_often(problem, rows, 0, "optimal"))
            for axes in places:
                axes.set_xlabel(_gap_label(frame, problem, component, problem in differing))
    return figure


def performance_profile(
    frame: pd.DataFrame | GapReports, *, component: int = 1, against: Literal["best", "reference"] = "best"
) -> Figure:
    """Performance profiles (Dolan and Moré 2002): the share of a heuristic's runs within a factor of the best.

    Runs on the same instance, with the same parameters and seed, are compared. The ratio of a run is its value over the
    best value of any heuristic there (for a maximum the other way round). The curve of a heuristic says for each factor
    on which share of its runs the ratio is at most that; at 1, how often no heuristic was better. No factor reaches a
    run without a value, or one that is worse than a best value of 0 (*over 0*; *no ratio* if the best of a maximum is
    0, or a value is below 0). Such runs are counted among all, and their number is next to the name.

    Parameters
    ----------
    frame, component
        As for `box_plot`; `instance`, `seed` and `objective_i` are needed too, and `reference_i` for `reference`.
    against
        `best`: the best of the heuristics, as in the paper. `reference`: the proved optimum (or bound), as if it were
        one of the heuristics.

    Raises
    ------
    UsageError
        As for `box_plot`.

    Examples
    --------
    >>> import optsched
    >>> found = optsched.study("papers/fsy-not-optimal", "latency", ["round-robin", "labl"])
    >>> {name: runs.values for name, runs in ratios(found)["latency"].items()}
    {'round-robin': (1.25,), 'labl': (1.0,)}
    >>> figure = performance_profile(found)
    """
    panels = ratios(frame, component=component, against=against)
    rival, what = ("the best heuristic", "the best") if against == "best" else ("the reference", "optimal")
    label = f"at most x times {rival}"
    return _curves(panels, dict.fromkeys(panels, 1), dict.fromkeys(panels, label), 1, what, _doubling)


def ratios(
    frame: pd.DataFrame | GapReports, *, component: int = 1, against: Literal["best", "reference"] = "best"
) -> Panels:
    """The ratios that `performance_profile` draws, for each problem and heuristic, and the runs that have none."""
    if against not in ("best", "reference"):
        raise UsageError(f'a performance profile is against "best" or "reference", not {described(against)}')
    frame = _checked(frame, component, ["instance", "seed", f"objective_{component}", f"reference_{component}"])
    cells = [frame[name] for name in ("problem", "group", "instance", "parameters", "seed") if name in frame.columns]
    # Instances may share a name: the first run of each heuristic is compared with the first of the others, and so on.
    occurrence = frame.groupby([*cells, frame["heuristic"]], sort=False, dropna=False).cumcount()
    reasons = _reasons(frame)
    value = frame[f"objective_{component}"].astype(float).mask(reasons.notna())
    rivals = value if against == "best" else frame[f"reference_{component}"].astype(float)
    compared = rivals.groupby([*cells, occurrence], sort=False, dropna=False)
    # A maximum has runs with a gap below their references. Without such a run, values are the references.
    away = frame[frame[f"absolute_gap_{component}"] > 0]
    below = away[away[f"objective_{component}"] < away[f"reference_{component}"]]
    highest = frame["problem"].isin(below["problem"])
    best = compared.transform("max").where(highest, compared.transform("min"))
    found = (best / value).where(highest, value / best).astype(object)
    found[(value <= 0) | (best <= 0)] = "no ratio"
    found[(best == 0) & ~highest] = "over 0"
    found[value == best] = 1.0
    found[value.isna() | best.isna()] = "unknown"
    return _by_heuristic(frame, reasons.where(reasons.notna(), found))


# Runs -------------------------------------------------------------------------------------------------------------


def runs_of(frame: pd.DataFrame | GapReports, component: int = 1, absolute: bool = False) -> Panels:
    """The gaps of each problem and heuristic, in order of appearance, and why the other runs have none.

    Examples
    --------
    >>> import optsched
    >>> runs = runs_of(optsched.study("papers/fsy-not-optimal", "latency", "labl"))["latency"]["labl"]
    >>> [round(gap, 3) for gap in runs.values], runs.without
    ([0.333], {})
    """
    frame = _checked(frame, component)
    difference, share = (frame[f"{which}_gap_{component}"].astype(float) for which in ("absolute", "relative"))
    found = (difference if absolute else share).astype(object)
    if not absolute:
        found[~np.isfinite(share)] = "over 0"
    found[difference.isna()] = "unknown"
    reasons = _reasons(frame)
    return _by_heuristic(frame, reasons.where(reasons.notna(), found))


def _drawable(frame: pd.DataFrame, component: int, absolute: bool) -> tuple[Panels, set[str]]:
    """The gaps to draw, and the problems whose gaps are differences: with `absolute` all, else those without a share.

    Problems without a share have runs over 0, and no gap in per cent except 0.
    """
    panels = runs_of(frame, component, absolute)
    if absolute:
        return panels, set(panels)
    differing = {
        problem
        for problem, rows in panels.items()
        if any("over 0" in runs.without for runs in rows.values())
        and not any(any(runs.values) for runs in rows.values())
    }
    differences = runs_of(frame, component, absolute=True)
    return {problem: (differences if problem in differing else panels)[problem] for problem in panels}, differing


def _by_heuristic(frame: pd.DataFrame, found: Iterable[float | str]) -> Panels:
    """The value of each run, or why there is none, by problem and heuristic."""
    held: dict[tuple[str, str], list[float | str]] = {}
    for problem, heuristic, value in zip(frame["problem"], frame["heuristic"], found, strict=True):
        held.setdefault((str(problem), str(heuristic)), []).append(value)
    panels: Panels = {}
    for (name, who), values in held.items():
        known = tuple(float(value) for value in values if not isinstance(value, str))
        reasons = Counter(value for value in values if isinstance(value, str))
        panels.setdefault(name, {})[who] = Runs(known, dict(reasons))
    return panels


def _reasons(frame: pd.DataFrame) -> pd.Series[Any]:
    """Why each run has no value; None if it has one. Frames of sweeps and reports say it in a word."""
    import pandas as pd

    def reason(row: Mapping[Any, Any]) -> str | None:
        status = row.get("status")
        if isinstance(status, str):
            return None if status == "done" else status.replace("-", " ")
        if isinstance(row.get("error"), str) and row["error"]:
            return "failed"
        if not row["feasible"]:
            return "starved" if row.get("starved") is True else "infeasible"
        return None

    return pd.Series([reason(row) for row in frame.to_dict("records")], frame.index, dtype=object)


def _checked(study: pd.DataFrame | GapReports, component: int, further: Sequence[str] = ()) -> pd.DataFrame:
    """The frame of a study, or the frame itself; UsageError if it is not one of gaps."""
    import pandas as pd

    frame = study if isinstance(study, pd.DataFrame) else getattr(study, "frame", None)
    if callable(frame):
        frame = frame()
    if not isinstance(frame, pd.DataFrame):
        raise UsageError(
            f"a picture of gaps is made of the frame of a study, not {described(study)}; measure first: "
            "optsched.study(...).frame()"
        )
    gaps = [f"relative_gap_{component}", f"absolute_gap_{component}"]
    missing = [name for name in ["problem", "heuristic", "feasible", *gaps, *further] if name not in frame.columns]
    if missing:
        raise UsageError(
            f"a picture of gaps needs the columns {', '.join(missing)}, as optsched.study(...).frame() has"
        )
    if frame.empty:
        raise UsageError("there is no run to draw: the frame of gaps is empty")
    return frame.reset_index(drop=True)


# Axes -------------------------------------------------------------------------------------------------------------


def _gap_label(frame: pd.DataFrame, problem: str, component: int, absolute: bool) -> str:
    """The label of this problem's gap."""
    part = frame[frame["problem"] == problem]
    proved = "termination" not in part.columns or bool((part["termination"] == "OPTIMAL").all())
    rival = "optimum" if proved else "optimum, or of the bound where none is proved"
    name = part[f"component_{component}"].iloc[0] if f"component_{component}" in part.columns else None
    of = f" in {name}" if isinstance(name, str) else ""
    if not absolute:
        return f"gap{of} (% of the {rival})"
    parts = PROBLEMS[problem].components if problem in PROBLEMS else ()
    unit = next((f" ({part.unit})" for part in parts if part.name == name and part.unit), "")
    return f"difference{of} from the {rival.replace('of the', 'the')}{unit}"


def _spread(axes: Axes, values: Sequence[float]) -> None:
    """The axis of gaps: from 0, and logarithmic beyond the smallest if they differ by orders of magnitude."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    above = [value for value in values if value > 0]
    if above and max(above) >= _WIDE * min(above):
        least = 10.0 ** math.floor(math.log10(min(above)))
        axes.set_xscale("symlog", linthresh=least, linscale=0.5)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xlim(-0.2 * least, 1.5 * max(above))
    elif above:
        axes.set_xlim(-0.03 * max(above), 1.06 * max(above))
    else:
        axes.set_xlim(-0.05, 1)
    if not any(value < 0 for value in values) and axes.get_xscale() == "linear":
        whole_ticks(axes.xaxis, [*values, 1] if max(above, default=1) >= 1 else [0.5])


def _doubling(axes: Axes, values: Sequence[float]) -> None:
    """The axis of ratios: from 1, and doubling if they are far apart."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    most = max([*values, 1.0])
    if most > 4:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xlim(2 ** (-0.03 * math.log2(most)), most**1.03)
    else:
        beyond = max(most - 1, 0.1)
        axes.set_xlim(1 - 0.03 * beyond, 1 + 1.03 * beyond)


def _curves(
    panels: Panels,
    factors: Mapping[str, float],
    labels: Mapping[str, str],
    start: float,
    what: str,
    scale: Callable[[Axes, Sequence[float]], None],
) -> Figure:
    """A step curve for each heuristic: the share of its runs with at most this value, from `start` to the largest.

    `what` describes a run at `start`: the title says which heuristic has the most of them.
    """
    names = list(dict.fromkeys(name for rows in panels.values() for name in rows))
    looks = {name: look(number) for number, name in enumerate(names)}
    columns = 1 if len(panels) <= _ONE_COLUMN else 2
    heights = [_PANEL + _LINE * len(rows) + _BELOW for rows in panels.values()]
    highest = [max(heights[start : start + columns]) for start in range(0, len(heights), columns)]
    with begun(_CURVES * columns, sum(highest) + 0.2) as figure:
        grid = figure.add_gridspec(len(highest), columns, height_ratios=highest)
        for number, (problem, rows) in enumerate(panels.items()):
            axes = figure.add_subplot(grid[number // columns, number % columns])
            scale(axes, [factors[problem] * value for runs in rows.values() for value in runs.values])
            _steps_of(axes, rows, looks, factors[problem], start)
            _titled(axes, _most_often(problem, rows, start, what))
            axes.set_xlabel(labels[problem])
    return figure


def _steps_of(
    axes: Axes, rows: Mapping[str, Runs], looks: Mapping[str, Mapping[str, Any]], factor: float, start: float
) -> None:
    """The curves of a panel with its axis of values, and their legend below, where a phone shows it, too."""
    from matplotlib.transforms import ScaledTranslation

    right = axes.get_xlim()[1]
    lines = []
    for number, (name, runs) in enumerate(rows.items()):
        values = np.sort([factor * value for value in runs.values])
        across = np.unique([start, *values, right])
        up = 100 * np.searchsorted(values, across, side="right") / runs.count
        marked = list(range(0, len(across) - 1, max(1, math.ceil(len(across) / 8))))
        # Thick ones first, so that a curve is visible behind an equal one.
        slim = 1.6 * (1 - number / len(rows))
        looked = {**looks[name], "linewidth": 1.1 + slim, "markersize": 4 + 2 * slim}
        lines += axes.plot(across, up, drawstyle="steps-post", markevery=marked, **looked)
    axes.set_ylim(-3, 103)
    axes.set_ylabel("share of the runs (%)")
    axes.grid(alpha=0.3)
    below = axes.transAxes + ScaledTranslation(0, -_BELOW, axes.figure.dpi_scale_trans)
    keyed(axes, lines, _entries(rows), loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, borderaxespad=0)


def _entries(rows: Mapping[str, Runs]) -> list[str]:
    """The lines of a legend: names, the runs that no curve reaches, and the number of runs if that differs."""
    usual = statistics.mode(runs.count for runs in rows.values())
    entries = []
    for name, runs in rows.items():
        lacking = runs.lacking()
        counts = f" (of {runs.count}: {lacking})" if lacking else ""
        if not lacking and runs.count != usual:
            counts = f" ({counted(runs.count, 'run')})"
        entries.append(short(name) + counts)
    return entries
