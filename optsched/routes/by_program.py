"""Routes of `flow-congestion` and `worst-group`: those of their programs, which begin with what needs no search."""

from __future__ import annotations

import numpy as np

from optsched.core.deadline import unhurried
from optsched.problems import FlowCongestion, WorstGroup
from optsched.routes import programs
from optsched.routes.call import Held
from optsched.routes.programs import OVERRUNS, ROUTES, by_route

__all__ = ["OVERRUNS", "ROUTES", "by_route", "plain"]


def plain(problem: FlowCongestion | WorstGroup) -> Held:
    """What needs no search: the placement of `flow-greedy`, or the first tasks on the first slots; and a bound.

    The bound has each task on its best node without load, or is the mean with every slot free.
    """
    if isinstance(problem, WorstGroup):
        from optsched.routes import assignment

        return assignment.plain(problem)[0], programs.plain(problem)[1]
    from optsched.certificates.flows import flow_congestion_certificate, plain_prices
    from optsched.heuristics.flow_sched import flow_greedy

    with unhurried():
        placement = flow_greedy(problem, np.random.default_rng())
    return placement, (flow_congestion_certificate(problem, *plain_prices(problem)),)
