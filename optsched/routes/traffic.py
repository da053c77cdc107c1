"""Routes of `traffic`: prices of slots by closed form and relaxation, a MIP if these do not close it, the models."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

from optsched.certificates.traffic import (
    Cases,
    SlotPrices,
    load_certificate,
    no_room_certificate,
    traffic_certificate,
)
from optsched.core.errors import OutOfTime
from optsched.core.placement import Placement
from optsched.core.results import Certificate, Frontier, Solution
from optsched.problems.traffic import Traffic
from optsched.routes.base import frontier_of, only_point
from optsched.routes.call import Call, Ended, Held, modelled
from optsched.routes.listing import MODELS
from optsched.solvers.answers import SolverOutcome
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.traffic import TrafficSearch, best_apart, scaled

#: The default first.
ROUTES = ("search", "arrays", *MODELS, "brute-force")

#: From this many pairs of tasks and nodes, a step of HiGHS, or the posing, may take half a second.
OVERRUNS = {"search": 300_000, "arrays": 300_000}


def by_route(call: Call[Traffic], profile: Profile) -> Solution:
    """Least traffic, then least load at it, by the call's route. Prices prove it as far as they can."""
    problem = call.problem
    if not len(problem.tasks):
        return call.settled(problem.placement([]), *_nothing(problem))
    search = traffic_search(problem, profile, call.start, call.route)
    certificates = [_free(problem)]
    placement: Placement | None = None
    built = call.elapsed
    with call.until_stopped():
        known = search.at(None)
        if not known.feasible:
            ended = Ended(search.raw_status, solver=search.solver, build_seconds=built)
            return call.infeasible(ended, _no_room(search))
        certificates, placement = [search.traffic_certificate(known, cases=False)], known.placement
        call.incumbent.hold(lambda: (placement or search.incumbent, tuple(certificates)))
        if known.closed:
            assert known.units is not None
            best, load = search.least_load(known)
            placement = best.placement
            certificates = [*certificates, search.load_certificate(load, known.units, cases=False)]
            # Cases may take longer than everything else.
            certificates = [search.traffic_certificate(known), certificates[1]]
            certificates = [certificates[0], search.load_certificate(load, known.units)]
    ending = Ended(search.raw_status, search.stopped, search.solver, built)
    return call.answered(placement or search.incumbent, certificates, ending)


def _no_room(search: TrafficSearch) -> Certificate | None:
    """Prices, by cases, that prove that nothing is feasible; None if a plain reason shows it, or they fail."""
    problem = search.problem
    with suppress(OutOfTime):  # it is known, without a proof, that nothing is feasible
        shown = search.proof(None, problem.beyond) if problem.plainly_infeasible is None else None
        return None if shown is None else no_room_certificate(problem, shown)
    return None


def plain(problem: Traffic) -> Held:
    """Each job where it alone causes least traffic, if that fits, and the least traffic with every slot free."""
    return best_apart(problem), (_free(problem),)


def _free(problem: Traffic) -> Certificate:
    """The proof of the least traffic with every slot free."""
    return traffic_certificate(problem, Cases(SlotPrices.none(problem)))


def traffic_search(
    problem: Traffic, profile: Profile, start: Placement | None = None, route: str = ROUTES[0]
) -> TrafficSearch:
    """The search that answers all questions about a `traffic` problem, each computed once."""
    if route in MODELS:
        return TrafficSearch(problem, profile, start, decide=partial(_by_model, route), shortcuts=False)
    return TrafficSearch(problem, profile, start, shortcuts=route == "search")


def _by_model(
    route: str, search: TrafficSearch, limit: int | None, profile: Profile, start: Placement | None
) -> tuple[SolverOutcome, Placement | None]:
    """Settle a limit by the model of a route.

    The objective is solved in units of the problem's `step`, so that every difference is larger than the solver's
    tolerance. In MB, two values that differ by a byte would be too close.
    """
    unit = search.problem.step / search.problem.grid

    def in_steps(model: Any) -> None:
        if route == "pyomo":
            model.objective.expr = model.objective.expr / unit
        else:
            model.setObjective(model.objective * (1 / unit))

    found = modelled(search.problem, route, profile, limit, prepare=in_steps)
    return scaled(found.outcome, unit), found.decision


def _nothing(problem: Traffic) -> tuple[Certificate, Certificate]:
    """The proof of (0, 0) if there is no task."""
    free = Cases(SlotPrices.none(problem))
    return traffic_certificate(problem, free), load_certificate(problem, -1, free)


def frontier(problem: Traffic, profile: Profile, route: str) -> Frontier:
    """Every Pareto-optimal (traffic, load). If nothing is feasible: no point, and the proof."""
    if problem.plainly_infeasible is not None:
        return frontier_of(problem, (), complete=True)
    if not len(problem.tasks):
        return only_point(problem, problem.placement([]), _nothing(problem))
    search = traffic_search(problem, profile, route=route)
    points, limit = search.frontier()
    if not search.at(None).feasible:
        return frontier_of(problem, (), complete=True, infeasible=_no_room(search))
    complete = bool(points) and points[-1].objective[1] == problem.least_load
    return frontier_of(problem, points, limit, complete)
