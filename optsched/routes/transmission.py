"""Routes of `transmission`: branch and bound over the reduces, or a linearised model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optsched.certificates.transmission import transmission_certificate
from optsched.core.deadline import unhurried
from optsched.core.errors import UsageError
from optsched.core.instance import Ints
from optsched.core.placement import NONE, Placement
from optsched.core.results import Certificate, Proof, Solution
from optsched.problems.base import exact
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_bounds import Branching, ReduceBounds
from optsched.routes.call import Call, Ended, Found, Held, proof_of
from optsched.routes.listing import MODELS
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.transmission import TransmissionSearch
from optsched.solvers.searches.transmission_stages import first_fit

#: The default first.
ROUTES = ("search", *MODELS, "brute-force")

#: From this many pairs of tasks and nodes, a step of HiGHS, or the posing, may take half a second.
OVERRUNS = {"search": 5_000}

#: Integrality tolerance of a model. A solver gains up to the tolerance times what a binary switches: a reduce's
#: shuffle. HiGHS's own 1e-6 is too much from 10^6 MB times distance on.
_WHOLE = 1e-9

#: The most that the shuffle may cost in a model: then that product is a tenth of a MB.
_LARGEST_MOST = 10**8


def by_route(call: Call[Transmission], profile: Profile) -> Solution:
    """The branch and bound, proved by its tree if that is small enough to keep; or a model, by its solver's claim."""
    if call.route == "search":
        return _by_search(call, profile)
    problem = call.problem
    if problem.most_between > _LARGEST_MOST * problem.grid:
        reason = f"the shuffle may cost {problem.most_between / problem.grid:.4g}, and past {_LARGEST_MOST:,} MB times"
        mend = 'distance a model that switches it by binaries is not kept exactly; take route "search", or larger units'
        raise UsageError(f"{problem.name}: {reason} {mend}")
    found, cheap = Found(), _cheap(problem)
    with call.until_stopped():
        tolerances = {"mip_feasibility_tolerance": _WHOLE, "primal_feasibility_tolerance": _WHOLE}
        found = call.by_model(replace(profile, highs={**tolerances, **profile.highs}))
    certificate = proof_of(problem, cheap, found, problem.grid)
    return call.answered(found.decision, (certificate,), found)


def plain(problem: Transmission) -> Held:
    """Each task in turn where it is cheapest, and the cheap bound."""
    return _one_by_one(problem), (_cheap(problem),)


def _cheap(problem: Transmission) -> Certificate:
    """The proof of the cheap bound."""
    bounds = ReduceBounds(problem)
    return transmission_certificate(bounds, Branching(np.arange(len(problem.reduces)), {}), bounds.cheap)


def _by_search(call: Call[Transmission], profile: Profile) -> Solution:
    problem = call.problem
    search = TransmissionSearch(problem, profile, call.start)
    found = search.run()
    if found.tree is not None:
        certificate = transmission_certificate(search.bounds, found.tree, found.bound)
    else:
        claim = exact(found.bound, problem.grid)
        certificate = Certificate(problem.components[0].name, Proof.ENUMERATION, claim)
    placement = _one_by_one(problem) if found.nodes is None else problem.placement(found.nodes)
    status, solver = f"{found.states} states of the reduces looked into", {"name": "branch and bound over the reduces"}
    return call.answered(placement, (certificate,), Ended(status, found.limit, solver))


def _one_by_one(problem: Transmission) -> Placement:
    """The placement if the search stops before its first one: each task in turn where it is cheapest.

    Maps go first, as if they sent nothing to the reduces that are placed together with them. O(tasks x nodes).
    """
    free, maps = problem.map_capacity.copy(), np.full(len(problem.maps), NONE, dtype=np.int64)
    for position, units in enumerate(problem.map_units[: problem.map_count]):
        open_to = np.flatnonzero(free)
        maps[position] = open_to[units[open_to].argmin()]
        free[maps[position]] -= 1
    nodes: Ints = np.full(len(problem.tasks), NONE, dtype=np.int64)
    nodes[problem.maps] = maps
    with unhurried():
        order = np.arange(len(problem.reduces))
        nodes[problem.reduces] = first_fit(problem.slots, order, problem.reduce_units.astype(np.float64))
    return problem.placement(nodes)
