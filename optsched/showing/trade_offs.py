"""Trade-offs between objectives: frontiers of two components as staircases, gap matrices as heat maps."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.core.brief import counted
from optsched.core.errors import UsageError
from optsched.core.results import Component, Proof, Sense, Value
from optsched.measuring.matrix import GapMatrix
from optsched.measuring.printing import value
from optsched.measuring.records import legend
from optsched.problems import PROBLEMS
from optsched.showing.figures import (
    SMALL,
    WIDEST,
    begun,
    fold,
    headed,
    keyed,
    look,
    short,
    whole_ticks,
    wide,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from optsched.measuring.gaps import GapReport
    from optsched.routes import Frontier
    from optsched.showing.sources import FrontierRecord

__all__ = ["frontier_picture", "heat_map", "matrix_picture", "staircase"]

#: Room at the ends of an axis, as a share of its length.
_ROOM = 0.06


def frontier_picture(
    found: Frontier | FrontierRecord, heuristics: Mapping[str, Value | str] | Iterable[GapReport] = (), name: str = ""
) -> Figure:
    """The points of a frontier as a staircase: nothing is possible below and left of it. Heuristics are drawn in.

    A point is full if it is proved, and hollow if it rests on a solver's word. The title says if a frontier was cut
    short.

    Parameters
    ----------
    found
        Of `optsched.frontier`.
    heuristics
        Reports; or the value of each, or a word for why it has none (`infeasible`), which is in the legend.
    name
        Of the instance.

    Raises
    ------
    UsageError
        If matplotlib is missing.

    Examples
    --------
    >>> import optsched
    >>> problem = optsched.problem("latency", "papers/fsy-not-optimal")
    >>> figure = frontier_picture(optsched.frontier(problem), [optsched.gap(problem, "labl")])
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('makespan (units of work)', 'work (units of work)')
    """
    given = heuristics
    if not isinstance(given, Mapping):
        given = {one.run.name: one.status if one.objective is None else one.objective for one in given}
    title = f"{name}: {found.problem}" if name else found.problem
    reached = sum(entry in found.values for entry in given.values())
    if not found.complete:
        title += " (not complete)"
    elif given:
        title += f": {reached} of {counted(len(given), 'heuristic')} on the frontier"
    values = "; ".join(", ".join(map(str, entry)) for entry in found.values[:20]) or "no point"
    with begun(7.0, 3.6 + 0.08 * max(0, len(given) - 12), f"{title}: {values}") as figure:
        axes = figure.subplots()
        every = [*found.values, *(entry for entry in given.values() if not isinstance(entry, str))]
        for axis, position, limits in ((axes.xaxis, 0, axes.set_xlim), (axes.yaxis, 1, axes.set_ylim)):
            found_at = [float(entry[position]) for entry in every]
            if found_at:
                room = _ROOM * (max(found_at) - min(found_at)) or 0.5
                limits(min(found_at) - room, max(found_at) + room)
            whole_ticks(axis, found_at)
        points = staircase(axes, found)
        handles, names = _heuristics(axes, given)
        handles, names = [*points, *handles], [*(str(line.get_label()) for line in points), *names]
        keyed(axes, handles, names, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)
        labels = [
            name if part is None or not part.unit else f"{name} ({part.unit})"
            for name, part in zip(found.components, _components(found), strict=True)
        ]
        axes.set(xlabel=labels[0], ylabel=labels[1])
        axes.grid(alpha=0.3)
        headed(figure, title)
    return figure


def staircase(axes: Axes, found: Frontier | FrontierRecord, label: str = "frontier") -> list[Line2D]:
    """Draw the points of a frontier into given axes, and the stairs if both components are minimised.

    The stairs reach to the upper and the right end of the axes. `label` is the legend's name for the points; without
    one they are not in it. Returns the points, proved ones and others.
    """
    if not found.points:
        return []
    components = _components(found)
    first, second = ([float(entry[position]) for entry in found.values] for position in (0, 1))
    if all(part is None or part.sense is Sense.MIN for part in components):
        right, top = max(axes.get_xlim()[1], first[-1]), max(axes.get_ylim()[1], second[0])
        axes.plot(
            [first[0], *first, right], [top, *second, second[-1]], drawstyle="steps-post", color="black", linewidth=1
        )
    drawn: list[Line2D] = []
    proved = [point.certificate is not Proof.SOLVER for point in found.points]
    for sure, face, how in ((True, "black", "proved"), (False, "white", "a solver's word")):
        shown = [at for at, held in enumerate(proved) if held is sure]
        if shown:
            drawn += axes.plot(
                [first[at] for at in shown],
                [second[at] for at in shown],
                linestyle="",
                marker="o",
                markersize=5,
                color="black",
                markerfacecolor=face,
                label=f"{label}, {how}" if label else "_unnamed",
                zorder=3,
            )
    return drawn


def _heuristics(axes: Axes, entries: Mapping[str, Value | str]) -> tuple[list[Any], list[str]]:
    """A marker for each value, with the names of all that have it; words without one."""
    from matplotlib.lines import Line2D

    together: dict[Value | str, list[str]] = {}
    for name, entry in entries.items():
        together.setdefault(entry, []).append(short(name))
    handles: list[Any] = []
    names = []
    for number, (entry, who) in enumerate(together.items()):
        looked = {
            **look(number + 1),
            "linestyle": "",
            "markersize": 9,
            "markerfacecolor": "none",
            "markeredgewidth": 1.6,
        }
        if isinstance(entry, str):
            handles.append(Line2D([], [], linestyle=""))
            names += [f"{', '.join(who)}: {entry}"]
        else:
            handles += axes.plot(float(entry[0]), float(entry[1]), zorder=4, **looked)
            names += [f"{', '.join(who)} ({value(entry)})"]
    return handles, names


def _components(found: Frontier | FrontierRecord) -> tuple[Component | None, Component | None]:
    """The two components as their problem has them; None if the problem is unknown here."""
    kind = PROBLEMS.get(found.problem)
    known = {} if kind is None else {part.name: part for part in kind.components}
    first, second = (known.get(name) for name in found.components)
    return first, second


# Gap matrices ---------------------------------------------------------------------------------------------------------
#
# The darker a cell, the larger the gap. Gaps of several components, such as makespan and work, cannot be compared:
# those of later ones have their own colour.

#: From this gap on, in per cent, all cells are the darkest.
_DARKEST = 400.0

#: Inches of a row, and the least of a column.
_HIGH, _LEAST = 0.25, 0.62


def matrix_picture(matrix: GapMatrix) -> Figure:
    """A gap matrix: one row for each heuristic, one column for each problem, with gaps to each problem's optimum.

    A cell is a gap in per cent, a difference if the optimum is 0 (`+3`), or the word for why there is none, hatched. A
    gap of a later component than the first is marked and blue. The legend explains the marks.

    Raises
    ------
    UsageError
        If matplotlib is missing.

    Examples
    --------
    >>> import optsched
    >>> from optsched.measuring.matrix import gap_matrix, posable
    >>> figure = matrix_picture(gap_matrix(posable(optsched.load("papers/guo-fig2"), ["lsap", "latency"])))
    >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
    ['lsap', 'latency']
    """
    runs = matrix.cells
    optimal = sum(run.gap[0] == 0 for run in runs.values())
    title = f"{matrix.instance}: gap to each problem's own optimum, 0 in {optimal} of {counted(len(runs), 'cell')}"
    later = {pair for pair, run in runs.items() if run.deciding is not None and run.deciding[0]}
    cells = {pair: (run.cell(), None if run.gap[1] is None else 100 * float(run.gap[1])) for pair, run in runs.items()}
    return heat_map(matrix.heuristics, matrix.problems, cells, title, later, legend(runs.values()))


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], tuple[str, float | None]],
    title: str = "",
    later: Collection[tuple[str, str]] = (),
    remarks: Sequence[str] = (),
) -> Figure:
    """Cells with a text and a gap in per cent: from 0, which is light, to 400 and more, which is dark.

    Columns that do not fit next to one another are in further panels below.

    Parameters
    ----------
    rows, columns
        Their names.
    cells
        The text and the gap of each pair (row, column); None if there is no gap: such a cell is hatched.
    title, remarks
        The title above, and lines below.
    later
        The pairs whose gap is of another component: they are blue.

    Raises
    ------
    UsageError
        If there are no rows or columns, cells are missing, or matplotlib is missing.

    Examples
    --------
    >>> figure = heat_map(["dl"], ["lsap"], {("dl", "lsap"): ("25 %", 25.0)})
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['25 %']
    """
    missing = [pair for row in rows for column in columns if (pair := (row, column)) not in cells]
    if missing or not rows or not columns:
        what = f"the cell of {', '.join(missing[0])}" if missing else "any row or column"
        raise UsageError(f"a heat map lacks {what}")
    across = max(_LEAST, *(wide(cells[row, column][0], SMALL) + 0.12 for row in rows for column in columns))
    side, below = (max(wide(short(name), 9) for name in part) for part in (rows, columns))
    left = max(side, below - across / 2) + 0.6
    panels = math.ceil(len(columns) / max(1, int((WIDEST - left) / across)))
    most = math.ceil(len(columns) / panels)
    width = across * most + left
    below_it = [line for remark in remarks for line in fold(remark, width, SMALL, subsequent_indent="  ")]
    height = _HIGH * len(rows) + 0.6 * below + 0.2
    with begun(width, height * panels + 0.6 + 0.02 * SMALL * len(below_it), title) as figure:
        for panel, axes in enumerate(figure.subplots(panels, squeeze=False)[:, 0]):
            _cells(axes, rows, columns[panel * most : (panel + 1) * most], cells, later)
        headed(figure, title)
        if below_it:
            figure.supxlabel("\n".join(below_it), fontsize=SMALL, x=0.01, ha="left")
    return figure


def _cells(
    axes: Axes,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], tuple[str, float | None]],
    later: Collection[tuple[str, str]],
) -> None:
    """The cells of some columns, with the names of all rows."""
    from matplotlib import colormaps

    gaps = np.array([[_depth(cells[row, column][1]) for column in columns] for row in rows])
    axes.patch.set(facecolor="#f4f4f4", hatch="///", edgecolor="#d0d0d0")
    apart = np.array([[(row, column) in later for column in columns] for row in rows])
    for shades, shown_of in (("YlOrRd", ~apart), ("Blues", apart)):
        if shown_of.any():
            part = np.where(shown_of, gaps, math.nan)
            axes.imshow(
                part, aspect="auto", cmap=colormaps[shades], vmin=0, vmax=_depth(_DARKEST), interpolation="none"
            )
    for y, row in enumerate(rows):
        for x, column in enumerate(columns):
            text, gap = cells[row, column]
            light = gap is not None and gaps[y, x] > 0.68 * _depth(_DARKEST)
            box = {"facecolor": "#f4f4f4", "edgecolor": "none", "pad": 0.6} if gap is None else None
            shown = axes.text(x, y, text, ha="center", va="center", fontsize=SMALL, bbox=box)
            shown.set_color("white" if light else "black")
    axes.xaxis.set_ticks(
        range(len(columns)),
        [short(name) for name in columns],
        rotation=30,
        ha="right",
        rotation_mode="anchor",
    )
    axes.yaxis.set_ticks(range(len(rows)), [short(name) for name in rows])
    axes.set_xticks(np.arange(len(columns) - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(len(rows) - 1) + 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.2)
    axes.tick_params(which="minor", length=0)


def _depth(gap: float | None) -> float:
    """How dark a gap is: its logarithm, so that small gaps can be distinguished."""
    return math.nan if gap is None else math.log1p(min(gap, _DARKEST))
