"""`min-cost-flow` by HiGHS on arrays: a linear program whose vertices are integral and whose duals are potentials."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optsched.core.errors import SolverDisagreement
from optsched.core.instance import Ints
from optsched.core.network import UNBOUNDED, FlowNetwork
from optsched.core.placement import NetworkFlow
from optsched.core.results import Termination
from optsched.problems.min_cost_flow import MinCostFlow
from optsched.solvers.answers import SolverOutcome, whole_numbers, whole_prices
from optsched.solvers.highs import solve_arrays
from optsched.solvers.networks import FlowStatus, cheapened, min_cost_flow, residual_potentials, simplex_compiled
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.program_tree import as_arrays

#: With more arcs, the network simplex of networkx takes seconds.
_MOST_ARCS = 2000


def by_arrays(problem: MinCostFlow, profile: Profile) -> tuple[SolverOutcome, NetworkFlow | None, Ints | None]:
    """Solve the linear program; returns HiGHS's claims, its flow, and its duals as whole potentials.

    SolverDisagreement if HiGHS's flow is not whole: numbers near 2^53 are beyond its tolerances.
    """
    posed = problem.program()
    found = solve_arrays(as_arrays(posed.numbers, integer=False), profile)
    if found.x is None:
        return found.outcome, None, None
    potentials = None if found.row_duals is None else whole_prices(-found.row_duals)
    return found.outcome, whole_flow(problem, problem.decision_of(whole_numbers(found.x), posed).units), potentials


def whole_flow(problem: MinCostFlow, units: Ints) -> NetworkFlow:
    """The flow of a solver, checked. SolverDisagreement if it is not a feasible flow."""
    flow = NetworkFlow(units)
    wrong = problem.violations(flow)
    if wrong:
        hint = 'numbers near 2^53 are beyond its tolerances, use route "network-simplex"'
        raise SolverDisagreement(f"{problem.name}: the solver holds a flow that violates {wrong[0]}; {hint}")
    return flow


def in_integers(problem: MinCostFlow, engine: str) -> tuple[SolverOutcome, NetworkFlow | None, Ints | None]:
    """Solve by an engine that computes in integers; returns how it ended, the flow, and the potentials that prove it.

    `engine` is `cost-scaling`, which passes on what int64 has no room for, or `network-simplex`.
    """
    network = problem.instance
    found = min_cost_flow(*_columns(network), network.supply, scaling=engine == "cost-scaling")
    status = Termination.ERROR if found.status is FlowStatus.UNBOUNDED else Termination(found.status)
    outcome = SolverOutcome(status, None, None, None, found.status.lower(), 0.0, None, found.solver)
    return outcome, None if found.flow is None else NetworkFlow(found.flow), found.potential


def feasible_flow(problem: MinCostFlow) -> NetworkFlow | None:
    """A feasible flow at any cost; None if there is none, or the network is too large to ask quickly."""
    network = problem.instance
    if not 0 < network.arcs <= _MOST_ARCS or problem.plainly_infeasible is not None:
        return None
    return in_integers(MinCostFlow(replace(network, cost=np.zeros_like(network.cost))), "network-simplex")[1]


def potentials_of(problem: MinCostFlow, flow: NetworkFlow) -> Ints | None:
    """Potentials that prove a flow to be of least cost; None if it is not."""
    network = problem.instance
    return residual_potentials(*_columns(network), flow.units, len(network))


def cheapest_of(problem: MinCostFlow, flow: NetworkFlow) -> NetworkFlow:
    """A flow of least cost from one that is nearly so; the problem must have no negative cycle without a limit."""
    network = problem.instance
    return NetworkFlow(cheapened(*_columns(network), flow.units, len(network)))


def cut_potentials(problem: MinCostFlow, profile: Profile) -> Ints | None:
    """Potentials that prove that there is no flow: those of the fewest units that must go outside the network.

    They prove it if there is none (`certificates.no_flow_certificate` checks), unless numbers are beyond the tolerances
    of HiGHS, which is used if engines in integers would take long.
    """
    network, nodes = problem.instance, len(problem.instance)
    hub, inner = np.full(nodes, nodes), np.arange(nodes)
    limits, once = np.full(2 * nodes, UNBOUNDED), np.repeat([1, 0], nodes)
    widened = FlowNetwork(
        np.arange(nodes + 1).astype(np.str_),
        np.concatenate([network.tail, inner, hub]),
        np.concatenate([network.head, hub, inner]),
        np.append(network.lower, 0 * once),
        np.append(network.capacity, limits),
        np.append(0 * network.cost, once),
        np.append(network.supply, 0),
    )
    posed = MinCostFlow(widened)
    if widened.arcs > _MOST_ARCS and not simplex_compiled(widened.arcs):
        potentials = by_arrays(posed, profile)[2]
    else:
        potentials = in_integers(posed, "cost-scaling" if widened.arcs > _MOST_ARCS else "network-simplex")[2]
    return None if potentials is None else potentials[:nodes] - potentials[nodes]


def _columns(network: FlowNetwork) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    return network.tail, network.head, network.lower, network.capacity, network.cost
