"""Heuristics that do what no heuristic should: for tests of runs that are contained. Importable by name."""

import ctypes
import os
import signal
import time
from pathlib import Path
from typing import Any

import hostile_jobs
import numpy as np


def good(problem: Any, rng: np.random.Generator) -> Any:
    """Fills the nodes from the first on."""
    offered = next(iter(problem.offered.values()))
    slots = np.repeat(np.arange(len(offered)), offered)[: len(problem.tasks)]
    return [*slots.tolist(), *[None] * (len(problem.tasks) - len(slots))]


def hangs(problem: Any, rng: Any) -> None:
    """Ignores all that can be ignored, and never returns."""
    hostile_jobs.ignore_signals()


def sleeps(problem: Any, rng: Any) -> None:
    """Sleeps for ever."""
    time.sleep(10_000)


def waits(problem: Any, rng: Any) -> None:
    """Says that it has begun, by a file in the present folder, and computes for ever."""
    Path("begun").touch()
    while True:
        pass


def third(problem: Any, rng: Any, calls: list[int] = []) -> Any:  # noqa: B006
    """Prints and ends twice, then waits."""
    print("called")
    calls.append(1)
    return waits(problem, rng) if len(calls) > 2 else list(range(len(problem.tasks)))


def deaf(problem: Any, rng: Any) -> None:
    """Hears no signal, in a call into C that holds Python's lock."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Path("pid").write_text(str(os.getpid()))
    Path("begun").touch()
    ctypes.PyDLL(None).sleep(600)


def eats(problem: Any, rng: Any) -> None:
    """Takes all memory."""
    hostile_jobs.take_memory(32)


def leaves(problem: Any, rng: Any) -> None:
    """Ends the process as if all were well."""
    os._exit(0)


def kills(problem: Any, rng: Any) -> None:
    """Kills its process."""
    os.kill(os.getpid(), signal.SIGKILL)


def prints(problem: Any, rng: np.random.Generator) -> Any:
    """Prints megabytes, and is good."""
    hostile_jobs.print_much(2)
    return good(problem, rng)


def starts(problem: Any, rng: np.random.Generator) -> Any:
    """Starts processes that outlive it, and is good."""
    hostile_jobs.start_children(os.environ["OPTSCHED_TEST_NOTE"])
    return good(problem, rng)


def refuses(problem: Any, rng: Any) -> None:
    """Raises what cannot be pickled."""
    hostile_jobs.refuse()


def exits(problem: Any, rng: Any) -> None:
    """Asks Python to end."""
    raise SystemExit(7)


def interrupts(problem: Any, rng: Any) -> None:
    """Raises what Ctrl-C raises."""
    raise KeyboardInterrupt


class Counting:
    """A policy that remembers across its starts, and hangs at its second offer."""

    def __init__(self) -> None:
        self.offers = 0

    def offer(self, offer: Any, view: Any) -> list[int]:
        """One task, then none for ever."""
        self.offers += 1
        if self.offers > 1:
            time.sleep(10_000)
        return [int(view.pending[0])]


class TakesOne:
    """A policy whose `offer` lacks the view."""

    def offer(self, offer: Any) -> list[int]:
        """Answers nothing."""
        return []
