"""Routes of `flow-congestion` and `worst-group`: those of their programs, which start from a quick answer."""

from __future__ import annotations

import numpy as np

from optsched.core.deadline import unhurried
from optsched.problems import FlowCongestion, WorstGroup
from optsched.routes import programs
from optsched.routes.call import Held
from optsched.routes.programs import OVERRUNS, ROUTES, by_route

__all__ = ["OVERRUNS", "ROUTES", "by_route", "plain"]


def plain(problem: FlowCongestion | WorstGroup) -> Held:
    """The placement of `flow-greedy`, or the first tasks on the first slots; and a cheap bound."""
    if isinstance(problem, WorstGroup):
        from optsched.routes import assignment

        placement = assignment.plain(problem)[0]
    else:
        from optsched.heuristics.flow_sched import flow_greedy

        with unhurried():
            placement = flow_greedy(problem, np.random.default_rng())
    return placement, programs.plain(problem)[1]
