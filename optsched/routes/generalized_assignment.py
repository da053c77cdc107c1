"""Routes of `generalized-assignment`: the integer program by arrays or a model, and prices of the capacities."""

from __future__ import annotations

import time

import numpy as np
import scipy

from optsched import models
from optsched.certificates import capacity_certificate
from optsched.placement import Placement
from optsched.problems import GeneralizedAssignment
from optsched.problems.base import exact
from optsched.results import Certificate, Proof, Solution, Termination
from optsched.routes.record import MODELS, Record, by_enumeration, check_claim, decoded, solver_of, whole_bound
from optsched.searches.generalized_assignment import (
    Assigned,
    capacity_prices,
    plain_assignment,
    solve_integer_program,
)
from optsched.solvers.outcome import STOPPED, stopped
from optsched.solvers.profiles import Profile

__all__ = ["ROUTES", "by_route"]

#: The default first.
ROUTES = ("network", "arrays", *MODELS, "brute-force")


def by_route(record: Record, profile: Profile) -> Solution:
    """The integer program by arrays or a model; its proof is by prices of the capacities, or the solver's word.

    Route `network` solves plain assignment as such, and all else as `arrays` does. Prices are looked for first, within
    the same time limit. They are the proof if their bound, rounded, equals the optimum.
    """
    if record.route == "brute-force":
        return by_enumeration(record)
    problem = record.problem
    assert isinstance(problem, GeneralizedAssignment)
    if (told := problem.plainly_infeasible) is not None:
        return record.solution(None, (), None, told, {}, unanswered=Termination.INFEASIBLE)
    if not len(problem.tasks):
        nothing = capacity_certificate(problem, np.zeros_like(problem.capacity), 1)
        return record.solution(problem.placement([]), (nothing,), None, "nothing to place", {})
    try:
        found = plain_assignment(problem) if record.route == "network" else None
        prices = capacity_prices(problem, profile) if found is None else found.prices
    except STOPPED as error:
        plain = capacity_certificate(problem, np.zeros_like(problem.capacity), 1)
        return record.solution(None, (plain,), *stopped(error), {})
    if found is not None:
        return _by_assignment(record, problem, found)
    assert prices is not None
    priced = capacity_certificate(problem, *prices)
    placement: Placement | None
    if record.route not in MODELS:
        built = time.perf_counter() - record.began
        outcome, placement = solve_integer_program(problem, profile.since(record.began), record.start)
        claimed = None if outcome.bound is None else problem.sign * outcome.bound
        figure = None if outcome.objective is None else problem.sign * outcome.objective / problem.grid
    else:
        module = models.module(problem.name)
        model = module.build_pyomo(problem) if record.route == "pyomo" else module.build_pulp(problem)
        built = time.perf_counter() - record.began
        outcome = solver_of(record.route)(model, profile.since(record.began))
        placement = None if outcome.objective is None else decoded(module, model, problem)
        claimed = None if outcome.bound is None else outcome.bound * problem.grid
        figure = outcome.objective
    if outcome.status is Termination.INFEASIBLE:
        return record.solution(
            None, (), None, outcome.raw_status, outcome.solver, built, unanswered=Termination.INFEASIBLE
        )
    certificate = priced
    if outcome.status is Termination.OPTIMAL and placement is not None:
        value = problem.evaluate(placement)[0]
        check_claim(problem, figure, value)
        if priced.claim != value:
            certificate = Certificate("cost", Proof.SOLVER, value)
    elif claimed is not None:
        word = exact(problem.sign * whole_bound(problem.sign * claimed), problem.grid)
        if problem.sign * word > problem.sign * priced.claim:
            certificate = Certificate("cost", Proof.SOLVER, word)
    return record.solution(placement, (certificate,), outcome.limit, outcome.raw_status, outcome.solver, built)


def _by_assignment(record: Record, problem: GeneralizedAssignment, found: Assigned) -> Solution:
    """The result of plain assignment, proved by prices of the capacities where these amount to its prices of slots."""
    solver = {"name": "SciPy linear_sum_assignment", "version": scipy.__version__}
    if found.nodes is None:
        told = "no assignment of all tasks to slots"
        return record.solution(None, (), None, told, solver, unanswered=Termination.INFEASIBLE)
    placement = problem.placement(found.nodes)
    value = problem.evaluate(placement)[0]
    certificate = Certificate("cost", Proof.SOLVER, value)
    if found.prices is not None:
        priced = capacity_certificate(problem, *found.prices)
        certificate = priced if priced.claim == value else certificate
    return record.solution(placement, (certificate,), None, "optimal", solver)
