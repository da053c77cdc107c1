"""A deadline for the code that runs within it: the caller sets it, and long loops check it.

It is kept in a context variable: it also holds in calls that do not know it, and each thread has its own. The clock is
monotonic: it does not jump when the time of day is set. The caller decides what a missed deadline means (a limit of a
solution, a row of a table).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TypeVar

from optsched.core.errors import OutOfTime

Held = TypeVar("Held")

#: The instant on the monotonic clock; None without a deadline.
_ends: ContextVar[float | None] = ContextVar("optsched deadline", default=None)


@contextmanager
def holding(variable: ContextVar[Held], value: Held) -> Iterator[None]:
    """Set a context variable to a value within the block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Limit the block to `seconds` from now; None changes nothing. The earliest of nested deadlines holds.

    >>> with deadline(0):
    ...     with deadline(60):
    ...         print(remaining())
    0.0
    >>> print(remaining())
    None
    """
    before = _ends.get()
    if seconds is None:
        yield
        return
    ends = time.monotonic() + seconds
    with holding(_ends, ends if before is None else min(before, ends)):
        yield


def unhurried() -> AbstractContextManager[None]:
    """Lift every deadline, for quick work that still gives a result after a search was cut short."""
    return holding(_ends, None)


def remaining() -> float | None:
    """Seconds until the deadline, 0 once it is past; None without one."""
    ends = _ends.get()
    return None if ends is None else max(0.0, ends - time.monotonic())


def late() -> float:
    """Seconds since the deadline; 0 before it, or without one."""
    ends = _ends.get()
    return 0.0 if ends is None else max(0.0, time.monotonic() - ends)


def check() -> None:
    """Raise OutOfTime once the deadline is past; cheap enough for a loop."""
    ends = _ends.get()
    if ends is not None and time.monotonic() >= ends:
        raise OutOfTime("out of time")
