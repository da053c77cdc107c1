"""Tests of the deadline that holds for whatever runs within it."""

import threading
from types import SimpleNamespace

import highspy
import numpy as np
import pytest
import scipy.sparse as sp

from optsched.core.deadline import check, deadline, late, remaining
from optsched.core.errors import OutOfTime
from optsched.solvers.answers import LinearProgram
from optsched.solvers.highs import solve_arrays
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


def test_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests how long a deadline is past."""
    clock = iter([10.0, 11.0, 12.5])
    monkeypatch.setattr("optsched.core.deadline.time", SimpleNamespace(monotonic=lambda: next(clock)))
    with deadline(2):
        assert (late(), late()) == (0.0, 0.5)


@pytest.mark.parametrize(("seconds", "own", "limit"), [(0, None, 0), (0, 1000, 0), (1000, 7, 7)])
def test_highs_takes_the_earlier_limit(
    seconds: float, own: float | None, limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that HiGHS takes the earlier of deadline and profile, and that the record keeps the profile's own."""
    given, real = {}, highspy.Highs.setOptionValue

    def record(self: highspy.Highs, name: str, value: object) -> object:
        given[name] = value
        return real(self, name, value)

    monkeypatch.setattr(highspy.Highs, "setOptionValue", record)
    one, profile = np.ones(1), Profile("any", time_limit=own)
    program = LinearProgram(one, one, 2 * one, np.ones(1, dtype=bool), one, 2 * one, sp.csr_array(np.ones((1, 1))))
    with deadline(seconds):
        outcome = solve_arrays(program, profile).outcome
    assert given["time_limit"] == limit
    assert outcome.solver["options"] == profile.options
