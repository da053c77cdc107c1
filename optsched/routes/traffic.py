"""Routes of `traffic`: prices of slots with closed form and relaxation, a MIP where these do not close, the models."""

from __future__ import annotations

import time

from optsched import models
from optsched.certificates.traffic import Cases, SlotPrices, load_certificate, traffic_certificate
from optsched.placement import Placement
from optsched.problems.traffic import Traffic
from optsched.results import Certificate, FrontierPoint, Limit, Solution, Termination
from optsched.routes.record import MODELS, Frontier, Record, by_enumeration, decoded, solver_of
from optsched.searches.traffic import TrafficSearch, scaled
from optsched.solvers.outcome import STOPPED, SolverOutcome, stopped
from optsched.solvers.profiles import Profile

__all__ = ["ROUTES", "by_route", "frontier", "traffic_search"]

#: The default first.
ROUTES = ("search", "arrays", *MODELS, "brute-force")


def by_route(record: Record, profile: Profile) -> Solution:
    """Least traffic, then least load at it, by the record's route. The proof is by prices as far as these reach."""
    problem = record.problem
    assert isinstance(problem, Traffic)
    if (told := problem.plainly_infeasible) is not None:
        return record.solution(None, (), None, told, {}, unanswered=Termination.INFEASIBLE)
    if not len(problem.tasks):
        return record.solution(problem.placement([]), _nothing(problem), None, "nothing to place", {})
    if record.route == "brute-force":
        return by_enumeration(record)
    search = traffic_search(problem, profile, record.start, record.route)
    certificates = [traffic_certificate(problem, Cases(SlotPrices.none(problem)))]
    placement: Placement | None = None
    limit: Limit | None
    built = time.perf_counter() - record.began
    try:
        known = search.at(None)
        if not known.feasible:
            unanswered = Termination.INFEASIBLE
            return record.solution(None, (), None, search.raw_status, search.solver, built, unanswered=unanswered)
        certificates, placement, limit = [search.traffic_certificate(known)], known.placement, search.stopped
        if known.closed:
            assert known.units is not None
            best, load = search.least_load(known)
            placement = best.placement
            certificates.append(search.load_certificate(load, known.units))
            limit = search.stopped
    except STOPPED as error:
        placement, limit = placement or search.held, stopped(error)[0]
    return record.solution(placement, tuple(certificates), limit, search.raw_status, search.solver, built)


def traffic_search(
    problem: Traffic, profile: Profile, start: Placement | None = None, route: str = ROUTES[0]
) -> TrafficSearch:
    """The search that answers all questions about a `traffic` problem, each computed once."""
    if route in MODELS:
        return TrafficSearch(problem, profile, start, decide=_Model(route), shortcuts=False)
    return TrafficSearch(problem, profile, start, shortcuts=route == "search")


class _Model:
    """Settles a limit by the model of a route.

    Its objective is solved in units of the problem's `step`, so that no tolerance of a solver is as large as a
    difference. In MB it would be, where two values differ by a byte.
    """

    def __init__(self, route: str) -> None:
        self._route = route

    def __call__(
        self, search: TrafficSearch, limit: int | None, profile: Profile, start: Placement | None
    ) -> tuple[SolverOutcome, Placement | None]:
        module = models.module(search.problem.name)
        unit = search.problem.step / search.problem.grid
        if self._route == "pyomo":
            model = module.build_pyomo(search.problem, limit=limit)
            model.objective.expr = model.objective.expr / unit
        else:
            model = module.build_pulp(search.problem, limit=limit)
            model.setObjective(model.objective * (1 / unit))
        outcome = scaled(solver_of(self._route)(model, profile), unit)
        return outcome, None if outcome.objective is None else decoded(module, model, search.problem)


def _nothing(problem: Traffic) -> tuple[Certificate, Certificate]:
    """The proof of (0, 0) where there is no task."""
    free = Cases(SlotPrices.none(problem))
    return traffic_certificate(problem, free), load_certificate(problem, -1, free)


def frontier(problem: Traffic, profile: Profile, route: str) -> Frontier:
    """Every Pareto-optimal (traffic, load); none where nothing is feasible."""
    if problem.plainly_infeasible is not None:
        return Frontier(problem.name, ("traffic", "load"), (), True, None)
    if not len(problem.tasks):
        nothing = problem.placement([])
        only = FrontierPoint(problem.evaluate(nothing), nothing, _nothing(problem))
        return Frontier(problem.name, ("traffic", "load"), (only,), True, None)
    search = traffic_search(problem, profile, route=route)
    points, limit = search.frontier()
    complete = not search.at(None).feasible or (bool(points) and points[-1].objective[1] == problem.least_load)
    return Frontier(problem.name, ("traffic", "load"), tuple(points), complete, limit)
