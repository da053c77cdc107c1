"""Routes of `utility`: thresholds on the lowest utility, the compact model at each of them, the literal model."""

from __future__ import annotations

from optsched.problems.utility import Utility
from optsched.results import Solution
from optsched.routes.record import MODELS, Record, by_enumeration
from optsched.solvers.profiles import Profile
from optsched.solvers.utility import UtilitySearch

__all__ = ["ROUTES", "by_route"]

#: The default first.
ROUTES = ("thresholds", *MODELS, "brute-force")


def by_route(record: Record, profile: Profile) -> Solution:
    """The highest lowest utility, then the most utilisation; prices of tasks prove them, or the solver's word."""
    if record.route == "brute-force":
        return by_enumeration(record)
    problem = record.problem
    assert isinstance(problem, Utility)
    search = UtilitySearch(problem, profile, record.start)
    search.run()
    return record.solution(search.placement, search.certificates, search.limit, search.raw_status, search.solver)
