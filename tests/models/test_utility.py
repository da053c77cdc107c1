"""Models of `utility`: what they refuse."""

from __future__ import annotations

import pytest
from utility_instances import SWAPS

from optsched import models
from optsched.errors import TooLarge, UsageError


def test_models_refuse() -> None:
    """Tests the messages where a limit is out of reach, or the literal model too large, and its stated size."""
    module = models.module("utility")
    for build in (module.build_pyomo, module.build_pulp):
        with pytest.raises(UsageError, match=r"limit=1\.5: the lowest utility is at most 1"):
            build(SWAPS, limit=1.5)
    with pytest.raises(TooLarge, match="variables"):
        module.build_pulp(SWAPS, max_variables=3)
    size, model = module.literal_size(SWAPS), module.build_pulp(SWAPS)
    assert (len(model.variables()), len(model.constraints())) == (size.variables, size.constraints)
