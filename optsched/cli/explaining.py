"""`optsched explain` and `show`: why a gap is there, in words, as a table or as JSON; and placements as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any

from optsched.cli import arguments
from optsched.cli.arguments import Option
from optsched.cli.output import Notes, Posed, check_noun, picturing, replacing, working
from optsched.core.errors import ExitCode, HeuristicFailed, UsageError, printable
from optsched.core.resources import code_version
from optsched.measuring.printing import Table, folded, number, page_width, value
from optsched.solvers.profiles import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from optsched.core.instance import Instance
    from optsched.core.network import FlowNetwork
    from optsched.core.placement import Schedule
    from optsched.core.results import Solution
    from optsched.measuring.explaining import Explanation, ScheduleExplanation
    from optsched.measuring.gaps import GapReport
    from optsched.measuring.studies.choices import Choice
    from optsched.problems import AnyProblem, Problem
    from optsched.problems.schedules import ScheduleProblem


@arguments.command
def explain(
    *,
    asked: Posed,
    heuristic: Annotated[str | None, Option("One; your own as package.module:function.")] = None,
    solution: Annotated[str | None, Option("Explain the placement or schedule of this file instead.")] = None,
    seed: arguments.Seed = 0,
    profile: arguments.Limited,
    within: arguments.RunLimits = None,
    most: Annotated[
        int, Option("Chains (of schedules: jobs, links) that are shown one by one, largest first.", least=0)
    ] = 10,
    worth: Annotated[
        int,
        Option(
            "How many times to solve again with one more slot, replica or unit of room, to show what it is worth.",
            least=0,
            metavar="N",
        ),
    ] = 4,
    target: arguments.Target = None,
    out: Annotated[arguments.Out, arguments.formats("words", "table", "json", file=True)],
) -> ExitCode:
    """Why a heuristic is no better: what an optimum does differently, and what each difference costs.

    The tasks that an optimum places differently make chains of moves (one task takes the slot that the next one leaves)
    and cycles. Each has a gain, and the gains add up to the gap. What one more slot or replica, or room for one more
    task, would be worth is found by solving again. --to draws the chains and cycles.

    Where no placement is feasible, no heuristic is needed: a few tasks are named that cannot be placed together, and
    the exit code is 6.

    For a problem over time it says what the jobs and tasks of a policy's schedule (or of a --solution, or a schedule
    file) waited for: maps of their job, a free slot, or a policy that left a free slot unused. It also shows the chain
    of tasks that leads to the last end. --to draws it next to the best schedule, with that chain framed.
    """
    from optsched.core.results import Termination
    from optsched.instances.claim_files import read_decision
    from optsched.measuring.explaining import Explanation
    from optsched.measuring.explaining import explain as explanation_of
    from optsched.measuring.gaps import Reference
    from optsched.measuring.studies.choices import chosen as choice_of
    from optsched.problems import Problem, problem_class
    from optsched.problems.schedules import ScheduleProblem

    one = "explain takes the placement of a --heuristic, or that of a --solution: give one of them"
    if heuristic is not None and solution is not None:
        raise UsageError(one)
    kind = problem_class(asked.problem_name)
    if not issubclass(kind, Problem | ScheduleProblem):
        subject = "explain is of moves of tasks from node to node, and of schedules"
        raise UsageError(f"{kind.name} decides a {kind.decided.noun}: {subject}")
    choice = None if heuristic is None else choice_of(heuristic)
    posed, notes = asked.pose()
    assert isinstance(posed, Problem | ScheduleProblem)
    given: Any = None if choice is None else choice.entry
    if solution is not None:
        given = read_decision(solution, posed.instance)
        if not isinstance(given, posed.decided):
            raise UsageError(f"{solution}: holds no {posed.decided.noun} on this instance to explain")
    named: dict[str, Any] = {} if choice is None else dict(choice.parameters)
    for name in sorted(named.keys() & signature(explanation_of).parameters.keys()):
        raise UsageError(f'--heuristic "{heuristic}": explain has a {name} of its own: rename the parameter')
    with picturing(target) as draw:
        with working() as step:
            step(f"{posed.instance.name} {posed.name}")
            reference = Reference.solved(posed, profile)
            reference.solution.raise_if_interrupted()
            if given is None and reference.solution.termination is not Termination.INFEASIBLE:
                raise UsageError(one)
            found = explanation_of(posed, given, seed, reference, time_limit=profile.time_limit, worth=worth, **named)
        draw(*("chains_picture", found, most) if isinstance(found, Explanation) else ("draw", found))
    arguments.note_limits([found.report], profile.time_limit)
    if out.form == "json":
        out.json({"version": code_version(), **found.to_dict(most), "notes": notes})
    elif out.tabled:
        out.table(explanation_table(found, most))
    else:
        out.text(words(found, most, out.file is not None))
    if found.infeasible:
        return ExitCode.INFEASIBLE
    return ExitCode.NO_SOLUTION if reference.solution.decision is None else ExitCode.DONE


def words(explained: Explanation | ScheduleExplanation, most: int, file: bool = False) -> str:
    """The explanation in sentences, folded to the width of a terminal."""
    width, parts = page_width(file), []
    for line in explained.sentences(most):
        text = line.lstrip()
        indent = " " * (len(line) - len(text.split(None, 1)[-1])) if line != text else ""  # past an entry's number
        parts.append(folded(printable(line), width, indent))
    return "".join(parts)


def _jobs_table(explanation: ScheduleExplanation) -> Table:
    """A row for each job: the task that ended last, and what it waited for."""
    seconds = ("time", "best", "alone", "waited", "for maps", "for slots", "passed", "took")
    rows = []
    for job in () if explanation.infeasible else explanation.jobs:
        last = job.last
        times: tuple[float | None, ...] = (job.time, job.best, job.alone)
        if last is None:
            last_run, times = ("-", "-"), (*times, *[None] * 5)
        else:
            last_run = (last.task, last.node)
            times = (*times, last.waited, last.maps, last.slots, last.passed, last.end - last.start)
        cells = [number(time) for time in times]
        rows.append((job.job, *cells[:3], *last_run, *cells[3:]))
    return Table(("job", *seconds[:3], "last task", "node", *seconds[3:]), rows, frozenset(seconds))


def explanation_table(explanation: Explanation | ScheduleExplanation, most: int) -> Table:
    """A row for each move of the shown chains, one for the rest, one for all, and one for each change of the cluster
    ("if"); or one for each conflicting task. For a schedule a row for each job.
    """
    from optsched.measuring.explaining import Explanation

    if not isinstance(explanation, Explanation):
        return _jobs_table(explanation)
    if explanation.infeasible:
        conflict = explanation.conflict
        names = [] if conflict is None else [("conflict", task, ", ".join(conflict.nodes)) for task in conflict.tasks]
        return Table(("", "task", "nodes"), names)
    rows: list[tuple[str, ...]] = []
    shown, left, tasks, together = explanation.parted(most)
    for rank, chain in enumerate(shown, start=1):
        for first, move in enumerate(explanation.moves(chain)):
            chain_cells = ("", "", "") if first else (str(rank), chain.kind, value(chain.gain))
            where = (move.here or "-", move.there or "-")
            paid = (number(move.cost_here), number(move.cost_there))
            rows.append((*chain_cells, move.task, *where, *paid, move.data_here or "-", move.data_there or "-"))
    if left:
        rows.append((f"{left} more", "", value(together), f"{tasks} tasks", "", "", "", "", "", ""))
    rows.append(("all", "", value(explanation.gap), f"{explanation.moved} tasks", "", "", "", "", "", ""))
    for worth in explanation.worths:
        change = " ".join([worth.change, *(f"{number(amount)} {resource}" for resource, amount in worth.more.items())])
        gain = "-" if worth.gain is None else value(worth.gain)
        rows.append(("if", change, gain, worth.of, "", worth.node, "", "", "", ""))
    columns = ("chain", "kind", "gain", "task", "from", "to", "paid", "pays", "data before", "data after")
    return Table(columns, rows, frozenset({"gain", "paid", "pays"}))


# Pictures ----------------------------------------------------------------------------------------------------------


@arguments.command
def show(
    *,
    instance: arguments.OneInstance,
    problem_name: Annotated[
        str | None, Option("The problem that judges the placements; see `list problems`.", "--problem")
    ] = None,
    params: arguments.Params = (),
    heuristics: Annotated[
        tuple[str, ...],
        Option("Draw its placement (repeatable); your own as package.module:function.", "--heuristic"),
    ] = (),
    solutions: Annotated[tuple[str, ...], Option("Draw that of this file (repeatable).", "--solution")] = (),
    seed: arguments.Seed = 0,
    profile: arguments.Limited,
    within: arguments.RunLimits = None,
    target: Annotated[str, Option("Ends in .svg, .png or .pdf. Needs matplotlib.", "--to", kind=arguments.PICTURE)],
) -> None:
    """Draw an instance: nodes by rack, slots, tasks that run, and placements next to the optimum.

    Colours show how near placed tasks are to their data. Titles have each placement's value and its gap.
    Without --problem, placements are judged by the problem of the solution, or by the first one that all the heuristics
    serve; without placements too, the instance is drawn as it is. For more than 40 nodes the counts are drawn. A flow
    network is drawn with its arcs; --problem adds the optimal flow.

    For a problem over time, and for a schedule file, Gantt charts are drawn one below another. A schedule
    file names no problem: without --problem the first one over time judges it.
    """
    from optsched.core.placement import Schedule
    from optsched.measuring.studies.choices import chosen as choice_of
    from optsched.problems import Problem
    from optsched.problems.base import TaskProblem
    from optsched.problems.schedules import ScheduleProblem
    from optsched.showing.drawing import draw
    from optsched.showing.figures import check_kind, picture

    choices = [choice_of(text) for text in dict.fromkeys(heuristics)]
    loaded = arguments.load_any(instance)
    held = [(path, decision_file(loaded, path)) for path in dict.fromkeys(solutions)]
    posed = _posed(loaded, problem_name, params, choices, held)
    if posed is not None:
        for path, given in held:
            check_noun(path, given if isinstance(given, Schedule) else given.decision, posed, "name another --problem")
    notes = Notes()
    if isinstance(posed, TaskProblem):
        notes.of(posed)
    notes.of_labels(loaded)
    notes.tell()
    failures: list[GapReport] = []
    with replacing(target) as file:
        if isinstance(posed, Problem | ScheduleProblem):
            figure = _decisions(posed, choices, held, seed, profile, failures)
        else:
            figure = draw(posed or loaded, *(solution for _, solution in held), profile=profile)
        file.write(picture(figure, check_kind(target)))
    if failures:
        raise HeuristicFailed(*(line for report in failures for line in str(report.error).split("\n")))


def decision_file(loaded: Instance | FlowNetwork, path: str) -> Solution | Schedule:
    """A solution file with a decision on this instance, or a schedule file."""
    from optsched.core.placement import Schedule
    from optsched.instances.claim_files import read_held

    held = read_held(path, loaded)
    if not isinstance(held, Schedule) and held.decision is None:
        raise UsageError(f"{path}: holds no decision on {loaded.name or 'this instance'}; give a solution of it")
    return held


def _posed(
    loaded: Instance | FlowNetwork,
    name: str | None,
    params: tuple[str, ...],
    choices: Sequence[Choice],
    decisions: Sequence[tuple[str, Solution | Schedule]],
) -> AnyProblem | None:
    """The problem that judges the placements; None if there are none to judge."""
    from optsched.core.instance import Instance
    from optsched.core.placement import Schedule
    from optsched.heuristics.running.base import over_time
    from optsched.measuring.matrix import posable
    from optsched.problems import problem

    if not isinstance(loaded, Instance) and choices:
        raise UsageError("a flow network has no heuristics: --problem and --solution have flows to draw")
    if name is None and decisions and isinstance(decisions[0][1], Schedule):
        name = over_time()[0]
        arguments.note(f"judged by {name}; --problem names another")
    if name is None and decisions:
        solution = decisions[0][1]
        assert not isinstance(solution, Schedule)
        given = {**solution.parameters, **arguments.parameters_for(solution.problem, params)}
        return problem(solution.problem, loaded, **given)
    if name is not None:
        return problem(name, loaded, **arguments.parameters_for(name, params))
    if not choices:
        if params:
            raise UsageError("--param is of a problem: name its --problem, or a --heuristic or --solution to draw")
        return None
    assert isinstance(loaded, Instance)
    found = posable(loaded)
    for posed in found:
        if all(choice.entry.serves(posed) for choice in choices):
            if params:
                return problem(posed.name, loaded, **arguments.parameters_for(posed.name, params))
            arguments.note(f"judged by {posed.name}; --problem names another")
            return posed
    names = ", ".join(choice.label for choice in choices)
    raise UsageError(f"no problem that can be posed on the instance is served by {names}; name a --problem")


def _decisions(
    posed: Problem | ScheduleProblem,
    choices: Sequence[Choice],
    decisions: Sequence[tuple[str, Solution | Schedule]],
    seed: int,
    profile: Profile,
    failures: list[GapReport],
) -> Figure:
    """The decisions of heuristics and files, side by side; `failures` gets the heuristics that failed."""
    from optsched.core.placement import Placement
    from optsched.heuristics import run
    from optsched.measuring.gaps import Reference, gap_of
    from optsched.showing.drawing import draw, side_by_side

    reports = []
    with working() as step:
        step(f"{posed.instance.name} {posed.name}")
        reference = Reference.solved(posed, profile)
        reference.solution.raise_if_interrupted()
        for choice in choices:
            step(f"{posed.instance.name} {posed.name} {choice.label}")
            ran = run(posed, choice.entry, seed, time_limit=profile.time_limit, **choice.parameters)
            reports.append(gap_of(posed, ran, seed, reference))
    arguments.note_limits(reports, profile.time_limit)
    if reference.solution.decision is None:
        arguments.note(f"no optimum is drawn: {reference.solution.termination}", "warning")
    failures += [report for report in reports if report.error is not None and report.run.out_of_time is None]
    shown = [*zip((choice.label for choice in choices), reports, strict=True), *decisions]
    if not shown and reference.solution.decision is None and posed.decided is Placement:
        return draw(posed.instance)
    return side_by_side(posed, shown, reference)
