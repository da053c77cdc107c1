"""Schedules of problems over time as Gantt charts side by side, each with its value and gap, the optimum last."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optsched.drawing.gantt import gantt_picture
from optsched.drawing.scenes import gap_told, value_told
from optsched.errors import UsageError
from optsched.explaining import ScheduleExplanation
from optsched.gaps import GapReport, Reference, gap
from optsched.problems.schedules import ScheduleProblem
from optsched.results import Solution
from optsched.schedule import Schedule
from optsched.solvers.profiles import Profile
from optsched.timelines import Timeline, timeline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["chart_of", "chart_of_report", "chart_of_solution", "charts", "explained_picture"]


def charts(
    problem: ScheduleProblem,
    given: Sequence[Any],
    seed: int = 0,
    profile: str | Path | Profile = "exact",
    time_limit: float | None = None,
    reference: Reference | None = None,
) -> list[Timeline]:
    """What each did, and the optimum last; heuristics are run.

    Parameters
    ----------
    problem
        Over time.
    given
        Schedules, solutions, reports, or heuristics as `optsched.gap` takes them.
    seed, profile, time_limit
        As of `optsched.gap`.
    reference
        What is compared with; solved if it is not given.

    Raises
    ------
    UsageError
        If there is nothing to draw.
    """
    held = Reference.solved(problem, profile, time_limit) if reference is None else reference
    found = []
    for one in given:
        if isinstance(one, Schedule | Solution):
            found.append(chart_of(problem, one))
            continue
        report = one if isinstance(one, GapReport) else gap(problem, one, seed, held, time_limit=time_limit)
        found.append(chart_of_report(report))
    best = chart_of_solution(problem, held.solution)
    if best is None and not found:
        raise UsageError(f"{problem.place}: no schedule is known to draw: {held.solution.termination}")
    return [*found, *([] if best is None else [best])]


def chart_of(problem: ScheduleProblem, decision: Any, name: str = "the schedule") -> Timeline:
    """A schedule, with its value or what is wrong with it; UsageError if it is none of the instance."""
    found = timeline(problem, decision)
    held = decision.decision if isinstance(decision, Solution) else decision
    assert isinstance(held, Schedule)
    wrong = problem.violations(held)
    told = f"infeasible: {wrong[0]}" if wrong else value_told(problem, problem.objective(held))
    return timeline(found, name=f"{name}: {told}")


def chart_of_report(report: GapReport, name: str = "") -> Timeline:
    """What a heuristic did, with its value and gap; nothing where it failed, which the name says."""
    problem, name = report.problem, name or report.run.name
    assert isinstance(problem, ScheduleProblem)
    if report.run.schedule is None:
        nothing = Schedule.empty(len(problem.instance.workload))
        return timeline(problem, nothing, f"{name}: {report.status}")
    if report.objective is None:
        return chart_of(problem, report.run.schedule, name)
    return timeline(report, name=f"{name}: {value_told(problem, report.objective)}, {gap_told(report)}")


def chart_of_solution(problem: ScheduleProblem, solution: Solution) -> Timeline | None:
    """The optimum, or the best that is known; None where no schedule is."""
    if solution.decision is None:
        return None
    proved = f"proved: {solution.certificate}" if solution.certificate is not None else "proved"
    return chart_of(problem, solution, f"optimum ({proved})" if solution.optimal else "best that is known")


def explained_picture(found: ScheduleExplanation) -> Figure:
    """The schedule that is explained beside the best one, with the chain that its last end comes of framed.

    Raises
    ------
    UsageError
        Where nothing is feasible, or matplotlib is missing.
    """
    if found.infeasible:
        raise UsageError(f"{found.problem.place}: nothing is feasible: there is no schedule to draw")
    best = chart_of_solution(found.problem, found.report.reference.solution)
    shown = [chart_of_report(found.report, found.who), *([] if best is None else [best])]
    return gantt_picture(shown, framed=[link.task for link in found.chain])
