"""What modules of routes of other packages find in `optsched.routes.base`."""

from __future__ import annotations

from optsched.core import results
from optsched.routes import base


def test_former_place() -> None:
    """Tests that the noun of a frontier is found where it was."""
    assert base.Frontier is results.Frontier
