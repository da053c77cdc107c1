"""Explains gaps: how a heuristic's placement differs from an optimal one, and what each difference costs.

For a schedule it says what jobs and tasks waited for. The moves from one placement to the other are chains and cycles,
each with its gain; the gains sum to the gap. Objectives and feasibility come only from `problems`, references and runs
from `gaps`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, overload

import numpy as np

from optsched.core.brief import several
from optsched.core.deprecated import former_names
from optsched.core.errors import HeuristicFailed, UsageError, expect
from optsched.core.placement import Placement, Schedule
from optsched.core.results import Solution, Termination
from optsched.heuristics import HeuristicRun
from optsched.heuristics.running.driver import placement_from
from optsched.measuring.explaining.chains import Chain, Difference, better_by, difference
from optsched.measuring.explaining.changes import Conflict, Worth, conflict_of, worths
from optsched.measuring.explaining.explanation import Explanation, Move
from optsched.measuring.explaining.schedules import ExplainedJob, ExplainedTask, Link, ScheduleExplanation
from optsched.measuring.gaps import GapReport, Reference, gap, gap_of
from optsched.problems import Problem
from optsched.problems.base import TaskProblem, expect_problem
from optsched.problems.schedules import ScheduleProblem
from optsched.solvers.profiles import Profile

__all__ = [
    "Chain",
    "Conflict",
    "Difference",
    "Explanation",
    "ExplainedJob",
    "Link",
    "Move",
    "ScheduleExplanation",
    "ExplainedTask",
    "Worth",
    "decision_of",
    "explain",
    "explained",
]

_SCHEDULES = "optsched.measuring.explaining.schedules"
__getattr__ = former_names(__name__, JobTold=f"{_SCHEDULES}:ExplainedJob", TaskTold=f"{_SCHEDULES}:ExplainedTask")


@overload
def explain(
    problem: Problem,
    heuristic: Any = None,
    seed: int = 0,
    reference: Reference | Solution | None = None,
    profile: str | Path | Profile = "exact",
    time_limit: float | None = None,
    worth: int = 0,
    **parameters: Any,
) -> Explanation: ...


@overload
def explain(
    problem: ScheduleProblem,
    heuristic: Any = None,
    seed: int = 0,
    reference: Reference | Solution | None = None,
    profile: str | Path | Profile = "exact",
    time_limit: float | None = None,
    worth: int = 0,
    **parameters: Any,
) -> ScheduleExplanation: ...


def explain(
    problem: Problem | ScheduleProblem,
    heuristic: Any = None,
    seed: int = 0,
    reference: Reference | Solution | None = None,
    profile: str | Path | Profile = "exact",
    time_limit: float | None = None,
    worth: int = 0,
    **parameters: Any,
) -> Explanation | ScheduleExplanation:
    """Why a heuristic's placement is no optimum: which tasks are placed differently, and what each difference costs.

    Parameters
    ----------
    problem
        The problem.
    heuristic
        A heuristic as for `optsched.gap`; or a `Placement`, a `Solution` of any problem on the instance, or a list with
        a node id, a node index or None for each of `problem.tasks`. For a problem over time a policy, a `Schedule` or a
        `Solution` that has one. It may be omitted if nothing is feasible.
    seed, reference, profile, time_limit
        As for `optsched.gap`.
    worth
        How many changes of the instance (one more slot, one more replica, room for one more task) are solved to find
        their worth. Not for schedules.
    **parameters
        Parameters of the heuristic.

    Returns
    -------
    Explanation
        The gains of its chains sum to the gap exactly. `print` it for sentences; `to_dict` is for JSON. If nothing is
        feasible, it has a `conflict` instead, and the heuristic does not run. For a problem over time it is a
        `ScheduleExplanation`: what jobs and tasks waited for, and the chain of tasks that determines the makespan.

    Raises
    ------
    UsageError
        For an unknown heuristic, one that does not serve the problem, a reference or solution of another problem, and
        an infeasible placement, which has no gap.
    HeuristicFailed
        If the heuristic raised, or returned something invalid or an infeasible placement.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Ragged, Workload
    >>> from optsched.problems import Lsap
    >>> workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0, 1], [0]]))
    >>> problem = Lsap(Instance(Cluster(["a", "b"]), workload))
    >>> found = explain(problem, ["a", "b"])
    >>> found.gap, [chain.gain for chain in found.chains]
    ((1,), [(1,)])
    >>> print(found)
    instance, lsap: the placement has locality-cost 1 (level); the proved optimum: 0.
    2 tasks of 2 are placed differently; every optimum moves at least as many.
      -  1 avoidable off-rack map (1 less locality-cost), on b
    Each line is an independent change: it saves the same with or without the others.
      1. 1 less locality-cost: t2 from b to a, where its data is (pays 0, not 1), which pushes t1 to b (still pays 0), \
to the slot that t2 leaves
    Together: 1 less locality-cost, which is the gap.
    """
    expect_problem(problem, "explain", TaskProblem)
    if isinstance(worth, bool) or not isinstance(worth, int) or worth < 0:
        raise UsageError(f"worth={worth!r}: give how many changed instances to solve, 0 or more")
    expect(reference, (Reference, Solution, type(None)), "explain takes a reference or a solution to compare with")
    if not isinstance(reference, Reference):
        reference = Reference(problem, profile, time_limit, reference)
    elif reference.problem is not problem:
        reference = Reference(problem, reference.profile, solution=reference.solution)
    noun = problem.decided.noun
    decision = decision_of(problem, heuristic)
    infeasible = reference.solution.termination is Termination.INFEASIBLE
    if heuristic is None and not infeasible:
        maker = "policy" if isinstance(problem, ScheduleProblem) else "heuristic"
        raise UsageError(f"{problem.place}: give a {maker} or a {noun}: there are feasible ones")
    if decision is None and not infeasible:
        return explained(gap(problem, heuristic, seed, reference, time_limit=time_limit, **parameters), worth)
    if parameters and not infeasible:
        raise UsageError(f"a {noun} takes no parameters: leave {', '.join(parameters)} out")
    schedule = decision if isinstance(decision, Schedule) else None
    placement = decision.placement if isinstance(decision, Schedule) else decision
    run = HeuristicRun(f"the {noun}", {}, placement, 0.0, schedule=schedule)
    return explained(gap_of(problem, run, seed, reference), worth)


def decision_of(problem: Problem | ScheduleProblem, decision: Any) -> Placement | Schedule | None:
    """The decision given instead of a heuristic, also as a solution or a list of nodes; None for anything else.

    Raises
    ------
    UsageError
        If it is of another instance or problem.
    """
    if isinstance(decision, Solution):
        if decision.instance_sha256 != problem.instance.sha256:
            raise UsageError(f"the solution is of another instance than {problem.instance.name or 'this one'}")
        if not isinstance(decision.decision, problem.decided):
            raise UsageError(f"the solution holds no {problem.decided.noun}, which {problem.name} decides")
        decision = decision.decision
    if isinstance(problem, ScheduleProblem):
        if isinstance(decision, Placement):
            raise UsageError(f"{problem.name} decides when tasks run: give a policy or a schedule")
        return decision if isinstance(decision, Schedule) else None
    if not isinstance(decision, Placement | list | tuple | np.ndarray):
        return None
    try:
        return placement_from(decision, problem)
    except HeuristicFailed as error:
        raise UsageError(*(line.replace("answered", "the placement has", 1) for line in error.lines)) from None


def explained(report: GapReport, worth: int = 0) -> Explanation | ScheduleExplanation:
    """The explanation of an existing gap; raises as `explain` does."""
    problem, run, best = report.problem, report.run, report.reference.solution
    infeasible = best.termination is Termination.INFEASIBLE
    if not infeasible and report.decision is None:
        raise HeuristicFailed(*(report.error or "").split("\n")) from run.cause
    if not infeasible and report.objective is None:
        violations = several(report.violations, 5)
        given = run.name == f"the {problem.decided.noun}"
        who = run.name if given else f"the {problem.decided.noun} of {run.name}"
        failed = UsageError if given else HeuristicFailed
        raise failed(f"{problem.place}: {who} is infeasible, so that there is no gap to explain: {violations}")
    if isinstance(problem, ScheduleProblem):
        return ScheduleExplanation(problem, report)
    assert isinstance(problem, Problem)
    if infeasible:
        return Explanation(problem, report, None, None, conflict=conflict_of(problem, report.reference.profile))
    assert report.objective is not None
    better = None if best.objective is None else better_by(problem, report.objective, best.objective)
    found = None
    if better is not None and better > (0,) * len(better):
        assert run.placement is not None
        assert isinstance(best.decision, Placement)
        found = difference(problem, run.placement, best.decision)
    elif not best.optimal:
        better = None
    changes, why = _worths(problem, report, found, worth)
    return Explanation(problem, report, better, found, tuple(changes), why)


def _worths(problem: Problem, report: GapReport, moves: Difference | None, most: int) -> tuple[list[Worth], str | None]:
    """The worth of changes; and why it is unknown, if it was asked for."""
    best = report.reference.solution
    if not most:
        return [], None
    if not best.optimal or not isinstance(best.decision, Placement):
        return [], "the optimum is not proved"
    last = problem.nodes_of(best.decision) if moves is None else moves.there
    moved = [position for chain in moves.chains for position in chain.positions] if moves is not None else []
    changes = worths(problem, best, last, np.array(moved, dtype=np.int64), most, report.reference.profile)
    none = "no full node would offer one more slot, and no replica or room betters the optimum as it is placed"
    return changes, None if changes else none
