"""Declarative models of the problems: compact ones in Pyomo, the papers' literal ones in PuLP.

One module a problem, each with `build_pyomo`, `build_pulp`, `literal_size` and `decode`; `assignment` holds what the
three assignment models share, `export` writes any of them as an LP or MPS file. The mathematics, with sizes and limits,
is on the model cards in the top-level folder `models`. Solving is for `optsched.solvers.algebraic`.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from optsched.errors import UsageError, expect, nearest
from optsched.registry import records

__all__ = ["module", "names"]


def names() -> tuple[str, ...]:
    """The problems that have models, in the order in which they are listed."""
    return tuple(name for name, entry in records().items() if entry.models is not None)


def module(problem: str) -> ModuleType:
    """The module that models a problem; imported only now, since Pyomo and PuLP take a while to load.

    Raises
    ------
    UsageError
        If no problem with models has this name; with the nearest one.

    Examples
    --------
    >>> module("fair-lsap").__name__
    'optsched.models.fair_lsap'
    """
    expect(problem, str, "module takes the name of a problem")
    found = records()[problem].models if problem in records() else None
    if found is None:
        raise UsageError(f'there is no model of "{problem}"; {nearest(problem, names())}')
    return import_module(found)
