"""Routes of `flow-congestion`: those of its program (`optsched.routes.programs`), and what needs no search."""

from __future__ import annotations

import numpy as np

from optsched.certificates.flows import flow_congestion_certificate, plain_prices
from optsched.core.deadline import unhurried
from optsched.heuristics.flow_sched import flow_greedy
from optsched.problems import FlowCongestion
from optsched.routes.call import Held
from optsched.routes.programs import OVERRUNS, ROUTES, by_route

__all__ = ["OVERRUNS", "ROUTES", "by_route", "plain"]


def plain(problem: FlowCongestion) -> Held:
    """The placement of `flow-greedy`, and the bound with each task on its best node without load."""
    with unhurried():
        placement = flow_greedy(problem, np.random.default_rng())
    return placement, (flow_congestion_certificate(problem, *plain_prices(problem)),)
