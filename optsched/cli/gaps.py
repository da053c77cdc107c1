"""Heuristics against the proved optimum: `optsched gap`, `matrix` and `report`.

`gap` measures heuristics on instances. `matrix` judges each heuristic by each problem. `report` makes a page, or
tables, of the results of these and of sweeps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import tee
from typing import TYPE_CHECKING, Annotated, Any

from optsched.cli import arguments
from optsched.cli.arguments import Argument, Option
from optsched.cli.output import Notes, Texts, at_end, collected, gap_records, picturing
from optsched.core.brief import counted
from optsched.core.errors import ExitCode, HeuristicFailed, UsageError
from optsched.measuring.printing import Page, folded

if TYPE_CHECKING:
    from optsched.measuring.gaps import GapReport
    from optsched.measuring.records import Run
    from optsched.measuring.studies.choices import Choice, Source
    from optsched.measuring.studies.runs import Work
    from optsched.measuring.studies.tables import ProblemSummary

#: The most chains of a gap that are printed one by one.
MOST = 10


@arguments.command
def gap(
    *,
    instances: Annotated[tuple[str, ...], Argument(arguments.INSTANCE, "[INSTANCE]...")] = (),
    problems: arguments.Problems = (),
    heuristics: arguments.Heuristics = (),
    params: arguments.Params = (),
    solutions: Annotated[
        tuple[str, ...], Option("Measure what this file decides, as a heuristic (repeatable).", "--solution")
    ] = (),
    family: arguments.FamilyName = None,
    seeds: arguments.Seeds = None,
    drawn_with: arguments.DrawnWith = (),
    repeats: arguments.Repeats = None,
    seed: arguments.FirstSeed = None,
    profile: arguments.Limited,
    within: arguments.RunLimits = None,
    max_gap: Annotated[
        str | None, Option("Exit code 4 if a relative gap is over X (0.05, or 5%), or unknown.", metavar="X")
    ] = None,
    each: Annotated[bool, Option("A row for each run also of several instances, not their summary.")] = False,
    placements: Annotated[bool, Option("Records also say where each task is, in the optimum too.")] = False,
    explain: Annotated[bool, Option("Show the moves that make up each gap; see `explain`.")] = False,
    plot: arguments.Plot = None,
    out: arguments.Recorded,
) -> ExitCode:
    """Measure heuristics against the proved optimum.

    INSTANCE is a file, a folder, a name from `list instances`, or a pattern of files or of such names (`'papers/*'`);
    without one and without --family it is the shipped library, except instances tagged `scale`.

    For one instance the table has a row for each problem and heuristic, printed as soon as it is known: the number of
    seeds, the mean gap with its 95 % confidence interval over them, and the worst. For several instances it is a
    summary: how often the optimum is met, and median, mean (with its 95 % interval over instances) and worst gap. JSON
    and CSV hold one record for each run. --plot draws the gaps of each problem as box plots and distributions.
    --explain takes one seed unless --repeats says more. Exit code 6 if every instance is infeasible.

    --solution takes a solution or schedule file of the one INSTANCE. Its problem and parameters are the defaults then.
    """
    from optsched.measuring.gaps import gap_limit
    from optsched.measuring.studies.runs import measure

    limit = None if max_gap is None else gap_limit(max_gap, "--max-gap")
    if explain and out.form not in ("table", "json"):
        raise UsageError("--explain is no table: take --format table or json")
    if placements and out.tabled:
        raise UsageError("--placements are in records: take --format json or csv")
    given = sources(instances, family, seeds, drawn_with)
    work, notes = _planned(given, problems, heuristics, params, solutions)
    drawn_by = arguments.seeds_of(1 if explain and repeats is None else repeats, seed)
    pairs = sum(len(part.choices) for part in work)
    steps = pairs if drawn_by is None else pairs * len(drawn_by)
    rows = each or explain or len({id(part.problem.instance) for part in work}) == 1

    if out.tabled:
        texts = _texts(out, work, drawn_by, rows, explain)
    else:
        texts = _records(out.form, work, notes, placements, explain)

    total = "runs" if drawn_by is None else f"of {steps} runs"
    with picturing(plot) as draw:
        measured = collected(
            lambda step: measure(work, drawn_by, profile=profile, time_limit=profile.time_limit, step=step),
            texts,
            out.file,
            total,
            steps,
        )
        if plot is not None:
            from optsched.measuring.studies.tables import GapReports

            draw("gaps_picture", GapReports(measured))
    reports = [entry.report for entry in measured]
    arguments.note_limits(reports, profile.time_limit)
    failures = _failures(reports, limit)
    if failures:
        raise HeuristicFailed(*"\n".join(failures).split("\n"))
    return ExitCode.INFEASIBLE if reports and _note_infeasible(reports) else ExitCode.DONE


def _note_infeasible(reports: Sequence[GapReport]) -> bool:
    """Name the infeasible problems on stderr; returns whether all are infeasible."""
    found = {id(report.reference): report for report in reports}.values()
    reasons = {
        f"{report.problem.instance.name}, {report.problem.name}": report.reference.infeasible
        for report in found
        if report.reference.infeasible is not None
    }
    for where, why in reasons.items():
        arguments.note(f"{where}: nothing is feasible: {why}", "warning")
    return all(report.reference.infeasible is not None for report in found)


def _planned(
    sources: list[Source],
    problems: tuple[str, ...],
    heuristics: tuple[str, ...],
    params: tuple[str, ...],
    solutions: tuple[str, ...],
) -> tuple[list[Work], Notes]:
    """The work and its notes; without sources, on the shipped library."""
    from optsched.measuring.studies.runs import plan, problems_with_heuristics
    from optsched.problems import problem_class

    sources, held, parameters_of = _decided(sources, solutions) if solutions else (sources, [], {})
    named = list(dict.fromkeys(problem_class(name).name for name in problems)) or list(parameters_of)
    values = arguments.parameters_of(named or problems_with_heuristics(), params)
    for name in parameters_of.keys() & values.keys():
        values[name] = {**parameters_of[name], **values[name]}
    choices: list[Any] = [*dict.fromkeys(heuristics), *held]
    notes = Notes()
    work = plan(sources or _shipped(), named, choices, values, notes.left_out, strict=bool(sources))
    if sources:  # shipped instances need no notes
        look_at(work, bool(choices), notes)
        notes.tell()
    return work, notes


def _decided(
    sources: list[Source], paths: tuple[str, ...]
) -> tuple[list[Source], list[Choice], dict[str, dict[str, Any]]]:
    """The one instance, the decisions of files on it, and the parameters of each problem that they name."""
    from optsched.cli.explaining import decision_file
    from optsched.core.placement import Schedule
    from optsched.heuristics.running.base import over_time
    from optsched.heuristics.running.run import custom
    from optsched.measuring.studies.choices import Choice, groups_of
    from optsched.problems import problem_class
    from optsched.problems.parameters import resolve

    groups = groups_of(sources)
    instances = [instance for group in groups for instance in group.instances]
    if len(instances) != 1:
        raise UsageError(f"--solution is of one instance, and {len(instances)} are named: give its INSTANCE alone")
    choices: list[Choice] = []
    parameters_of: dict[str, dict[str, Any]] = {}
    for path in dict.fromkeys(paths):
        held = decision_file(instances[0], path)
        choices.append(Choice(custom(held, path), {}, path))
        name, parameters = (over_time()[0], {}) if isinstance(held, Schedule) else (held.problem, held.parameters)
        table = problem_class(name).parameter_table
        usual, found = resolve(name, table, {}), resolve(name, table, parameters)
        other = {key: value for key, value in found.items() if value != usual[key]}
        if parameters_of.setdefault(name, other) != other:
            raise UsageError(f"{path}: another --solution has other parameters of {name}; measure them one by one")
    return list(groups), choices, parameters_of


def _records(form: str, work: Sequence[Work], notes: Notes, placements: bool, explain: bool) -> Texts:
    """Records of the gaps, each with the notes on its problem."""

    def record(entry: Run) -> dict[str, Any]:
        report, problem = entry.report, entry.report.problem
        fields = report.record(placements) | {"notes": notes.recorded(problem.instance.name, problem.name)}
        if explain:  # a placement by its moves, a schedule by its waits
            from optsched.measuring.explaining import explained

            fields["explanation"] = None if report.objective is None else explained(report).to_dict(MOST)
        return fields

    entries = (choice.entry for part in work for choice in part.choices)
    posed_on = (part.problem for part in work)
    return gap_records(form, posed_on, entries, record, ["notes"], placements=placements)


def sources(
    instances: tuple[str, ...], family: str | None, seeds: str | None, drawn_with: tuple[str, ...]
) -> list[Source]:
    """The given instances, those of a family last."""
    from optsched.measuring.studies.choices import Family, assignments

    if family is None:
        if seeds is not None or drawn_with:
            mend = "name their --family; the seeds of a heuristic are --repeats"
            raise UsageError(f"--seeds and --set are of generated instances: {mend}")
        return list(instances)
    return [*instances, Family(family, seeds or "0-9", assignments("--set", drawn_with))]


def _shipped() -> list[str]:
    """The library's names, except those at scale and networks, for which there are no heuristics."""
    from optsched.instances.library import NETWORK, SCALE, library

    return [name for name, entry in library().items() if not {SCALE, NETWORK} & set(entry.tags)]


def look_at(work: Sequence[Work], chosen: bool, notes: Notes) -> None:
    """The notes on problems before they are solved; `chosen`: whether the heuristics were chosen."""
    import numpy as np

    for part in work:
        problem = part.problem
        if not part.choices:
            notes.add("no heuristic", problem.instance, "{}: no heuristic of the list serves it", problem.name)
        notes.of(problem)
        recorded = int(np.count_nonzero(problem.instance.workload.observed[problem.tasks] >= 0))
        if not chosen and 0 < recorded < len(problem.tasks):
            tasks = len(problem.tasks)
            words = f"observed is not run in {{}}: {tasks - recorded} of {tasks} tasks have no record of where they ran"
            notes.add("observed", problem.instance, words, problem.name)
        notes.of_labels(problem.instance)


def _texts(out: arguments.Out, work: Sequence[Work], seeds: Sequence[int] | None, rows: bool, explain: bool) -> Texts:
    """The gaps as a table: with `rows` a row for each heuristic on each problem, else their summary."""
    from optsched.measuring.studies.tables import gap_lines, gap_table, summaries

    page, repeats = out.page, None if seeds is None else len(seeds)
    if not rows:
        return at_end(lambda runs: summaries_text(summaries(runs), page, " --each: a row for each run."))
    if out.form != "table":
        return at_end(lambda runs: page.put(gap_table(runs, repeats != 1)))
    labels = [(part.problem, [choice.label for choice in part.choices]) for part in work]

    def lines(runs: Iterable[Run]) -> Iterator[str]:
        shown, again = tee(runs)
        yield from gap_lines(shown, labels, repeats, page.most, page.terminal)
        if explain:
            yield from _made_of(run.report for run in again if run.report.objective is not None)

    return lines


def _made_of(reports: Iterable[GapReport]) -> Iterator[str]:
    """The parts of each gap."""
    from optsched.cli.explaining import words
    from optsched.measuring.explaining import Explanation, explained

    for found in map(explained, reports):
        if found.chains if isinstance(found, Explanation) else found.jobs:
            yield f"\n{words(found, MOST)}"


#: The meaning of the words in a summary.
LEGEND = (
    "optimal: runs at a proved optimum; seeds: one if no random numbers are drawn; median and mean: over instances, "
    "each with the mean of its seeds, ± half the 95 % interval; over 0: the reference is 0, so the run has no "
    "percentage and is excluded from median, mean and worst."
)

#: Columns of a summary that are left out if there is no room, the first one first.
SHED = ("median", "mean", "on")


def summaries_text(summaries: Sequence[ProblemSummary], page: Page, more: str = "") -> str:
    """A table for each problem, and the meaning of its words, with `more` after that."""
    if any(row.instances < part.instances for part in summaries for row in part.rows):
        fewer = "A heuristic that does not apply everywhere has a row over fewer instances: its mean does not compare."
        more = f" {fewer}{more}"
    parts = [page.put(part.table(), part.heading(), shed=SHED) for part in summaries]
    if summaries:
        legend = f"{LEGEND}{more}"
        parts.append(
            folded(legend, page.most) if page.form == "table" else f"{'% ' * (page.form == 'latex')}{legend}\n"
        )
    return "\n".join(parts)


def _failures(reports: Sequence[GapReport], max_gap: Fraction | float | None) -> list[str]:
    """A line for each heuristic that raised or returned nonsense, and for each with gaps over the limit.

    The line has its seeds, or the seed of the largest gap. A run that exceeded its time failed only if there is a gap
    limit.
    """
    seeds: dict[tuple[str, str], list[int]] = {}
    over: dict[tuple[str, ...], list[tuple[GapReport, str]]] = {}
    for report in reports:
        if report.error is not None and report.run.out_of_time is None:
            who = f"{report.problem.instance.name}, {report.problem.name}"
            for line in report.error.splitlines():
                seeds.setdefault((who, line), []).append(report.seed)
        elif max_gap is not None:
            try:
                report.raise_unless_within(max_gap)
            except HeuristicFailed as error:
                of = (report.problem.instance.name, repr(report.problem), report.run.name, repr(report.run.parameters))
                over.setdefault(of, []).append((report, str(error)))
    lines = [
        f"{who}: {line} ({len(own)} seeds)" if len(own) > 1 else f"{who}, seed {own[0]}: {line}"
        for (who, line), own in seeds.items()
    ]
    for found in over.values():
        worst, line = max(found, key=lambda each: _size(each[0]))
        more = f" and {counted(len(found) - 1, 'more seed')}" if len(found) > 1 else ""
        lines.append(f"{line} (seed {worst.seed}{more})")
    return lines


def _size(report: GapReport) -> float:
    """The relative gap; infinite if it is over 0 or unknown."""
    relative = (report.deciding or (0, None))[1]
    return math.inf if relative is None else float(relative)


# Every heuristic judged by every problem ---------------------------------------------------------------------------


@arguments.command
def matrix(
    *,
    instance: arguments.OneInstance,
    problems: arguments.Problems = (),
    heuristics: arguments.Heuristics = (),
    params: arguments.Params = (),
    seed: arguments.Seed = 0,
    profile: arguments.Limited,
    within: arguments.RunLimits = None,
    plot: arguments.Plot = None,
    out: arguments.Recorded,
) -> None:
    """Judge each heuristic by each problem: a row a heuristic, a column a problem.

    A heuristic that does not serve a problem is run in one that it serves, and its placement is judged: a cell so
    carried over is marked with a star. A cell is a relative gap, a difference if the optimum is 0 (+3), or one word
    that says why there is none: the constraint that the placement violates, starved, failed, out-of-time, or unproved.
    The gap is of the first component that differs; (2) marks a gap of the second one. A legend says what marks mean.
    --plot draws the table as a heat map.
    """
    from optsched.measuring.matrix import GapMatrix, cell_record, each_cell, heuristics_of, posable
    from optsched.measuring.records import legend, matrix_table
    from optsched.measuring.studies.choices import chosen as choice_of
    from optsched.measuring.studies.choices import load_instance
    from optsched.problems import PROBLEMS

    chosen = {choice.label: (choice.entry, choice.parameters) for choice in map(choice_of, heuristics)}
    parameters = arguments.parameters_of(problems or list(PROBLEMS), params)
    loaded, notes = load_instance(instance), Notes()
    posed = posable(loaded, problems, parameters, partial(notes.left_out, loaded))
    for problem in posed:
        notes.of(problem)
    notes.of_labels(loaded)
    notes.tell()
    listed = heuristics_of(posed, chosen)

    def record(run: Run) -> dict[str, Any]:
        return cell_record(run) | {"notes": notes.recorded(loaded.name, run.problem)}

    if out.tabled:
        page = out.page
        texts = at_end(lambda runs: page.put(matrix_table(runs), remarks=legend(runs)))
    else:
        entries = (entry for entry, _ in listed.values())
        texts = gap_records(out.form, posed, entries, record, ("ran_in", "reason", "notes"))
    cells = partial(each_cell, posed, listed, seed, profile, profile.time_limit)
    with picturing(plot) as draw:
        done = collected(cells, texts, out.file, f"of {len(posed) * len(listed)} cells")
        draw("matrix_picture", GapMatrix.of(done))
    arguments.note_limits([cell.report for cell in done], profile.time_limit)
    failed = (cell.report for cell in done if cell.report.run.out_of_time is None)
    errors = {report.error: None for report in failed if report.error is not None}
    if errors:
        raise HeuristicFailed(*"\n".join(errors).split("\n"))


# A page of recorded gaps -------------------------------------------------------------------------------------------


@arguments.command
def report(
    *,
    sources: Annotated[tuple[str, ...], Argument(arguments.FILE, "SOURCE...")],
    to: Annotated[tuple[str, ...], Option("Where to: a .html page, .tex or .md tables, or .csv (repeatable).")],
    problems: Annotated[tuple[str, ...], Option("Only this problem (repeatable).", "--problem")] = (),
    heuristics: Annotated[
        tuple[str, ...], Option("Only this heuristic (repeatable).", "--heuristic", metavar="H")
    ] = (),
    title: Annotated[str | None, Option("Heading of the report.", metavar="TEXT")] = None,
) -> None:
    """Report on recorded gaps: tables, pictures, tests, and the commands that give them again.

    SOURCE is a file that `gap`, `matrix` or `frontier` wrote with `--format json`, the store of a sweep, or - for JSON
    from stdin; several are read as one. The page needs no network and no other file.
    """
    from optsched.showing import write_report

    for line in write_report(sources, to, problems=problems, heuristics=heuristics, title=title):
        arguments.note(line)
