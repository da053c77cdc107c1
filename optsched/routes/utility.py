"""Routes of `utility`: thresholds on the lowest utility, and models of both components, one after the other."""

from __future__ import annotations

import math

import numpy as np

from optsched.certificates.utility import utilisation_certificate, utility_certificate
from optsched.core.instance import LARGEST
from optsched.core.results import Certificate, Number, Sense, Solution
from optsched.problems.base import GRID, exact
from optsched.problems.utility import Utility
from optsched.routes.base import MODELS
from optsched.routes.call import Call, Found, Held, proof_of
from optsched.searches.utility import UtilitySearch
from optsched.solvers.answers import stronger
from optsched.solvers.profiles import Profile

__all__ = ["OVERRUNS", "ROUTES", "by_route", "plain"]

#: The default first.
ROUTES = ("thresholds", *MODELS, "brute-force")

#: From so many pairs of tasks and nodes on a step of HiGHS, or of the posing, may take half a second.
OVERRUNS = {"thresholds": 50_000}

#: Utilities that differ by less a solver may take for the same (its tolerances are 1e-6); tables go in steps of 2^-20.
_UNTOLD = 2e-6


def by_route(call: Call[Utility], profile: Profile) -> Solution:
    """The highest lowest utility, then the most utilisation; prices of tasks prove them, a tree over what these
    leave, or the solver's word.
    """
    problem = call.problem
    if call.route != "thresholds" and len(problem.jobs):
        return _by_models(call, profile)
    search = UtilitySearch(problem, profile, call.start)
    call.hold(lambda: (search.placement, search.certificates))
    search.run()
    return call.solution(search.placement, search.certificates, search.limit, search.raw_status, search.solver)


def plain(problem: Utility) -> Held:
    """No task placed, and the lowest utility that the trackers' room of one resource leaves, or with all placed."""
    none = np.zeros(len(problem.jobs), dtype=np.int64)
    proofs = [utility_certificate(problem, none, none)]
    for position in range(len(problem.resources)):
        proofs.append(utility_certificate(problem, problem.demand_map[:, position], problem.demand_reduce[:, position]))
    best = min(proofs, key=lambda proof: proof.claim)
    return UtilitySearch(problem, Profile("exact")).placement, (best,)


def _by_models(call: Call[Utility], profile: Profile) -> Solution:
    """A model twice: the highest lowest utility, then the most utilisation beside it."""
    problem = call.problem
    none = np.zeros(len(problem.jobs), dtype=np.int64)
    plain = utility_certificate(problem, none, none)

    def lowest(found: Found) -> Certificate:
        if found.bound is None or abs(found.bound) >= LARGEST / GRID:
            return plain
        # Between two utilities that some job may have nothing is attained.
        believed = found.bound + _UNTOLD * max(1.0, abs(found.bound))
        return stronger(plain, exact(problem.utility_below(math.floor(believed * GRID) + 1), GRID), Sense.MAX)

    def utilisation(lowest: Number, found: Found) -> Certificate:
        return proof_of(problem, utilisation_certificate(problem, int(lowest * GRID), none, none, 1), found, GRID)

    return call.by_two_programs(profile, (plain,), lowest, utilisation)
