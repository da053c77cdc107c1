"""The measured times as one picture: a panel for each series, both axes logarithmic, a line and marker for each way."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import groupby

from comparing.running import Comparison
from comparing.tables import cpu

_MARKERS = "sDv^<>pPXhd*"


def write_plot(comparisons: Iterable[Comparison], path: str | os.PathLike[str]) -> None:
    """Write the picture; optsched's default is black and thick, another way has a marker and dashes of its own."""
    from matplotlib.figure import Figure

    def key(comparison: Comparison) -> tuple[str, str]:
        return comparison.row.problem, comparison.row.series

    panels = [(name, list(found)) for name, found in groupby(comparisons, key)]
    columns = min(3, len(panels)) or 1
    rows = -(-len(panels) // columns) or 1
    figure = Figure(figsize=(6 * columns, 4.2 * rows), layout="constrained")
    for place, ((problem, series), found) in enumerate(panels):
        axes = figure.add_subplot(rows, columns, place + 1)
        axes.set(xscale="log", yscale="log", title=f"{problem}: {series}".removesuffix(": "))
        axes.set(xlabel="size", ylabel="processor seconds")
        for number, way in enumerate(dict.fromkeys(way for comparison in found for way in comparison.ways)):
            phases = ("pose", "solve") if found[0].row.kind != "files" else ("load",)
            points = [(each.row.size, cpu(each.ways.get(way, {}), *phases)) for each in found]
            points = [(size, seconds) for size, seconds in points if seconds]
            style = {"color": "black", "linewidth": 2.5, "marker": "o"}
            if way != "default":
                dashes = (0, (1 + number % 4 * 2, 1 + number % 3))
                style = {
                    "color": f"C{number % 10}",
                    "linewidth": 1,
                    "marker": _MARKERS[number % 12],
                    "linestyle": dashes,
                }
            if points:
                axes.plot(*zip(*points, strict=True), label=way, **style)
        axes.grid(True, which="major", color="0.85")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize="x-small")
    figure.savefig(path)
