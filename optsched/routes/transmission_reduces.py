"""Routes of `transmission-reduces`: a network's linear program by arrays or a model, all proved by prices."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from optsched import models
from optsched.certificates.transmission_reduces import reduce_certificate
from optsched.deadline import unhurried
from optsched.heuristics.reduce_rules import first_fit
from optsched.instance import Ints
from optsched.placement import NONE
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.results import Certificate, Solution, Termination
from optsched.routes.record import MODELS, Record, by_enumeration, check_claim, decoded, solver_of
from optsched.searches.transmission_reduces import ReducePrices, by_arrays, prices_of
from optsched.solvers.outcome import INTERRUPTED, STOPPED, SolverOutcome, stopped
from optsched.solvers.profiles import Profile

__all__ = ["ROUTES", "by_route"]

#: The default first.
ROUTES = ("arrays", *MODELS, "brute-force")


def by_route(record: Record, profile: Profile) -> Solution:
    """Solve by the record's route. Where it stops without an answer, each reduce goes where it is cheapest, in turn."""
    if record.route == "brute-force":
        return by_enumeration(record)
    problem = record.problem
    assert isinstance(problem, TransmissionReduces)
    if not problem.count:
        nothing = problem.placement(np.full(len(problem.tasks), NONE))
        return record.solution(nothing, (_plain(problem),), None, "nothing to place", {})
    nodes: Ints | None = None
    certificate, outcome, built = _plain(problem), INTERRUPTED, 0.0
    try:
        outcome, nodes, prices, figure, built = _found(record, profile)
        if nodes is not None:
            certificate = _proof(problem, nodes, prices)
            if outcome.status is Termination.OPTIMAL:
                check_claim(problem, figure, problem.evaluate(problem.placement(nodes))[0])
    except STOPPED as error:
        limit, told = stopped(error)
        outcome = replace(outcome, limit=limit, raw_status=told)
    if nodes is None:
        with unhurried():
            nodes = first_fit(problem.slots, np.arange(len(problem.tasks)), problem.units.astype(np.float64))
    held = problem.placement(nodes)
    return record.solution(held, (certificate,), outcome.limit, outcome.raw_status, outcome.solver, built)


def _found(
    record: Record, profile: Profile
) -> tuple[SolverOutcome, Ints | None, ReducePrices | None, float | None, float]:
    """What the route's engine or model says, its nodes and prices, its own figure, and the seconds of building."""
    problem = record.problem
    assert isinstance(problem, TransmissionReduces)
    if record.route == "arrays":
        built = time.perf_counter() - record.began
        outcome, nodes, prices = by_arrays(problem, profile.since(record.began))
        return outcome, nodes, prices, None if outcome.objective is None else outcome.objective / problem.grid, built
    module = models.module(problem.name)
    model = module.build_pyomo(problem) if record.route == "pyomo" else module.build_pulp(problem)
    built = time.perf_counter() - record.began
    outcome = solver_of(record.route)(model, profile.since(record.began))
    nodes = None if outcome.objective is None else problem.nodes_of(decoded(module, model, problem))
    return outcome, nodes, None, outcome.objective, built


def _proof(problem: TransmissionReduces, nodes: Ints, prices: ReducePrices | None) -> Certificate:
    """The dual certificate of an optimal placement: by the engine's prices if they close it, else by shortest paths."""
    units = problem.cost_units(nodes)
    if prices is None or problem.price_bound(*prices) != units:
        prices = prices_of(problem, nodes)
    return _plain(problem) if prices is None else reduce_certificate(problem, *prices)


def _plain(problem: TransmissionReduces) -> Certificate:
    """The proof of the cheap bound: every slot is free, and only one more reduce has a price."""
    free, shared = np.zeros_like(problem.capacity), np.zeros(problem.barred.shape, dtype=np.int64)
    least = np.where(problem.usable, problem.units, np.int64(2**62)).min(axis=1, initial=2**62)
    task = int(np.sort(least)[problem.count - 1]) if problem.count else 0
    return reduce_certificate(problem, task, free, shared)
