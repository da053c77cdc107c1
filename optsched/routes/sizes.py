"""What the models of a problem take, told before they are built, and refused where there is no memory for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optsched.errors import TooLarge
from optsched.problems import AnyProblem
from optsched.processes.memory import available_mb
from optsched.registry import imported, record_of
from optsched.routes.base import MODELS

if TYPE_CHECKING:
    from optsched.models.base import ModelSize

__all__ = ["KINDS", "model_sizes", "refuse_beyond_memory"]

#: What the model of each route is called.
KINDS = dict(zip(MODELS, ("compact", "literal"), strict=True))


def model_sizes(problem: AnyProblem, limit: Any = None) -> dict[str, ModelSize]:
    """What the model of each route takes, without building it; nothing where the problem has no models.

    Parameters
    ----------
    problem
        What would be modelled.
    limit
        Of the second program; None: the first.

    Examples
    --------
    >>> import optsched
    >>> problem = optsched.problem("lsap", optsched.generate("lsap", nodes=1000, tasks=1000))
    >>> sizes = model_sizes(problem)
    >>> sizes["pulp"].variables, sizes["pulp"].megabytes, sizes["pyomo"].variables < 7000
    (1000001, 2432, True)
    """
    sizes = {route: _size(problem, route, limit) for route in MODELS}
    return {route: size for route, size in sizes.items() if size is not None}


def refuse_beyond_memory(problem: AnyProblem, route: str, limit: Any = None) -> None:
    """Raise TooLarge where the model of a route would take more memory than there is; says which route to take."""
    size, left = _size(problem, route, limit), available_mb()
    if size is not None and size.megabytes > left:
        from optsched.routes import routes_of

        default = routes_of(problem)[0]
        mend = "take smaller instances" if default == route else f'take route "{default}", the default'
        raise TooLarge(
            f"{problem.place}: the {KINDS[route]} model would have {size.variables:,} variables, {size.constraints:,} "
            f"constraints and {size.terms:,} coefficients, and take about {size.megabytes:,} MB where there are "
            f"{left:,}; {mend}"
        )


def _size(problem: AnyProblem, route: str, limit: Any) -> ModelSize | None:
    """What a model takes; None where there is none, or a package does not say it of its own."""
    named = record_of(type(problem)).models
    size = None if named is None else getattr(imported(named), f"{KINDS[route]}_size", None)
    if size is None:
        return None
    found: ModelSize = size(problem) if limit is None else size(problem, limit=limit)
    return found
