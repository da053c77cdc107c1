"""Pictures, with matplotlib (the extra `plots`), which is imported when one is made.

Each function makes a `matplotlib.figure.Figure`, which no global state knows, and `save` writes it: the same
picture is the same bytes. Pictures are to be read in black and white too: what a colour says, a hatch, a marker or a
text says as well.
"""

from __future__ import annotations

from optsched.drawing.choosing import draw
from optsched.drawing.figures import MissingGlyphs, picture, save
from optsched.drawing.gaps import box_plot, distribution, performance_profile

__all__ = ["MissingGlyphs", "box_plot", "distribution", "draw", "performance_profile", "picture", "save"]
