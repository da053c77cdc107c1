"""Routes of the assignment problems: network engines and models, all proved by prices."""

from __future__ import annotations

import time

import numpy as np

from optsched import models
from optsched.certificates import price_certificate
from optsched.instance import Ints
from optsched.placement import NONE, Placement
from optsched.problems.assignment import AssignmentProblem
from optsched.results import Certificate, Solution, Termination
from optsched.routes.record import MODELS, Record, by_enumeration, check_claim, decoded, solver_of
from optsched.searches.assignment import Prices, fill_idle_slots, prices_of, solve_assignment
from optsched.solvers.outcome import STOPPED, stopped
from optsched.solvers.profiles import Profile

__all__ = ["ROUTES", "by_route"]

#: The default first.
ROUTES = ("network", "arrays", "network-simplex", "dense", *MODELS, "brute-force")


def by_route(record: Record, profile: Profile) -> Solution:
    """Solve by the record's route."""
    if record.route == "brute-force":
        return by_enumeration(record)
    return _by_model(record, profile) if record.route in MODELS else _by_engine(record, profile)


def _by_engine(record: Record, profile: Profile) -> Solution:
    problem = record.problem
    assert isinstance(problem, AssignmentProblem)
    placement, certificate = _fallback(problem)
    try:
        found = solve_assignment(problem, profile, record.route)
        if found.nodes is not None:
            placement = problem.placement(found.nodes)
            certificate = _proof(problem, placement, found.prices)
    except STOPPED as error:
        return record.solution(placement, (certificate,), *stopped(error), {})
    return record.solution(placement, (certificate,), found.limit, found.raw_status, found.solver, found.build_seconds)


def _by_model(record: Record, profile: Profile) -> Solution:
    problem = record.problem
    assert isinstance(problem, AssignmentProblem)
    module = models.module(problem.name)
    placement, certificate = _fallback(problem)
    built = 0.0
    try:
        model = module.build_pyomo(problem) if record.route == "pyomo" else module.build_pulp(problem)
        built = time.perf_counter() - record.began
        outcome = solver_of(record.route)(model, profile)
        if outcome.objective is not None:
            placement = decoded(module, model, problem)
            certificate = _proof(problem, placement, None)
            if outcome.status is Termination.OPTIMAL:
                check_claim(problem, outcome.objective, problem.evaluate(placement)[0])
    except STOPPED as error:
        return record.solution(placement, (certificate,), *stopped(error), {}, built)
    return record.solution(placement, (certificate,), outcome.limit, outcome.raw_status, outcome.solver, built)


def _proof(problem: AssignmentProblem, placement: Placement, prices: Prices | None) -> Certificate:
    """The dual certificate of an optimal placement: by the engine's prices if they close it, else by shortest paths."""
    units = problem.units(placement)
    if prices is None or problem.price_bound(*prices) != units:
        prices = prices_of(problem, placement)
    if prices is None:
        return _fallback(problem)[1]
    return price_certificate(problem, *prices)


def _fallback(problem: AssignmentProblem) -> tuple[Placement, Certificate]:
    """What is held when an engine stops without an answer: the first tasks on the first slots, and a plain bound."""
    nodes: Ints = np.full(len(problem.tasks), NONE, dtype=np.int64)
    fill_idle_slots(nodes, problem.capacity, problem.count)
    free = np.zeros_like(problem.capacity)
    pools = np.array([pool.tiers[0][0] for pool in problem.pools], dtype=np.int64)
    task = 0
    if problem.count:
        task = int(np.sort(pools[problem.pool] + problem.cheapest_units(free))[problem.count - 1])
    return problem.placement(nodes), price_certificate(problem, task, free, pools)
