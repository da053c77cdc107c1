"""A deadline for the code that runs within it: the caller sets it, and long loops check it.

It is kept in a context variable: it also holds in calls that do not know it, and each thread has its own. The clock is
monotonic: it does not jump when the time of day is set. The caller decides what a missed deadline means (a limit of a
solution, a row of a table).
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from traceback import walk_stack
from types import FrameType
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


# An alarm for what runs too long -------------------------------------------------------------------------------------
# An alarm for a user's own code, which does not know deadlines: it raises OutOfTime there once the deadline has passed.
# The listed heuristics need none, since they check the deadline themselves (`check`); a user's code may do so too. The
# alarm is Unix's timer and signal. Python delivers signals only in its main thread, between the steps of Python code,
# so a call into compiled code ends first. If other code uses the signal, it is left alone.

#: Seconds until it rings again, if the code caught the exception or could not be stopped there.
_AGAIN = 0.5

#: Code that must not be interrupted: a half imported module would stay so, and HiGHS has its own limit.
_WHOLE = frozenset({"importlib._bootstrap", "importlib._bootstrap_external", "optsched.solvers.highs"})


@contextmanager
def alarm() -> Iterator[None]:
    """Let the deadline interrupt the block.

    Nothing changes without a deadline, outside the main thread of Unix, or if the signal SIGALRM or its timer is in
    use. Ctrl-C works as before.

    >>> with deadline(0.01), alarm():
    ...     while True:
    ...         pass
    Traceback (most recent call last):
    optsched.core.errors.OutOfTime: out of time
    """
    left = remaining()
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if usable and (signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL or signal.getitimer(signal.ITIMER_REAL)[0]):
        usable = False  # other code has it
    if left is None or not usable:
        yield
        return
    live = True

    def ring(_number: int, frame: FrameType | None) -> None:
        callers = walk_stack(frame) if live else ()
        if live and not any(caller.f_globals.get("__name__") in _WHOLE for caller, _ in callers):
            check()

    former = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, left + 1e-3, _AGAIN)
    try:
        try:
            yield
        finally:  # an alarm from here on is too late, and must not prevent the reset of the timer
            live = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, former)
