"""Routes of `lsap-fairness`: fewest tasks off their data, then a flow or model within that; and the whole frontier."""

from __future__ import annotations

import bisect
import itertools
import time
from fractions import Fraction

import numpy as np

from optsched.certificates import assignment_certificate, lsap_fairness_certificate
from optsched.core.placement import Placement
from optsched.core.processes.handing import hand_over
from optsched.core.results import Certificate, Frontier, FrontierPoint, Limit, Solution
from optsched.problems import LsapFairness
from optsched.routes import programs
from optsched.routes.assignment import plain
from optsched.routes.base import frontier_of, only_point
from optsched.routes.call import Call, Ending, Found, modelled
from optsched.routes.listing import MODELS
from optsched.solvers.answers import STOPPED, stopped
from optsched.solvers.matching import BMatching
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.assignment import AssignmentSolution
from optsched.solvers.searches.lsap_fairness import CappedNetwork, most_local

__all__ = ["OVERRUNS", "ROUTES", "by_route", "frontier", "plain"]

#: The default first.
ROUTES = ("flows", "arrays", "network-simplex", *MODELS, "brute-force")

#: From this many pairs of tasks and nodes, posing, a step of HiGHS, or compiling may take half a second.
OVERRUNS = {"flows": 1_000_000, "arrays": 1_000_000}


def by_route(call: Call[LsapFairness], profile: Profile) -> Solution:
    """The most local placement, then the fairest within its locality: by the network's engines, or the program."""
    problem = call.problem
    if problem.count and call.route in ("arrays", *MODELS):
        return programs.by_route(call, profile)
    nodes, matching = most_local(problem)
    placement, locality = problem.placement(nodes), _locality_certificate(problem, matching)
    if not problem.count:
        return call.settled(placement, locality, _nothing(problem))
    least = problem.count - matching.size
    search = _Search(problem, call.route, profile)
    outcome: Ending = Found()
    distance = None
    call.incumbent.hold(lambda: (placement, (locality, search.plain(least))))
    with call.until_stopped():
        outcome = found = search.fairest(least)
        if found.nodes is not None:
            placement = problem.placement(found.nodes)
        distance = search.certificate(placement, least)
    return call.answered(placement, (locality, distance or search.plain(least)), outcome)


class _Search:
    """The fairest placements of one problem by one route, within the profile's total time limit."""

    def __init__(self, problem: LsapFairness, route: str, profile: Profile) -> None:
        self.problem, self.route, self._profile = problem, route, profile
        self._began = time.perf_counter()
        self._last: tuple[int, CappedNetwork] | None = None

    def _network(self, off_data: int) -> CappedNetwork:
        if self._last is None or self._last[0] != off_data:
            self._last = off_data, CappedNetwork(self.problem, off_data)
        return self._last[1]

    @property
    def profile(self) -> Profile:
        """The profile with the time that is left."""
        return self._profile.since(self._began)

    def fairest(self, off_data: int) -> AssignmentSolution:
        """The fairest placement with at most `off_data` tasks off their data."""
        if self.route not in MODELS:
            return self._network(off_data).fairest(self.profile, self.route)
        found = modelled(self.problem, self.route, self.profile, off_data).checked(self.problem)
        nodes = None if found.decision is None else self.problem.nodes_of(found.decision)
        return AssignmentSolution(nodes, found.raw_status, None, found.limit, found.solver, found.build_seconds)

    def certificate(self, placement: Placement, off_data: int) -> Certificate:
        """The proof of a placement's distance if it is the fairest within the limit; else that of a lower bound."""
        prices = self._network(off_data).prices(placement)
        return lsap_fairness_certificate(
            self.problem, off_data, prices.locality, prices.task, prices.nodes, prices.groups
        )

    def plain(self, off_data: int) -> Certificate:
        """A proof without a search: the least distance of all placements, at any locality.

        Each group is charged what its last task would add if the smallest steps of all groups were taken.
        """
        problem = self.problem
        steps = sorted((step, size) for steps in problem.steps for step, size in steps)
        sizes = list(itertools.accumulate(size for _, size in steps))
        last = steps[bisect.bisect_left(sizes, problem.count)][0]
        return lsap_fairness_certificate(problem, off_data, Fraction(0), last, {}, [last] * len(problem.pools))


def _locality_certificate(problem: LsapFairness, matching: BMatching) -> Certificate:
    """The cover of a maximum matching as prices: 1 for each task, and for the slots of the nodes in the cover."""
    cover = matching.node_cover.astype(np.int64)
    return assignment_certificate(problem, int(problem.count > 0), cover, np.zeros(len(problem.pools), dtype=np.int64))


def _nothing(problem: LsapFairness) -> Certificate:
    """The proof of the distance if nothing can be placed."""
    return lsap_fairness_certificate(problem, 0, Fraction(0), Fraction(0), {}, [Fraction(0)] * len(problem.pools))


def frontier(problem: LsapFairness, profile: Profile, route: str) -> Frontier:
    """Every Pareto-optimal (locality cost, fairness distance): one more task off its data each time, while it helps.

    The least distance is convex in the number of tasks off their data. So each further task lowers it until it is
    minimal.
    """
    nodes, matching = most_local(problem)
    earlier = _locality_certificate(problem, matching)
    if not problem.count:
        return only_point(problem, problem.placement(nodes), (earlier, _nothing(problem)))
    off_data = problem.count - matching.size
    search = _Search(problem, route, profile)
    points: list[FrontierPoint] = []
    limit: Limit | None = None
    while not points or points[-1].objective[1] > problem.least_distance:
        try:
            found = search.fairest(off_data)
            placement = None if found.nodes is None else problem.placement(found.nodes)
            certificate = None if placement is None else search.certificate(placement, off_data)
        except STOPPED as error:
            limit, _ = stopped(error)
            break
        value = None if placement is None else problem.evaluate(placement)
        if placement is None or value is None or certificate is None or value[1] != certificate.claim:
            limit = found.limit
            break
        points.append(FrontierPoint(value, placement, (earlier, certificate)))
        hand_over(lambda: points[-1], more=True)
        off_data, earlier = off_data + 1, certificate
    complete = bool(points) and points[-1].objective[1] == problem.least_distance
    return frontier_of(problem, points, limit, complete)
