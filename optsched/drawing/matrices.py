"""Tables of gaps as heat maps with the numbers in them: the darker, the larger the gap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from optsched.core.errors import UsageError
from optsched.drawing.clusters import wide
from optsched.drawing.figures import begun, headed, named, plain, settings, short
from optsched.measuring.matrix import Cell, GapMatrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["cell_of", "heat_map", "matrix_picture"]

#: The gap, in per cent, from which on all are the darkest.
_DARKEST = 400.0

#: Inches of a row, and the least of a column.
_ROW, _COLUMN = 0.25, 0.62


def matrix_picture(matrix: GapMatrix) -> Figure:
    """A gap matrix: a row a heuristic, a column a problem, in each cell the gap to that problem's own optimum.

    A cell is a gap in per cent, a difference beside an optimum of 0 (`+3`), or the word why there is none, hatched. The
    star marks a placement that was made in another problem.

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
    cells = {pair: cell_of(cell) for pair, cell in matrix.cells.items()}
    title = f"{matrix.instance}: gap to each problem's own optimum"
    return heat_map(matrix.heuristics, matrix.problems, cells, title)


def cell_of(cell: Cell) -> tuple[str, float | None]:
    """The text of a cell, and its gap in per cent: infinite beside an optimum of 0, None where there is none."""
    if cell.gap is None:
        return cell.shown(), None
    absolute, relative = cell.gap
    if relative is None:
        return cell.shown(), math.inf if absolute else 0.0
    percent = 100 * float(relative)
    star = "" if cell.ran_in == cell.report.problem.name else " *"
    return f"{percent:.0f} %{star}" if percent >= 10 else f"{percent:.2g} %{star}", percent


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], tuple[str, float | None]],
    title: str = "",
) -> Figure:
    """Cells with a text and a gap in per cent: from 0, which is light, to 400 and more, which is dark.

    Parameters
    ----------
    rows, columns
        Their names.
    cells
        Of each pair (row, column) the text, and the gap; None where there is none: such a cell is hatched.
    title
        Above.

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
        told = f"the cell of {', '.join(missing[0])}" if missing else "any row or column"
        raise UsageError(f"a heat map lacks {told}")
    gaps = np.array([[_depth(cells[row, column][1]) for column in columns] for row in rows])
    across = max(_COLUMN, *(wide(cells[row, column][0], 7.5) + 0.12 for row in rows for column in columns))
    names = [short(name) for name in rows], [short(name) for name in columns]
    beside, below = (max(wide(name, 9) for name in part) for part in names)
    with settings():
        from matplotlib import colormaps

        left = max(beside, below - across / 2) + 0.6
        figure = begun(across * len(columns) + left, _ROW * len(rows) + 0.6 * below + 0.8, title)
        axes = figure.subplots()
        axes.patch.set(facecolor="#f4f4f4", hatch="///", edgecolor="#d0d0d0")
        shades = colormaps["YlOrRd"].copy()
        axes.imshow(gaps, aspect="auto", cmap=shades, vmin=0, vmax=_depth(_DARKEST), interpolation="none")
        for y, row in enumerate(rows):
            for x, column in enumerate(columns):
                text, gap = cells[row, column]
                light = gap is not None and gaps[y, x] > 0.68 * _depth(_DARKEST)
                box = {"facecolor": "#f4f4f4", "edgecolor": "none", "pad": 0.6} if gap is None else None
                shown = axes.text(x, y, text, ha="center", va="center", fontsize=7.5, bbox=box)
                plain(shown).set_color("white" if light else "black")
        named(axes.xaxis, range(len(columns)), names[1], rotation=30, ha="right", rotation_mode="anchor")
        named(axes.yaxis, range(len(rows)), names[0])
        axes.set_xticks(np.arange(len(columns) - 1) + 0.5, minor=True)
        axes.set_yticks(np.arange(len(rows) - 1) + 0.5, minor=True)
        axes.grid(which="minor", color="white", linewidth=1.2)
        axes.tick_params(which="minor", length=0)
        headed(figure, title)
    return figure


def _depth(gap: float | None) -> float:
    """How dark a gap is: its logarithm, so that small gaps are told apart."""
    return math.nan if gap is None else math.log1p(min(gap, _DARKEST))
