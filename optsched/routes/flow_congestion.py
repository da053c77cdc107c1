"""Routes of `flow-congestion`: the convex flow or the patterns by arrays, or a model, and prices of tasks."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from optsched import models
from optsched.certificates import task_price_certificate
from optsched.deadline import unhurried
from optsched.heuristics.flow_sched import flow_greedy
from optsched.placement import Placement
from optsched.problems import FlowCongestion
from optsched.problems.base import exact
from optsched.results import Certificate, Proof, Solution, Termination
from optsched.routes.record import MODELS, Record, by_enumeration, check_claim, decoded, solver_of, whole_bound
from optsched.searches.flow_congestion import plain_prices, solve_convex_flow, solve_patterns, solve_relaxed
from optsched.solvers.outcome import INTERRUPTED, STOPPED, SolverOutcome, stopped
from optsched.solvers.profiles import Profile

__all__ = ["ROUTES", "by_route"]

#: The default first.
ROUTES = ("arrays", *MODELS, "brute-force")


def by_route(record: Record, profile: Profile) -> Solution:
    """By arrays: the convex flow where the instance is convex; else the relaxed patterns, then whole ones if need be.

    Prices prove the optimum where they close it; else it is the solver's word. A model takes them from the relaxed
    patterns too. Where nothing better is found in time, the placement is that of `flow-greedy`.
    """
    if record.route == "brute-force":
        return by_enumeration(record)
    problem = record.problem
    assert isinstance(problem, FlowCongestion)
    with unhurried():
        start = record.start or flow_greedy(problem, np.random.default_rng())
    if not problem.due:
        nothing = task_price_certificate(problem, np.zeros_like(problem.counts), np.zeros_like(problem.class_type), 1)
        return record.solution(start, (nothing,), None, "nothing to place", {})
    prices, outcome, placement, built = plain_prices(problem), INTERRUPTED, None, 0.0
    try:
        if record.route == "arrays" and problem.convex:
            built = time.perf_counter() - record.began
            outcome, placement, prices = solve_convex_flow(problem, profile.since(record.began))
        else:
            built = time.perf_counter() - record.began
            outcome, placement, prices = solve_relaxed(problem, profile.since(record.began))
            if placement is None or record.route != "arrays":
                outcome, placement, built = _found(record, profile, start)
    except STOPPED as error:
        limit, told = stopped(error)
        outcome = replace(outcome, limit=limit, raw_status=told)
    certificate = task_price_certificate(problem, *prices)
    if outcome.status is Termination.OPTIMAL and placement is not None:
        value = problem.evaluate(placement)[0]
        check_claim(problem, None if outcome.objective is None else outcome.objective / problem.grid, value)
        if certificate.claim != value:
            certificate = Certificate("penalty", Proof.SOLVER, value)
    elif outcome.bound is not None:
        word = exact(whole_bound(outcome.bound), problem.grid)
        if word > certificate.claim:
            certificate = Certificate("penalty", Proof.SOLVER, word)
    return record.solution(placement or start, (certificate,), outcome.limit, outcome.raw_status, outcome.solver, built)


def _found(record: Record, profile: Profile, start: Placement) -> tuple[SolverOutcome, Placement | None, float]:
    """What the program of patterns or a model says, its placement, and the seconds until it was built."""
    problem = record.problem
    assert isinstance(problem, FlowCongestion)
    if record.route == "arrays":
        built = time.perf_counter() - record.began
        return *solve_patterns(problem, profile.since(record.began), start), built
    module = models.module(problem.name)
    model = module.build_pyomo(problem) if record.route == "pyomo" else module.build_pulp(problem)
    built = time.perf_counter() - record.began
    outcome = solver_of(record.route)(model, profile.since(record.began))
    return outcome, None if outcome.objective is None else decoded(module, model, problem), built
