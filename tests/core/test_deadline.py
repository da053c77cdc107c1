"""Tests of the deadline that holds for whatever runs within it."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import highspy
import numpy as np
import pytest
import scipy.sparse as sp

from optsched.core.deadline import check, deadline, late, remaining
from optsched.core.errors import OutOfTime
from optsched.core.results import Limit
from optsched.solvers.highs import LinearProgram, solve_arrays
from optsched.solvers.profiles import Profile


@pytest.mark.parametrize(("outer", "inner"), [(0.0, 1000.0), (1000.0, 0.0)])
def test_earliest_of_nested_deadlines_holds(outer: float, inner: float) -> None:
    """Tests that neither a longer nor a missing deadline within a past one gives time, and that a shorter one holds."""
    with deadline(outer), deadline(inner):
        assert remaining() == 0.0
        with deadline(None), pytest.raises(OutOfTime, match=r"^out of time$"):
            check()


def test_outer_deadline_returns_after_an_exception() -> None:
    """Tests that a deadline ends with its block, however that ends, and that None is none."""
    with deadline(None):
        assert remaining() is None
    with deadline(1000):
        with pytest.raises(OutOfTime), deadline(0):
            check()
        check()
        assert 0 < remaining() <= 1000
    assert remaining() is None


def test_other_threads_have_their_own() -> None:
    """Tests that a deadline says nothing to a thread that was not started within it."""
    seen: list[float | None] = []
    with deadline(0):
        other = threading.Thread(target=lambda: seen.append(remaining()))
        other.start()
        other.join()
    assert seen == [None]


def _program() -> LinearProgram:
    """A knapsack of 30 items, which presolve does not finish."""
    rng = np.random.default_rng(0)
    weights, worths = rng.integers(10, 100, (3, 30)), rng.integers(10, 100, 30)
    return LinearProgram(
        objective=-worths.astype(float),
        col_lower=np.zeros(30),
        col_upper=np.ones(30),
        integer=np.ones(30, dtype=bool),
        row_lower=np.full(3, -np.inf),
        row_upper=weights.sum(axis=1) // 3 + 0.0,
        matrix=sp.csr_array(weights.astype(float)),
    )


def test_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests how long a deadline is past."""
    clock = iter([10.0, 11.0, 12.5])
    monkeypatch.setattr("optsched.core.deadline.time", SimpleNamespace(monotonic=lambda: next(clock)))
    with deadline(2):
        assert (late(), late()) == (0.0, 0.5)


@pytest.mark.parametrize("own", [None, 1000.0])
def test_highs_stops_at_the_deadline(own: float | None) -> None:
    """Tests that HiGHS takes the earlier of deadline and profile, and that the record keeps the profile's own."""
    profile = Profile("exact", time_limit=own)
    with deadline(0):
        outcome = solve_arrays(_program(), profile).outcome
    assert outcome.limit is Limit.TIME
    assert outcome.solver["options"] == profile.options


def test_earlier_limit_of_the_profile_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a far deadline does not lengthen the profile's limit."""
    given = []
    real = highspy.Highs.setOptionValue

    def record(self: highspy.Highs, name: str, value: object) -> object:
        if name == "time_limit":
            given.append(value)
        return real(self, name, value)

    monkeypatch.setattr(highspy.Highs, "setOptionValue", record)
    with deadline(1000):
        solve_arrays(_program(), Profile("short", time_limit=7, node_limit=1))
    assert given == [7.0]
