"""Clusters with placements side by side, as closely as their size allows: with ids, as squares, or as counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from optsched.drawing.detail import detail
from optsched.drawing.figures import require, settings
from optsched.drawing.overview import overview
from optsched.drawing.scenes import Scene, check_same
from optsched.drawing.summary import summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["drawn"]

#: Nodes and cells of a picture with ids, and of one with squares.
_WITH_IDS, _AS_SQUARES = (40, 250), (1500, 4000)


def drawn(scenes: Sequence[Scene], title: str = "") -> Figure:
    """The scenes side by side.

    Up to 40 nodes with 250 tasks and slots are drawn with their ids, up to 1500 nodes with 4000 as squares; of more
    there are counts: by how near tasks are to their data, by node, and by rack.

    Raises
    ------
    UsageError
        If there is none, they are on different clusters, or matplotlib is missing.
    """
    require()
    check_same(scenes)
    nodes, cells = len(scenes[0].instance.cluster), max(scene.size for scene in scenes)
    title = title or "; ".join(f"{scene.name}: {', '.join(scene.told)}" for scene in scenes)
    with settings():
        for draw, (most_nodes, most_cells) in ((detail, _WITH_IDS), (overview, _AS_SQUARES)):
            if nodes <= most_nodes and cells <= most_cells:
                return draw(scenes, title)
        return summary(scenes, title)
