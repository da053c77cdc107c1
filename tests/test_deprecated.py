"""Names that will go still work, and warn."""

from __future__ import annotations

import importlib
import re

import pytest


@pytest.mark.parametrize(
    ("former", "present"),
    [
        ("optsched.solvers.utility_leximin", "optsched.searches.utility_leximin"),
        ("optsched.heuristics.p_min", "optsched.tuning"),
        ("optsched.simulating.following", "optsched.simulating.every_round"),
        ("optsched.running.service", "optsched.running.course"),
        ("optsched.explaining.waiting", "optsched.explaining.schedules"),
    ],
)
def test_former_paths_still_work(former: str, present: str) -> None:
    """Tests that modules that have moved give all names of the new ones, and warn at the place to mend."""
    before, now = importlib.import_module(former), importlib.import_module(present)
    assert before.__all__ == now.__all__
    for name in now.__all__:
        message = f"{former}.{name} is deprecated and will go in a later release: use {present}.{name}"
        with pytest.warns(DeprecationWarning, match=re.escape(message)) as told:
            assert getattr(before, name) is getattr(now, name)
        assert told[0].filename == __file__
    with pytest.raises(AttributeError):
        before.nothing  # noqa: B018
