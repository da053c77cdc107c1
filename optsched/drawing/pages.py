"""Pictures of a cluster side by side: a panel for each placement with its title, a legend below. Lengths are inches, so
that texts have the room that they need.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from optsched.drawing.figures import CHARACTER, LEGEND_SIZE, begun, keyed, plain
from optsched.drawing.scenes import IDLE, NODE, PLACED, RACK, REMOTE, RUNS, TAKEN, WORDS, Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["LEAST", "LOOKS", "TEXT", "WIDEST", "headings", "key", "page", "wide"]

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
_LINE, _BETWEEN, _LEGEND = 0.165, 0.25, 0.32

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
    head = _LINE * max(map(len, above)) + 0.08
    columns = max(1, min(len(scenes), int((WIDEST + _BETWEEN) // (panel + _BETWEEN))))
    rows = math.ceil(len(scenes) / columns)
    across = columns * (panel + _BETWEEN) + _BETWEEN
    down = rows * (head + height + _BETWEEN) + _LEGEND + _BETWEEN / 2
    figure = begun(across, down, title, constrained=False)
    places = []
    for number, lines in enumerate(above):
        left = _BETWEEN + (number % columns) * (panel + _BETWEEN)
        top = _BETWEEN / 2 + (number // columns) * (head + height + _BETWEEN)
        axes = figure.add_axes((left / across, 1 - (top + head + height) / down, panel / across, height / down))
        axes.set(xlim=(0, panel), ylim=(height, 0))
        axes.set_axis_off()
        for line, (text, weight) in enumerate(lines):
            at = (left / across, 1 - (top + (line + 0.7) * _LINE) / down)
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
