"""Measuring one way in a process of its own: processor seconds and wall clock of each phase, and memory.

It imports nothing but the standard library, since the Python that runs OR-Tools may have nothing else.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: A way is run again until this much processor time is spent, or so many rounds; at least twice where it is short.
ENOUGH, MOST, SHORT = 1.0, 5, 10.0


def _processor() -> float:
    """Processor seconds of this process and of the children that have ended."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def peak_mb() -> float | None:
    """Most resident memory of this process, in MiB; None where the system does not say."""
    if sys.platform == "linux":
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024, 1)
    if sys.platform == "win32":
        return None
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(most / (2**20 if sys.platform == "darwin" else 1024), 1)


class Clock:
    """Seconds of each phase of one round.

    >>> clock = Clock()
    >>> with clock.phase("solve"):
    ...     answer = sum(range(10))
    >>> sorted(clock.seconds["solve"])
    ['cpu', 'wall']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, dict[str, float]] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure what is done within."""
        cpu, wall = _processor(), time.perf_counter()
        yield
        self.seconds[name] = {"cpu": _processor() - cpu, "wall": time.perf_counter() - wall}


def again(once: Callable[[Clock], dict[str, Any]], rounds: int = MOST) -> dict[str, Any]:
    """Run a way from loading on, several times where it is quick.

    Returns
    -------
    dict
        What the last round gave, with `phases`: of each phase the least processor seconds of all rounds (`cpu`), the
        wall clock of that round (`wall`), and those of the first round, which pays for what is imported and compiled
        (`first`). `memory_mb` is the most that the process held, `start_mb` what it held before it began.
    """
    start = peak_mb()
    measured: list[dict[str, dict[str, float]]] = []
    began, result = _processor(), {}
    while True:
        clock = Clock()
        result = once(clock)
        measured.append(clock.seconds)
        spent = _processor() - began
        if len(measured) >= rounds or (spent > ENOUGH and (len(measured) > 1 or spent > SHORT)):
            break
    phases = {}
    for name, first in measured[0].items():
        best = min((entry[name] for entry in measured), key=lambda entry: entry["cpu"])
        phases[name] = {**{key: round(value, 6) for key, value in best.items()}, "first": round(first["cpu"], 6)}
    return {**result, "phases": phases, "rounds": len(measured), "memory_mb": peak_mb(), "start_mb": start}
