"""Limits for every heuristic or solver: each run gets its own process.

Like a deadline (`optsched.core.deadline`) they are kept in a context variable, so that they reach through all layers.
Code that runs a heuristic or a solver asks `in_force`, and then `call`. The child process itself has no limits in
force.
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

#: Modules that load slowly and that runs of heuristics and solvers need.
PRELOADED = ("optsched.heuristics", "optsched.routes", "highspy", "scipy.optimize", "scipy.sparse.csgraph")

#: Modules for a single call that hands over; it loads the others itself, only if it needs them.
ALONE = ("optsched.routes",)

#: Seconds that a run gets after a deadline that it checks itself, before it is killed.
_GRACE = 1.0


class RunFailed(OptschedError):
    """A contained run raised an exception that is not this package's: a bug, or a broken installation."""


class TracedElsewhere(Exception):
    """Stands for an exception that was raised in another process.

    `trace` is its traceback, as Python prints it, `kind` the name of its class, and `frames` the file and line of each
    frame, the innermost last.
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
    """Give each run of a heuristic, and each solve, within the block its own process with these limits.

    None changes nothing. Limits without any number still contain crashes.

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
    """The limits in force here; None if runs are not contained."""
    executor = _executor.get()
    return None if executor is None else executor.limits


def within_a_call() -> bool:
    """Whether this is a contained child process already, so that it is killed at its limits."""
    return _called.get()


def call(
    function: Callable[[Any], Any], job: Any, limits: Limits | None = None, latest: Latest | None = None
) -> Outcome:
    """Run `function(job)` contained, within the deadline in force.

    Function and job are as for `run`; `limits` are by default those in force. `latest` keeps what the function hands
    over; None: it hands nothing over. An OptschedError of the function is raised here, too; OutOfTime if a deadline has
    passed.
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
    """The value of a job that runs this package's own code, or None if it was killed or crashed.

    RunFailed if it raised an exception that is not this package's.
    """
    if outcome.status is Status.FAILED:
        raise RunFailed(f"in a process of its own: {outcome.message}") from TracedElsewhere(outcome.traceback)
    return outcome.value


def _guarded(asked: tuple[Callable[[Any], Any], Any, float | None, int | None, bool]) -> Any:
    """The function's result, or the error of this package that it raised."""
    function, job, left, memory_mb, hands = asked
    _called.set(True)
    allowed_mb.set(math.inf if memory_mb is None else memory_mb)
    try:
        with deadline(left), handing() if hands else nullcontext():
            return function(job)
    except OptschedError as error:
        return error
