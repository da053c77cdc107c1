"""Routes of `min-cost-flow`: linear program, cost scaling, network simplex or a model, all proved by potentials."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optsched.certificates import min_cost_flow_certificate, no_flow_certificate
from optsched.core.errors import SolverDisagreement
from optsched.core.instance import Ints
from optsched.core.placement import NetworkFlow
from optsched.core.results import Certificate, Solution, Termination
from optsched.problems import MinCostFlow
from optsched.routes.call import Call, Ended, Found, Held, modelled
from optsched.routes.listing import MODELS
from optsched.solvers.compiled import compiles
from optsched.solvers.networks import simplex_compiled
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.min_cost_flow import by_arrays, cheapest_of, cut_potentials, in_integers, potentials_of

#: The default first.
ROUTES = ("arrays", "cost-scaling", "network-simplex", *MODELS)

#: From this many nodes and arcs, a step of HiGHS, or compiling, may take half a second.
OVERRUNS = {"arrays": 50_000, "cost-scaling": 30_000}

UNBOUNDED = "unbounded: a cycle of negative cost has no limit"

#: From this many arcs, cost scaling takes a third of HiGHS's time; loading numba takes half a second, once.
_SCALED = 16_000

#: With at most this many nodes, few arcs each and no negative costs, the compiled network simplex takes a third to a
#: half of the time of cost scaling. With more nodes, fewer arcs or negative costs it may take far longer.
_SIMPLEX_NODES = 20_000
_SIMPLEX_ARCS_A_NODE = 5

#: How many arcs of the cycle the status names.
_ARCS_TOLD = 10

#: The status of an engine if there is no optimum.
_NO_OPTIMUM = (Termination.INFEASIBLE, Termination.ERROR)


def routes(problem: MinCostFlow) -> tuple[str, ...]:
    """All of them; the engine that was measured as quickest at this size comes first."""
    network = problem.instance
    if network.arcs < _SCALED or not compiles():
        return ROUTES
    dense = len(network) <= _SIMPLEX_NODES and network.arcs >= _SIMPLEX_ARCS_A_NODE * len(network)
    simplex = dense and simplex_compiled(network.arcs) and bool((network.cost >= 0).all())
    first = "network-simplex" if simplex else "cost-scaling"
    return (first, *(route for route in ROUTES if route != first))


def by_route(call: Call[MinCostFlow], profile: Profile) -> Solution:
    """A flow by an engine or a model. Potentials prove it: the engine's own, or those of its residual network."""
    problem, network = call.problem, call.problem.instance
    if not network.arcs:
        nothing = min_cost_flow_certificate(problem, np.zeros(len(network), dtype=np.int64))
        return call.settled(NetworkFlow(network.lower), nothing, status="no arc to decide on")
    if problem.unlimited_cycle:
        return _unbounded(call, profile)
    found, potentials = Found(), None
    cut: tuple[Certificate, ...] = ()
    with call.until_stopped():
        found, potentials = _solved(call, problem, profile)
        cut = _cut(call, found, profile)
        if found.optimal:
            value = problem.evaluate(found.checked(problem).decision)[0]
            if potentials is None or problem.potential_bound(potentials) != value:
                potentials = potentials_of(problem, found.decision)
            if potentials is None and call.route not in MODELS:  # HiGHS is a tolerance off, with costs near 2^53
                found = replace(found, decision=cheapest_of(problem, found.decision))
                potentials = potentials_of(problem, found.decision)
    if found.outcome.status in _NO_OPTIMUM:
        raw = found.raw_status
        if "unbounded" in raw.lower() and "infeasible" not in raw.lower():
            raise SolverDisagreement(f'{problem.name}: the solver says "{raw}", but every negative cycle has a limit')
        return call.answered(None, cut, found, found.outcome.status)
    certificate = None if potentials is None else min_cost_flow_certificate(problem, potentials)
    return call.answered(found.decision, plain(problem)[1] if certificate is None else (certificate,), found)


def plain(problem: MinCostFlow) -> Held:
    """The cost of each arc at its own best limit, if all have one."""
    certificate = min_cost_flow_certificate(problem, np.zeros(len(problem.instance), dtype=np.int64))
    return None, () if certificate is None else (certificate,)


def _unbounded(call: Call[MinCostFlow], profile: Profile) -> Solution:
    """Whether any flow is feasible, if a cycle of negative cost has no limit. If one is, no cost is the least.

    The route looks for a flow without costs, since some engines never end on such a cycle.
    """
    problem, network, found = call.problem, call.problem.instance, Found()
    cut: tuple[Certificate, ...] = ()
    with call.until_stopped():
        found, _ = _solved(call, MinCostFlow(replace(network, cost=np.zeros_like(network.cost))), profile)
        cut = _cut(call, found, profile)
    if found.decision is None:
        unanswered = found.outcome.status if found.outcome.status in _NO_OPTIMUM else None
        return call.answered(None, cut, found, unanswered)
    arcs = network.arc_ids[list(problem.unlimited_cycle[:_ARCS_TOLD])].tolist()
    status = f"{UNBOUNDED} (arcs {', '.join(arcs)}{', ...' if len(problem.unlimited_cycle) > _ARCS_TOLD else ''})"
    ending = Ended(status, solver=found.solver, build_seconds=found.build_seconds)
    return call.answered(found.decision, (), ending, Termination.ERROR)


def _cut(call: Call[MinCostFlow], outcome: Found, profile: Profile) -> tuple[Certificate, ...]:
    """The proof that there is no flow if an engine or a model says so; empty if there is no proof."""
    if outcome.outcome.status is not Termination.INFEASIBLE:
        return ()
    potentials = cut_potentials(call.problem, profile.since(call.began))
    proof = None if potentials is None else no_flow_certificate(call.problem, potentials)
    return () if proof is None else (proof,)


def _solved(call: Call[MinCostFlow], problem: MinCostFlow, profile: Profile) -> tuple[Found, Ints | None]:
    """The answer of the route's engine or model to a problem on the call's network, and its potentials."""
    built = call.elapsed
    if call.route in MODELS:
        found = modelled(problem, call.route, profile.since(call.began))
        return replace(found, build_seconds=built + found.build_seconds), None
    if call.route == "arrays":
        outcome, flow, potentials = by_arrays(problem, profile)
    else:
        outcome, flow, potentials = in_integers(problem, call.route)
    return Found(outcome, flow, build_seconds=built), potentials
