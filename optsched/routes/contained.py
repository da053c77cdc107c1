"""What routes take, estimated before they begin; models that exceed the memory; solves in a process of its own.

Loops of this package look at the deadline, and so does HiGHS between its steps. What cannot is the building of a model,
a single step of a solver on a large program, and a call of a library (SciPy, networkx). `may_overrun`
estimates their time from known sizes: it builds nothing, and no process is started where they are small.

If the process is killed or crashes, the solution says so and has the incumbent of that time: the process hands over
each incumbent when it finds it, and its value is evaluated here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from optsched.core.network import FlowNetwork
from optsched.core.registry import imported, record_of
from optsched.core.results import Limit, Solution, Termination
from optsched.problems import AnyProblem
from optsched.processes.containing import RunFailed, call, in_force, value_of
from optsched.processes.handing import Latest
from optsched.processes.limits import Limits, Outcome, Status, available_mb, refuse_beyond
from optsched.routes.base import MODELS, Frontier, RouteSize, cut_short
from optsched.routes.call import Call
from optsched.solvers.answers import STOPPED, stopped
from optsched.solvers.networks import bytes_an_arc
from optsched.solvers.profiles import Profile

if TYPE_CHECKING:
    from optsched.models.base import ModelSize

__all__ = [
    "KINDS",
    "contained_frontier",
    "end_reason",
    "may_overrun",
    "model_sizes",
    "refuse_beyond_memory",
    "route_sizes",
    "solved",
]

# Sizes ----------------------------------------------------------------------------------------------------------------


#: What the model of each route is called.
KINDS = dict(zip(MODELS, ("compact", "literal"), strict=True))

#: What HiGHS was measured to take for each coefficient of a linear program by arrays (1.15); of integers it takes more.
_BYTES_A_TERM = 200


def route_sizes(problem: AnyProblem) -> dict[str, RouteSize]:
    """The sizes of what routes build, without building it; not of those that build as they search.

    The figures of `arrays` are those of the compact model, which has as many variables or somewhat more, without the
    objects of Python; so are those of engines of networks, whose arcs are the variables.

    >>> import optsched
    >>> problem = optsched.problem("min-cost-flow", optsched.generate("min-cost-flow", nodes=1000, arcs=100_000))
    >>> sizes = route_sizes(problem)
    >>> sizes["arrays"].variables, sizes["arrays"].megabytes, sizes["pyomo"].megabytes
    (98876, 57, 240)
    """
    from optsched.routes import routes_of

    sizes = {
        route: RouteSize(size.variables, size.constraints, size.terms, size.megabytes)
        for route, size in model_sizes(problem).items()
    }
    if "pyomo" in sizes:
        compact = sizes["pyomo"]
        sizes["arrays"] = compact._replace(megabytes=round(compact.terms * _BYTES_A_TERM / 2**20))
        arcs = compact.variables
        network = RouteSize.of_network(arcs, compact.constraints, bytes_an_arc(arcs))
        sizes |= {"cost-scaling": network, "network-simplex": network}
    named = record_of(type(problem)).routes
    own = None if named is None else getattr(import_module(named), "sizes", None)
    sizes |= {} if own is None else own(problem)
    return {route: sizes[route] for route in routes_of(problem) if route in sizes}


def model_sizes(problem: AnyProblem, limit: Any = None) -> dict[str, ModelSize]:
    """The size of each route's model, without building it; empty where the problem has no models.

    `limit` is that of the second program; None: the first one.

    >>> import optsched
    >>> problem = optsched.problem("lsap", optsched.generate("lsap", nodes=1000, tasks=1000))
    >>> sizes = model_sizes(problem)
    >>> sizes["pulp"].variables, sizes["pulp"].megabytes, sizes["pyomo"].variables < 7000
    (1000001, 2432, True)
    """
    sizes = {route: _size(problem, route, limit) for route in MODELS}
    return {route: size for route, size in sizes.items() if size is not None}


def refuse_beyond_memory(problem: AnyProblem, route: str, limit: Any = None, mend: str | None = None) -> None:
    """Raise TooLarge where the model of a route would take more memory than there is; says what to do instead.

    That is the default route, where no other is named in `mend`.
    """
    size = _size(problem, route, limit)
    if size is not None:
        if mend is None:
            from optsched.routes import routes_of

            default = routes_of(problem)[0]
            mend = "take smaller instances" if default == route else f'take route "{default}", the default'
        what = (
            f"{problem.place}: the {KINDS[route]} model would have {size.variables:,} variables, {size.constraints:,} "
            f"constraints and {size.terms:,} coefficients"
        )
        refuse_beyond(size.megabytes * 2**20, what, mend)


def _size(problem: AnyProblem, route: str, limit: Any) -> ModelSize | None:
    """The size of a model; None where there is none, or a package does not say it of its own."""
    named = record_of(type(problem)).models
    size = None if named is None else getattr(imported(named), f"{KINDS[route]}_size", None)
    if size is None:
        return None
    found: ModelSize = size(problem) if limit is None else size(problem, limit=limit)
    return found


# Processes ------------------------------------------------------------------------------------------------------------


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

    `problem`, `route`: what is solved, and how. `further`: routes of the problem's own, with how many pairs of tasks
    and nodes (of a flow network: nodes and arcs) it takes (`OVERRUNS` of its module).

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

    RunFailed if its process crashed.
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
