"""Models of `generalized-assignment`: what they refuse, and classes."""

from __future__ import annotations

import pytest
from generalized_assignment_instances import ODD, SMALL, posed

from optsched import models
from optsched.core.errors import TooLarge, UsageError


def test_models_refuse_what_is_stranded_or_too_large() -> None:
    """Tests the messages where there is nothing to model, or too much."""
    stranded = posed([[1]], {"weight": [[4]]}, {"weight": [3]})
    module = models.module("generalized-assignment")
    for build in (module.build_pyomo, module.build_pulp):
        with pytest.raises(UsageError, match="t0 fits on no node that it may use"):
            build(stranded)
    with pytest.raises(TooLarge, match="4 variables"):
        module.build_pulp(SMALL, max_variables=3)
    size = module.literal_size(SMALL)
    model = module.build_pulp(SMALL)
    assert (len(model.variables()), len(model.constraints())) == (size.variables, size.constraints)


def test_classes() -> None:
    """Tests that equal tasks are one class of the compact model, and that `per_pair=True` keeps them apart."""
    module = models.module("generalized-assignment")
    model = module.build_pyomo(ODD)
    assert list(model.CLASSES) == ["t0"]
    assert model.members["t0"] == ("t0", "t1", "t2")
    assert len(module.build_pyomo(ODD, per_pair=True).CLASSES) == 3
