"""Tests for the figure that this package makes."""

from __future__ import annotations

from optsched.showing.figures import begun, picture
from optsched.showing.pictures import Picture


def test_notebooks_show_it() -> None:
    """Tests that a notebook gets a PNG from the figure itself, and those who do not see it its title."""
    figure = begun(2, 1, "what is drawn")
    assert isinstance(figure, Picture)
    assert figure._repr_png_() == picture(figure, ".png")
    assert "<title>what is drawn</title>" in picture(figure).decode()
