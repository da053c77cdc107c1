"""Routes of `worst-group`: limits on the mean, by maximum flows or HiGHS, and the models; prices prove them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from optsched.certificates.worst_group import GroupPrices, cost_certificate, worst_group_certificate
from optsched.core.results import Certificate, Solution
from optsched.problems.worst_group import WorstGroup
from optsched.routes import assignment
from optsched.routes.base import MODELS
from optsched.routes.call import Call, Found, Held, proof_of
from optsched.searches.worst_group import Engine, FlowEngine, GroupSearch, ProgramEngine, is_flow
from optsched.solvers.answers import stronger
from optsched.solvers.profiles import Profile

__all__ = ["OVERRUNS", "ROUTES", "by_route", "plain"]

#: The default first.
ROUTES = ("thresholds", "arrays", *MODELS, "brute-force")

#: From so many pairs of tasks and nodes on a step of HiGHS, or of the posing, may take half a second.
OVERRUNS = {"thresholds": 1_000_000, "arrays": 1_000_000}

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
    call.hold(lambda: (search.placement, tuple(search.certificates)))
    if call.route in MODELS:
        return _by_model(call, profile, search)
    search.run()
    return call.solution(search.placement, search.certificates, search.limit, search.raw_status, engine.solver, built)


def plain(problem: WorstGroup) -> Held:
    """The first tasks on the first slots, and with every slot free the mean of all tasks or that of one group."""
    free = GroupPrices.none(problem)
    proofs = [worst_group_certificate(problem, free)]
    if problem.count:
        cheapest, groups = problem.cheapest_units(free.nodes), range(len(problem.sizes))
        sums = np.bincount(problem.pool, weights=cheapest, minlength=len(groups))
        dearest = int(np.argmax(sums / np.maximum(problem.sizes, 1)))
        for weights in ([1] * len(groups), [int(group == dearest) for group in groups]):
            last = int(np.sort(cheapest * np.array(weights)[problem.pool])[problem.count - 1])
            proofs.append(worst_group_certificate(problem, GroupPrices(last, free.nodes, weights)))
    return assignment.plain(problem)[0], (max(proofs, key=lambda proof: proof.claim),)


def _by_model(call: Call[WorstGroup], profile: Profile, search: GroupSearch) -> Solution:
    """The program of the least mean, then that of the least cost within it; the stronger of price and word proves."""
    problem = call.problem
    with call.until_stopped():
        search.exclude_means()

    def mean(found: Found) -> Certificate:
        bound = None if found.bound is None else Fraction(found.bound)
        said = None if bound is None else problem.mean_from(max(Fraction(0), bound - _UNTOLD * max(Fraction(1), bound)))
        return stronger(search.certificates[0], said)

    return call.by_two_programs(
        profile,
        search.certificates,
        mean,
        lambda mean, found: proof_of(problem, search.priced_cost(mean), found, problem.grid),
    )
