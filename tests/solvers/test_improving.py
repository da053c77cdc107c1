"""Tests of `optsched.solvers.improving`: solutions that are found on the way are told at little cost, and safely."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from optsched.core.deadline import deadline, remaining
from optsched.core.errors import OutOfTime, SolverDisagreement
from optsched.solvers.improving import Improving


class Clock:
    """A clock that stands until it is moved on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_telling_takes_a_small_part_of_the_time() -> None:
    """Tests that the first solution is told at once, and of those that come too soon after it the latest alone."""
    clock, told = Clock(), []

    def tell(values: np.ndarray) -> None:
        told.append(values.tolist())
        clock.now += 1.0

    improving, values = Improving(tell, clock), np.array([1.0])
    improving.look()
    improving.found(values)
    values[0] = 2.0
    improving.found(values)
    values[0] = 3.0
    improving.found(values)
    values[0] = -1.0
    clock.now = 9.0
    improving.look()
    assert told == [[1.0]]
    clock.now = 10.0
    improving.look()
    improving.look()
    assert told == [[1.0], [3.0]]
    improving.end()


@pytest.mark.parametrize("kind", [SolverDisagreement, OutOfTime, MemoryError])
def test_what_cannot_be_told_is_passed_over(kind: type[Exception]) -> None:
    """Tests that a solution which stands for nothing, or for which no time or memory is left, is not told."""
    told = []

    def tell(values: np.ndarray) -> None:
        if not told:
            told.append(0.0)
            raise kind("no")
        told.append(values[0])

    improving = Improving(tell, Clock())
    improving.found([1.0])
    improving.found([2.0])
    improving.end()
    assert told == [0.0, 2.0]


@pytest.mark.parametrize("kind", [LookupError, KeyboardInterrupt])
def test_mistake_is_raised_at_the_end(kind: type[BaseException]) -> None:
    """Tests that anything else reaches who asked, and not the solver, after which nothing is told any more."""
    told = []

    def tell(values: np.ndarray) -> None:
        told.append(values[0])
        raise kind("a bug")

    improving = Improving(tell, Clock())
    improving.found([1.0])
    improving.found([2.0])
    with pytest.raises(kind, match="a bug"):
        improving.end()
    assert told == [1.0]


def test_any_thread_may_tell() -> None:
    """Tests that a deadline, and who waits, are the same where a solver calls from a thread of its own."""
    told: list[bool] = []
    with deadline(1000):
        improving = Improving(lambda _: told.append(remaining() is not None), Clock())
    thread = threading.Thread(target=improving.found, args=([1.0],))
    thread.start()
    thread.join()
    assert told == [True]
