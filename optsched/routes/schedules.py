"""Routes of `makespan` and `job-times`: by search, or by a program over time, whose claim a small tree may prove."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import lcm

import numpy as np

from optsched.certificates.schedules import counting_certificate, tree_certificate
from optsched.core.arrays import Floats
from optsched.core.errors import TooLarge
from optsched.core.placement import MICRO, Schedule
from optsched.core.results import Bound, Certificate, Number, Proof, Solution
from optsched.problems.schedule_program import TimedProblem
from optsched.routes.call import Call, Ended, Found, Held, proof_of
from optsched.routes.listing import MODELS
from optsched.solvers.answers import whole_numbers
from optsched.solvers.highs import solve_arrays
from optsched.solvers.profiles import Profile
from optsched.solvers.searches.enumeration import semi_active
from optsched.solvers.searches.job_ends import AloneSearch
from optsched.solvers.searches.program_tree import as_arrays, settling_tree
from optsched.solvers.searches.schedules import JobPlacing, ScheduleSearch, best_placed

#: The default first.
ROUTES = ("search", "arrays", *MODELS, "brute-force")

#: From this many pairs of task and node, building the program, or a program for prices, may overrun a deadline.
OVERRUNS = {"arrays": 2_000, "search": 20_000}

#: If bound and schedule differ, up to this many orders of tasks on nodes are all tried.
_ORDERS = 20_000

#: With more orders, the compact program is solved for at most this many tasks, with at most this many nodes.
_PROGRAM, _NODES = 60, 500

#: The most linear programs of a tree that proves the result of a program.
_PROGRAMS = 60


def by_route(call: Call[TimedProblem], profile: Profile) -> Solution:
    """Solve by the call's route."""
    return _by_search(call, profile) if call.route == "search" else _by_program(call, profile)


def _by_search(call: Call[TimedProblem], profile: Profile) -> Solution:
    """Solve by bounds and schedules, the quickest first; a small problem that they leave open is enumerated."""
    problem = call.problem
    if not len(problem.tasks):
        return call.settled(problem.schedule([], []), counting_certificate(problem))
    search = ScheduleSearch(problem, call.start)
    built, solver = call.elapsed, {"name": "bounds by counting and prices, jobs placed in turn"}
    call.incumbent.hold(lambda: (search.best, (search.proof,)))
    reason = "bound and schedule do not meet"
    with call.until_stopped():
        search.run()
        if not search.closed:
            optimum = _enumerated(problem)
            if optimum is not None:
                return call.answered(*optimum, Ended("all schedules tried", solver=solver, build_seconds=built))
            if search.best is not None and len(problem.tasks) <= _PROGRAM:
                most = _NODES if profile.node_limit is None else min(_NODES, profile.node_limit)
                small = replace(profile, node_limit=most)
                with suppress(TooLarge):  # times that are too fine: the incumbent is the answer
                    return _by_small_program(call, small, search)
            reason += "; each search ended by its own counts, so that more time changes nothing"
    if search.closed:
        reason = "bound and schedule meet"
    return call.answered(search.best, (search.proof,), Ended(reason, solver=solver, build_seconds=built))


def _enumerated(problem: TimedProblem) -> tuple[Schedule, tuple[Certificate]] | None:
    """The optimum and its unproved claim, by all orders of tasks on nodes; None if there are too many."""
    try:
        _, (nodes, starts) = min(semi_active(problem, _ORDERS), key=lambda one: one[0])
    except TooLarge:
        return None
    schedule = problem.schedule(nodes, starts)
    return schedule, (Certificate(problem.components[0].name, Proof.ENUMERATION, problem.evaluate(schedule)[0]),)


def _by_small_program(call: Call[TimedProblem], profile: Profile, search: ScheduleSearch) -> Solution:
    """The answer of the compact program, started from the search's schedule; at once if its relaxation is a proof."""
    settled = _tree(call, profile, search.value, 1)
    if settled is not None:
        return call.answered(search.best, (settled,), Ended("bound and schedule meet"))
    found = _by_arrays(call, profile, search.best).checked(call.problem)
    return call.answered(found.decision or search.best, (_proof(call, profile, search.proof, found),), found)


def bounds(problem: TimedProblem) -> tuple[Bound, ...]:
    """The cheap bounds, and the bound of each job alone on the empty cluster, proved by covers of its data."""
    cheap = problem.cheap_bounds()
    if not cheap:
        return cheap
    search = AloneSearch(problem)
    search.by_covers()
    return (*cheap, search.bound)


def plain(problem: TimedProblem) -> Held:
    """Jobs placed as they arrive, and the bound by counting; neither if nothing is feasible."""
    if problem.plainly_infeasible is not None:
        return None, ()
    order = np.argsort(problem.jobs.arrival, kind="stable").tolist()
    return JobPlacing(problem).schedule(order, np.zeros(len(order), dtype=bool)), (counting_certificate(problem),)


def _by_program(call: Call[TimedProblem], profile: Profile) -> Solution:
    """Solve a problem that is not plainly infeasible by arrays or a model, from the best of `placed_schedules`."""
    problem, proved = call.problem, counting_certificate(call.problem)
    if not len(problem.tasks):
        return call.settled(problem.schedule([], []), proved)
    held, found = call.start, Found()
    with call.until_stopped():
        held = held or best_placed(problem)
        call.incumbent.hold(lambda: (held, (proved,)))
        found = _by_arrays(call, profile, held) if call.route == "arrays" else call.by_model(profile, start=held)
        proved = _proof(call, profile, proved, found.checked(problem))
    return call.answered(found.decision or held, (proved,), found)


def _proof(call: Call[TimedProblem], profile: Profile, proved: Certificate, outcome: Found) -> Certificate:
    """The strongest of three: what is proved, a small tree at the program's result, and what the program claims."""
    problem = call.problem
    weights = [Fraction(weight).denominator for weight in problem.job_weights]
    proof = proof_of(problem, proved, outcome, MICRO * lcm(*weights))
    grown = _tree(call, profile, proof.claim, _PROGRAMS) if proof.kind is Proof.SOLVER and outcome.optimal else None
    return grown or proof


def _tree(call: Call[TimedProblem], profile: Profile, value: Number, most: int) -> Certificate | None:
    """A tree of at most `most` linear programs that proves that no schedule has less than a value."""
    posed = call.problem.within(call.problem.value_below(value))
    program = posed.program()
    limit = int(value * program.unit)
    tree = settling_tree(program.numbers, limit, profile.since(call.began), most)
    return None if tree is None else tree_certificate(call.problem, program, tree, value)


def _by_arrays(call: Call[TimedProblem], profile: Profile, start: Schedule) -> Found:
    """The answer of HiGHS to the compact program."""
    problem = call.problem.within(call.problem.evaluate(start)[0])
    program = problem.program()
    built, hint = call.elapsed, problem.values_of(start, program).astype(np.float64)

    def decided(x: Floats) -> Schedule:
        return problem.decision_of(whole_numbers(x), program)

    solution = solve_arrays(as_arrays(program.numbers), profile.since(call.began), hint, decided)
    decision = None if solution.x is None else decided(solution.x)
    return Found(solution.outcome, decision, units=program.unit, build_seconds=built)
