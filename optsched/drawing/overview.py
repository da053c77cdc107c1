"""A cluster of hundreds of nodes: each rack a block of its nodes, each node a strip of squares; tasks have no ids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from optsched.brief import counted
from optsched.drawing.figures import plain, short
from optsched.drawing.pages import LOOKS, TEXT, WIDEST, key, page, wide
from optsched.drawing.scenes import NEAR, PLACED, WORDS, Scene, grouped
from optsched.instance import Bools, Floats, Instance, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import PathPatch

__all__ = ["Blocks", "overview", "together"]

#: Inches: a square with the room around it, between nodes and between racks, a rack's name, the bar of
#: counts, the line of a load.
_SQUARE, _GAP, _APART, _NAME, _BAR, _LOAD = 0.115, 0.035, 0.14, 0.14, 0.26, 0.04

#: Squares in a line of a node, and letters of a rack's name.
_LINE, _LETTERS = 10, 14

#: Points of a rack's name.
_NAME_SIZE = 6.0


class Blocks(NamedTuple):
    """Where everything is, in inches from the upper left corner.

    Attributes
    ----------
    width, height
        Of all blocks.
    node
        x and y of each node, shape (nodes, 2).
    lines, columns
        Squares of each node: lines, and squares in a line, shape (nodes,).
    names
        The racks' names, with x and y.
    frames
        The racks' blocks: x, y, width, height.
    """

    width: float
    height: float
    node: np.ndarray
    lines: Ints
    columns: Ints
    names: list[tuple[str, float, float]]
    frames: list[tuple[float, float, float, float]]


def overview(scenes: Sequence[Scene], title: str) -> Figure:
    """The scenes side by side: the same node is at the same place in each. Nodes with nothing on them are left out."""
    instance = scenes[0].instance
    most = np.max([np.bincount(scene.cells[0], minlength=len(instance.cluster)) for scene in scenes], axis=0)
    load = instance.state.load
    shown = (most > 0) | (load > 0)
    blocks = _blocks(instance, most.astype(np.int64), shown, len(scenes))
    empty = int(np.count_nonzero(~shown))
    figure, places = page(scenes, blocks.width, _BAR + blocks.height, title)
    for axes, scene in zip(places, scenes, strict=True):
        _bar(axes, scene)
        _frames(axes, blocks)
        _squares(axes, scene, blocks)
        _loads(axes, load, blocks)
    told = f"not drawn: {counted(empty, 'node')} without a slot or task" if empty else ""
    key(figure, {cell for scene in scenes for cell in np.unique(scene.cells[1]).tolist()}, _further(scenes), told)
    return figure


def _further(scenes: Sequence[Scene]) -> list[tuple[object, str]]:
    """The legend of what is no cell: waiting tasks in the bar, and loads below the squares."""
    from matplotlib.patches import Patch

    found: list[tuple[object, str]] = []
    if any(len(scene.waiting) and sum(scene.counts.values()) for scene in scenes):
        found.append((Patch(facecolor="white", edgecolor="black", linewidth=0.6), "waits"))
    most = float(scenes[0].instance.state.load.max(initial=0))
    if most > 0:
        found.append((Patch(facecolor="#777777"), f"load before the decision (the longest: {most:g})"))
    return found


def _blocks(instance: Instance, most: Ints, shown: Bools, scenes: int) -> Blocks:
    """The places of racks and nodes, in rows that are about as wide as they are high together, or narrower, so that
    the scenes stand side by side.
    """
    columns = np.clip(most, 1, _LINE)
    lines = np.maximum(1, -(-most // _LINE))
    racks = _racks(instance, shown)
    most_wide = max(2.4, min(7.0, WIDEST / scenes - 0.3))
    below = _LOAD if bool((instance.state.load > 0).any()) else 0.0
    shapes = [_shape(name, nodes, lines, columns, below, most_wide) for name, nodes in racks]
    area = sum((width + _APART) * (height + _APART) for _, width, height in shapes)
    room = max([2.4, *(width for _, width, _ in shapes), min(most_wide, 1.1 * math.sqrt(area))])
    node = np.zeros((len(most), 2))
    names, frames = [], []
    x = y = tallest = used = 0.0
    for (name, nodes), (per_row, width, height) in zip(racks, shapes, strict=True):
        if x > 0 and x + width > room:
            x, y, tallest = 0.0, y + tallest + _APART, 0.0
        top = y
        if name:
            names.append((name, x, top + 0.75 * _NAME))
            top += _NAME
        frames.append((x, top, width, height - (_NAME if name else 0)))
        across, down = _pitch(nodes, lines, columns, below)
        order = np.arange(len(nodes))
        node[nodes, 0] = x + _GAP + order % per_row * across
        node[nodes, 1] = top + _GAP + order // per_row * down
        used = max(used, x + width)
        x, tallest = x + width + _APART, max(tallest, height)
    return Blocks(used + 0.02, y + tallest + _GAP, node, lines, columns, names, frames)


def _racks(instance: Instance, shown: Bools) -> list[tuple[str, Ints]]:
    """The racks by the order of their names in the file, and the nodes without one, as far as there is something on
    them; names for show.
    """
    held, ids, noun = grouped(instance)
    rack = np.where(shown, held, -2)
    found = [
        (short(str(ids[number]), _LETTERS), np.flatnonzero(rack == number)) for number in np.unique(rack[rack >= 0])
    ]
    bare = np.flatnonzero(rack == -1)
    return [*found, *([(f"no {noun}" if found else "", bare)] if len(bare) else [])]


def _pitch(nodes: Ints, lines: Ints, columns: Ints, below: float) -> tuple[float, float]:
    """Inches from a node to the next one to the right, and to the next one below."""
    return int(columns[nodes].max()) * _SQUARE + _GAP, int(lines[nodes].max()) * _SQUARE + _GAP + below


def _shape(
    name: str, nodes: Ints, lines: Ints, columns: Ints, below: float, most_wide: float
) -> tuple[int, float, float]:
    """Nodes in a row of a rack, its width and height with the name."""
    across, down = _pitch(nodes, lines, columns, below)
    least = wide(name, _NAME_SIZE) / across
    per_row = max(1, round(math.sqrt(len(nodes) * down / across * 1.6)), int(least))
    per_row = min(len(nodes), per_row, max(1, int((most_wide - _GAP) / across)))
    rows = math.ceil(len(nodes) / per_row)
    width = max(per_row * across + _GAP, wide(name, _NAME_SIZE))
    return per_row, width, rows * down + _GAP + (_NAME if name else 0)


def _bar(axes: Axes, scene: Scene) -> None:
    """How many tasks are how near to their data, as a bar as long as the panel."""
    from matplotlib.patches import Rectangle

    counts = {cell: scene.counts.get(cell, 0) for cell in (*NEAR, PLACED)}
    placed = sum(counts.values())
    total = placed + len(scene.waiting)
    if not placed:
        return
    x, room = 0.01, axes.get_xlim()[1] - 0.02
    for cell, count in [*counts.items(), (None, len(scene.waiting))]:
        if count:
            width = room * count / total
            look = LOOKS[cell] if cell is not None else {"facecolor": "white", "edgecolor": "black"}
            axes.add_patch(Rectangle((x, 0.02), width, 0.15, linewidth=0.6, **look))
            text = str(count)
            if width > wide(text, TEXT) + 0.1:
                box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
                plain(axes.text(x + width / 2, 0.1, text, fontsize=TEXT, ha="center", va="center", bbox=box))
            x += width


def _frames(axes: Axes, blocks: Blocks) -> None:
    """The racks and their names."""
    sides = np.array(blocks.frames).reshape(-1, 4)
    sides[:, 1] += _BAR
    axes.add_patch(together(sides, facecolor="none", edgecolor="#888888", linewidth=0.6, clip_on=False))
    for name, x, y in blocks.names:
        plain(axes.text(x, y + _BAR, name, fontsize=_NAME_SIZE, ha="left", va="baseline"))


def _squares(axes: Axes, scene: Scene, blocks: Blocks) -> None:
    """The cells of each node, those of a sort as one shape."""
    node, cell, _ = scene.cells
    rank = np.arange(len(node)) - np.searchsorted(node, node)
    sides = np.empty((len(node), 4))
    sides[:, 0] = blocks.node[node, 0] + rank % _LINE * _SQUARE
    sides[:, 1] = blocks.node[node, 1] + rank // _LINE * _SQUARE + _BAR
    sides[:, 2:] = _SQUARE - 0.012
    for sort in np.unique(cell).tolist():
        shape = together(sides[cell == sort], linewidth=0.5, **LOOKS[sort])
        shape.set_label(WORDS[sort])
        axes.add_patch(shape)


def _loads(axes: Axes, load: Floats, blocks: Blocks) -> None:
    """A line below the squares of each node, as long as its load is beside the largest."""
    longest = _SQUARE * float(np.max(blocks.columns, initial=1))
    loaded = np.flatnonzero(load > 0)
    if not len(loaded):
        return
    sides = np.empty((len(loaded), 4))
    sides[:, :2] = blocks.node[loaded]
    sides[:, 1] += _BAR + blocks.lines[loaded] * _SQUARE
    sides[:, 2] = (longest - 0.012) * load[loaded] / float(load.max())
    sides[:, 3] = 0.6 * _LOAD
    shape = together(sides, facecolor="#777777", edgecolor="none")
    shape.set_label("load")
    axes.add_patch(shape)


def together(sides: np.ndarray, **look: Any) -> PathPatch:
    """Rectangles (x, y, width, height) as one shape, which takes less room in a file than each by itself."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)])
    points = sides[:, None, :2] + corners * sides[:, None, 2:]
    codes = np.tile([Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY], len(sides))
    return PathPatch(Path(points.reshape(-1, 2), codes), **look)
