"""Routes of `worst-group`: limits on the mean, by maximum flows or HiGHS, and the models; prices prove them."""

from __future__ import annotations

from fractions import Fraction

from optsched.certificates.worst_group import GroupPrices, cost_certificate, worst_group_certificate
from optsched.placement import Placement
from optsched.problems.worst_group import WorstGroup
from optsched.results import Certificate, Proof, Solution
from optsched.routes.base import MODELS
from optsched.routes.call import Call, Found
from optsched.searches.worst_group import Engine, FlowEngine, GroupSearch, ProgramEngine, is_flow
from optsched.solvers.profiles import Profile

__all__ = ["ROUTES", "by_route"]

#: The default first.
ROUTES = ("thresholds", "arrays", *MODELS, "brute-force")

#: How far a mean that a solver says may be from one that a group can have, relative to it where it is above 1.
_UNTOLD = Fraction(1, 10**6)


def by_route(call: Call[WorstGroup], profile: Profile) -> Solution:
    """The least highest mean, then the least cost within it, by the call's route."""
    problem = call.problem
    if not problem.count:
        free = GroupPrices.none(problem)
        nothing = problem.placement([-1] * len(problem.tasks))
        return call.settled(nothing, worst_group_certificate(problem, free), cost_certificate(problem, 0, 1, free))
    flows = call.route != "arrays" and is_flow(problem)
    engine: Engine = FlowEngine(problem) if flows else ProgramEngine(problem, profile)
    built = call.elapsed
    search = GroupSearch(problem, engine, call.start)
    if call.route in MODELS:
        return _by_model(call, profile, search)
    search.run()
    return call.solution(search.placement, search.certificates, search.limit, search.raw_status, engine.solver, built)


def _by_model(call: Call[WorstGroup], profile: Profile, search: GroupSearch) -> Solution:
    """The program of the least mean, then that of the least cost within it; the stronger of price and word proves."""
    problem, found = call.problem, Found()
    placement: Placement | None = call.start
    with call.until_stopped():
        search.exclude_means()
        found = call.by_model(profile)
        placement = found.decision or placement
        if found.bound is not None:
            bound = Fraction(found.bound)
            said = problem.mean_from(max(Fraction(0), bound - _UNTOLD * max(Fraction(1), bound)))
            if said > search.certificates[0].claim:
                search.certificates = (Certificate("worst-mean", Proof.SOLVER, said),)
        if found.optimal:
            assert placement is not None
            mean = problem.evaluate(placement)[0]
            found = call.by_model(profile, limit=mean)
            placement = min((held for held in (placement, found.decision) if held), key=problem.evaluate)
            search.certificates += (search.cost_certificate(mean, found.bound),)
    return call.answered(placement, search.certificates, found)
