"""Models of `min-cost-flow`: their names and sizes."""

from __future__ import annotations

import pytest
from min_cost_flow_instances import SMALL, posed

from optsched import models
from optsched.core.errors import TooLarge, UsageError


def test_models() -> None:
    """Tests sizes, that only what is left to decide is in the compact model, and what is too large."""
    module = models.module("min-cost-flow")
    size = module.literal_size(SMALL)
    model = module.build_pulp(SMALL)
    assert (len(model.variables()), len(model.constraints())) == (size.variables, size.constraints)
    for build in (module.build_pyomo, module.build_pulp):
        with pytest.raises(UsageError, match="no arc can take what is left to send of v1: there is no flow to model"):
            build(posed([(0, 0, 0, 1, 0), (0, 1, 1, 1, 0)], [1, -2, 1]))
    fixed = posed([(0, 1, 2, 2, 3), (0, 1, 0, 9, 1)], [3, -3])
    assert list(module.build_pyomo(fixed).ARCS) == ["1"]
    with pytest.raises(TooLarge, match="4 variables and 3 constraints"):
        module.build_pulp(SMALL, max_variables=3)
