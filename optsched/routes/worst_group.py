"""Routes of `worst-group`: those of its program (`optsched.routes.programs`), with two levels by maximum flows."""

from __future__ import annotations

from optsched.core.results import Solution
from optsched.problems.worst_group import WorstGroup
from optsched.routes import assignment, programs
from optsched.routes.call import Call, Held
from optsched.routes.programs import OVERRUNS, ROUTES
from optsched.searches.worst_group import FlowFinder, is_flow
from optsched.solvers.profiles import Profile

__all__ = ["OVERRUNS", "ROUTES", "by_route", "plain"]


def by_route(call: Call[WorstGroup], profile: Profile) -> Solution:
    """The least highest mean, then the least cost within it; by maximum flows where tasks cost nothing or one level."""
    call.start = call.start or plain(call.problem)[0]
    return programs.by_route(call, profile, FlowFinder(call.problem) if is_flow(call.problem) else None)


def plain(problem: WorstGroup) -> Held:
    """The first tasks on the first slots, and the mean with every slot free."""
    return assignment.plain(problem)[0], programs.plain(problem)[1]
