"""Tests of the deadline that holds for whatever runs within it."""

import threading
from types import SimpleNamespace

import pytest

from optsched.core.deadline import check, deadline, late, remaining
from optsched.core.errors import OutOfTime


@pytest.mark.parametrize(("outer", "inner"), [(0.0, 1000.0), (1000.0, 0.0)])
def test_earliest_of_nested_deadlines_holds(outer: float, inner: float) -> None:
    """Tests that neither a longer nor a missing deadline within a past one gives time, and that a shorter one holds."""
    with deadline(outer), deadline(inner):
        assert remaining() == 0.0
        with deadline(None), pytest.raises(OutOfTime, match=r"^out of time$"):
            check()


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
