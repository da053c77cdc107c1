"""Routes of `transmission-reduces`: a network's linear program, proved by prices; or its program, proved by a tree."""

from __future__ import annotations

import numpy as np

from optsched.certificates.transmission import transmission_reduces_certificate
from optsched.core.deadline import unhurried
from optsched.core.placement import NONE, Placement
from optsched.core.results import Certificate, Solution
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.routes import programs
from optsched.routes.call import Call, Found, Held
from optsched.routes.programs import ROUTES
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.transmission_stages import by_arrays, first_fit

__all__ = ["OVERRUNS", "ROUTES", "by_route", "plain"]

#: From this many pairs of tasks and nodes, a step of HiGHS, or the posing, may take half a second.
OVERRUNS = {"arrays": 50_000}


def by_route(call: Call[TransmissionReduces], profile: Profile) -> Solution:
    """Solve by the network and its prices; by the problem's program if these prove nothing, and by models.

    If it stops without an answer, each reduce in turn goes where it is cheapest.
    """
    problem, found = call.problem, Found()
    if not problem.count:
        return call.settled(problem.placement(np.full(len(problem.tasks), NONE)), _cheap(problem))
    if call.route != "arrays":
        return programs.by_route(call, profile)
    certificate = _cheap(problem)
    with call.until_stopped():
        built = call.elapsed
        outcome, nodes, prices = by_arrays(problem, profile.since(call.began))
        placement = None if nodes is None else problem.placement(nodes)
        found = Found(outcome, placement, units=problem.grid, build_seconds=built).checked(problem)
        if prices is not None:
            certificate = transmission_reduces_certificate(problem, *prices)
    if found.optimal and problem.evaluate(found.decision)[0] != certificate.claim:
        call.start = found.decision
        return programs.by_route(call, profile)
    return call.answered(found.decision or _one_by_one(problem), (certificate,), found)


def plain(problem: TransmissionReduces) -> Held:
    """Each reduce in turn where it is cheapest, and the bound with every slot free."""
    return _one_by_one(problem), (_cheap(problem),)


def _one_by_one(problem: TransmissionReduces) -> Placement:
    """Each reduce in turn where it is cheapest."""
    with unhurried():
        costs = problem.units.astype(np.float64)
        return problem.placement(first_fit(problem.slots, np.arange(len(problem.tasks)), costs))


def _cheap(problem: TransmissionReduces) -> Certificate:
    """The proof of the cheap bound: every slot is free, and only "one more reduce" has a price."""
    free, shared = np.zeros_like(problem.capacity), np.zeros(problem.barred.shape, dtype=np.int64)
    least = np.where(problem.usable, problem.units, np.int64(2**62)).min(axis=1, initial=2**62)
    task = int(np.sort(least)[problem.count - 1]) if problem.count else 0
    return transmission_reduces_certificate(problem, task, free, shared)
