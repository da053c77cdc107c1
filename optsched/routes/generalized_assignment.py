"""Routes of `generalized-assignment`: the integer program by arrays or a model, and prices of the capacities."""

from __future__ import annotations

import numpy as np
import scipy

from optsched.certificates import generalized_assignment_certificate
from optsched.problems import GeneralizedAssignment
from optsched.results import Certificate, Proof, Solution, Termination
from optsched.routes.base import MODELS
from optsched.routes.call import Call, Found, proof_of
from optsched.searches.generalized_assignment import (
    Assigned,
    capacity_prices,
    plain_assignment,
    solve_integer_program,
)
from optsched.solvers.profiles import Profile

__all__ = ["OVERRUNS", "ROUTES", "by_route"]

#: The default first.
ROUTES = ("network", "arrays", *MODELS, "brute-force")

#: From so many pairs of tasks and nodes on a step of HiGHS, or of the posing, may take half a second.
OVERRUNS = {"network": 20_000, "arrays": 20_000}


def by_route(call: Call[GeneralizedAssignment], profile: Profile) -> Solution:
    """The integer program by arrays or a model; its proof is by prices of the capacities, or the solver's word.

    Route `network` solves plain assignment as such, and all else as `arrays` does. Prices are looked for first, within
    the same time limit. They are the proof if their bound, rounded, equals the optimum.
    """
    problem = call.problem
    priced = generalized_assignment_certificate(problem, np.zeros_like(problem.capacity), 1)
    if not len(problem.tasks):
        return call.settled(problem.placement([]), priced)
    found = Found()
    call.hold(lambda: (None, (priced,)))
    with call.until_stopped():
        plain = plain_assignment(problem) if call.route == "network" else None
        if plain is not None:
            return _by_assignment(call, plain)
        priced = generalized_assignment_certificate(problem, *capacity_prices(problem, profile))
        call.hold(lambda: (None, (priced,)))
        found = call.by_model(profile) if call.route in MODELS else _by_arrays(call, profile)
    if found.outcome.status is Termination.INFEASIBLE:
        return call.infeasible(found.raw_status, found.solver, found.build_seconds)
    return call.answered(found.decision, (proof_of(problem, priced, found, problem.grid),), found)


def _by_arrays(call: Call[GeneralizedAssignment], profile: Profile) -> Found:
    """What HiGHS says of the integer program; its figures are in units and to be least."""
    problem, built = call.problem, call.elapsed
    outcome, placement = solve_integer_program(problem, profile.since(call.began), call.start)
    return Found(outcome, placement, units=problem.sign * problem.grid, build_seconds=built).checked(problem)


def _by_assignment(call: Call[GeneralizedAssignment], found: Assigned) -> Solution:
    """The result of plain assignment, proved by prices of the capacities where these amount to its prices of slots."""
    problem = call.problem
    solver = {"name": "SciPy linear_sum_assignment", "version": scipy.__version__}
    if found.nodes is None:
        return call.infeasible("no assignment of all tasks to slots", solver)
    placement = problem.placement(found.nodes)
    value = problem.evaluate(placement)[0]
    certificate = Certificate("cost", Proof.SOLVER, value)
    if found.prices is not None:
        priced = generalized_assignment_certificate(problem, *found.prices)
        certificate = priced if priced.claim == value else certificate
    return call.solution(placement, (certificate,), None, "optimal", solver)
