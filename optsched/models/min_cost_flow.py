"""Models of `min-cost-flow`: a flow through a network at least cost.

The compact model of `build_pyomo` has only what is left to decide: the flow beyond the lower limit on each arc whose
capacity is above that.

=================== ========================================================================================
component           what it is
=================== ========================================================================================
NODES, ARCS         nodes; arcs whose capacity is above their lower limit
cost[a]             of a unit
room[a]             capacity less lower limit; arcs without limit have none
supply[n]           what is left to send once every arc flows at its lower limit
extra[a]            flow beyond the lower limit
conservation[n]     what leaves a node less what enters it is its supply
fixed_cost          cost of the lower limits
objective           least cost
=================== ========================================================================================

The literal model of `build_pulp` is the textbook's: a variable `flow.a` for each arc between its limits, and a
constraint `node.n` for each node. Both are linear, with whole vertices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo

from optsched.core.instance import Ints
from optsched.core.network import UNBOUNDED
from optsched.core.placement import NetworkFlow
from optsched.models.base import (
    MAX_VARIABLES,
    ModelSize,
    decoder,
    linear,
    model_of,
    of_problem,
    refuse_too_large,
    whole,
)
from optsched.models.starts import Entries, starter
from optsched.problems.min_cost_flow import MinCostFlow
from optsched.searches.min_cost_flow import whole_flow
from optsched.solvers.algebraic import injective_names

__all__ = ["build_pulp", "build_pyomo", "compact_size", "decode", "literal_size", "start_values"]


@model_of(MinCostFlow)
def build_pyomo(problem: MinCostFlow, *, per_pair: bool = False) -> Any:
    """Build the compact model, with continuous variables (parameters as in `ModelModule.build_pyomo`).

    It has a variable for each arc anyway. With `per_pair` they are whole, which a constraint of your own may ask for.

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
    network = problem.instance
    names, arcs = network.node_ids.tolist(), network.arc_ids.tolist()
    free = _free(problem)
    leaving: list[list[str]] = [[] for _ in names]
    entering: list[list[str]] = [[] for _ in names]
    for arc in free.tolist():
        if network.tail[arc] != network.head[arc]:
            leaving[network.tail[arc]].append(arcs[arc])
            entering[network.head[arc]].append(arcs[arc])
    node_of = {name: node for node, name in enumerate(names)}

    model = pyo.ConcreteModel(problem.name)
    model.NODES = pyo.Set(initialize=names)
    model.ARCS = pyo.Set(initialize=[arcs[arc] for arc in free.tolist()])
    model.cost = pyo.Param(model.ARCS, initialize={arcs[arc]: int(network.cost[arc]) for arc in free}, within=pyo.Reals)
    model.room = pyo.Param(
        model.ARCS,
        initialize={
            arcs[arc]: int(network.capacity[arc] - network.lower[arc])
            for arc in free
            if network.capacity[arc] != UNBOUNDED
        },
        default=None,
        within=pyo.Any,
    )
    model.supply = pyo.Param(
        model.NODES, initialize=dict(zip(names, problem.left_to_send, strict=True)), within=pyo.Reals
    )
    within = pyo.NonNegativeIntegers if per_pair else pyo.NonNegativeReals
    model.extra = pyo.Var(model.ARCS, within=within, bounds=lambda model, arc: (0, model.room[arc]))

    def conservation(model: Any, node: str) -> Any:
        outward, inward = leaving[node_of[node]], entering[node_of[node]]
        if not outward and not inward:
            return pyo.Constraint.Skip
        sent, taken = (pyo.quicksum(model.extra[arc] for arc in side) for side in (outward, inward))
        return sent - taken == model.supply[node]

    model.conservation = pyo.Constraint(model.NODES, rule=conservation)
    fixed = sum(cost * lower for cost, lower in zip(network.cost.tolist(), network.lower.tolist(), strict=True))
    model.fixed_cost = pyo.Param(initialize=fixed, within=pyo.Reals)
    spent = pyo.quicksum(model.cost[arc] * model.extra[arc] for arc in model.ARCS)
    model.objective = pyo.Objective(expr=spent + model.fixed_cost)
    return model


def _free(problem: MinCostFlow) -> Ints:
    """Arcs on which there is something to decide."""
    return np.flatnonzero(problem.instance.capacity > problem.instance.lower).astype(np.int64)


@of_problem(MinCostFlow)
def compact_size(problem: MinCostFlow) -> ModelSize:
    """What `build_pyomo` would take, or less: a variable for each arc on which there is something to decide."""
    arcs = len(_free(problem))
    return ModelSize(arcs, len(problem.instance.node_ids), 3 * arcs)


@of_problem(MinCostFlow)
def literal_size(problem: MinCostFlow) -> ModelSize:
    """What `build_pulp` would take: a variable for each arc, a constraint for each node."""
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
        if tail != head:  # what a loop sends returns to its node
            terms[tail].append((arc, 1))
            terms[head].append((arc, -1))
    names = injective_names(network.node_ids.tolist())
    for name, balance, supply in zip(names, terms, network.supply.tolist(), strict=True):
        model.addConstraint(linear(balance) == supply, f"node.{name}")
    model.flow = dict(zip(network.arc_ids.tolist(), flow, strict=True))
    return model


def _decode_compact(model: Any, problem: MinCostFlow) -> NetworkFlow:
    arcs, units = problem.instance.arc_ids.tolist(), problem.instance.lower.copy()
    for arc in _free(problem).tolist():
        units[arc] += whole(model.extra[arcs[arc]])
    return whole_flow(problem, units)


def _decode_literal(model: Any, problem: MinCostFlow) -> NetworkFlow:
    units = [whole(model.flow[arc]) for arc in problem.instance.arc_ids.tolist()]
    return whole_flow(problem, np.array(units, dtype=np.int64))


def _started_compact(model: Any, problem: MinCostFlow, flow: NetworkFlow) -> Entries:
    beyond = (flow.units - problem.instance.lower).tolist()
    extra = dict(zip(problem.instance.arc_ids.tolist(), beyond, strict=True))
    return ((variable, extra[arc]) for arc, variable in model.extra.items())


def _started_literal(model: Any, problem: MinCostFlow, flow: NetworkFlow) -> Entries:
    units = dict(zip(problem.instance.arc_ids.tolist(), flow.units.tolist(), strict=True))
    return ((variable, units[arc]) for arc, variable in model.flow.items())


#: Numbers near 2^53 are beyond the solver's tolerances: where its solution is no flow, that is a SolverDisagreement.
decode = decoder(MinCostFlow, compact=_decode_compact, literal=_decode_literal, started=_started_compact)
start_values = starter(MinCostFlow, compact=_started_compact, literal=_started_literal)
