"""Routes of `transmission-reduces`: a network's linear program by arrays or a model, all proved by prices."""

from __future__ import annotations

import time

import numpy as np

from optsched import models
from optsched.certificates.transmission_reduces import reduce_certificate
from optsched.instance import Ints
from optsched.placement import NONE
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.results import Certificate, Solution, Termination
from optsched.routes.record import MODELS, Record, by_enumeration, check_claim, solver_of
from optsched.solvers.profiles import Profile
from optsched.solvers.transmission_reduces import ReducePrices, by_arrays, prices_of

__all__ = ["ROUTES", "by_route"]

#: The default first.
ROUTES = ("arrays", *MODELS, "brute-force")


def by_route(record: Record, profile: Profile) -> Solution:
    """Solve by the record's route.

    Where a solver stops without an answer, nothing is held: only a maximum flow places as many as are due.
    """
    if record.route == "brute-force":
        return by_enumeration(record)
    problem = record.problem
    assert isinstance(problem, TransmissionReduces)
    if not problem.count:
        nothing = problem.placement(np.full(len(problem.tasks), NONE))
        return record.solution(nothing, (_plain(problem),), None, "nothing to place", {})
    nodes: Ints | None
    prices: ReducePrices | None = None
    if record.route == "arrays":
        built = time.perf_counter() - record.began
        outcome, nodes, prices = by_arrays(problem, profile)
        figure = None if outcome.objective is None else outcome.objective / problem.grid
    else:
        module = models.module(problem.name)
        model = module.build_pyomo(problem) if record.route == "pyomo" else module.build_pulp(problem)
        built = time.perf_counter() - record.began
        outcome = solver_of(record.route)(model, profile)
        figure = outcome.objective
        nodes = None if outcome.objective is None else problem.nodes_of(module.decode(model, problem))
    placement, certificate = None, _plain(problem)
    if nodes is not None:
        placement = problem.placement(nodes)
        certificate = _proof(problem, nodes, prices)
        if outcome.status is Termination.OPTIMAL:
            check_claim(problem, figure, problem.evaluate(placement)[0])
    return record.solution(placement, (certificate,), outcome.limit, outcome.raw_status, outcome.solver, built)


def _proof(problem: TransmissionReduces, nodes: Ints, prices: ReducePrices | None) -> Certificate:
    """The dual certificate of an optimal placement: by the engine's prices if they close it, else by shortest paths."""
    units = problem.cost_units(nodes)
    if prices is None or problem.price_bound(*prices) != units:
        prices = prices_of(problem, nodes)
    return _plain(problem) if prices is None else reduce_certificate(problem, *prices)


def _plain(problem: TransmissionReduces) -> Certificate:
    """The proof of the cheap bound: a price of one reduce more alone, with every slot free."""
    free, shared = np.zeros_like(problem.capacity), np.zeros(problem.barred.shape, dtype=np.int64)
    least = np.where(problem.usable, problem.units, np.int64(2**62)).min(axis=1, initial=2**62)
    task = int(np.sort(least)[problem.count - 1]) if problem.count else 0
    return reduce_certificate(problem, task, free, shared)
