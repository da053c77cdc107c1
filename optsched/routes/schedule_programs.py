"""Routes of `makespan` and `job-times` by a program over time: by arrays, or a model; what they claim is a word."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np

from optsched.problems.schedules import ScheduleProblem
from optsched.results import Certificate, Solution
from optsched.routes.call import Call, Found, proof_of
from optsched.schedule import MICRO, Schedule
from optsched.searches.schedule_program import ScheduleProgram
from optsched.searches.timetable import best_list
from optsched.solvers.highs import solve_arrays
from optsched.solvers.profiles import Profile

__all__ = ["by_program", "by_small_program"]


def by_program(call: Call[ScheduleProblem], profile: Profile, proved: Certificate) -> Solution:
    """By arrays or a model, from the best list schedule on.

    Parameters
    ----------
    call
        Its problem is not plainly infeasible.
    profile
        Limits and options.
    proved
        What is proved without a program.
    """
    problem = call.problem
    if not len(problem.tasks):
        return call.settled(problem.schedule([], []), proved)
    held, found = call.start, Found()
    with call.until_stopped():
        held = held or best_list(problem)
        call.hold(lambda: (held, (proved,)))
        found = _by_arrays(call, profile, held) if call.route == "arrays" else call.by_model(profile, start=held)
        found.checked(problem)
    return call.answered(found.decision or held, (_proof(problem, proved, found),), found)


def by_small_program(
    call: Call[ScheduleProblem], profile: Profile, held: Schedule, proved: Certificate
) -> tuple[Found, Certificate]:
    """What the compact program says, from a schedule on; and the better proof of the two, of which it gives a word."""
    found = _by_arrays(call, profile, held).checked(call.problem)
    return found, _proof(call.problem, proved, found)


def _proof(problem: ScheduleProblem, proved: Certificate, found: Found) -> Certificate:
    """The better of what is proved and what a program claims."""
    weights = [Fraction(weight).denominator for weight in getattr(problem, "weights", ())]
    return proof_of(problem, proved, found, MICRO * lcm(*weights))


def _by_arrays(call: Call[ScheduleProblem], profile: Profile, start: Schedule) -> Found:
    """What HiGHS says of the compact program."""
    program = ScheduleProgram(call.problem)
    built = call.elapsed
    hint = program.start(start).astype(np.float64)
    solution = solve_arrays(program.arrays(), profile.since(call.began), hint, program.decode)
    decision = None if solution.x is None else program.decode(solution.x)
    return Found(solution.outcome, decision, units=MICRO // program.table.step, build_seconds=built)
