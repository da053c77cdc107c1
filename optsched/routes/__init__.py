"""Which engine or model solves a problem, and what is proved when it stops: `solve`, `bounds`, `frontier`.

A route is a way to the optimum: a network engine, the search over limits, a declarative model, or enumeration. If no
route is named, `solve` takes the quickest one that proves its answer. On every route, `problems` evaluates the
objective again from the decision. The bound is what a certificate says, and OPTIMAL means that both are equal. The
registry names the module of routes of a problem. `base` defines its interface; `call` runs models and makes the
solution. A solve that cannot check its deadline runs in a child process. If that process is killed or crashes, the
solution says so and has the last incumbent that it handed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.core.deadline import deadline, remaining
from optsched.core.errors import HeuristicFailed, OptschedError, ProblemFailed, SolverDisagreement, UsageError
from optsched.core.outside import blamed
from optsched.core.placement import NetworkFlow
from optsched.core.processes.containing import RunFailed, in_force, value_of, within_a_call
from optsched.core.processes.containing import call as in_process
from optsched.core.processes.handing import Latest, taking
from optsched.core.processes.limits import Limits, Status, available_mb
from optsched.core.registry import record_of, records
from optsched.core.results import (
    Bound,
    Decision,
    Frontier,
    FrontierPoint,
    Limit,
    Solution,
    Termination,
    digest_of,
)
from optsched.heuristics.running.driver import placement_from
from optsched.problems import AnyProblem, Problem
from optsched.problems.base import expect_problem, stated
from optsched.problems.foreign import contradiction
from optsched.routes.base import frontier_of
from optsched.routes.call import Call, Ended, proved
from optsched.routes.listing import OF_ALL, chosen_route, may_overrun, module_of, routes_of
from optsched.solvers.answers import STOPPED, stopped
from optsched.solvers.profiles import Profile, load_profile

if TYPE_CHECKING:  # lists, so that mypy shows which module lacks which member
    from optsched.routes import (
        assignment,
        base,
        by_program,
        generalized_assignment,
        latency,
        lsap_fairness,
        min_cost_flow,
        schedules,
        traffic,
        transmission,
        transmission_reduces,
        utility,
    )
    from optsched.routes.base import RouteModule
    from optsched.routes.latency import latency_search, solve_by

    _BY_NETWORK: list[RouteModule] = [assignment, lsap_fairness, min_cost_flow]
    _BY_SEARCH: list[RouteModule] = [generalized_assignment, latency, schedules, traffic, transmission, utility]
    _BY_PROGRAM: list[RouteModule] = [base, by_program, transmission_reduces]

__all__ = [
    "Frontier",
    "FrontierPoint",
    "bounds",
    "chosen_route",
    "frontier",
    "has_frontier",
    "latency_search",
    "routes_of",
    "solve",
    "solve_by",
]


def __getattr__(name: str) -> object:
    if name not in ("latency_search", "solve_by"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("optsched.routes.latency"), name)


def solve(
    problem: AnyProblem,
    profile: str | Path | Profile = "exact",
    start: Decision | Sequence[Any] | None = None,
    route: str | None = None,
    time_limit: float | None = None,
) -> Solution:
    """Solve a problem and prove the answer.

    Parameters
    ----------
    problem
        What to solve.
    profile
        Name of a shipped profile, a TOML file, or a profile: limits, gaps and options of the solver.
    start
        A feasible placement or flow to begin from, or a node id or index for each task to place. Integer programs get
        it as a start, and the result is never worse.
    route
        By default the quickest one that proves its answer. `routes_of` names the routes of a problem. Every problem has
        `pyomo` (the compact model) and `pulp` (the literal one), and all but `min-cost-flow` have `brute-force`.
        These are the others, the default first:

        - assignment problems (`lsap`, `fair-lsap`, `flow`, `transmission-maps`): `network`, `arrays`,
          `network-simplex`, `dense`. `network` is a matching if only the number of local tasks counts. If costs are a
          table (of kinds of tasks and nodes), it is a network simplex on the table if that is large and numba is
          installed, or SciPy's assignment unless tasks and slots are many times the kinds and nodes. Else it is the
          compact network: by a network simplex if it is large and numba is installed, or with HiGHS.
          `Solution.solver` names the engine.
        - `lsap-fairness`: `flows` (maximum flows, the smallest step of a group first), `arrays`, `network-simplex`.
        - `worst-group`: `arrays` (limits on the mean).
        - `min-cost-flow`: `arrays`, `cost-scaling`, `network-simplex`. The second is the default if there are many arcs
          and numba is installed.
        - `latency`, `traffic`, `makespan` and `job-times`: `search`, `arrays`.
        - `generalized-assignment`: `search` (assignment to slots if each node only counts its tasks; else a tree, with
          HiGHS if the tree is too large), `arrays`.
        - `transmission`: `search`; `utility`: `thresholds`, `arrays`; the others: `arrays`.

        A problem whose record names no routes has `brute-force`, and `arrays`, `pyomo` and `pulp` if it has a program,
        else the models that the record names. These come first if there are too many placements to try.
    time_limit
        Seconds; overrides the profile's. It is checked between and within solves, and in every loop that may be long.
        Steps that cannot check it for long (building a large model, a large step of a library) run in a child process,
        which is killed a second later. The result is then what it handed over, or a quick answer.

    Returns
    -------
    Solution
        Limits, interrupts (Ctrl-C) and infeasibility are results, not exceptions. So is an unbounded objective
        (`min-cost-flow`): the termination is ERROR, and `raw_status` says why.

    Raises
    ------
    UsageError
        For an unknown route or profile, or an infeasible start.
    TooLarge
        If the route would build more than fits; the message says which route to take instead.
    SolverDisagreement
        If a solver's own figure contradicts the re-evaluated one.
    ProblemFailed
        If the problem's class, models or routes belong to another package and raise.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Latency
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))
    >>> solution = solve(Latency(Instance(Cluster(["s1", "s2"]), workload)))
    >>> solution.objective, str(solution.termination), str(solution.certificate)
    ((1, 2), 'OPTIMAL', 'combinatorial')
    """
    expect_problem(problem, "solve")
    profile = load_profile(profile, time_limit)
    route = chosen_route(problem, route)
    call = Call(problem, route, None if start is None else _start(problem, start))
    plain = stated(problem, "plainly_infeasible", None)
    if plain is not None:
        return call.infeasible(Ended(plain))
    module = import_module(OF_ALL) if route == "brute-force" else module_of(problem)
    with deadline(profile.time_limit), _blaming(problem):
        with call.until_stopped():
            if in_force() is not None or _may_overrun(problem, route):
                return _contained(call, profile)
            call.incumbent.hold_quick_answer()
            with taking(call.incumbent.improve):
                solution: Solution = module.by_route(call, profile)
            default = routes_of(problem)[0]
            if route in (default, "brute-force"):
                return solution
            return proved(call, solution, profile, module, default)
        return call.rescued(Ended())  # it was stopped where no route handles that


@contextmanager
def _blaming(problem: AnyProblem) -> Iterator[None]:
    """Raise ProblemFailed, with the instance, if what an installed package brings raises, or contradicts itself."""
    try:
        yield
    except SolverDisagreement as error:
        raise contradiction(problem, error) from error.__cause__
    except (OptschedError, MemoryError):
        raise
    except Exception as error:
        cause = blamed(error)
        if cause is None:
            raise
        raise ProblemFailed(f"{problem.place}: {cause}") from error


def _may_overrun(problem: AnyProblem, route: str) -> bool:
    """Whether a step of a route may take so long that only killing its process would keep a deadline."""
    if remaining() is None or within_a_call():
        return False
    return may_overrun(problem, route, getattr(module_of(problem), "OVERRUNS", {}))


def _start(problem: AnyProblem, start_from: Decision | Sequence[Any]) -> Decision:
    """The decision to start from. UsageError if the given one is not a decision, or is infeasible."""
    start: Decision
    if isinstance(problem, Problem) and not isinstance(start_from, NetworkFlow):
        try:
            start = placement_from(start_from, problem)
        except HeuristicFailed as error:
            raise UsageError(f"the start {error}") from None
    elif not isinstance(problem, Problem) and isinstance(start_from, problem.decided):
        start = start_from
    else:
        raise UsageError(f"the start of {problem.name} must be a {problem.decided.noun}")
    judged: AnyProblem = problem
    wrong = judged.violations(start)
    if wrong:
        raise UsageError(f"the start is infeasible: {wrong[0]}")
    return start


def bounds(problem: AnyProblem) -> tuple[Bound, ...]:
    """Every bound that is cheap to prove, each with what it bounds.

    In addition to `Problem.cheap_bounds`, `latency` has l_flow: the least limit that a maximum b-matching and counting
    do not rule out (Agosta et al., note 3). `makespan` and `job-times` have job-alone: the same bound for each job on
    the empty cluster, with slots as servers.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Latency
    >>> [bound.name for bound in bounds(Latency(Instance(Cluster(["s1"]), Workload(["t1"]))))]
    ['l*', 'l**', 'l_flow', 'least-work']
    """
    expect_problem(problem, "bounds")
    module = module_of(problem)
    cheap = stated(problem, "cheap_bounds", tuple)
    found: tuple[Bound, ...] = module.bounds(problem) if hasattr(module, "bounds") else cheap()
    return found


def has_frontier(problem: AnyProblem) -> bool:
    """Whether `frontier` finds the Pareto-optimal points of a problem."""
    expect_problem(problem, "has_frontier")
    return record_of(type(problem)).frontier


def frontier(
    problem: AnyProblem,
    profile: str | Path | Profile = "exact",
    time_limit: float | None = None,
    route: str | None = None,
) -> Frontier:
    """All Pareto-optimal points of a problem with two components, each with its proof.

    Raises
    ------
    UsageError
        For an unknown route or profile, if the problem has only one component, or if it has two but no route to their
        frontier (`utility`, `worst-group`).

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Latency
    >>> workload = Workload(list("abcd"), replicas=Ragged.from_rows([[0]] * 4))
    >>> print(frontier(Latency(Instance(Cluster(["s1", "s2"]), workload))))
    latency: makespan, work
      3, 6  combinatorial
      4, 4  combinatorial
    """
    expect_problem(problem, "frontier")
    module = module_of(problem)
    if not has_frontier(problem):
        known = ", ".join(name for name, entry in records().items() if entry.frontier)
        why = "it has one component" if len(problem.components) == 1 else "no route finds it"
        raise UsageError(f"{problem.name} has no frontier: {why}; problems with a frontier: {known}")
    profile = load_profile(profile, time_limit)
    route = chosen_route(problem, route)
    found: Frontier
    try:
        with deadline(profile.time_limit):
            if in_force() is not None or _may_overrun(problem, route):
                found = _contained_frontier(problem, profile, route)
            else:
                found = module.frontier(problem, profile, route)
    except STOPPED as error:  # before there was a point
        found = frontier_of(problem, (), stopped(error)[0])
    return replace(found, parameters=dict(problem.parameters), instance_sha256=digest_of(problem.instance))


# In a process of its own ----------------------------------------------------------------------------------------------


#: The limit that cut a search short, by how its process ended.
_LIMITS = {Status.TIMED_OUT: Limit.TIME, Status.OUT_OF_MEMORY: Limit.MEMORY}


def _contained(call: Call[Any], profile: Profile) -> Solution:
    """The solution of a call by `solve` in a child process; if that is stopped, the call keeps what was handed over.

    The child enters `solve` again, without limits in force, and `_may_overrun` says no there.
    """
    latest = Latest()
    try:
        outcome = in_process(_solve, (call.problem, profile, call.start, call.route), _limits(), latest)
    finally:
        call.incumbent.keep(latest.value)
    found: Solution | None = value_of(outcome)
    if found is not None:
        return found
    message = f"{outcome.status}: {outcome.message}"
    unanswered = Termination.ERROR if outcome.status is Status.CRASHED else None
    return call.rescued(Ended(message, _LIMITS.get(outcome.status)), unanswered)


def _contained_frontier(problem: AnyProblem, profile: Profile, route: str) -> Frontier:
    """The frontier from a child process; if that is killed at a limit, the points so far. RunFailed if it crashed."""
    latest = Latest()
    try:
        outcome = in_process(_frontier, (problem, profile, route), _limits(), latest)
    except STOPPED as error:
        return frontier_of(problem, latest.values, stopped(error)[0])
    found: Frontier | None = value_of(outcome)
    if found is None and outcome.status is Status.CRASHED:
        raise RunFailed(f"{problem.place}: finding the frontier crashed: {outcome.message}")
    return frontier_of(problem, latest.values, _LIMITS[outcome.status]) if found is None else found


def _solve(job: tuple[AnyProblem, Profile, Any, str]) -> Solution:
    """What the child process does for `solve`."""
    problem, profile, start, route = job
    return solve(problem, profile, start, route)


def _frontier(job: tuple[AnyProblem, Profile, str]) -> Frontier:
    """What the child process does for `frontier`."""
    problem, profile, route = job
    return frontier(problem, profile, route=route)


def _limits() -> Limits:
    """The limits in force. Without a memory limit, all free memory: the kernel would kill a process that takes more."""
    limits = in_force() or Limits()
    return limits if limits.memory_mb is not None else replace(limits, memory_mb=available_mb())


def end_reason(solution: Solution) -> str | None:
    """How the child process that should give a solution ended; None if it gave one, or there was no such process.

    >>> import optsched
    >>> from optsched.core.processes import Limits, contained
    >>> with contained(Limits(seconds=0.001)):
    ...     print(end_reason(optsched.solve(optsched.problem("lsap", "papers/guo-fig2"))))
    timed-out: killed after 0.001 s
    """
    ends = tuple(f"{status}: " for status in (*_LIMITS, Status.CRASHED))
    return solution.raw_status if solution.raw_status.startswith(ends) else None
