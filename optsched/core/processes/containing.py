"""Limits that every heuristic or solver keeps: each run gets a process of its own.

Like a deadline (`optsched.core.deadline`) they are kept in a context variable, so that they reach through all layers.
Who runs a heuristic or a solver asks `in_force`, and then `call`; within the process that runs it there are none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from optsched.core.deadline import check, deadline, holding, remaining
from optsched.core.errors import OptschedError
from optsched.core.processes.handing import Latest, handing
from optsched.core.processes.limits import Limits, Outcome, Status, allowed_mb

if TYPE_CHECKING:
    from optsched.core.processes.executors import LocalExecutor

#: Modules that take long to load, and that runs of heuristics and solvers need.
PRELOADED = ("optsched.heuristics", "optsched.routes", "highspy", "scipy.optimize", "scipy.sparse.csgraph")

#: What a single call that hands over needs: the other modules it loads itself, only if it needs them.
ALONE = ("optsched.routes",)

#: Seconds that a run has beyond a deadline that it looks at itself, before it is killed.
_GRACE = 1.0


class RunFailed(OptschedError):
    """A run in a process of its own raised what is no error of this package: a bug, or a broken installation."""


class TracedElsewhere(Exception):
    """Stands for an exception that was raised in another process.

    `trace` is its traceback, as Python prints it, `kind` the name of its class, and `frames` file and line of each of
    its frames, the innermost last.
    """

    def __init__(self, trace: str, kind: str = "Exception", frames: Sequence[tuple[str, int | None]] = ()) -> None:
        super().__init__(trace)
        self.trace, self.kind, self.frames = trace, kind, tuple(frames)

    def __str__(self) -> str:
        return f"in another process:\n{self.trace.rstrip()}"


_executor: ContextVar[LocalExecutor | None] = ContextVar("optsched limits of runs", default=None)

_called: ContextVar[bool] = ContextVar("optsched within a contained call", default=False)


@contextmanager
def contained(limits: Limits | None) -> Iterator[None]:
    """Give each run of a heuristic, and each solve, within the block a process of its own with these limits.

    None changes nothing, and limits without any contain crashes all the same.

    >>> with contained(Limits(seconds=5)):
    ...     print(in_force())
    Limits(seconds=5, memory_mb=None)
    >>> print(in_force())
    None
    """
    if limits is None:
        yield
        return
    from optsched.core.processes.executors import LocalExecutor

    with LocalExecutor(1, limits, preload=PRELOADED) as executor, holding(_executor, executor):
        yield


def in_force() -> Limits | None:
    """The limits that hold here; None where runs are not contained."""
    executor = _executor.get()
    return None if executor is None else executor.limits


def within_a_call() -> bool:
    """Whether this runs in a process of its own already, so that it is killed at its limits."""
    return _called.get()


def call(
    function: Callable[[Any], Any], job: Any, limits: Limits | None = None, latest: Latest | None = None
) -> Outcome:
    """Run `function(job)` contained, within the deadline that holds here.

    Function and job are as for `run`, and limits by default those in force. `latest` keeps what the function hands
    over; None: it hands nothing over. An OptschedError that the function raises is raised here, too; OutOfTime if a
    deadline is past.
    """
    from optsched.core.processes.executors import run

    executor = _executor.get()
    limits = limits or (Limits() if executor is None else executor.limits)
    left = remaining()
    within = math.inf if left is None else left + _GRACE
    asked = (function, job, left, limits.memory_mb, latest is not None)
    if executor is None:
        preload = PRELOADED if latest is None else ALONE
        outcome = run(_guarded, asked, limits, preload=preload, within=within, latest=latest)
    else:
        outcome = executor.run(_guarded, asked, limits, within, latest)
    if outcome.status is Status.TIMED_OUT:
        check()
    if isinstance(outcome.value, OptschedError):
        raise outcome.value
    return outcome


def value_of(outcome: Outcome) -> Any:
    """The value of a job that is this package's own code, or None where it was killed or crashed.

    RunFailed if it raised what is no error of this package.
    """
    if outcome.status is Status.FAILED:
        raise RunFailed(f"in a process of its own: {outcome.message}") from TracedElsewhere(outcome.traceback)
    return outcome.value


def _guarded(asked: tuple[Callable[[Any], Any], Any, float | None, int | None, bool]) -> Any:
    """What the function gives, or the error of this package that it raised."""
    function, job, left, memory_mb, hands = asked
    _called.set(True)
    allowed_mb.set(math.inf if memory_mb is None else memory_mb)
    try:
        with deadline(left), handing() if hands else nullcontext():
            return function(job)
    except OptschedError as error:
        return error
