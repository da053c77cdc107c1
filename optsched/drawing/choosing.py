"""`draw`: the picture of whatever there is a picture of."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from optsched.drawing.clusters import drawn
from optsched.drawing.gantt import gantt_picture
from optsched.drawing.scenes import Scene, of_placement, of_report, of_snapshot, of_solution, placing
from optsched.drawing.schedules import charts, explained_picture
from optsched.errors import HeuristicFailed, UsageError, described
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
from optsched.simulating import Simulation
from optsched.solvers.profiles import Profile
from optsched.timelines import Timeline

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw", "side_by_side"]


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
    if isinstance(of, Problem):
        return drawn(side_by_side(of, placements, seed, profile, time_limit))
    if isinstance(of, Instance):
        return drawn([_on_instance(of, given) for given in placements] or [of_snapshot(of)])
    if isinstance(of, GapReport) and isinstance(of.problem, ScheduleProblem):
        return gantt_picture(charts(of.problem, [of, *placements], seed, profile, time_limit, of.reference))
    if isinstance(of, GapReport):
        return drawn(_scenes([of, *placements], placing(of.problem), of.reference))
    if isinstance(of, ScheduleProblem):
        return gantt_picture(charts(of, placements, seed, profile, time_limit))
    if isinstance(of, Simulation | Timeline):
        return gantt_picture([of, *placements])
    if isinstance(of, FlowNetwork | BaseProblem):
        return _network(of, placements, profile, time_limit)
    if placements:
        raise UsageError(f"placements are drawn on an instance or a problem, not on {described(of)}")
    return _result(of)


def side_by_side(
    problem: Problem,
    placements: Sequence[Any],
    seed: int = 0,
    profile: str | Path | Profile = "exact",
    time_limit: float | None = None,
) -> list[Scene]:
    """A scene for each placement, and the optimum last; heuristics are run. See `draw`."""
    reference = Reference.solved(problem, profile, time_limit)
    held = [
        gap(problem, given, seed, reference, time_limit=time_limit) if _to_be_run(given) else given
        for given in placements
    ]
    return _scenes(held, problem, reference)


def _to_be_run(given: Any) -> bool:
    return not isinstance(given, Placement | Solution | GapReport | Scene | list | tuple | np.ndarray)


def _scenes(held: Sequence[Any], problem: Problem, reference: Reference) -> list[Scene]:
    scenes = [_on_problem(problem, given) for given in held]
    best = of_solution(problem, reference.solution)
    if best is None and not scenes:
        raise UsageError(f"{problem.place}: no placement is known to draw: {reference.solution.termination}")
    return [*scenes, *([best] if best is not None else [])]


def _on_problem(problem: Problem, given: Any) -> Scene:
    if isinstance(given, Scene):
        return given
    if isinstance(given, GapReport):
        if given.problem.instance.sha256 != problem.instance.sha256:
            raise UsageError(f"{given.run.name} was run on another instance than {problem.instance.name or 'this one'}")
        return of_report(given)
    return of_placement(problem, _placement(problem, given))


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
    from optsched.drawing.networks import network_picture

    network = of.instance if isinstance(of, BaseProblem) else of
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
