"""Solves in a process of its own, where limits are in force or a step may overrun one.

Loops of this package look at the deadline, and so does HiGHS between its steps. What cannot is the building of a model,
a single step of a solver on a large program, and a call of a library (SciPy, networkx). `may_overrun`
estimates their time from known sizes: it builds nothing, and no process is started where they are small.

If the process is killed or crashes, the solution says so and has the incumbent of that time: the process hands over
each incumbent when it finds it, and its value is evaluated here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from optsched.core.network import FlowNetwork
from optsched.core.results import Limit, Solution, Termination
from optsched.problems import AnyProblem
from optsched.processes.containing import RunFailed, call, in_force, value_of
from optsched.processes.handing import Latest
from optsched.processes.limits import Limits, Outcome, Status, available_mb
from optsched.routes.base import Frontier, cut_short
from optsched.routes.call import Call
from optsched.solvers.outcome import STOPPED, stopped
from optsched.solvers.profiles import Profile

__all__ = ["contained_frontier", "may_overrun", "solved", "end_reason"]

F = TypeVar("F")

#: What cut a search short, by how its process ended.
_LIMITS = {Status.TIMED_OUT: Limit.TIME, Status.OUT_OF_MEMORY: Limit.MEMORY}


#: Routes of the same name do the same for all problems. From this many pairs of tasks and nodes on one may overrun a
#: deadline by half a second: what a model has may be the square of their number.
_PAIRS = {"pyomo": 500, "pulp": 500, "dense": 500_000}

#: The same by the sum of tasks, nodes, replicas and arcs.
_ENTRIES = {"pyomo": 2_000, "pulp": 2_000, "network-simplex": 2_000}


def may_overrun(problem: AnyProblem, route: str, further: Mapping[str, int]) -> bool:
    """Whether a route may overrun a deadline by half a second or more.

    Parameters
    ----------
    problem, route
        What is solved, and how.
    further
        Routes of the problem's own, with how many pairs of tasks and nodes (of a flow network: nodes and arcs) it
        takes (`OVERRUNS` of its module).

    Examples
    --------
    >>> import optsched
    >>> small = optsched.problem("lsap", "papers/guo-fig2")
    >>> large = optsched.problem("lsap", optsched.generate("lsap", nodes=500, tasks=500))
    >>> [may_overrun(problem, "pulp", {}) for problem in (small, large)], may_overrun(large, "network", {})
    ([False, True], False)
    """
    noun: Any = problem.instance
    if isinstance(noun, FlowNetwork):
        pairs = entries = len(noun) + noun.arcs
    else:
        tasks, nodes = len(problem.tasks), len(noun.cluster.node_ids)  # type: ignore[attr-defined]
        pairs, entries = tasks * nodes, tasks + nodes + len(noun.workload.replicas.values)
    if pairs >= {**_PAIRS, **further}.get(route, pairs + 1):
        return True
    return entries >= _ENTRIES.get(route, entries + 1)


def solved(asked: Call[Any], profile: Profile) -> Solution:
    """The solution of a call of `solve`; where it is stopped, the call keeps what was held."""
    latest = Latest()
    try:
        outcome = call(_solve, (asked.problem, profile, asked.start, asked.route), _limits(), latest)
    finally:
        asked.keep(latest.value)
    found: Solution | None = value_of(outcome)
    return _ended(asked, outcome) if found is None else found


def _limits() -> Limits:
    """The limits in force, with the memory that there is where none is set: the kernel would kill what takes more."""
    limits = in_force() or Limits()
    return limits if limits.memory_mb is not None else replace(limits, memory_mb=available_mb())


def _solve(job: tuple[AnyProblem, Profile, Any, str]) -> Solution:
    from optsched.routes import solve

    problem, profile, start, route = job
    return solve(problem, profile, start, route)


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


def contained_frontier(problem: AnyProblem, profile: Profile, route: str) -> Frontier:
    """The frontier that `frontier` finds; where its process was killed at a limit, the points that there were.

    Raises
    ------
    RunFailed
        If its process crashed.
    """
    latest = Latest()
    what = f"{problem.place}: finding the frontier"
    return _finished(
        _frontier, (problem, profile, route), what, latest, lambda limit: cut_short(problem, latest.values, limit)
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


def _frontier(job: tuple[AnyProblem, Profile, str]) -> Frontier:
    from optsched.routes import frontier

    problem, profile, route = job
    return frontier(problem, profile, route=route)
