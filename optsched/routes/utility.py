"""Routes of `utility`: thresholds on the lowest utility, and models of both components, one after the other."""

from __future__ import annotations

import numpy as np

from optsched.certificates.utility import utility_certificate
from optsched.core.results import Limit, Solution
from optsched.problems.utility import Utility
from optsched.routes import programs
from optsched.routes.call import Call, Ended, Held
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.utility import UtilitySearch, is_too_large

#: The default first.
ROUTES = ("thresholds", *programs.ROUTES)

#: From this many pairs of tasks and nodes, a step of HiGHS, or the posing, may take half a second.
OVERRUNS = {"thresholds": 50_000, "arrays": 50_000}


def by_route(call: Call[Utility], profile: Profile) -> Solution:
    """Maximise the lowest utility, then the utilisation.

    Prices of tasks and packing close most instances; if they leave a gap, the program of the problem closes it.
    """
    problem = call.problem
    if call.route != "thresholds" and len(problem.jobs):
        return programs.by_route(call, profile)
    search = UtilitySearch(problem, profile, call.start)
    call.incumbent.hold(lambda: (search.placement, search.certificates))
    search.run()
    closed = call.answered(search.placement, search.certificates, Ended("prices and packing meet", search.limit))
    if closed.optimal or search.limit is not None:
        return closed
    if is_too_large(problem):
        reason = "prices and packing leave a gap, and the exact program would be too large"
        return call.answered(search.placement, search.certificates, Ended(reason, Limit.GAP))
    call.start = search.placement
    return programs.by_route(call, profile, search.certificates)


def plain(problem: Utility) -> Held:
    """No task placed, and a bound on the lowest utility: by the room of one resource, or with all tasks placed."""
    none = np.zeros(len(problem.jobs), dtype=np.int64)
    proofs = [utility_certificate(problem, none, none)]
    for position in range(len(problem.resources)):
        proofs.append(utility_certificate(problem, problem.demand_map[:, position], problem.demand_reduce[:, position]))
    best = min(proofs, key=lambda proof: proof.claim)
    return UtilitySearch(problem, Profile("exact")).placement, (best,)
