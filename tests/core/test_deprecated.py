"""Names that will go still work, and warn."""

from __future__ import annotations

import importlib
import re

import pytest

from optsched.core.deprecated import FORMER


@pytest.mark.parametrize("former", FORMER)
def test_former_paths_still_work(former: str) -> None:
    """Tests that modules that have moved give all names of the new ones, and warn at the place to mend."""
    present, renamed = FORMER[former]
    before, now = importlib.import_module(former), importlib.import_module(present)
    assert before.__all__ == now.__all__
    for name, called in ({name: name for name in now.__all__} | renamed).items():
        message = f"{former}.{name} is deprecated and will go in a later release: use {present}.{called}"
        with pytest.warns(DeprecationWarning, match=re.escape(message)) as told:
            assert getattr(before, name) is getattr(now, called)
        assert told[0].filename == __file__
    with pytest.raises(AttributeError):
        before.nothing  # noqa: B018
