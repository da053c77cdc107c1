"""The figure that this package makes: matplotlib's, and seen in a notebook without pyplot. It is imported when one is
begun, since it needs matplotlib.
"""

from __future__ import annotations

from matplotlib.figure import Figure

__all__ = ["Picture"]


class Picture(Figure):
    """A matplotlib figure that notebooks show, and that no global state of matplotlib knows."""

    def _repr_png_(self) -> bytes:
        from optsched.showing.figures import picture

        return picture(self, ".png")
