"""Tables of gaps as heat maps with the numbers in them: the darker, the larger the gap.

Gaps of several components, as of makespan and work, do not compare: those of later ones have a colour of their own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from optsched.core.brief import counted
from optsched.core.errors import UsageError
from optsched.measuring.matrix import GapMatrix
from optsched.measuring.records import legend
from optsched.showing.figures import SMALL, WIDEST, begun, fold, headed, named, plain, settings, short, wide

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["heat_map", "matrix_picture"]

#: The gap, in per cent, from which on all are the darkest.
_DARKEST = 400.0

#: Inches of a row, and the least of a column.
_ROW, _COLUMN = 0.25, 0.62


def matrix_picture(matrix: GapMatrix) -> Figure:
    """A gap matrix: a row a heuristic, a column a problem, in each cell the gap to that problem's own optimum.

    A cell is a gap in per cent, a difference where the optimum is 0 (`+3`), or the word why there is none, hatched. A
    gap of a later component than the first is marked and blue. The legend says what marks mean.

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

    Columns that do not fit next to one another stand in further panels below.

    Parameters
    ----------
    rows, columns
        Their names.
    cells
        Of each pair (row, column) the text, and the gap; None where there is none: such a cell is hatched.
    title, remarks
        Above, and lines below.
    later
        The pairs whose gap is of another component: they are blue.

    Raises
    ------
    UsageError
        If there are no rows or columns, cells are missing, or matplotlib is.

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
    across = max(_COLUMN, *(wide(cells[row, column][0], SMALL) + 0.12 for row in rows for column in columns))
    side, below = (max(wide(short(name), 9) for name in part) for part in (rows, columns))
    left = max(side, below - across / 2) + 0.6
    panels = math.ceil(len(columns) / max(1, int((WIDEST - left) / across)))
    most = math.ceil(len(columns) / panels)
    with settings():
        width = across * most + left
        below_it = [line for remark in remarks for line in fold(remark, width, SMALL, subsequent_indent="  ")]
        height = _ROW * len(rows) + 0.6 * below + 0.2
        figure = begun(width, height * panels + 0.6 + 0.02 * SMALL * len(below_it), title)
        for panel, axes in enumerate(figure.subplots(panels, squeeze=False)[:, 0]):
            _panel(axes, rows, columns[panel * most : (panel + 1) * most], cells, later)
        headed(figure, title)
        if below_it:
            plain(figure.supxlabel("\n".join(below_it), fontsize=SMALL, x=0.01, ha="left"))
    return figure


def _panel(
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
            plain(shown).set_color("white" if light else "black")
    named(
        axes.xaxis,
        range(len(columns)),
        [short(name) for name in columns],
        rotation=30,
        ha="right",
        rotation_mode="anchor",
    )
    named(axes.yaxis, range(len(rows)), [short(name) for name in rows])
    axes.set_xticks(np.arange(len(columns) - 1) + 0.5, minor=True)
    axes.set_yticks(np.arange(len(rows) - 1) + 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.2)
    axes.tick_params(which="minor", length=0)


def _depth(gap: float | None) -> float:
    """How dark a gap is: its logarithm, so that small gaps can be distinguished."""
    return math.nan if gap is None else math.log1p(min(gap, _DARKEST))
