"""An alarm for a user's own code, which knows nothing of deadlines: raises OutOfTime in it once the deadline is past.

The heuristics of the list need none: they look at the deadline themselves (`optsched.deadline.check`), as a user's own
code may. The alarm is Unix's timer and signal, which Python takes in its main thread, and only between the steps of
Python code: a call into compiled code ends first. Where somebody else uses the signal, it is left to them.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from optsched.deadline import check, remaining

__all__ = ["alarm"]

#: Seconds until it rings again, where the code has caught the exception, or could not be stopped where it was.
_AGAIN = 0.5

#: Code that must not be broken off: a module half imported stays so, and HiGHS has a limit of its own.
_WHOLE = frozenset({"importlib._bootstrap", "importlib._bootstrap_external", "optsched.solvers.highs"})


@contextmanager
def alarm() -> Iterator[None]:
    """Let the deadline break off what runs within.

    Without a deadline, elsewhere than in the main thread of Unix, and where the signal SIGALRM or its timer is taken,
    nothing is changed. Ctrl-C stays what it is.

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
        finally:  # what rings from here on is too late, and must not keep the timer from being put back
            live = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, former)


def _available() -> bool:
    """Whether there is a timer that nobody uses."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return False
    return signal.getsignal(signal.SIGALRM) is signal.SIG_DFL and not signal.getitimer(signal.ITIMER_REAL)[0]


def _within(frame: FrameType | None) -> bool:
    """Whether a frame is of code that must not be broken off, or was called by such."""
    while frame is not None:
        if frame.f_globals.get("__name__") in _WHOLE:
            return True
        frame = frame.f_back
    return False
