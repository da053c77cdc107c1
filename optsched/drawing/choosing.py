"""`draw`: the picture of whatever there is a picture of."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.drawing.clusters import drawn
from optsched.drawing.gantt import gantt_picture
from optsched.drawing.scenes import (
    Scene,
    gap_told,
    of_placement,
    of_report,
    of_snapshot,
    of_solution,
    placing,
    value_told,
)
from optsched.errors import HeuristicFailed, UsageError, described
from optsched.explaining import ScheduleExplanation
from optsched.gaps import GapReport, Reference, gap
from optsched.instance import Instance
from optsched.network import FlowNetwork
from optsched.placement import NetworkFlow, Placement
from optsched.printing import value
from optsched.problems import Problem
from optsched.problems.base import BaseProblem
from optsched.problems.schedules import ScheduleProblem
from optsched.results import Solution
from optsched.running.answers import placement_from
from optsched.schedule import Schedule
from optsched.simulating import Simulation
from optsched.solvers.profiles import Profile
from optsched.timelines import Timeline, timeline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "chart_of",
    "chart_of_report",
    "chart_of_solution",
    "draw",
    "explained_picture",
    "side_by_side",
]


def draw(
    of: Any,
    *placements: Any,
    seed: int = 0,
    profile: str | Path | Profile = "exact",
    time_limit: float | None = None,
) -> Figure:
    """Draw an instance, placements on it side by side, or a result.

    Parameters
    ----------
    of
        - an instance, or what `optsched.load` takes: its nodes by rack, slots, running and waiting tasks;
        - a problem: the placements with their values and gaps, and the optimum last;
        - a `GapReport`: the heuristic's placement beside the optimum;
        - a problem over time: schedules as Gantt charts, with their values and gaps, and the optimum last;
        - a `Simulation` (and further ones on the same nodes): a Gantt chart of each;
        - a flow network, or a problem on one: with the flows;
        - a frontier, a gap matrix, an explanation, the gaps of a study, what one gap or several are made of: their own
          pictures.
    *placements
        Placements, schedules, solutions, reports, or heuristics (as `optsched.gap` takes them), which are run.
    seed, profile, time_limit
        For the heuristics and for the optimum, as of `optsched.gap`.

    Returns
    -------
    matplotlib.figure.Figure
        Notebooks show it; `optsched.drawing.save(figure, path)` writes it.

    Raises
    ------
    UsageError
        For what cannot be drawn, and if matplotlib is missing.
    InputError
        For an instance that is wrong.
    HeuristicFailed
        If a placement is none on the instance.

    Examples
    --------
    >>> import optsched
    >>> figure = draw(optsched.problem("lsap", "papers/guo-fig2"), "dl", "lsap-sched")
    >>> [text.get_text() for text in figure.texts if text.get_fontweight() == "bold"]
    ['dl', 'lsap-sched', 'optimum (proved: dual)']
    """
    if isinstance(of, str | os.PathLike | Mapping):
        from optsched.instances.files import load

        of = load(of)
    reference = None
    if isinstance(of, GapReport):
        placements, reference = (of, *placements), of.reference
        of = of.problem if isinstance(of.problem, ScheduleProblem) else placing(of.problem)
    if isinstance(of, Instance):
        return drawn([_on_instance(of, given) for given in placements] or [of_snapshot(of)])
    if isinstance(of, Problem | ScheduleProblem):
        reference = reference or Reference.solved(of, profile, time_limit)
        return side_by_side(of, [("", given) for given in placements], reference, seed, time_limit)
    if isinstance(of, Simulation | Timeline):
        return gantt_picture([of, *placements])
    if isinstance(of, FlowNetwork | BaseProblem):
        return _network(of, placements, profile, time_limit)
    if placements:
        raise UsageError(f"placements are drawn on an instance or a problem, not on {described(of)}")
    return _result(of)


def side_by_side(
    problem: Problem | ScheduleProblem,
    given: Sequence[tuple[str, Any]],
    reference: Reference,
    seed: int = 0,
    time_limit: float | None = None,
) -> Figure:
    """What each comes to, with its value and gap, and the optimum last; schedules are Gantt charts.

    Parameters
    ----------
    problem
        What judges them.
    given
        What each is called (empty: as it calls itself), and a decision, a solution, a report or a heuristic.
    reference
        What they are compared with.
    seed, time_limit
        Of the heuristics, as of `optsched.gap`.

    Raises
    ------
    UsageError
        If there is nothing to draw.
    """
    timed = isinstance(problem, ScheduleProblem)
    held = (Schedule,) if timed else (Placement, list, tuple, np.ndarray)
    panel: Callable[..., Any] = _chart if timed else _scene
    best_of: Callable[..., Any] = chart_of_solution if timed else of_solution
    shown: list[Any] = []
    for name, one in given:
        if not isinstance(one, (GapReport, Solution, *held)):
            one = gap(problem, one, seed, reference, time_limit=time_limit)
        shown.append(panel(problem, one, name))
    best = best_of(problem, reference.solution)
    if best is None and not shown:
        termination = reference.solution.termination
        raise UsageError(f"{problem.place}: no {problem.decided.noun} is known to draw: {termination}")
    shown += [] if best is None else [best]
    return gantt_picture(shown) if timed else drawn(shown)


def _scene(problem: Problem, given: Any, name: str) -> Scene:
    if isinstance(given, GapReport):
        if given.problem.instance.sha256 != problem.instance.sha256:
            raise UsageError(f"{given.run.name} was run on another instance than {problem.instance.name or 'this one'}")
        return of_report(given, name)
    return of_placement(problem, _placement(problem, given), name or "placement")


def _chart(problem: ScheduleProblem, given: Any, name: str) -> Timeline:
    if isinstance(given, GapReport):
        return chart_of_report(given, name)
    return chart_of(problem, given, name or "the schedule")


def _on_instance(instance: Instance, given: Any) -> Scene:
    """A placement on an instance that no problem judges."""
    if isinstance(given, Solution):
        given = given.decision
    if not isinstance(given, Placement):
        mend = 'pose a problem first: optsched.draw(optsched.problem("lsap", instance), "dl")'
        raise UsageError(f"placements are drawn on an instance, not {described(given)}; {mend}")
    return of_placement(instance, given)


def _placement(problem: Problem, given: Any) -> Placement:
    if isinstance(given, Solution):
        if given.instance_sha256 != problem.instance.sha256:
            raise UsageError(f"the solution is of another instance than {problem.instance.name or 'this one'}")
        if not isinstance(given.decision, Placement):
            raise UsageError("the solution holds no placement: there is nothing to draw")
        return given.decision
    try:
        return placement_from(given, problem)
    except HeuristicFailed as error:
        told = str(error).replace("answered", "the placement has", 1)
        raise UsageError(*told.split("\n")) from None


def _network(of: Any, flows: Sequence[Any], profile: str | Path | Profile, time_limit: float | None) -> Figure:
    """A network as it is, or with flows; of a problem on one with the optimal flow last."""
    from optsched.drawing.networks import check_size, network_picture

    network = of.instance if isinstance(of, BaseProblem) else of
    check_size(network)  # before anything is solved
    shown: list[tuple[str, NetworkFlow | None]] = []
    for given in flows:
        flow = given.decision if isinstance(given, Solution) else given
        if not isinstance(flow, NetworkFlow):
            raise UsageError(f"flows are drawn on a network, not {described(given)}")
        flow.to_dict(network)
        told = ""
        if isinstance(of, BaseProblem):
            told = ", infeasible" if of.violations(flow) else f": {value(of.objective(flow))}"
        shown.append((f"{flow.noun}{told}", flow))
    if isinstance(of, BaseProblem):
        from optsched.routes import solve

        solution = solve(of, profile, time_limit=time_limit)
        proved = "optimum" if solution.optimal else str(solution.termination)
        flow = solution.decision if isinstance(solution.decision, NetworkFlow) else None
        shown.append((f"{proved}{'' if solution.objective is None else f': {value(solution.objective)}'}", flow))
    return network_picture(network, shown or [("", None)])


def _result(of: Any) -> Figure:
    """The picture of a frontier, a matrix, an explanation, a study, or of what gaps are made of."""
    from optsched.decomposing import Decomposition, Decompositions
    from optsched.drawing.chains import chains_picture
    from optsched.drawing.decompositions import decomposition_picture, decompositions_picture
    from optsched.drawing.frontiers import frontier_picture
    from optsched.drawing.gaps import box_plot
    from optsched.drawing.matrices import matrix_picture
    from optsched.explaining import Explanation, ScheduleExplanation
    from optsched.matrix import GapMatrix
    from optsched.routes import Frontier
    from optsched.studies.tables import GapReports

    if isinstance(of, Frontier):
        return frontier_picture(of)
    if isinstance(of, GapMatrix):
        return matrix_picture(of)
    if isinstance(of, Explanation):
        return chains_picture(of)
    if isinstance(of, ScheduleExplanation):
        return explained_picture(of)
    if isinstance(of, GapReports):
        return box_plot(of)
    if isinstance(of, Decomposition):
        return decomposition_picture(of)
    if isinstance(of, Decompositions):
        return decompositions_picture(of)
    kinds = (
        "an instance, a problem, a report, a simulation, a network, a frontier, a matrix, an explanation, a study or "
        "what gaps are made of"
    )
    raise UsageError(f"draw takes {kinds}, not {described(of)}")


# Schedules -----------------------------------------------------------------------------------------------------------


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
