"""Routes of `flow-congestion`: those of its program (`optsched.routes.programs`), and what needs no search."""

from __future__ import annotations

import numpy as np

from optsched.certificates.flow_congestion import flow_congestion_certificate, plain_prices
from optsched.core.deadline import unhurried
from optsched.core.results import Solution
from optsched.heuristics.flow_sched import flow_greedy
from optsched.problems import FlowCongestion
from optsched.routes import programs
from optsched.routes.call import Call, Held
from optsched.routes.programs import OVERRUNS, ROUTES
from optsched.solvers.profiles import Profile

__all__ = ["OVERRUNS", "ROUTES", "by_route", "plain"]


def by_route(call: Call[FlowCongestion], profile: Profile) -> Solution:
    """The program of patterns, from the placement of `flow-greedy` if there is no other start."""
    if call.start is None:
        call.start = plain(call.problem)[0]
    return programs.by_route(call, profile)


def plain(problem: FlowCongestion) -> Held:
    """The placement of `flow-greedy`, and the bound with each task on its best node without load."""
    with unhurried():
        placement = flow_greedy(problem, np.random.default_rng())
    return placement, (flow_congestion_certificate(problem, *plain_prices(problem)),)
