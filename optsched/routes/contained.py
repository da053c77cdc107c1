"""Solves and frontiers in a process of their own.

If the process is killed or crashes, the solution says so and has the incumbent of that time: the process hands over
each incumbent when it finds it, and its value is evaluated here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from optsched.core.results import Frontier, Limit, Solution, Termination
from optsched.problems import AnyProblem
from optsched.processes.containing import RunFailed, call, in_force, value_of
from optsched.processes.handing import Latest
from optsched.processes.limits import Limits, Outcome, Status, available_mb
from optsched.routes.base import cut_short
from optsched.routes.call import Call
from optsched.solvers.answers import STOPPED, stopped
from optsched.solvers.profiles import Profile

F = TypeVar("F")

#: What cut a search short, by how its process ended.
_LIMITS = {Status.TIMED_OUT: Limit.TIME, Status.OUT_OF_MEMORY: Limit.MEMORY}


def solved(asked: Call[Any], profile: Profile, solve: Callable[[Any], Solution]) -> Solution:
    """The solution of a call by `solve` in a process of its own; where it is stopped, the call keeps what was held."""
    latest = Latest()
    try:
        outcome = call(solve, (asked.problem, profile, asked.start, asked.route), _limits(), latest)
    finally:
        asked.keep(latest.value)
    found: Solution | None = value_of(outcome)
    return _ended(asked, outcome) if found is None else found


def _limits() -> Limits:
    """The limits in force, with the memory that there is where none is set: the kernel would kill what takes more."""
    limits = in_force() or Limits()
    return limits if limits.memory_mb is not None else replace(limits, memory_mb=available_mb())


def _ended(asked: Call[Any], outcome: Outcome) -> Solution:
    """The solution where the process was killed or crashed: what it handed over is held, and the start."""
    message = f"{outcome.status}: {outcome.message}"
    unanswered = Termination.ERROR if outcome.status is Status.CRASHED else None
    return asked.solution(*(asked.rescued or (None, ())), _LIMITS.get(outcome.status), message, unanswered=unanswered)


def end_reason(solution: Solution) -> str | None:
    """How the process of its own ended in which there was to be a solution; None where it gave one, or there was none.

    Examples
    --------
    >>> import optsched
    >>> from optsched.processes import Limits, contained
    >>> with contained(Limits(seconds=0.001)):
    ...     print(end_reason(optsched.solve(optsched.problem("lsap", "papers/guo-fig2"))))
    timed-out: killed after 0.001 s
    """
    ends = tuple(f"{status}: " for status in (*_LIMITS, Status.CRASHED))
    return solution.raw_status if solution.raw_status.startswith(ends) else None


def contained_frontier(problem: AnyProblem, profile: Profile, route: str, find: Callable[[Any], Frontier]) -> Frontier:
    """The frontier that `find` finds in a process of its own; where that is killed at a limit, the points so far.

    RunFailed if its process crashed.
    """
    latest = Latest()
    what = f"{problem.place}: finding the frontier"
    return _finished(
        find, (problem, profile, route), what, latest, lambda limit: cut_short(problem, latest.values, limit)
    )


def _finished(function: Callable[[Any], F], job: Any, what: str, latest: Latest, cut: Callable[[Limit], F]) -> F:
    """What a process of its own finds, or what is left of it where it is stopped; RunFailed where it crashed."""
    try:
        outcome = call(function, job, _limits(), latest)
    except STOPPED as error:
        return cut(stopped(error)[0])
    found: F | None = value_of(outcome)
    if found is not None:
        return found
    if outcome.status is Status.CRASHED:
        raise RunFailed(f"{what} crashed: {outcome.message}")
    return cut(_LIMITS[outcome.status])
