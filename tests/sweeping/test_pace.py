"""How long a sweep may still take."""

from __future__ import annotations

import pytest

from optsched.sweeping.pace import Pace, in_words


def test_workers_at_once() -> None:
    """Tests that two processes that work at once halve the time left."""
    instants = iter([0.0, 5.0, 5.0, 10.0, 10.0])
    pace = Pace(runs=8, optima=0, clock=lambda: next(instants))
    for _ in range(4):
        pace.ended(optimum=False, seconds=5)
    assert pace.left == pytest.approx(10)


def test_optima_take_longer() -> None:
    """Tests that what is left is told by kind: a slow optimum says nothing of the runs."""
    instants = iter([0.0, 100.0, 101.0])
    pace = Pace(runs=11, optima=2, clock=lambda: next(instants))
    pace.ended(optimum=True, seconds=100)
    assert pace.left is None, "no run has ended yet"
    pace.ended(optimum=False, seconds=1)
    assert pace.left == pytest.approx(110)


def test_nothing_left() -> None:
    """Tests that there is no time left at the end, also of runs that took none."""
    pace = Pace(runs=1, optima=0, clock=lambda: 0.0)
    assert pace.left is None
    pace.ended(optimum=False, seconds=0)
    assert pace.left == 0


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.4, "0 s left"), (89, "89 s left"), (90, "2 min left"), (7200, "2 h 0 min left"), (1e6, "11 d 13 h left")],
)
def test_words(seconds: float, told: str) -> None:
    """Tests that a time is told with the units that matter."""
    assert in_words(seconds) == told
