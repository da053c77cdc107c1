"""Routes of `transmission-reduces`: a network's linear program by arrays or a model, all proved by prices."""

from __future__ import annotations

import numpy as np

from optsched.certificates.transmission_reduces import transmission_reduces_certificate
from optsched.core.deadline import unhurried
from optsched.core.instance import Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Certificate, Solution
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.routes.base import MODELS
from optsched.routes.call import Call, Found, Held
from optsched.searches.first_fit import first_fit
from optsched.searches.transmission_reduces import ReducePrices, by_arrays, prices_of
from optsched.solvers.profiles import Profile

__all__ = ["OVERRUNS", "ROUTES", "by_route", "plain"]

#: The default first.
ROUTES = ("arrays", *MODELS, "brute-force")

#: From so many pairs of tasks and nodes on a step of HiGHS, or of the posing, may take half a second.
OVERRUNS = {"arrays": 50_000}


def by_route(call: Call[TransmissionReduces], profile: Profile) -> Solution:
    """By arrays or a model. Where it stops without an answer, each reduce goes where it is cheapest, in turn."""
    problem = call.problem
    certificate, found = _cheap(problem), Found()
    if not problem.count:
        return call.settled(problem.placement(np.full(len(problem.tasks), NONE)), certificate)
    with call.until_stopped():
        found, prices = _found(call, profile)
        if found.decision is not None:
            certificate = _proof(problem, problem.nodes_of(found.decision), prices)
    return call.answered(found.decision or _one_by_one(problem), (certificate,), found)


def plain(problem: TransmissionReduces) -> Held:
    """Each reduce where it is cheapest, in turn, and the bound with every slot free."""
    return _one_by_one(problem), (_cheap(problem),)


def _one_by_one(problem: TransmissionReduces) -> Placement:
    """Each reduce where it is cheapest, in turn."""
    with unhurried():
        costs = problem.units.astype(np.float64)
        return problem.placement(first_fit(problem.slots, np.arange(len(problem.tasks)), costs))


def _found(call: Call[TransmissionReduces], profile: Profile) -> tuple[Found, ReducePrices | None]:
    """What the route's engine or model says, and the prices that it holds."""
    if call.route in MODELS:
        return call.by_model(profile), None
    problem, built = call.problem, call.elapsed
    outcome, nodes, prices = by_arrays(problem, profile.since(call.began))
    placement = None if nodes is None else problem.placement(nodes)
    return Found(outcome, placement, units=problem.grid, build_seconds=built).checked(problem), prices


def _proof(problem: TransmissionReduces, nodes: Ints, prices: ReducePrices | None) -> Certificate:
    """The dual certificate of an optimal placement: by the engine's prices if they close it, else by shortest paths."""
    units = problem.cost_units(nodes)
    if prices is None or problem.price_bound(*prices) != units:
        prices = prices_of(problem, nodes)
    return _cheap(problem) if prices is None else transmission_reduces_certificate(problem, *prices)


def _cheap(problem: TransmissionReduces) -> Certificate:
    """The proof of the cheap bound: every slot is free, and only one more reduce has a price."""
    free, shared = np.zeros_like(problem.capacity), np.zeros(problem.barred.shape, dtype=np.int64)
    least = np.where(problem.usable, problem.units, np.int64(2**62)).min(axis=1, initial=2**62)
    task = int(np.sort(least)[problem.count - 1]) if problem.count else 0
    return transmission_reduces_certificate(problem, task, free, shared)
