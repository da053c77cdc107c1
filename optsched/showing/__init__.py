"""Pictures of instances, runs and gaps, and reports on many gaps.

Pictures are made with matplotlib (the extra `plots`), which is imported when needed. Each function makes a
`matplotlib.figure.Figure`, which no global state knows, and `save` writes it: the same picture is the same bytes.
Pictures can be read in black and white: a hatch, a marker or a text repeats the meaning of each colour.
"""

from __future__ import annotations

from optsched.showing.drawing import draw
from optsched.showing.explained import chains_picture, decomposition_picture, decompositions_picture
from optsched.showing.figures import MissingGlyphs, picture, save
from optsched.showing.gaps import box_plot, distribution, gaps_picture, performance_profile
from optsched.showing.reports import write_report
from optsched.showing.reproduced import reproduced_pgf, reproduced_picture
from optsched.showing.runs import gantt_picture, locality_picture, reductions_picture, running_picture, times_picture
from optsched.showing.trade_offs import frontier_picture, heat_map, matrix_picture, staircase

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
    "reproduced_pgf",
    "reproduced_picture",
    "running_picture",
    "save",
    "staircase",
    "times_picture",
    "write_report",
]
