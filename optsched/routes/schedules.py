"""Routes of `makespan` and `job-times`."""

from __future__ import annotations

from optsched.problems.schedules import ScheduleProblem
from optsched.results import Solution
from optsched.routes import enumerated
from optsched.routes.call import Call
from optsched.solvers.profiles import Profile

__all__ = ["ROUTES", "by_route"]

#: The default first.
ROUTES = ("brute-force",)


def by_route(call: Call[ScheduleProblem], profile: Profile) -> Solution:
    """By the call's route."""
    return enumerated.by_route(call, profile)
