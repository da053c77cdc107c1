"""Models of `min-cost-flow`: a flow through a network at least cost.

The compact model of `build_pyomo` is the program of the problem (`MinCostFlow.program`). It has only what is left to
decide: the flow beyond the lower limit on each arc whose capacity is above that.

=================== ========================================================================================
component           what it is
=================== ========================================================================================
NODES, ARCS         nodes; arcs whose capacity is above their lower limit
cost[a]             of a unit
extra[a]            flow beyond the lower limit
fixed_cost          1: the total cost of the lower limits
conservation[n]     outflow minus inflow of a node is what is left to send
objective           least cost
=================== ========================================================================================

The literal model of `build_pulp` is the textbook's: a variable `flow.a` for each arc between its limits, and a
constraint `node.n` for each node. Both are linear, with integral vertices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pulp

from optsched.core.network import UNBOUNDED
from optsched.core.placement import NetworkFlow
from optsched.models.base import (
    MAX_VARIABLES,
    Entries,
    ModelSize,
    Way,
    int_of,
    linear,
    model_of,
    of_problem,
    refuse_too_large,
    said_by,
)
from optsched.models.programs import decode_program, started_program, whole_pyomo
from optsched.problems.min_cost_flow import MinCostFlow
from optsched.solvers.algebraic import injective_names
from optsched.solvers.searches.min_cost_flow import whole_flow

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]


@model_of(MinCostFlow)
def build_pyomo(problem: MinCostFlow, *, per_pair: bool = False) -> Any:
    """Build the compact model, with continuous variables (parameters as in `ModelModule.build_pyomo`).

    It has a variable for each arc anyway. With `per_pair` they are whole, which your own constraints may need.

    Examples
    --------
    >>> from optsched.core.network import FlowNetwork
    >>> from optsched.solvers.algebraic import solve_pyomo
    >>> from optsched.solvers.profiles import load_profile
    >>> problem = MinCostFlow(
    ...     FlowNetwork(
    ...         ["s", "t"], tail=[0, 0], head=[1, 1], lower=[1, 0], capacity=[1, 9], cost=[2, 5], supply=[3, -3]))
    >>> model = build_pyomo(problem)
    >>> solve_pyomo(model, load_profile("exact")).objective, decode(model, problem).units.tolist()
    (12.0, [1, 2])
    """
    return whole_pyomo(problem.program(), problem.name, integral=not per_pair)


@of_problem(MinCostFlow)
def compact_size(problem: MinCostFlow) -> ModelSize:
    """An upper limit on the size of `build_pyomo`'s model: variables for free arcs, one for lower limits."""
    arcs = len(problem.free)
    return ModelSize(arcs + 1, len(problem.instance.node_ids), 3 * arcs + 1)


@of_problem(MinCostFlow)
def literal_size(problem: MinCostFlow) -> ModelSize:
    """The size of `build_pulp`'s model: a variable for each arc, a constraint for each node."""
    arcs = problem.instance.arcs
    return ModelSize(arcs, len(problem.instance), 3 * arcs)


@model_of(MinCostFlow)
def build_pulp(problem: MinCostFlow, *, max_variables: int = MAX_VARIABLES) -> Any:
    """Build the textbook's program: a variable for each arc, between its limits.

    Its attribute `flow` is a dict from arc id to the variable.

    Examples
    --------
    >>> from optsched.core.network import FlowNetwork
    >>> problem = MinCostFlow(FlowNetwork(["s", "t"], tail=[0], head=[1], capacity=[4], cost=[2], supply=[3, -3]))
    >>> build_pulp(problem).objective
    2*flow._30_ + 0.0
    """
    refuse_too_large(problem, literal_size(problem), max_variables, 'route="network-simplex"')
    network = problem.instance
    model = pulp.LpProblem(problem.name, pulp.LpMinimize)
    limits = [None if most == UNBOUNDED else most for most in network.capacity.tolist()]
    flow = [
        model.add_variable(f"flow.{name}", least, most)
        for name, least, most in zip(
            injective_names(network.arc_ids.tolist()), network.lower.tolist(), limits, strict=True
        )
    ]
    model.setObjective(linear(list(zip(flow, network.cost.tolist(), strict=True))))
    terms: list[list[tuple[Any, int]]] = [[] for _ in range(len(network))]
    for arc, tail, head in zip(flow, network.tail.tolist(), network.head.tolist(), strict=True):
        if tail != head:  # a loop's flow returns to its node
            terms[tail].append((arc, 1))
            terms[head].append((arc, -1))
    names = injective_names(network.node_ids.tolist())
    for name, balance, supply in zip(names, terms, network.supply.tolist(), strict=True):
        model.addConstraint(linear(balance) == supply, f"node.{name}")
    model.flow = dict(zip(network.arc_ids.tolist(), flow, strict=True))
    return model


def _decode_compact(model: Any, problem: MinCostFlow) -> NetworkFlow:
    return whole_flow(problem, decode_program(model, problem).units)


def _decode_literal(model: Any, problem: MinCostFlow) -> NetworkFlow:
    units = [int_of(model.flow[arc]) for arc in problem.instance.arc_ids.tolist()]
    return whole_flow(problem, np.array(units, dtype=np.int64))


def _started_literal(model: Any, problem: MinCostFlow, flow: NetworkFlow) -> Entries:
    units = dict(zip(problem.instance.arc_ids.tolist(), flow.units.tolist(), strict=True))
    return ((variable, units[arc]) for arc, variable in model.flow.items())


#: Numbers near 2^53 are beyond the solver's tolerances: if its solution is no flow, that is a SolverDisagreement.
decode, start_values = said_by(
    MinCostFlow, Way(_decode_compact, started_program), Way(_decode_literal, _started_literal)
)
