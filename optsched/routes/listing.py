"""The routes of a problem by name, and the sizes of what they build, estimated before anything is built.

Loops of this package check the deadline, and so does HiGHS between its steps. Three things cannot: the building of a
model, a single step of a solver on a large program, and a call of a library (SciPy, networkx). `may_overrun` estimates
their time from known sizes: it builds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from optsched.core.errors import UsageError, described, nearest
from optsched.core.network import FlowNetwork
from optsched.core.problem_record import imported
from optsched.core.processes.limits import refuse_beyond
from optsched.core.registry import record_of
from optsched.problems import AnyProblem
from optsched.problems.base import expect_problem
from optsched.solvers.networks import bytes_an_arc

if TYPE_CHECKING:
    from optsched.models.base import ModelSize

#: Routes that use a declarative model.
MODELS = ("pyomo", "pulp")

#: Routes of a problem whose record names none (its models, and `brute-force`); and the route that all problems have.
OF_ALL = "optsched.routes.base"


def module_of(problem: AnyProblem) -> ModuleType:
    """The module that solves a problem. Without its own routes: `base`, which has its models and enumeration."""
    return import_module(record_of(type(problem)).routes or OF_ALL)


def routes_of(problem: AnyProblem) -> tuple[str, ...]:
    """Names of the routes that solve a problem, the default first."""
    expect_problem(problem, "routes_of")
    module = module_of(problem)
    return _modelled(problem, module.routes(problem) if hasattr(module, "routes") else module.ROUTES)


def _modelled(problem: AnyProblem, routes: tuple[str, ...]) -> tuple[str, ...]:
    """The routes, without those by a model if the problem has no models."""
    without = MODELS if record_of(type(problem)).models is None else ()
    return tuple(route for route in routes if route not in without)


def chosen_route(problem: AnyProblem, route: str | None) -> str:
    """The route that was asked for, or the default; UsageError if there is none of that name.

    A route that cannot pose this instance reports the reason itself.
    """
    known = routes_of(problem)
    if route is not None and route not in _modelled(problem, module_of(problem).ROUTES):
        asked = f'"{route}"' if isinstance(route, str) else described(route)
        why = (
            "" if record_of(type(problem)).routes else ": no record names routes of its class (optsched.core.registry)"
        )
        raise UsageError(f"{problem.name} has no route {asked}{why}; {nearest(route, known)}")
    return known[0] if route is None else route


# Sizes ----------------------------------------------------------------------------------------------------------------


class RouteSize(NamedTuple):
    """The estimated size of what a route builds: variables, constraints, coefficients, and megabytes (MiB)."""

    variables: int
    constraints: int
    terms: int
    megabytes: int

    @classmethod
    def of_network(cls, arcs: int, vertices: int, bytes_an_arc: int) -> RouteSize:
        """The size of a network, whose arcs are variables and whose vertices are constraints."""
        return cls(arcs, vertices, 2 * arcs, round(arcs * bytes_an_arc / 2**20))


#: What the model of each route is called.
KINDS = dict(zip(MODELS, ("compact", "literal"), strict=True))

#: Seconds of HiGHS for each coefficient of a linear program by arrays, as measured (1.15); integers take more.
_BYTES_A_TERM = 200


def route_sizes(problem: AnyProblem) -> dict[str, RouteSize]:
    """The sizes of what routes build, without building it; not of routes that build during their search.

    The figures of `arrays` are those of the compact model. It has as many variables or somewhat more, without Python
    objects. The same figures hold for engines of networks, whose arcs are the variables.

    >>> import optsched
    >>> problem = optsched.problem("min-cost-flow", optsched.generate("min-cost-flow", nodes=1000, arcs=100_000))
    >>> sizes = route_sizes(problem)
    >>> sizes["arrays"].variables, sizes["arrays"].megabytes, sizes["pyomo"].megabytes
    (98876, 57, 240)
    """
    sizes = {
        route: RouteSize(size.variables, size.constraints, size.terms, size.megabytes)
        for route, size in ((model, _size(problem, model, None)) for model in MODELS)
        if size is not None
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


def refuse_beyond_memory(problem: AnyProblem, route: str, limit: Any = None, mend: str | None = None) -> None:
    """Raise TooLarge if the model of a route would take more memory than there is; the message says what to do instead.

    That is the default route, unless `mend` names another one.
    """
    size = _size(problem, route, limit)
    if size is not None:
        if mend is None:
            default = routes_of(problem)[0]
            mend = "take smaller instances" if default == route else f'take route "{default}", the default'
        what = (
            f"{problem.place}: the {KINDS[route]} model would have {size.variables:,} variables, {size.constraints:,} "
            f"constraints and {size.terms:,} coefficients"
        )
        refuse_beyond(size.megabytes * 2**20, what, mend)


def _size(problem: AnyProblem, route: str, limit: Any) -> ModelSize | None:
    """The size of a model (at a `limit`: the second program); None if there is none, or a package does not state it."""
    named = record_of(type(problem)).models
    size = None if named is None else getattr(imported(named), f"{KINDS[route]}_size", None)
    if size is None:
        return None
    found: ModelSize = size(problem) if limit is None else size(problem, limit=limit)
    return found


#: Routes of the same name do the same for all problems. From this many pairs of tasks and nodes on, one may overrun a
#: deadline by half a second: the size of a model may be the square of their number.
_PAIRS = {"pyomo": 500, "pulp": 500, "dense": 500_000}

#: The same by the sum of tasks, nodes, replicas and arcs.
_ENTRIES = {"pyomo": 2_000, "pulp": 2_000, "network-simplex": 2_000}


def may_overrun(problem: AnyProblem, route: str, further: Mapping[str, int]) -> bool:
    """Whether a route may overrun a deadline by half a second or more.

    `problem`, `route`: what is solved, and how. `further`: the problem's own routes, each with the number of pairs of
    tasks and nodes (of a flow network: nodes and arcs) from which on it may (`OVERRUNS` of its module).

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
