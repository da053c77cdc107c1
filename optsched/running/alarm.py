"""An alarm for a user's own code, which does not know deadlines: it raises OutOfTime there once the deadline is past.

The heuristics of the list need none, since they look at the deadline themselves (`optsched.deadline.check`); a user's
code may do so too. The alarm is Unix's timer and signal. Python delivers signals in its main thread only, between the
steps of Python code, so a call into compiled code ends first. Where somebody else uses the signal, it is left to them.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from optsched.deadline import check, remaining

__all__ = ["alarm"]

#: Seconds until it rings again, if the code caught the exception or could not be stopped where it was.
_AGAIN = 0.5

#: Code that must not be interrupted: a half imported module would stay so, and HiGHS has a limit of its own.
_WHOLE = frozenset({"importlib._bootstrap", "importlib._bootstrap_external", "optsched.solvers.highs"})


@contextmanager
def alarm() -> Iterator[None]:
    """Let the deadline break off what runs within.

    Nothing changes without a deadline, outside the main thread of Unix, or where the signal SIGALRM or its timer is
    taken. Ctrl-C works as before.

    Examples
    --------
    >>> from optsched.deadline import deadline
    >>> with deadline(0.01), alarm():
    ...     while True:
    ...         pass
    Traceback (most recent call last):
    optsched.errors.OutOfTime: out of time
    """
    left = remaining()
    if left is None or not _available():
        yield
        return
    live = True

    def ring(_number: int, frame: FrameType | None) -> None:
        if live and not _within(frame):
            check()

    former = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, left + 1e-3, _AGAIN)
    try:
        try:
            yield
        finally:  # an alarm from here on is too late, and must not prevent that the timer is put back
            live = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, former)


def _available() -> bool:
    """Whether there is a timer, and nobody uses it."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return False
    return signal.getsignal(signal.SIGALRM) is signal.SIG_DFL and not signal.getitimer(signal.ITIMER_REAL)[0]


def _within(frame: FrameType | None) -> bool:
    """Whether a frame belongs to code that must not be interrupted, or was called by such code."""
    while frame is not None:
        if frame.f_globals.get("__name__") in _WHOLE:
            return True
        frame = frame.f_back
    return False
