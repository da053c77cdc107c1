"""`optsched show`: an instance and placements on it as a picture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click

from optsched.cli import arguments, completing
from optsched.core.errors import HeuristicFailed, UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from optsched.core.instance import Instance
    from optsched.core.network import FlowNetwork
    from optsched.core.results import Solution
    from optsched.core.schedule import Schedule
    from optsched.measuring.gaps import GapReport, Reference
    from optsched.measuring.studies.choices import Choice
    from optsched.problems import AnyProblem, Problem
    from optsched.problems.base import TaskProblem
    from optsched.problems.schedules import ScheduleProblem
    from optsched.solvers.profiles import Profile

__all__ = ["held_on", "show"]


@click.command()
@click.argument("instance", shell_complete=completing.instances)
@arguments.option("--problem", "problem_name", help="What judges the placements; see `list problems`.")
@arguments.param_option
@arguments.option(
    "--heuristic",
    "heuristics",
    multiple=True,
    help="Draw its placement (repeatable); your own as package.module:function.",
)
@arguments.option("--solution", "solutions", multiple=True, help="Draw that of this file (repeatable).")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@arguments.gap_limit_options
@arguments.run_limit_options
@arguments.option("--to", "target", required=True, help="Ends in .svg, .png or .pdf. Needs matplotlib.")
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
    without placements too, the instance is drawn as it is. Of more than 40 nodes the counts are drawn. A flow network
    is drawn with its arcs; --problem adds the optimal flow.

    Of a problem over time, and of a file that holds a schedule, Gantt charts are drawn side by side. A schedule file
    names no problem: without --problem the first one over time judges it.
    """
    from optsched.cli.notes import Notes
    from optsched.cli.streams import replacing
    from optsched.measuring.studies.choices import chosen as choice_of
    from optsched.problems import Problem
    from optsched.problems.base import TaskProblem
    from optsched.problems.schedules import ScheduleProblem
    from optsched.showing.choosing import draw
    from optsched.showing.figures import check_kind, picture, require

    kind = check_kind(target, "--to ")
    require()
    limits, seconds = arguments.limited(profile, time_limit)
    choices = [choice_of(text) for text in dict.fromkeys(heuristics)]
    loaded = arguments.load_any(instance)
    held = [(path, held_on(loaded, path)) for path in dict.fromkeys(solutions)]
    posed = _posed(loaded, problem_name, params, choices, held)
    _check_same_noun(posed, held)
    notes = Notes()
    if isinstance(posed, TaskProblem):
        notes.of(posed)
    notes.of_labels(loaded)
    notes.tell()
    failures: list[GapReport] = []
    with replacing(target) as file:
        if isinstance(posed, Problem | ScheduleProblem):
            figure = _decisions(posed, choices, held, seed, limits, seconds, failures)
        else:
            figure = draw(posed or loaded, *(solution for _, solution in held), profile=limits)
        file.write(picture(figure, kind))
    if failures:
        raise HeuristicFailed(*(line for report in failures for line in str(report.error).split("\n")))


def held_on(loaded: Instance | FlowNetwork, path: str) -> Solution | Schedule:
    """A solution file that holds a decision on this instance, or a schedule file."""
    from optsched.core.schedule import Schedule
    from optsched.instances.claim_files import read_held

    held = read_held(path, loaded)
    if not isinstance(held, Schedule) and held.decision is None:
        raise UsageError(f"{path}: holds no decision on {loaded.name or 'this instance'}; give a solution of it")
    return held


def _check_same_noun(posed: AnyProblem | None, held: Sequence[tuple[str, Solution | Schedule]]) -> None:
    """Raise UsageError where a file holds another noun than the problem decides."""
    from optsched.core.schedule import Schedule

    for path, given in held:
        decision = given if isinstance(given, Schedule) else given.decision
        assert decision is not None
        noun = decision.noun
        if posed is not None and noun != posed.decided.noun:
            told = f"holds a {noun}, and {posed.name} decides a {posed.decided.noun}"
            raise UsageError(f"{path}: {told}; give a solution of such a problem, or name another --problem")


def _posed(
    loaded: Instance | FlowNetwork,
    name: str | None,
    params: tuple[str, ...],
    choices: Sequence[Choice],
    held: Sequence[tuple[str, Solution | Schedule]],
) -> AnyProblem | None:
    """What judges the placements; None where nothing is to be judged."""
    from optsched.core.instance import Instance
    from optsched.core.schedule import Schedule
    from optsched.measuring.matrix import posable
    from optsched.problems import PROBLEMS, problem
    from optsched.problems.schedules import ScheduleProblem

    if not isinstance(loaded, Instance) and choices:
        raise UsageError("a flow network has no heuristics: --problem and --solution have flows to draw")
    if name is None and held and isinstance(held[0][1], Schedule):
        name = next(name for name, kind in PROBLEMS.items() if issubclass(kind, ScheduleProblem))
        arguments.note(f"judged by {name}; --problem names another")
    if name is None and held:
        solution = held[0][1]
        assert not isinstance(solution, Schedule)
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


def _decisions(
    posed: Problem | ScheduleProblem,
    choices: Sequence[Choice],
    held: Sequence[tuple[str, Solution | Schedule]],
    seed: int,
    profile: Profile,
    seconds: float | None,
    failures: list[GapReport],
) -> Figure:
    """What heuristics and files come to, side by side; `failures` gets the heuristics that failed."""
    from optsched.core.placement import Placement
    from optsched.showing.choosing import draw, side_by_side

    reference, reports = _measured(posed, choices, seed, profile, seconds, failures)
    shown = [*zip((choice.label for choice in choices), reports, strict=True), *held]
    if not shown and reference.solution.decision is None and posed.decided is Placement:
        return draw(posed.instance)
    return side_by_side(posed, shown, reference)


def _measured(
    posed: TaskProblem[Any],
    choices: Sequence[Choice],
    seed: int,
    profile: Profile,
    seconds: float | None,
    failures: list[GapReport],
) -> tuple[Reference, list[GapReport]]:
    """The reference, and a report of each heuristic; `failures` gets those that failed."""
    from optsched.core.results import Limit
    from optsched.measuring.gaps import Reference, gap
    from optsched.measuring.printing import progress

    reports = []
    # What a user's heuristic prints must not come between the data.
    with progress(sys.stderr) as step, redirect_stdout(sys.stderr):
        step(f"{posed.instance.name} {posed.name}")
        reference = Reference.solved(posed, profile)
        if reference.solution.limit is Limit.INTERRUPTED:
            raise KeyboardInterrupt
        for choice in choices:
            step(f"{posed.instance.name} {posed.name} {choice.label}")
            reports.append(gap(posed, choice.entry, seed, reference, time_limit=seconds, **choice.parameters))
    arguments.note_limits(reports, seconds)
    if reference.solution.decision is None:
        arguments.note(f"no optimum is drawn: {reference.solution.termination}", "warning")
    failures += [report for report in reports if report.error is not None and report.run.out_of_time is None]
    return reference, reports
