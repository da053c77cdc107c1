"""Running a heuristic in a process of its own, where limits are in force (`optsched.processes.contained`)."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from optsched.errors import UsageError
from optsched.outside import own_traceback
from optsched.problems.base import TaskProblem
from optsched.processes.containing import TracedElsewhere, call
from optsched.processes.outcomes import Outcome, Status
from optsched.processes.worker import refused
from optsched.running.base import Heuristic
from optsched.running.driver import Observer
from optsched.running.run import HeuristicRun, checked, run_heuristic, shown_parameters

__all__ = ["ENDED", "TOLD", "ended_run", "run_contained"]

#: What records call the ends of a process before it answered.
ENDED = {Status.TIMED_OUT: "out-of-time", Status.OUT_OF_MEMORY: "out-of-memory", Status.CRASHED: "crashed"}

#: How they are told.
TOLD = {
    Status.TIMED_OUT: "was out of time: ",
    Status.OUT_OF_MEMORY: "was out of memory: ",
    Status.CRASHED: "crashed: ",
}

_Asked = tuple[TaskProblem[Any], Heuristic, int | Sequence[int], Any, float | None, Mapping[str, Any]]


def run_contained(
    problem: TaskProblem[Any],
    heuristic: Heuristic,
    /,
    seed: int | Sequence[int] = 0,
    *,
    max_idle_rounds: Any = None,
    observers: Sequence[Observer] = (),
    time_limit: float | None = None,
    **parameters: Any,
) -> HeuristicRun:
    """The same as `run_heuristic`, but whatever the heuristic does to its process is an error of the run.

    Raises
    ------
    UsageError
        As `run_heuristic` does, and for observers, which cannot see into another process.
    """
    values = checked(problem, heuristic, seed, max_idle_rounds, observers, time_limit, parameters)
    if observers:
        raise UsageError("observers cannot see into the process of a contained run: leave them or the limits out")
    outcome = call(_run, (problem, heuristic, seed, max_idle_rounds, time_limit, parameters))
    if outcome.done:
        found: HeuristicRun = outcome.value
        return found
    return ended_run(heuristic.name, shown_parameters(heuristic, values, max_idle_rounds), outcome)


def ended_run(name: str, parameters: Mapping[str, Any], outcome: Outcome) -> HeuristicRun:
    """The run of a heuristic whose process gave no answer."""
    return HeuristicRun(
        name,
        parameters,
        None,
        outcome.seconds,
        error=f'heuristic "{name}" {TOLD.get(outcome.status, "")}{outcome.message}',
        cause=TracedElsewhere(outcome.traceback) if outcome.traceback else None,
        ended=ENDED.get(outcome.status),
    )


def _run(asked: _Asked) -> HeuristicRun:
    """The run; what was raised, which need not be fit to be sent, is told. Refused memory ends the process."""
    problem, heuristic, seed, max_idle_rounds, time_limit, parameters = asked
    run = run_heuristic(problem, heuristic, seed, max_idle_rounds=max_idle_rounds, time_limit=time_limit, **parameters)
    if run.cause is None:
        return run
    if refused(run.cause):
        raise run.cause
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(run.cause.__traceback__)]
    return replace(run, cause=TracedElsewhere(own_traceback(run.cause), type(run.cause).__name__, frames))
