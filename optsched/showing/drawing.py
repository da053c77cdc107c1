"""`draw`: makes the picture of any object that has one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from optsched.core.brief import several
from optsched.core.errors import UsageError, described
from optsched.core.instance import Instance
from optsched.core.network import FlowNetwork
from optsched.core.placement import NetworkFlow, Placement, Schedule
from optsched.core.results import Sense, Solution
from optsched.heuristics.simulating import Simulation
from optsched.instances.files import load
from optsched.measuring.decomposing import Decomposition, Decompositions
from optsched.measuring.explaining import Explanation, ScheduleExplanation, decision_of
from optsched.measuring.gaps import GapReport, Reference, gap
from optsched.measuring.matrix import GapMatrix
from optsched.measuring.printing import number, percent, value
from optsched.measuring.studies.tables import GapReports
from optsched.measuring.timelines import Timeline, timeline
from optsched.problems import Problem
from optsched.problems.base import BaseProblem, TaskProblem
from optsched.problems.schedules import ScheduleProblem
from optsched.routes import Frontier, solve
from optsched.showing.clusters import Scene, drawn, of_placement, of_snapshot
from optsched.showing.explained import chains_picture, decomposition_picture, decompositions_picture
from optsched.showing.gaps import box_plot
from optsched.showing.networks import check_size, network_picture
from optsched.showing.runs import gantt_picture
from optsched.showing.trade_offs import frontier_picture, matrix_picture
from optsched.solvers.profiles import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A decision to draw: a placement on its cluster, or a schedule over time.
Panel: TypeAlias = "Scene | Timeline"


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
        - a `GapReport`: the heuristic's placement next to the optimum;
        - a problem over time: schedules as Gantt charts, with their values and gaps, and the optimum last;
        - a `Simulation` (and further ones on the same nodes): a Gantt chart of each;
        - a flow network, or a problem on one: with the flows;
        - a frontier, a gap matrix, an explanation, the gaps of a study, the parts of one gap or several: their own
          pictures.
    *placements
        Placements, schedules, solutions, reports, or heuristics (as `optsched.gap` takes them), which are run.
    seed, profile, time_limit
        For the heuristics and for the optimum, as in `optsched.gap`.

    Returns
    -------
    matplotlib.figure.Figure
        Notebooks show it; `optsched.showing.save(figure, path)` writes it.

    Raises
    ------
    UsageError
        If something cannot be drawn, or matplotlib is missing.
    InputError
        If an instance is faulty.
    HeuristicFailed
        If a heuristic's placement is not one on the instance.

    Examples
    --------
    >>> import optsched
    >>> figure = draw(optsched.problem("lsap", "papers/guo-fig2"), "dl", "lsap-sched")
    >>> [text.get_text() for text in figure.texts if text.get_fontweight() == "bold"]
    ['dl', 'lsap-sched', 'optimum (proved: dual)']
    """
    if isinstance(of, str | os.PathLike | Mapping):
        of = load(of)
    reference = None
    if isinstance(of, GapReport):
        placements, reference, of = (of, *placements), of.reference, of.problem
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
    decisions: Sequence[tuple[str, Any]],
    reference: Reference,
    seed: int = 0,
    time_limit: float | None = None,
) -> Figure:
    """The panel of each decision, with its value and gap, and the optimum last; schedules are Gantt charts.

    `decisions` are pairs of a name (empty: the decision's own) and a decision, a solution, a report or a heuristic,
    which runs with `seed` and `time_limit`. They are compared with `reference`. UsageError if there is nothing to draw.
    """
    shown = []
    for name, one in decisions:
        if not isinstance(one, GapReport) and decision_of(problem, one) is None:
            one = gap(problem, one, seed, reference, time_limit=time_limit)
        shown.append(panel(problem, one, name))
    best = _best(problem, reference.solution)
    if best is None and not shown:
        termination = reference.solution.termination
        raise UsageError(f"{problem.place}: no {problem.decided.noun} is known to draw: {termination}")
    shown += [] if best is None else [best]
    if isinstance(problem, ScheduleProblem):
        return gantt_picture(shown)
    return drawn([one for one in shown if isinstance(one, Scene)])


def _best(problem: Problem | ScheduleProblem, solution: Solution) -> Panel | None:
    """The optimum, or the best known decision; None without one."""
    if solution.decision is None:
        return None
    proved = f"proved: {solution.certificate}" if solution.certificate is not None else "proved"
    return panel(problem, solution, f"optimum ({proved})" if solution.optimal else "best that is known")


def panel(problem: Problem | ScheduleProblem, item: Any, name: str = "") -> Panel:
    """The panel of a decision, a solution or a report, with its value and gap; empty if a heuristic failed.

    UsageError if it is of another instance, or has no decision of the problem.
    """
    if isinstance(item, GapReport) and item.problem.instance.sha256 != problem.instance.sha256:
        raise UsageError(f"{item.run.name} was run on another instance than {problem.instance.name or 'this one'}")
    decision = item.decision if isinstance(item, GapReport) else decision_of(problem, item)
    if isinstance(item, GapReport):
        name = (name or item.run.name) + (f": {item.status}" if decision is None or item.status == "starved" else "")
    name = name or problem.decided.noun
    if isinstance(problem, ScheduleProblem):
        if decision is None:
            return timeline(problem, Schedule.empty(len(problem.instance.workload)), name)
        found = timeline(item) if isinstance(item, GapReport) else timeline(problem, decision)
        return timeline(found, name=f"{name}: {_value_text(problem, decision, item)}")
    if decision is None:
        nothing = of_placement(problem, Placement.empty(len(problem.instance.workload)), name)
        return replace(nothing, lines=tuple((item.error or item.status).splitlines()[:1]))
    assert isinstance(decision, Placement)
    return of_placement(problem, decision, name, [_value_text(problem, decision, item)])


def _value_text(problem: TaskProblem[Any], decision: Any, decided: Any) -> str:
    """The value of a decision, with its gap if that was measured; or what is wrong with it."""
    wrong = problem.violations(decision)
    if wrong:
        return f"infeasible: {several(wrong, 2)}"
    parts = zip(problem.components, problem.objective(decision), strict=True)
    values = [f"{part.name} {number(entry)}" for part, entry in parts]
    return ", ".join([*values, *([gap_text(decided)] if isinstance(decided, GapReport) else [])])


def gap_text(report: GapReport) -> str:
    """The gap of the deciding component, in words."""
    if report.deciding is None:
        return "gap unknown"
    absolute, relative = report.deciding
    optimum = "optimum" if report.reference.kind == "optimum" else "bound"
    if not absolute:
        return f"at the {optimum}"
    first = next(entry for entry in zip(report.absolute_gap or (), report.problem.components, strict=True) if entry[0])
    side = "above" if first[1].sense is Sense.MIN else "below"
    if relative is None:
        return f"{number(absolute)} {side} the {optimum} (over 0)"
    return f"{percent(relative)} {side} the {optimum}"


def _on_instance(instance: Instance, placement: Any) -> Scene:
    """A placement on an instance without a problem."""
    if isinstance(placement, Solution):
        placement = placement.decision
    if not isinstance(placement, Placement):
        mend = 'pose a problem first: optsched.draw(optsched.problem("lsap", instance), "dl")'
        raise UsageError(f"placements are drawn on an instance, not {described(placement)}; {mend}")
    return of_placement(instance, placement)


def _network(of: Any, flows: Sequence[Any], profile: str | Path | Profile, time_limit: float | None) -> Figure:
    """A network as it is, or with flows; of a problem on one, with the optimal flow last."""
    network = of.instance if isinstance(of, BaseProblem) else of
    check_size(network)  # before anything is solved
    shown: list[tuple[str, NetworkFlow | None]] = []
    for given in flows:
        flow = given.decision if isinstance(given, Solution) else given
        if not isinstance(flow, NetworkFlow):
            raise UsageError(f"flows are drawn on a network, not {described(given)}")
        flow.to_dict(network)
        result = ""
        if isinstance(of, BaseProblem):
            result = ", infeasible" if of.violations(flow) else f": {value(of.objective(flow))}"
        shown.append((f"{flow.noun}{result}", flow))
    if isinstance(of, BaseProblem):
        solution = solve(of, profile, time_limit=time_limit)
        proved = "optimum" if solution.optimal else str(solution.termination)
        flow = solution.decision if isinstance(solution.decision, NetworkFlow) else None
        shown.append((f"{proved}{'' if solution.objective is None else f': {value(solution.objective)}'}", flow))
    return network_picture(network, shown or [("", None)])


def _result(of: Any) -> Figure:
    """The picture of a frontier, a matrix, an explanation, a study, or the parts of gaps."""
    pictures: dict[type, Callable[[Any], Figure]] = {
        Frontier: frontier_picture,
        GapMatrix: matrix_picture,
        Explanation: chains_picture,
        ScheduleExplanation: explained_picture,
        GapReports: box_plot,
        Decomposition: decomposition_picture,
        Decompositions: decompositions_picture,
    }
    if type(of) in pictures:
        return pictures[type(of)](of)
    kinds = (
        "an instance, a problem, a report, a simulation, a network, a frontier, a matrix, an explanation, a study or "
        "what gaps are made of"
    )
    raise UsageError(f"draw takes {kinds}, not {described(of)}")


def explained_picture(found: ScheduleExplanation) -> Figure:
    """The explained schedule next to the best one, with a frame around the chain that leads to its last end.

    UsageError if nothing is feasible, or matplotlib is missing.
    """
    if found.infeasible:
        raise UsageError(f"{found.problem.place}: nothing is feasible: there is no schedule to draw")
    best = _best(found.problem, found.report.reference.solution)
    shown = [panel(found.problem, found.report, found.who), *([] if best is None else [best])]
    return gantt_picture(shown, framed=[link.task for link in found.chain])
