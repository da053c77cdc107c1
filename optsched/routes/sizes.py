"""Estimates what routes take before they begin, and refuses models that exceed the memory."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from optsched.core.registry import imported, record_of
from optsched.problems import AnyProblem
from optsched.processes.limits import refuse_beyond
from optsched.routes.base import MODELS, RouteSize
from optsched.solvers.networks import bytes_an_arc

if TYPE_CHECKING:
    from optsched.models.base import ModelSize

__all__ = ["KINDS", "model_sizes", "refuse_beyond_memory", "route_sizes"]

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
