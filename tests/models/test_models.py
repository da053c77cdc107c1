"""Which problems have models, and the module of each."""

from __future__ import annotations

import pytest

from optsched import models
from optsched.errors import UsageError
from optsched.registry import records


def test_module_of_unknown_problem() -> None:
    """Tests that a wrong name is answered with the nearest one."""
    with pytest.raises(UsageError, match='did you mean "latency"'):
        models.module("latancy")


def test_names_are_those_of_records_with_models() -> None:
    """Tests that each name has a module that builds both kinds, and that none has one beside them."""
    assert set(models.names()) == {name for name, entry in records().items() if entry.models is not None}
    for name in models.names():
        assert {"build_pyomo", "build_pulp", "literal_size", "decode"} <= set(dir(models.module(name)))
    with pytest.raises(UsageError, match="module takes the name of a problem, not"):
        models.module(None)  # type: ignore[arg-type]
