"""Clusters with placements side by side, with ids or, if they are large, as counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from optsched.drawing.detail import detail
from optsched.drawing.figures import require, settings
from optsched.drawing.scenes import Scene, check_same
from optsched.drawing.summary import summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["drawn"]

#: Nodes and cells of a picture with ids, at most.
_NODES, _CELLS = 40, 250


def drawn(scenes: Sequence[Scene], title: str = "") -> Figure:
    """The scenes side by side.

    Up to 40 nodes with 250 tasks and slots are drawn with their ids. Larger ones are drawn as counts: by how near tasks
    are to their data, by node, and by rack.

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
        return (detail if nodes <= _NODES and cells <= _CELLS else summary)(scenes, title)
