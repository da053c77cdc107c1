"""Declarative models of the problems: compact ones in Pyomo, the papers' literal ones in PuLP.

One module a problem, each with `build_pyomo`, `build_pulp`, `literal_size` and `decode`; `assignment` holds what the
three assignment models share, `export` writes any of them as an LP or MPS file. The mathematics, with sizes and limits,
is on the model cards in the top-level folder `models`. Solving is for `optsched.solvers.algebraic`.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from optsched.errors import UsageError, expect, nearest

__all__ = ["MODELS", "module"]

#: Problems that have models, by name.
MODELS = (
    "lsap",
    "fair-lsap",
    "lsap-fairness",
    "flow",
    "flow-congestion",
    "latency",
    "transmission-maps",
    "transmission-reduces",
    "transmission",
    "utility",
    "traffic",
    "generalized-assignment",
    "min-cost-flow",
)


def module(problem: str) -> ModuleType:
    """The module that models a problem; imported only now, since Pyomo and PuLP take a while to load.

    Raises
    ------
    UsageError
        If no model has this name; with the nearest one.

    Examples
    --------
    >>> module("fair-lsap").__name__
    'optsched.models.fair_lsap'
    """
    expect(problem, str, "module takes the name of a problem")
    if problem not in MODELS:
        raise UsageError(f'there is no model of "{problem}"; {nearest(problem, MODELS)}')
    return import_module(f"{__name__}.{problem.replace('-', '_')}")
