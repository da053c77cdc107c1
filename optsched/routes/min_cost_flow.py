"""Routes of `min-cost-flow`: linear program, network simplex or a model, all proved by potentials."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from optsched import models
from optsched.certificates import potential_certificate
from optsched.errors import SolverDisagreement
from optsched.instance import Ints
from optsched.placement import Flow
from optsched.problems import MinCostFlow
from optsched.results import Solution, Termination
from optsched.routes.record import MODELS, Record, check_claim, decoded, solver_of
from optsched.searches.min_cost_flow import by_arrays, by_network_simplex, potentials_of
from optsched.solvers.outcome import INTERRUPTED, STOPPED, SolverOutcome, stopped
from optsched.solvers.profiles import Profile

__all__ = ["ROUTES", "by_route"]

#: The default first.
ROUTES = ("arrays", "network-simplex", *MODELS)

UNBOUNDED = "unbounded: a cycle of negative cost has no limit"

#: How many arcs of the cycle the status names.
_ARCS_TOLD = 10


def by_route(record: Record, profile: Profile) -> Solution:
    """A flow by an engine or a model. Potentials prove it: the engine's own, or those of its residual network."""
    problem = record.problem
    assert isinstance(problem, MinCostFlow)
    network, potentials = problem.instance, None
    if (told := problem.plainly_infeasible) is not None:
        return record.solution(None, (), None, told, {}, unanswered=Termination.INFEASIBLE)
    if not network.arcs:
        nothing = potential_certificate(problem, np.zeros(len(network), dtype=np.int64))
        return record.solution(Flow(network.lower), (nothing,) if nothing else (), None, "no arc to decide on", {})
    if problem.unlimited_cycle:
        return _unbounded(record, problem, profile)
    outcome, flow, built = INTERRUPTED, None, 0.0
    try:
        outcome, flow, potentials, built = _found(record, problem, profile)
        if flow is not None and outcome.status is Termination.OPTIMAL:
            value = problem.evaluate(flow)[0]
            check_claim(problem, outcome.objective, value)
            if potentials is None or problem.potential_bound(potentials) != value:
                potentials = potentials_of(problem, flow)
    except STOPPED as error:
        limit, told = stopped(error)
        outcome = replace(outcome, limit=limit, raw_status=told)
    if outcome.status in (Termination.INFEASIBLE, Termination.ERROR):
        raw = outcome.raw_status
        if "unbounded" in raw.lower() and "infeasible" not in raw.lower():
            raise SolverDisagreement(f'{problem.name}: the solver says "{raw}", but every negative cycle has a limit')
        return record.solution(None, (), None, raw, outcome.solver, built, unanswered=outcome.status)
    if potentials is None:
        potentials = np.zeros(len(network), dtype=np.int64)
    certificate = potential_certificate(problem, potentials)
    certificates = () if certificate is None else (certificate,)
    return record.solution(flow, certificates, outcome.limit, outcome.raw_status, outcome.solver, built)


def _unbounded(record: Record, problem: MinCostFlow, profile: Profile) -> Solution:
    """Whether a flow is feasible at all, where a cycle of negative cost has no limit. If so, no cost is the least.

    The route looks for a flow without costs, since some engines never end on such a cycle.
    """
    network = problem.instance
    free = MinCostFlow(replace(network, cost=np.zeros_like(network.cost)))
    try:
        outcome, flow, _, built = _found(record, free, profile)
    except STOPPED as error:
        limit, told = stopped(error)
        outcome, flow, built = replace(INTERRUPTED, limit=limit, raw_status=told), None, 0.0
    if flow is None:
        raw, solver, unanswered = outcome.raw_status, outcome.solver, None
        if outcome.status in (Termination.INFEASIBLE, Termination.ERROR):
            unanswered = outcome.status
        return record.solution(None, (), outcome.limit, raw, solver, built, unanswered)
    arcs = network.arc_ids[list(problem.unlimited_cycle[:_ARCS_TOLD])].tolist()
    told = f"{UNBOUNDED} (arcs {', '.join(arcs)}{', ...' if len(problem.unlimited_cycle) > _ARCS_TOLD else ''})"
    return record.solution(flow, (), None, told, outcome.solver, built, unanswered=Termination.ERROR)


def _found(
    record: Record, problem: MinCostFlow, profile: Profile
) -> tuple[SolverOutcome, Flow | None, Ints | None, float]:
    """What the route's engine or model says, the flow and potentials that it holds, and the seconds of building."""
    if record.route == "arrays":
        return *by_arrays(problem, profile), 0.0
    if record.route == "network-simplex":
        status, flow, potentials = by_network_simplex(problem)
        solver = {"name": "networkx network_simplex"}
        outcome = SolverOutcome(Termination(status), None, None, None, str(status).lower(), 0.0, None, solver)
        return outcome, flow, potentials, 0.0
    module = models.module(problem.name)
    model = module.build_pyomo(problem) if record.route == "pyomo" else module.build_pulp(problem)
    built = time.perf_counter() - record.began
    outcome = solver_of(record.route)(model, profile)
    return outcome, None if outcome.objective is None else decoded(module, model, problem), None, built
