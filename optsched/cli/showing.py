"""`optsched show`: an instance and placements on it as a picture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import click

from optsched.cli import arguments, completing
from optsched.errors import HeuristicFailed, UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from optsched.gaps import GapReport
    from optsched.instance import Instance
    from optsched.network import FlowNetwork
    from optsched.problems import AnyProblem, Problem
    from optsched.results import Solution
    from optsched.solvers.profiles import Profile
    from optsched.studies.choices import Choice

__all__ = ["show"]


@click.command()
@click.argument("instance", shell_complete=completing.instances)
@click.option(
    "--problem",
    "problem_name",
    metavar="P",
    help="What judges the placements; see `list problems`.",
    shell_complete=completing.problems,
)
@arguments.param_option
@click.option(
    "--heuristic",
    "heuristics",
    multiple=True,
    metavar="H[,K=V...]",
    help="Draw its placement (repeatable); your own as package.module:function.",
    shell_complete=completing.heuristics,
)
@click.option(
    "--solution",
    "solutions",
    multiple=True,
    metavar="SOLUTION.json",
    help="Draw that of this file (repeatable).",
    shell_complete=completing.files,
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@arguments.gap_limit_options
@arguments.run_limit_options
@click.option(
    "--to",
    "target",
    required=True,
    metavar="FILE",
    help="Ends in .svg, .png or .pdf. Needs matplotlib.",
    shell_complete=completing.files,
)
def show(
    instance: str,
    problem_name: str | None,
    params: tuple[str, ...],
    heuristics: tuple[str, ...],
    solutions: tuple[str, ...],
    seed: int,
    profile: str,
    time_limit: float | None,
    target: str,
) -> None:
    """Draw an instance: nodes by rack, slots, tasks that run, and placements side by side with the optimum.

    Placed tasks are told apart by how near they are to their data. Titles have each placement's value and its gap.
    Without --problem, placements are judged by that of the solution, or by the first one that all the heuristics serve;
    without placements too, the instance is drawn as it is. More than 40 nodes are drawn without ids, and thousands as
    counts. A flow network is drawn with its arcs; --problem adds the optimal flow.
    """
    from optsched.cli.notes import Notes
    from optsched.cli.streams import replacing
    from optsched.drawing.figures import check_kind, picture, require
    from optsched.drawing.scenes import placing
    from optsched.instance import Instance
    from optsched.problems import Problem
    from optsched.problems.base import TaskProblem
    from optsched.studies.choices import chosen as choice_of

    kind = check_kind(target, "--to ")
    require()
    limits, seconds = arguments.limited(profile, time_limit)
    choices = [choice_of(text) for text in dict.fromkeys(heuristics)]
    loaded = arguments.load_any(instance)
    held = [(path, _held(loaded, path)) for path in dict.fromkeys(solutions)]
    posed = _posed(loaded, problem_name, params, choices, held)
    if isinstance(posed, TaskProblem):
        placing(posed)
    if isinstance(posed, Problem):
        notes = Notes()
        notes.of(posed)
        notes.tell()
    failures: list[GapReport] = []
    with replacing(target) as file:
        if isinstance(loaded, Instance):
            assert posed is None or isinstance(posed, Problem)
            figure = _cluster(loaded, posed, choices, held, seed, limits, seconds, failures)
        else:
            figure = _flows(loaded, posed, held, limits)
        file.write(picture(figure, kind))
    if failures:
        raise HeuristicFailed(*(line for report in failures for line in str(report.error).split("\n")))


def _held(loaded: Instance | FlowNetwork, path: str) -> Solution:
    """A solution file that holds a decision on this instance."""
    from optsched.instances.solution_files import read_solution
    from optsched.schedule import Schedule

    solution = read_solution(path, loaded)
    if solution.decision is None:
        raise UsageError(f"{path}: holds no decision on this instance to draw")
    if isinstance(solution.decision, Schedule):
        raise UsageError(f"{path}: holds a schedule: show draws placements; give a solution of a problem that places")
    return solution


def _posed(
    loaded: Instance | FlowNetwork,
    name: str | None,
    params: tuple[str, ...],
    choices: Sequence[Choice],
    held: Sequence[tuple[str, Solution]],
) -> AnyProblem | None:
    """What judges the placements; None where nothing is to be judged."""
    from optsched.instance import Instance
    from optsched.matrix import posable
    from optsched.problems import problem

    if not isinstance(loaded, Instance) and choices:
        raise UsageError("a flow network has no heuristics: --problem and --solution have flows to draw")
    if name is None and held:
        solution = held[0][1]
        given = {**solution.parameters, **arguments.parameters_of([solution.problem], params)[solution.problem]}
        return problem(solution.problem, loaded, **given)
    if name is not None:
        return problem(name, loaded, **arguments.parameters_of([name], params)[name])
    if not choices:
        if params:
            raise UsageError("--param is of a problem: name its --problem, or a --heuristic or --solution to draw")
        return None
    assert isinstance(loaded, Instance)
    found = posable(loaded)
    for posed in found:
        if all(choice.entry.serves(posed) for choice in choices):
            if params:
                return problem(posed.name, loaded, **arguments.parameters_of([posed.name], params)[posed.name])
            arguments.note(f"judged by {posed.name}; --problem names another")
            return posed
    names = ", ".join(choice.label for choice in choices)
    raise UsageError(f"no problem that can be posed on the instance is served by {names}; name a --problem")


def _cluster(
    loaded: Instance,
    posed: Problem | None,
    choices: Sequence[Choice],
    held: Sequence[tuple[str, Solution]],
    seed: int,
    profile: Profile,
    seconds: float | None,
    failures: list[GapReport],
) -> Figure:
    """The instance, or the placements on it; `failures` gets the heuristics that failed."""
    from optsched.drawing.clusters import drawn
    from optsched.drawing.scenes import of_placement, of_report, of_snapshot, of_solution
    from optsched.gaps import Reference, gap
    from optsched.placement import Placement
    from optsched.printing import progress
    from optsched.results import Limit

    if posed is None:
        return drawn([of_snapshot(loaded)])
    scenes = []
    # What a user's heuristic prints must not come between the data.
    with progress(sys.stderr) as step, redirect_stdout(sys.stderr):
        step(f"{loaded.name} {posed.name}")
        reference = Reference.solved(posed, profile)
        if reference.solution.limit is Limit.INTERRUPTED:
            raise KeyboardInterrupt
        reports = []
        for choice in choices:
            step(f"{loaded.name} {posed.name} {choice.label}")
            reports.append(gap(posed, choice.entry, seed, reference, time_limit=seconds, **choice.parameters))
            scenes.append(of_report(reports[-1], choice.label))
    for path, solution in held:
        assert isinstance(solution.decision, Placement)
        scenes.append(of_placement(posed, solution.decision, path))
    best = of_solution(posed, reference.solution)
    if best is not None:
        scenes.append(best)
    arguments.note_limits(reports, seconds)
    if best is None:
        arguments.note(f"no optimum is drawn: {reference.solution.termination}", "warning")
    failures += [report for report in reports if report.error is not None and report.run.out_of_time is None]
    return drawn(scenes or [of_snapshot(loaded)])


def _flows(
    network: FlowNetwork, posed: AnyProblem | None, held: Sequence[tuple[str, Solution]], profile: Profile
) -> Figure:
    """The network with the flows of solution files, and the optimal one where a problem is posed."""
    from optsched.drawing.choosing import draw

    return draw(posed or network, *(solution for _, solution in held), profile=profile)
