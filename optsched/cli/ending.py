"""Being ended from outside: SIGTERM and SIGHUP do what Ctrl-C does, and are told by their names.

So what there is by then is put out, processes of runs are ended, and files are left whole. The exit code is 128 and the
number of the signal, as shells have it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Ended", "ended_like_interrupts"]

#: SIGHUP is not known on Windows.
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ended:
    """By which signal this process is to end, if by any."""

    def __init__(self) -> None:
        self.by: signal.Signals | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Do what is done on Ctrl-C just now: a solver stops with what it holds, all else breaks off."""
        self.by = signal.Signals(number)
        held = signal.getsignal(signal.SIGINT)
        if not callable(held):  # Ctrl-C is ignored, as in what a shell runs in the background
            raise KeyboardInterrupt
        held(signal.SIGINT, frame)


@contextmanager
def ended_like_interrupts() -> Iterator[Ended]:
    """Within this, SIGTERM and SIGHUP are as Ctrl-C, where they have their usual meaning (`nohup` ignores SIGHUP).

    Examples
    --------
    >>> with ended_like_interrupts() as ended:
    ...     try:
    ...         signal.raise_signal(signal.SIGTERM)
    ...     except KeyboardInterrupt:
    ...         print(ended.by.name)
    SIGTERM
    """
    ended = Ended()
    if threading.current_thread() is not threading.main_thread():
        yield ended
        return
    taken = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, ended)
    try:
        yield ended
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
