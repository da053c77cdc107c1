"""Routes of `flow-congestion`: the convex flow or the patterns by arrays, or a model, and prices of tasks."""

from __future__ import annotations

import numpy as np

from optsched.certificates import congestion_tree_certificate, flow_congestion_certificate
from optsched.deadline import unhurried
from optsched.heuristics.flow_sched import flow_greedy
from optsched.placement import Placement
from optsched.problems import FlowCongestion
from optsched.problems.congestion_loads import CongestionLoads
from optsched.results import Certificate, Proof, Solution
from optsched.routes.base import MODELS
from optsched.routes.call import Call, Found, Held, proof_of
from optsched.searches.flow_congestion import plain_prices, solve_convex_flow, solve_patterns, solve_relaxed
from optsched.searches.program_tree import settling_tree
from optsched.solvers.profiles import Profile

__all__ = ["OVERRUNS", "ROUTES", "by_route", "plain"]

#: The default first.
ROUTES = ("arrays", *MODELS, "brute-force")

#: The tree that proves what HiGHS says takes at most so many linear programs.
_MOST_PROGRAMS = 2_000

#: From so many pairs of tasks and nodes on a step of HiGHS, or of the posing, may take half a second.
OVERRUNS = {"arrays": 100_000}


def by_route(call: Call[FlowCongestion], profile: Profile) -> Solution:
    """By arrays: the convex flow where the instance is convex; else the relaxed patterns, then whole ones if need be.

    Prices prove the optimum where they close it. Else, by arrays, a tree over the program of patterns does where it is
    not too large, or it is the solver's word. A model takes prices from the relaxed patterns too. Where nothing better
    is found in time, the placement is that of `flow-greedy`.
    """
    problem = call.problem
    start = call.start or _greedy(problem)
    if not problem.due:
        nothing = flow_congestion_certificate(
            problem, np.zeros_like(problem.counts), np.zeros_like(problem.class_type), 1
        )
        return call.settled(start, nothing)
    found, prices = Found(), plain_prices(problem)
    with call.until_stopped():
        convex = call.route == "arrays" and problem.convex
        built = call.elapsed
        relaxed = solve_convex_flow if convex else solve_relaxed
        outcome, placement, prices = relaxed(problem, profile.since(call.began))
        found = Found(outcome, placement, units=problem.grid, build_seconds=built)
        if not convex and (placement is None or call.route != "arrays"):
            call.hold(lambda: (start, (flow_congestion_certificate(problem, *prices),)))
            found = _found(call, profile, start)
        found.checked(problem)
    certificate = proof_of(problem, flow_congestion_certificate(problem, *prices), found, problem.grid)
    with call.until_stopped():
        if found.optimal and certificate.kind is Proof.SOLVER:
            certificate = _grown(call, profile, certificate)
    return call.answered(found.decision or start, (certificate,), found)


def plain(problem: FlowCongestion) -> Held:
    """The placement of `flow-greedy`, and the bound with each task on its best node without load."""
    return _greedy(problem), (flow_congestion_certificate(problem, *plain_prices(problem)),)


def _greedy(problem: FlowCongestion) -> Placement:
    with unhurried():
        return flow_greedy(problem, np.random.default_rng())


def _grown(call: Call[FlowCongestion], profile: Profile, word: Certificate) -> Certificate:
    """A tree that proves what HiGHS says; else its word."""
    problem, limit = call.problem, int(word.claim * call.problem.grid)
    program = CongestionLoads(problem).program
    tree = settling_tree(program, limit, profile.since(call.began), _MOST_PROGRAMS)
    return word if tree is None else congestion_tree_certificate(problem, tree, limit)


def _found(call: Call[FlowCongestion], profile: Profile, start: Placement) -> Found:
    """What the program of patterns or a model says."""
    if call.route != "arrays":
        return call.by_model(profile)
    built = call.elapsed
    outcome, placement = solve_patterns(call.problem, profile.since(call.began), start)
    return Found(outcome, placement, units=call.problem.grid, build_seconds=built)
