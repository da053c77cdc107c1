"""Tests of `optsched.processes.outcomes`: limits and outcomes."""

from __future__ import annotations

from typing import Any

import pytest

from optsched.core.errors import UsageError
from optsched.processes import Limits, Outcome, Status


@pytest.mark.parametrize("given", [0, -1, float("nan"), float("inf"), "5", True])
@pytest.mark.parametrize("name", ["seconds", "memory_mb"])
def test_limits_above_zero(name: str, given: Any) -> None:
    """Tests that what is no number above 0 is refused, with its name and value."""
    with pytest.raises(UsageError, match=rf"{name}=.*above 0"):
        Limits(**{name: given})


def test_limits_are_true_where_something_is_limited() -> None:
    """Tests that limits without any are false."""
    assert not Limits()
    assert Limits(seconds=1)
    assert Limits(memory_mb=500)


def test_outcome_tells_what_went_wrong() -> None:
    """Tests the text of an outcome, and that its repr does not show a large value."""
    assert str(Outcome(Status.CRASHED, message="ended by SIGKILL")) == "crashed: ended by SIGKILL"
    assert not Outcome(Status.CRASHED).done
    done = Outcome(Status.DONE, list(range(100_000)))
    assert done.done
    assert str(done) == "done"
    assert len(repr(done)) < 50
