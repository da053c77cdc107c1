"""Routes of `worst-group`: those of its program (`optsched.routes.programs`), and what needs no search."""

from __future__ import annotations

from optsched.problems import WorstGroup
from optsched.routes import assignment, programs
from optsched.routes.call import Held
from optsched.routes.programs import OVERRUNS, ROUTES, by_route

__all__ = ["OVERRUNS", "ROUTES", "by_route", "plain"]


def plain(problem: WorstGroup) -> Held:
    """The first tasks on the first slots, and the mean with every slot free."""
    return assignment.plain(problem)[0], programs.plain(problem)[1]
