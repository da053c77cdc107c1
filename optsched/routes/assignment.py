"""Routes of the assignment problems: network engines and models, all proved by prices."""

from __future__ import annotations

import numpy as np

from optsched.certificates import assignment_certificate
from optsched.core.instance import Ints
from optsched.core.placement import Placement
from optsched.core.results import Certificate, Solution
from optsched.problems.assignment import AssignmentProblem
from optsched.routes.call import Call, Ending, Found
from optsched.routes.listing import MODELS, RouteSize
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.assignment import (
    cheapest_from,
    fill_idle_slots,
    is_tiered,
    near_data,
    prices_of,
    solve_assignment,
)
from optsched.solvers.searches.assignment import sizes as engine_sizes
from optsched.solvers.searches.tabled_assignment import Prices

#: The default first.
ROUTES = ("network", "arrays", "network-simplex", "dense", *MODELS, "brute-force")

#: From this many pairs of tasks and nodes, posing, a step of HiGHS, or compiling may take half a second.
OVERRUNS = {"network": 200_000, "arrays": 200_000}


def routes(problem: AssignmentProblem) -> tuple[str, ...]:
    """All of them, without `dense` if a task's cost depends on how many tasks of its pool are placed."""
    return tuple(route for route in ROUTES if route != "dense" or not is_tiered(problem))


def sizes(problem: AssignmentProblem) -> dict[str, RouteSize]:
    """The sizes of the arrays that engines build: the compact network, a matching's pairs, or tasks and slots."""
    return {name: RouteSize.of_network(arcs, ends, each) for name, arcs, ends, each in engine_sizes(problem)}


def by_route(call: Call[AssignmentProblem], profile: Profile) -> Solution:
    """Solve by an engine or a model. Prices prove the answer: the engine's own, or those of shortest paths."""
    problem = call.problem
    placement, certificate = None, None
    found: Ending = Found()
    with call.until_stopped():
        nodes, prices, found = _solved(call, profile)
        if nodes is not None:
            placement = problem.placement(nodes)
            certificate = _proof(call, placement, prices)
            if certificate is None and call.route not in MODELS:
                placement = problem.placement(cheapest_from(problem, nodes))
                certificate = _proof(call, placement, None)
    if certificate is None:
        held, (certificate,) = plain(problem)
        placement = placement or held
    return call.answered(placement, (certificate,), found)


def _solved(call: Call[AssignmentProblem], profile: Profile) -> tuple[Ints | None, Prices | None, Ending]:
    """The nodes and prices that the route's engine or model holds, and how it ended."""
    if call.route not in MODELS:
        engine = solve_assignment(call.problem, profile, call.route)
        return engine.nodes, engine.prices, engine
    found = call.by_model(profile)
    return None if found.decision is None else call.problem.nodes_of(found.decision), None, found


def _proof(call: Call[AssignmentProblem], placement: Placement, prices: Prices | None) -> Certificate | None:
    """The dual certificate of an optimal placement: by the engine's prices if they close it, else by shortest paths.

    None if the placement is not optimal.
    """
    problem = call.problem
    if prices is not None:
        certificate = assignment_certificate(problem, *prices)
        if (certificate.claim,) == call.worth(placement):
            return certificate
    prices = prices_of(problem, placement)
    return None if prices is None else assignment_certificate(problem, *prices)


def plain(problem: AssignmentProblem) -> tuple[Placement, tuple[Certificate]]:
    """Tasks near their data first, then on the first slots, and the bound with every slot free."""
    nodes = near_data(problem)
    fill_idle_slots(nodes, problem.capacity, problem.count)
    free = np.zeros_like(problem.capacity)
    pools = np.array([pool.tiers[0][0] for pool in problem.pools], dtype=np.int64)
    task = 0
    if problem.count:
        task = int(np.sort(pools[problem.pool] + problem.cheapest_units(free))[problem.count - 1])
    return problem.placement(nodes), (assignment_certificate(problem, task, free, pools),)
