"""`optsched check`: the assertions of a file on heuristics, for CI without pytest; and `mine`, which finds tests."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, chdir, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from optsched.cli import arguments
from optsched.cli.arguments import Argument, Option
from optsched.cli.output import Write, destination, progress, replacing, working
from optsched.core.errors import ExitCode, Fault, HeuristicFailed, InputError, OptschedError, UsageError, printable
from optsched.core.resources import code_version
from optsched.measuring.printing import Fitted, Table, page_width

if TYPE_CHECKING:
    from optsched.core.processes.limits import Outcome
    from optsched.measuring.records import Run
    from optsched.measuring.studies.check_reports import Result
    from optsched.measuring.studies.checks import Planned

#: The default file.
FILE = "optsched-check.toml"


@arguments.command
def check(
    *,
    file: Annotated[str | None, Argument(arguments.FILE)] = None,
    only: Annotated[
        tuple[str, ...], Option("The check of this name (repeatable); by default all.", metavar="NAME")
    ] = (),
    jobs: Annotated[
        int | None, Option("Checks that run at once; by default 1.", "-j --jobs", least=1, metavar="N")
    ] = None,
    update: Annotated[bool, Option("Record today's values of the heuristics as the baselines.")] = False,
    junit: Annotated[str | None, Option("Write the results there as JUnit XML, too.")] = None,
    markdown: Annotated[str | None, Option("Write a summary there in Markdown, too.")] = None,
    github: Annotated[
        bool | None,
        Option(
            "Annotations for GitHub Actions, and a summary of the step. By default where GITHUB_ACTIONS is true.",
            "--github/--no-github",
        ),
    ] = None,
) -> None:
    """Check what a file asserts about heuristics: how far they may be from the proved optimum.

    FILE is a TOML file, by default optsched-check.toml: a table [[check]] for each check, with heuristic, problem,
    instances and limits (docs/uses/ci.md). Paths and modules in it are looked for from its folder. Exit code 4 where a
    check fails.
    """
    from optsched.measuring.studies import check_reports
    from optsched.measuring.studies.checks import CheckFile

    path = file or FILE
    if file is None and not Path(FILE).exists():
        raise InputError([Fault("", "there is no such file here: name one, or write it (optsched docs uses/ci)")], FILE)
    asserted = CheckFile(path)
    folder = Path(path).resolve().parent
    from_here = "" if folder == Path.cwd() else os.path.relpath(folder)
    summary = os.environ.get("GITHUB_STEP_SUMMARY") if github is not False else None
    if github is None:
        github = os.environ.get("GITHUB_ACTIONS") == "true"
    with redirect_stdout(sys.stderr), chdir(folder):
        planned = asserted.planned(only, update)
    if update and not any(entry.check.baseline for entry in planned):
        raise UsageError("--update: none of the checks has a baseline; give one baseline = true, or a path")
    results: list[Result] = []
    with ExitStack() as files, destination(None) as write:
        xml, page = (files.enter_context(replacing(name)) if name else None for name in (junit, markdown))
        lines, terminal = _lines(planned), arguments.STDOUT.drawn

        def put(result: Result) -> None:
            write(("" if results else lines.head(terminal)) + lines.line(result.cells))
            results.append(result)

        try:
            if jobs is None or jobs == 1 or len(planned) == 1:
                _run(planned, folder, put)
            else:
                _run_at_once(planned, folder, (str(Path(path).resolve()), update), jobs, put)
        finally:
            for named in planned[len(results) :]:
                put(check_reports.Result(named, None, 0, 0.0))
            if xml is not None:
                xml.write(check_reports.junit(results, from_here))
            text = check_reports.markdown(results, from_here).encode("utf-8", "backslashreplace")
            if page is not None:
                page.write(text)
            if summary:
                _append(summary, text)
            _tell(write, results, from_here, github)
            if github:
                workspace = os.environ.get("GITHUB_WORKSPACE", ".")
                for line in check_reports.github_annotations(results, path, workspace, from_here):
                    write(f"{line}\n")
    if update:
        with chdir(folder):
            _record(results)
    failed = [result.planned.name for result in results if result.verdict == "FAILED"]
    if failed:
        raise HeuristicFailed(f"{len(failed)} of {len(results)} checks failed: {', '.join(failed)}")


def _run(planned: Sequence[Planned], folder: Path, put: Callable[[Result], None]) -> None:
    """Run the checks one after another; an interrupted one is reported as not finished."""
    from optsched.core.processes.containing import contained
    from optsched.measuring.studies.check_reports import Result

    with progress(sys.stderr, sum(entry.steps for entry in planned)) as step:
        for named in planned:
            measured: list[Run] = []
            outcome, began = None, time.perf_counter()
            try:
                # Output of a user's heuristic must not mix with the data.
                with redirect_stdout(sys.stderr), chdir(folder), contained(named.check.contained):
                    for entry in named.measure(step):
                        measured.append(entry)
                    outcome = named.judge(measured)
            finally:
                with step.aside():
                    put(Result(named, outcome, len(measured), time.perf_counter() - began))


def _run_at_once(
    planned: Sequence[Planned], folder: Path, options: tuple[str, bool], jobs: int, put: Callable[[Result], None]
) -> None:
    """Run several checks at once, each in its own process, and report them in the order of the file."""
    from optsched.core.processes.executors import LocalExecutor
    from optsched.measuring.studies.check_reports import Result
    from optsched.measuring.studies.checks import runs_of

    left = list(planned)
    found: dict[str, Outcome] = {}
    with progress(sys.stderr, len(planned)) as step, chdir(folder), LocalExecutor(jobs) as executor:
        for name, outcome in executor.map(runs_of, ((entry.name, (*options, entry.name)) for entry in planned)):
            if not outcome.done:
                raise HeuristicFailed(f'the check "{name}" {outcome}')
            if isinstance(outcome.value, OptschedError):
                raise outcome.value
            step(name)
            found[name] = outcome
            while left and left[0].name in found:
                measured, seconds = found[left[0].name].value, found[left[0].name].seconds
                result = Result(left[0], left[0].judge(measured), len(measured), seconds)
                with step.aside():
                    put(result)
                del left[0]


def _lines(planned: Sequence[Planned]) -> Fitted:
    """The lines of the table, which gets a row as soon as its check is done."""
    from optsched.measuring.studies.check_reports import COLUMNS, NUMBERS

    to_come = [(entry.name, "", "", "infeasible", "-" * 13, "not finished", "") for entry in planned]
    return Fitted(Table(COLUMNS, to_come, NUMBERS), page_width(), ("mean", "runs"))


def _tell(write: Write, results: Sequence[Result], folder: str, github: bool) -> None:
    """Print the failures, check by check."""
    import secrets

    from optsched.measuring.studies.check_reports import breach_lines

    texts = {result.planned.name: list(breach_lines(result, folder)) for result in results}
    lines = [line for name, text in texts.items() if text for line in ("", f"{name}:", *text)]
    if lines:
        stop = secrets.token_hex(8)
        before, after = (f"::stop-commands::{stop}\n", f"::{stop}::\n") if github else ("", "")
        # Between these two lines GitHub obeys nothing, even if a task has the name of a command.
        write(before + "".join(f"{printable(line)}\n" for line in lines) + after)


def _append(path: str, text: bytes) -> None:
    """Append to the summary of the step; other commands write to it, too."""
    try:
        with open(path, "ab") as file:
            file.write(text)
    except OSError as error:
        arguments.note(f"the summary of the step cannot be written: {error.strerror}: {path}", "warning")


def _record(results: Sequence[Result]) -> None:
    """Write the baselines; records of other checks and tests in the same files stay."""
    from optsched.measuring.studies.baselines import Baseline

    by_path: dict[str, list[Run]] = {}
    for result in results:
        baseline = result.planned.check.baseline
        if baseline is not None and result.outcome is not None:
            by_path.setdefault(os.path.normpath(baseline), []).extend(result.outcome.reports.measured)
    for path, measured in by_path.items():
        Baseline.of(measured).record(path)
        arguments.note(f"{len(measured)} run{'s' * (len(measured) != 1)} recorded in {path}")


# The worst instance for a heuristic, or one that breaks a claim, as a file and a test ------------------------------


@dataclass
class _Search:
    """The target of the search, and its space."""

    budget: Annotated[
        int | None, Option("Instances that are tried; by default 2000, or all that --time-limit allows.", least=1)
    ] = None
    seed: Annotated[int, Option("Seed of the search.", least=0)] = 0
    run_seeds: Annotated[str, Option("Seeds of the heuristic on each instance, such as 0-4.", metavar="A-B")] = "0"
    over: Annotated[
        str,
        Option("Which of their gaps counts: worst, mean, median, or a quantile such as 0.9.", metavar="O", shown=False),
    ] = "worst"
    worst: Annotated[
        str,
        Option(
            "The gap to maximise; a gap over 0 (the optimum is 0) counts as larger than every percentage.",
            choices=("relative", "absolute"),
        ),
    ] = "relative"
    component: Annotated[
        str | None, Option("Component of the objective; by default the first that differs.", metavar="C")
    ] = None
    claim: Annotated[
        str | None,
        Option(
            "Break this claim instead: one of a paper (see `claims`), or a function of the GapReport that is true if "
            "the claim holds.",
            metavar="ID|package.module:function",
        ),
    ] = None
    no_failures: Annotated[bool, Option("Pass over runs that fail or have no feasible placement.")] = False
    family: Annotated[str | None, Option("Start of the search; by default the problem's own.")] = None
    drawn_with: arguments.DrawnWith = ()
    most_tasks: Annotated[int, Option(least=1)] = 12
    most_nodes: Annotated[int, Option(least=1)] = 6
    profile: Annotated[str, Option("Solver profile.", shown=False)] = "exact"
    time_limit: Annotated[
        float | None, Option("Seconds for the whole search.", kind=arguments.Seconds(min_open=True), metavar="S")
    ] = None


@arguments.command
def mine(
    *,
    problem_name: Annotated[str | None, Option("See `list problems`.", "--problem")] = None,
    heuristic: Annotated[str | None, Option("One; your own as package.module:function. Lists with colons.")] = None,
    params: arguments.Params = (),
    search: Annotated[_Search, arguments.Together(_Search)],
    within: arguments.RunLimits = None,
    folder: Annotated[
        str | None, Option("Write NAME.json and test_NAME.py there.", "--to", kind=arguments.FOLDER)
    ] = None,
    name: Annotated[
        str | None, Option("Name of both files; by default made from problem and heuristic.", metavar="NAME")
    ] = None,
    out: Annotated[arguments.Out, arguments.formats("words", "json")],
) -> ExitCode:
    """Look for the instance on which a heuristic is worst, and shrink it to a minimal one.

    The search starts from small random instances and changes them: tasks, nodes, replicas, numbers. Each is judged
    against its proved optimum. It finds the same for the same --seed, unless --time-limit cuts it short. With --to the
    instance is kept with its optimum, and with a test that holds the heuristic to the gap that it has today.

    The ID of a claim says problem and heuristic.

    Exit code 5: nothing was found. Ctrl-C keeps the best so far.
    """
    from optsched.measuring.mining import default_name, free_files, statement
    from optsched.measuring.mining import mine as mined
    from optsched.measuring.studies.choices import assignments, chosen

    options = {**vars(search)}
    if "/" in (options["claim"] or ""):
        stated = statement(options["claim"], heuristic)
        problem_name, heuristic = problem_name or stated.problem, stated.heuristic
    if problem_name is None or heuristic is None:
        raise UsageError("give --problem and --heuristic, or --claim with the ID of a paper's claim")
    choice = chosen(heuristic)
    values = arguments.parameters_for(problem_name, params)
    if folder is not None:
        free_files(folder, name or default_name(choice, problem_name))
    options["failures"] = not options.pop("no_failures")
    options["family_parameters"] = assignments("--set", options.pop("drawn_with"))
    with working() as step:
        found = mined(choice, problem_name, parameters=values, step=step, **options)
    if found is None:
        what = "a gap was found" if options["claim"] is None else "the claim is broken"
        if out.form == "json":
            out.json({"version": code_version(), "found": False})
        arguments.note(f"no instance on which {what} in the budget; give a larger one, or another --seed")
        return ExitCode.NO_SOLUTION
    if out.form == "json":
        out.json({"version": code_version(), **found.to_dict()})
    else:
        out.text(found.words())
    if folder is not None:
        for path in found.save(folder, name):
            arguments.note(f"written: {path}")
    if found.interrupted:
        raise KeyboardInterrupt
    return ExitCode.DONE
