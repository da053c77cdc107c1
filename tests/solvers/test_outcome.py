"""What a run gave: what stops it from outside, the other sense, and what is not known."""

from __future__ import annotations

import pytest

from optsched.core.errors import OutOfTime
from optsched.core.results import Limit, Termination
from optsched.solvers.outcome import STOPPED, SolverOutcome, negated, stopped


@pytest.mark.parametrize(
    ("error", "limit", "told"),
    [
        (KeyboardInterrupt(), Limit.INTERRUPTED, "interrupted"),
        (OutOfTime("out of time"), Limit.TIME, "out of time"),
        (MemoryError("std::bad_alloc"), Limit.MEMORY, "out of memory"),
    ],
)
def test_what_stops_a_run(error: BaseException, limit: Limit, told: str) -> None:
    """Tests the limit and the words of each error that is a result, whatever it says itself."""
    assert isinstance(error, STOPPED)
    assert stopped(error) == (limit, told)


@pytest.mark.parametrize(("objective", "bound"), [(5.0, 7.5), (None, -1.0), (0.0, None), (None, None)])
def test_other_sense(objective: float | None, bound: float | None) -> None:
    """Tests that both figures change their sign, what is not known stays so, and all else is as it was."""
    said = SolverOutcome(Termination.FEASIBLE, Limit.TIME, objective, bound, "told", 1.5, 3, {"name": "S"})
    other = negated(said)
    assert other.objective == (None if objective is None else -objective)
    assert other.bound == (None if bound is None else -bound)
    assert negated(other) == said
    for name in ("status", "limit", "raw_status", "seconds", "nodes", "solver"):
        assert getattr(other, name) == getattr(said, name)
