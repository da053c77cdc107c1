"""Why a gap is there: what a heuristic's placement and an optimal one do differently, and what each difference costs;
of a schedule, what its jobs and tasks waited for.

The moves from one to the other are chains and cycles, each with its gain; the gains add up to the gap. Objectives and
feasibility come from `problems` alone, references and runs from `gaps`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, overload

import numpy as np

from optsched.core.errors import HeuristicFailed, OptschedError, UsageError, expect
from optsched.core.placement import Placement
from optsched.core.results import Solution, Termination
from optsched.core.schedule import Schedule
from optsched.heuristics import HeuristicRun
from optsched.measuring.explaining.chains import Chain, Difference, better_by, difference
from optsched.measuring.explaining.conflict import Conflict, conflict_of
from optsched.measuring.explaining.explanation import Explanation, Move
from optsched.measuring.explaining.schedules import JobTold, Link, ScheduleExplanation, TaskTold
from optsched.measuring.explaining.worth import Worth, worths
from optsched.measuring.gaps import GapReport, Reference, gap, gap_of
from optsched.problems import Problem
from optsched.problems.base import TaskProblem, expect_problem
from optsched.problems.schedules import ScheduleProblem
from optsched.running.answers import placement_from
from optsched.solvers.profiles import Profile

__all__ = [
    "Chain",
    "Conflict",
    "Difference",
    "Explanation",
    "JobTold",
    "Link",
    "Move",
    "ScheduleExplanation",
    "TaskTold",
    "Worth",
    "explain",
    "explained",
]

#: What a placement and a schedule are called that no heuristic made.
GIVEN, GIVEN_SCHEDULE = "the placement", "the schedule"

#: Why no change of the instance was solved, though it was asked for.
NO_CHANGE = "no full node would offer one more slot, and no replica or room betters the optimum as it is placed"


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
        What is decided, and at what cost.
    heuristic
        A heuristic as `optsched.gap` takes it; or a `Placement`, a `Solution` of any problem on the instance, or a list
        with a node id, a node index or None for each of `problem.tasks`. Of a problem over time a policy, a `Schedule`
        or a `Solution` that holds one. It may be left out where nothing is feasible.
    seed, reference, profile, time_limit
        As for `optsched.gap`.
    worth
        So many changes of the instance (one more slot, one more replica, room for one more task) are solved for what
        they would be worth. Not of schedules.
    **parameters
        Of the heuristic.

    Returns
    -------
    Explanation
        Its chains' gains add up to the gap, exactly. `print` it for sentences; `to_dict` is for JSON. Where nothing is
        feasible it has a `conflict` instead, and the heuristic is not run. Of a problem over time it is a
        `ScheduleExplanation`: what jobs and tasks waited for, and the chain of tasks that the makespan is.

    Raises
    ------
    UsageError
        For an unknown heuristic, one that does not serve the problem, a reference or solution of another problem, and
        an infeasible placement, which has no gap.
    HeuristicFailed
        If the heuristic raised, or answered nonsense or an infeasible placement.

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
    instance, lsap: the placement has 1 locality-cost (level); the proved optimum: 0.
    2 tasks of 2 are placed differently; no optimum moves fewer.
      -  1 avoidable remote map (1 less locality-cost), on b
    Each line is a change that can be made without the others, and always saves as much.
      1. 1 less locality-cost: t2 from b to a, where its data is (pays 0, not 1), which pushes t1 to b (still pays 0), \
to the slot that t2 leaves
    Together: 1 less locality-cost, which is the gap.
    """
    expect_problem(problem, "explain", TaskProblem)
    if isinstance(worth, bool) or not isinstance(worth, int) or worth < 0:
        raise UsageError(f"worth={worth!r}: give how many changed instances to solve, 0 or more")
    expect(reference, (Reference, Solution, type(None)), "explain takes a reference or a solution to compare with")
    held = _reference(problem, reference, profile, time_limit)
    if isinstance(problem, ScheduleProblem):
        return _of_schedule(problem, heuristic, seed, held, time_limit, parameters)
    placed = _given(problem, heuristic)
    if held.solution.termination is Termination.INFEASIBLE:
        return _explained_placement(problem, gap_of(problem, HeuristicRun(GIVEN, {}, placed, 0.0), seed, held), 0)
    if heuristic is None:
        raise UsageError(f"{problem.place}: give a heuristic or a placement: there are feasible ones")
    if placed is None:
        report = gap(problem, heuristic, seed, held, time_limit=time_limit, **parameters)
        return _explained_placement(problem, report, worth)
    if parameters:
        raise UsageError(f"a placement takes no parameters: leave {', '.join(parameters)} out")
    return _explained_placement(problem, gap_of(problem, HeuristicRun(GIVEN, {}, placed, 0.0), seed, held), worth)


def _of_schedule(
    problem: ScheduleProblem,
    given: Any,
    seed: int,
    held: Reference,
    time_limit: float | None,
    parameters: dict[str, Any],
) -> ScheduleExplanation:
    """What the tasks of a schedule waited for, which is given or made by a policy."""
    if held.solution.termination is Termination.INFEASIBLE:
        nothing = HeuristicRun(GIVEN_SCHEDULE, {}, None, 0.0)
        return ScheduleExplanation(problem, gap_of(problem, nothing, seed, held), GIVEN_SCHEDULE)
    if given is None:
        raise UsageError(f"{problem.place}: give a policy or a schedule: there are feasible ones")
    if isinstance(given, Solution):
        if given.instance_sha256 != problem.instance.sha256:
            raise UsageError(f"the solution is of another instance than {problem.instance.name or 'this one'}")
        given = given.decision
    if isinstance(given, Schedule):
        if parameters:
            raise UsageError(f"a schedule takes no parameters: leave {', '.join(parameters)} out")
        run = HeuristicRun(GIVEN_SCHEDULE, {}, given.placement, 0.0, schedule=given)
        return _explained_schedule(problem, gap_of(problem, run, seed, held))
    if given is None or isinstance(given, Placement):
        raise UsageError(f"{problem.name} decides when tasks run: give a policy or a schedule to explain")
    return _explained_schedule(problem, gap(problem, given, seed, held, time_limit=time_limit, **parameters))


def _explained_schedule(problem: ScheduleProblem, report: GapReport) -> ScheduleExplanation:
    """The explanation of a feasible schedule; raises as `explain` does."""
    if report.reference.infeasible is None:
        if report.run.schedule is None:
            raise HeuristicFailed(*(report.error or "").split("\n")) from report.run.cause
        if report.objective is None:
            raise _infeasible(report)
    return ScheduleExplanation(problem, report, report.run.name)


def _infeasible(report: GapReport) -> OptschedError:
    """The error about an infeasible decision, which has no gap."""
    run, noun = report.run, report.problem.decided.noun
    told = "; ".join(map(str, report.violations[:5]))
    given = run.name in (GIVEN, GIVEN_SCHEDULE)
    who = run.name if given else f"the {noun} of {run.name}"
    failed = UsageError if given else HeuristicFailed
    return failed(f"{report.problem.place}: {who} is infeasible, so that there is no gap to explain: {told}")


def _reference(
    problem: Problem | ScheduleProblem,
    given: Reference | Solution | None,
    profile: str | Path | Profile,
    time_limit: float | None,
) -> Reference:
    """What is compared with; UsageError where it is of another problem."""
    if isinstance(given, Reference):
        return given if given.problem is problem else Reference(problem, given.profile, solution=given.solution)
    return Reference(problem, profile, time_limit, given)


def _given(problem: Problem, given: Any) -> Placement | None:
    """The placement that was given in place of a heuristic."""
    if isinstance(given, Solution):
        if given.instance_sha256 != problem.instance.sha256:
            raise UsageError(f"the solution is of another instance than {problem.instance.name or 'this one'}")
        if not isinstance(given.decision, Placement):
            raise UsageError("the solution holds no placement: there is nothing to explain")
        return given.decision
    if not isinstance(given, Placement | list | tuple | np.ndarray):
        return None
    try:
        return placement_from(given, problem)
    except HeuristicFailed as error:
        raise UsageError(
            *(line.replace("answered", "the placement has", 1) for line in str(error).split("\n"))
        ) from None


def explained(report: GapReport) -> Explanation | ScheduleExplanation:
    """The explanation of a gap that is there already; raises as `explain` does."""
    problem = report.problem
    if isinstance(problem, ScheduleProblem):
        return _explained_schedule(problem, report)
    assert isinstance(problem, Problem)
    return _explained_placement(problem, report, 0)


def _explained_placement(problem: Problem, report: GapReport, worth: int) -> Explanation:
    """The explanation of the gap of a placement."""
    run, best = report.run, report.reference.solution
    if best.termination is Termination.INFEASIBLE:
        conflict = conflict_of(problem, report.reference.profile)
        return Explanation(problem, report, run.name, None, None, conflict=conflict)
    if run.placement is None:
        raise HeuristicFailed(*(report.error or "").split("\n")) from run.cause
    if report.objective is None:
        raise _infeasible(report)
    better = None if best.objective is None else better_by(problem, report.objective, best.objective)
    found = None
    if better is not None and better > (0,) * len(better):
        assert isinstance(best.decision, Placement)
        found = difference(problem, run.placement, best.decision)
    elif not best.optimal:
        better = None
    changes, why = _worths(problem, report, found, worth)
    return Explanation(problem, report, run.name, better, found, tuple(changes), why)


def _worths(problem: Problem, report: GapReport, found: Difference | None, most: int) -> tuple[list[Worth], str | None]:
    """What changes would be worth; and why nothing is told, where it was asked for."""
    best = report.reference.solution
    if not most:
        return [], None
    if not best.optimal or not isinstance(best.decision, Placement):
        return [], "the optimum is not proved"
    last = problem.nodes_of(best.decision) if found is None else found.there
    moved = [position for chain in found.chains for position in chain.positions] if found is not None else []
    changes = worths(problem, best, last, np.array(moved, dtype=np.int64), most, report.reference.profile)
    return changes, None if changes else NO_CHANGE
