"""Declarative models of the problems: compact ones in Pyomo, the papers' literal ones in PuLP.

One module per problem, each with `build_pyomo`, `build_pulp`, `literal_size`, `decode` and `start_values`. `base`,
`programs` and `schedules` have what models share; `export` writes any of them as an LP or MPS file. The model cards in
the top-level folder `models` have the mathematics, with sizes and limits. `optsched.solvers.algebraic` solves models.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from optsched.core.errors import UsageError, expect, nearest
from optsched.core.registry import record, record_of, records

if TYPE_CHECKING:  # lists, so that mypy shows which module lacks which member
    from optsched.models import (
        fair_lsap,
        flow,
        flow_congestion,
        generalized_assignment,
        job_times,
        latency,
        lsap,
        lsap_fairness,
        makespan,
        min_cost_flow,
        traffic,
        transmission,
        transmission_maps,
        transmission_reduces,
        utility,
        worst_group,
    )
    from optsched.models.base import LimitedModelModule, ModelModule

    _OF_COSTS: list[ModelModule] = [fair_lsap, flow, flow_congestion, generalized_assignment, lsap, min_cost_flow]
    _OF_SHUFFLES: list[ModelModule] = [transmission, transmission_maps, transmission_reduces]
    _OVER_TIME: list[ModelModule] = [job_times, makespan]
    _LIMITED: list[LimitedModelModule] = [latency, lsap_fairness, traffic, utility, worst_group]

__all__ = ["module", "names"]


def names() -> tuple[str, ...]:
    """The problems that have models, in the order in which they are listed."""
    return tuple(name for name, entry in records().items() if entry.models or record_of(entry.problem_class).models)


def module(problem: str) -> ModuleType:
    """The module that models a problem; imported only now, since Pyomo and PuLP take a while to load.

    Raises
    ------
    UsageError
        If no problem with models has this name; the message has the nearest one.

    Examples
    --------
    >>> module("fair-lsap").__name__
    'optsched.models.fair_lsap'
    """
    expect(problem, str, "module takes the name of a problem")
    found = record_of(record(problem).problem_class).models if problem in records() else None
    if found is None:
        raise UsageError(f'there is no model of "{problem}"; {nearest(problem, names())}')
    return import_module(found)
