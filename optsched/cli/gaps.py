"""`optsched gap`: heuristics against the proved optimum, on instances x problems x heuristics x seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from optsched.cli import arguments
from optsched.errors import Fault, HeuristicFailed, InputError, MissingField, UsageError

if TYPE_CHECKING:
    from optsched.cli.arguments import Choice
    from optsched.cli.notes import Notes
    from optsched.cli.streams import Sink, Write
    from optsched.gaps import GapReport
    from optsched.instance import Instance
    from optsched.problems import Problem
    from optsched.solvers.profiles import Profile

__all__ = ["gap"]

#: So many chains of each gap are told one by one.
MOST = 10


@dataclass(frozen=True)
class _Work:
    """A problem posed on an instance, and the heuristics to run on it."""

    problem: Problem
    choices: tuple[Choice, ...]


def _share(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """A share as a number, or with a % sign."""
    if value is None:
        return None
    text = value.strip()
    try:
        share = float(Fraction(text[:-1].strip()) / 100) if text.endswith("%") else float(text)
    except (ValueError, ZeroDivisionError):
        share = math.nan
    if not share >= 0:
        raise UsageError(f"--max-gap {value}: give a number, 0 or more, or a percentage: 0.05 and 5% are the same")
    return share


@click.command()
@click.argument("instances", nargs=-1, metavar="[INSTANCE]...")
@arguments.measured_options
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, help="Seeds for each heuristic.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The first of them.")
@arguments.gap_limit_options
@click.option("--max-gap", callback=_share, metavar="X|X%", help="Exit code 4 if a relative gap is over X, or unknown.")
@click.option("--waves", is_flag=True, help="Go on, wave after wave, until all tasks ran.")
@click.option("--explain", is_flag=True, help="Tell of each gap which moves it is made of; see `explain`.")
@arguments.record_options
def gap(
    instances: tuple[str, ...],
    problems: tuple[str, ...],
    heuristics: tuple[str, ...],
    params: tuple[str, ...],
    repeats: int,
    seed: int,
    profile: str,
    time_limit: float | None,
    max_gap: float | None,
    waves: bool,
    explain: bool,
    form: str | None,
    output: str | None,
) -> None:
    """Measure heuristics against the proved optimum.

    INSTANCE is a file, or a name from `list instances`; without one the shipped library is taken, less what is tagged
    `scale`.

    JSON and CSV hold one record for each run; the table one row for each instance, problem and heuristic, with mean,
    worst and the 95 % confidence interval over the seeds where there are several. Each comes as soon as it is there.
    """
    from optsched.cli.notes import Notes
    from optsched.cli.streams import collected, drawn, gap_records
    from optsched.placement import Placement
    from optsched.problems import PROBLEMS, problem_class

    form = arguments.format_of(form, output)
    if explain and (waves or form == "csv"):
        told = "is about a single round: leave --waves out" if waves else "is no table: take --format table or json"
        raise UsageError(f"--explain {told}")
    limits, seconds = arguments.limited(profile, time_limit)
    chosen = list(dict.fromkeys(problem_class(name).name for name in problems)) or [
        name for name, kind in PROBLEMS.items() if kind.decided is Placement and (kind.has_waves or not waves)
    ]
    values = arguments.parameters_of(chosen, params)
    for name in chosen if waves else ():
        if not problem_class(name).has_waves:
            raise UsageError(f"{name} decides everything at once, so that it has no waves; leave --waves out")
    choices = [arguments.heuristic_choice(text) for text in dict.fromkeys(heuristics)]
    _check_served(choices, chosen, listed=not problems)
    notes = Notes()
    posed = _posed(arguments.load_instances(instances or _shipped()), chosen, values, bool(problems), notes)
    work = _work(posed, choices, strict=bool(instances))
    if instances:  # the shipped ones are as they are meant
        _note(work, bool(choices), waves, notes)
        notes.tell()
    runs = repeats * sum(len(part.choices) for part in work)

    def sink(write: Write) -> Sink[tuple[str, GapReport]]:
        if form == "table":
            return _Rows(write, work, repeats, waves, drawn(output), explain)
        entries = (choice.entry for part in work for choice in part.choices)
        record = _explained_record if explain else lambda labelled: labelled[1].record()
        return gap_records(form, write, (part.problem for part in work), entries, record, waves=waves)

    measured = partial(_measure, work, range(seed, seed + repeats), limits, seconds, waves)
    labelled = collected(measured, sink, output, "waves" if waves else f"of {runs} runs", runs)
    reports = [report for _, report in labelled]
    arguments.note_limits(reports, seconds)
    failures = _failures(reports, max_gap)
    if failures:
        raise HeuristicFailed(*(line for failure in failures for line in failure.split("\n")))


def _shipped() -> list[str]:
    """The library's names, less what is at scale, and networks, for which there are no heuristics."""
    from optsched.instances.library import NETWORK, SCALE, library

    return [name for name, entry in library().items() if not {SCALE, NETWORK} & set(entry.tags)]


def _check_served(choices: Sequence[Choice], chosen: Sequence[str], listed: bool) -> None:
    """Raise UsageError for heuristics that serve none of the chosen problems, and problems that none serves.

    `listed`: the problems are all there are, and were not chosen by name.
    """
    from optsched.heuristics import HEURISTICS
    from optsched.placement import Placement
    from optsched.problems import problem_class

    for name in chosen:
        if problem_class(name).decided is not Placement:
            raise UsageError(f"{name} has no heuristics: its decision is a flow; optsched solve takes it")
        if not listed and not choices and not any(name in entry.problems for entry in HEURISTICS.values()):
            raise UsageError(
                f"no heuristic of the list serves {name}; give your own as --heuristic package.module:function"
            )
    lines = [
        f"heuristic {choice.entry.name} serves {', '.join(choice.entry.problems)}; not {', '.join(chosen)}"
        for choice in choices
        if not set(choice.entry.problems) & set(chosen)
    ]
    if lines:
        raise UsageError(*lines)


def _posed(
    instances: Sequence[Instance],
    names: Sequence[str],
    values: dict[str, dict[str, Any]],
    needed: bool,
    notes: Notes,
) -> list[Problem]:
    """The problems on each instance; where they were not asked for by name (`needed`), those that can be posed.

    The others are noted.

    Raises
    ------
    InputError
        For what was asked for and cannot be posed, and for an instance of which nothing can be.
    """
    from optsched.problems import problem

    posed: list[Problem] = []
    errors: list[InputError] = []
    for instance in instances:
        refused: list[InputError] = []
        for name in names:
            try:
                posed.append(problem(name, instance, **values[name]))
            except InputError as error:
                refused.append(error)
                if not needed:
                    notes.left_out(instance, name, error)
        if needed:
            errors += refused
        elif len(refused) == len(names):
            told = f"none of {', '.join(names)} can be posed; `optsched describe` says which fields are missing"
            errors.append(MissingField([Fault("", told)], instance.name))
    arguments.raise_all(errors)
    return posed


def _work(posed: Sequence[Problem], choices: Sequence[Choice], strict: bool) -> list[_Work]:
    """What to run on each problem: the chosen heuristics that serve it, or every applicable one.

    A chosen heuristic whose fields are missing is an error where the instances were chosen too (`strict`), or where it
    would run nowhere; else it passes over the instance.
    """
    if not choices:
        return [_Work(problem, _applicable(problem)) for problem in posed]
    work: list[_Work] = []
    errors: list[InputError] = []
    run: set[str] = set()
    for problem in posed:
        serving = []
        for choice in choices:
            if problem.name not in choice.entry.problems:
                continue
            if faults := choice.entry.faults(problem):
                errors.append(MissingField(faults, f"{problem.instance.name}: {choice.entry.name}"))
                continue
            serving.append(choice)
            run.add(choice.label)
        if serving:
            work.append(_Work(problem, tuple(serving)))
    if strict or any(choice.label not in run for choice in choices):
        arguments.raise_all(errors)
    for choice in choices:
        if choice.label not in run:
            raise UsageError(
                f"heuristic {choice.entry.name} serves {', '.join(choice.entry.problems)}, which no instance can pose"
            )
    return work


def _note(work: Sequence[_Work], chosen: bool, waves: bool, notes: Notes) -> None:
    """What is to be said of the problems before they are solved; `chosen`: whether the heuristics were."""
    import numpy as np

    from optsched.cli.notes import assumed

    for part in work:
        problem = part.problem
        if not part.choices:
            notes.add("no heuristic", problem.instance, "{}: no heuristic of the list serves it", problem.name)
        notes.of(problem, waves)
        recorded = int(np.count_nonzero(problem.instance.workload.observed[problem.tasks] >= 0))
        if not chosen and 0 < recorded < len(problem.tasks):
            tasks = len(problem.tasks)
            words = f"observed is not run in {{}}: {tasks - recorded} of {tasks} tasks have no record of where they ran"
            notes.add("observed", problem.instance, words, problem.name)
        labels = assumed(problem.instance)
        if labels and "generated" not in problem.instance.labels:  # of one that is drawn as a whole it was told then
            words = f"assumed or inferred: {', '.join(labels)}; the labels say how (optsched describe)"
            notes.add("assumed", problem.instance, words)


def _applicable(problem: Problem) -> tuple[Choice, ...]:
    """Every heuristic of the list that can be run."""
    from optsched.cli.arguments import Choice
    from optsched.heuristics import applicable

    return tuple(Choice(entry, {}, entry.name) for entry in applicable(problem, by_default=True))


def _measure(
    work: Sequence[_Work],
    seeds: Sequence[int],
    profile: Profile,
    seconds: float | None,
    waves: bool,
    step: Callable[[str], None],
) -> Iterator[tuple[str, GapReport]]:
    """Every report as soon as it is there, with the label of its heuristic; `seconds` for each run of one.

    Raises
    ------
    KeyboardInterrupt
        Also where the interrupt cut short a solver, which tells of it in its solution.
    """
    from optsched.gaps import Reference, each_wave, gap_of
    from optsched.heuristics import run
    from optsched.results import Limit

    for part in work:
        problem = part.problem
        reference = None
        for choice in part.choices:
            for seed in seeds:
                step(f"{problem.instance.name} {problem.name} {choice.label} seed {seed}")
                reports: Iterable[GapReport]
                if waves:
                    reports = each_wave(
                        problem.name,
                        problem.instance,
                        choice.entry,
                        seed,
                        profile=profile,
                        time_limit=seconds,
                        problem_parameters=dict(problem.parameters),
                        **choice.parameters,
                    )
                else:
                    reference = reference or Reference.solved(problem, profile)
                    ran = run(problem, choice.entry, seed, time_limit=seconds, **choice.parameters)
                    reports = [gap_of(problem, ran, seed, reference)]
                for report in reports:
                    yield choice.label, report
                    if report.reference.solution.limit is Limit.INTERRUPTED:
                        raise KeyboardInterrupt


def _explained_record(labelled: tuple[str, GapReport]) -> dict[str, Any]:
    """A report's record, with the moves that its gap is made of."""
    from optsched.explaining import explained

    report = labelled[1]
    explanation = None if report.objective is None else explained(report).to_dict(MOST)
    return {**report.record(), "explanation": explanation}


class _Rows:
    """Puts out rows of the table: of each heuristic on a problem once all its seeds ran, or at the end."""

    def __init__(
        self, write: Write, work: Sequence[_Work], repeats: int, waves: bool, drawn: bool, explain: bool
    ) -> None:
        from optsched.report import gap_lines

        #: The reports that are explained below the table; None: none of them.
        self._told: list[GapReport] | None = [] if explain else None
        self._write, self._repeats, self._waves = write, repeats, waves
        labels = [(part.problem, [choice.label for choice in part.choices]) for part in work]
        self._lines = gap_lines(labels, repeats > 1, waves)
        self._head = self._lines.head(drawn)
        #: Of the heuristic that is on: its problem and label, and its reports so far.
        self._on: tuple[Any, str] | None = None
        self._reports: list[GapReport] = []

    def add(self, labelled: tuple[str, GapReport]) -> None:
        label, report = labelled
        # Waves pose a problem each, but all on the instance of one name.
        on = ((report.problem.instance.name, report.problem.name), label)
        if on != self._on:
            self._put()
            self._on = on
        self._reports.append(report)
        if self._told is not None and report.objective is not None:
            self._told.append(report)
        if self._repeats == 1 or (not self._waves and len(self._reports) == self._repeats):
            self._put()

    def close(self) -> None:
        self._put()
        if self._head:
            self._write(self._head)
        for report in self._told or ():
            from optsched.cli.explaining import words
            from optsched.explaining import explained

            found = explained(report)
            if found.chains:
                self._write(f"\n{words(found, MOST)}")

    def _put(self) -> None:
        from optsched.report import gap_table

        if self._on is None or not self._reports:
            return
        reports, self._reports = self._reports, []
        rows = gap_table([(self._on[1], report) for report in reports], self._repeats > 1, self._waves).rows
        seeds = len({report.seed for report in reports})
        if seeds < self._repeats:  # the command was broken off
            rows = [
                [*row[:-1], "; ".join(filter(None, [f"only {seeds} of {self._repeats} seeds", row[-1]]))]
                for row in rows
            ]
        head, self._head = self._head, ""
        self._write(head + "".join(map(self._lines.line, rows)))


def _failures(reports: Sequence[GapReport], max_gap: float | None) -> list[str]:
    """A line for each heuristic that raised or answered nonsense, and for each gap over the limit.

    A run that was out of time failed only where a gap was asked for.
    """
    lines: dict[str, None] = {}
    for report in reports:
        who = f"{report.problem.instance.name}, {report.problem.name}, seed {report.seed}"
        if report.error is not None and report.run.out_of_time is None:
            lines.update((f"{who}: {line}", None) for line in report.error.splitlines())
        elif max_gap is not None:
            try:
                report.raise_unless_within(max_gap)
            except HeuristicFailed as error:
                lines[f"{error} (seed {report.seed})"] = None
    return list(lines)
