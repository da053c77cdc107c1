"""Pictures, with matplotlib (the extra `plots`), which is imported when one is made.

Each function makes a `matplotlib.figure.Figure`, which no global state knows, and `save` writes it: the same
picture is the same bytes. Pictures are to be read in black and white too: what a colour says, a hatch, a marker or a
text says as well.
"""

from __future__ import annotations

from optsched.drawing.chains import chains_picture
from optsched.drawing.choosing import draw
from optsched.drawing.decompositions import decomposition_picture, decompositions_picture
from optsched.drawing.figures import MissingGlyphs, picture, save
from optsched.drawing.frontiers import frontier_picture, staircase
from optsched.drawing.gantt import gantt_picture
from optsched.drawing.gaps import box_plot, distribution, gaps_picture, performance_profile
from optsched.drawing.matrices import heat_map, matrix_picture
from optsched.drawing.runs import locality_picture, reductions_picture, running_picture, times_picture

__all__ = [
    "MissingGlyphs",
    "box_plot",
    "chains_picture",
    "decomposition_picture",
    "decompositions_picture",
    "distribution",
    "draw",
    "frontier_picture",
    "gantt_picture",
    "gaps_picture",
    "heat_map",
    "locality_picture",
    "matrix_picture",
    "performance_profile",
    "picture",
    "reductions_picture",
    "running_picture",
    "save",
    "staircase",
    "times_picture",
]
