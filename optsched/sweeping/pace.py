"""How far a sweep is, and how long it will take."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Pace", "in_words"]


class Pace:
    """Estimates the time left from what ended so far: optima and runs apart, since they take differently long.

    Parameters
    ----------
    runs, optima
        How many there are to be.
    clock
        Tells seconds.

    Examples
    --------
    >>> seconds = iter([0, 20, 30])
    >>> pace = Pace(runs=6, optima=1, clock=lambda: next(seconds))
    >>> pace.ended(optimum=True, seconds=20)
    >>> pace.left is None  # nothing is known of runs
    True
    >>> pace.ended(optimum=False, seconds=10)
    >>> pace.left
    50.0
    """

    def __init__(self, runs: int, optima: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._total = {False: runs, True: optima}
        self._count = {False: 0, True: 0}
        self._seconds = {False: 0.0, True: 0.0}
        self._clock, self._began = clock, clock()

    def ended(self, optimum: bool, seconds: float) -> None:
        """One more has ended, after so many seconds of its own."""
        self._count[optimum] += 1
        self._seconds[optimum] += seconds
        self._elapsed = self._clock() - self._began

    @property
    def runs(self) -> int:
        """How many runs have ended."""
        return self._count[False]

    @property
    def left(self) -> float | None:
        """Seconds until all have ended, if they go on like this; None where that cannot be told yet."""
        work = 0.0
        for kind, total in self._total.items():
            missing = total - self._count[kind]
            if missing and not self._count[kind]:
                return None
            work += missing * self._seconds[kind] / self._count[kind] if missing else 0
        spent = sum(self._seconds.values())
        # What the processes spent against the time that went by is how many of them worked at once.
        return work * self._elapsed / spent if spent else 0.0


def in_words(seconds: float | None) -> str:
    """A time left, in words.

    >>> in_words(None), in_words(8), in_words(130), in_words(9000), in_words(400000)
    ('time left unknown yet', '8 s left', '2 min left', '2 h 30 min left', '4 d 15 h left')
    """
    if seconds is None:
        return "time left unknown yet"
    whole = round(seconds)
    if whole < 90:
        return f"{whole} s left"
    minutes = round(whole / 60)
    if minutes < 120:
        return f"{minutes} min left"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min left"
    return f"{hours // 24} d {hours % 24} h left"
