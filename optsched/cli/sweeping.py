"""`optsched sweep`: many gaps into a store, in which a finished result is never lost and never computed twice."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, chdir, redirect_stdout
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from click.core import ParameterSource

from optsched.cli import arguments
from optsched.cli.arguments import Argument, Option
from optsched.cli.gaps import look_at, sources, summaries_text
from optsched.cli.output import Notes, Progress, progress, time_left
from optsched.core.brief import counted
from optsched.core.errors import Fault, HeuristicFailed, InputError, UsageError
from optsched.measuring.printing import to_csv
from optsched.solvers.profiles import Profile

if TYPE_CHECKING:
    from optsched.core.processes import Limits
    from optsched.measuring.studies.choices import Source
    from optsched.measuring.sweeping import Agenda
    from optsched.measuring.sweeping.plans import Plan, SweepFile

#: Seconds between two lines of progress, if there is no terminal to draw on.
PAUSE = 30.0

#: How runs end that a line on the progress does not name.
_AS_MEANT = ("done", "infeasible")

#: Options that define what is measured: either a file says it, or they do.
_MEASURED = ("problems", "heuristics", "params", "family", "seeds", "drawn_with", "repeats", "seed")


@arguments.command
def sweep(
    *,
    paths: Annotated[tuple[str, ...], Argument(arguments.INSTANCE, "[FILE.toml | INSTANCE...]")] = (),
    store: Annotated[str | None, Option("SQLite file for the results; created if it does not exist.")] = None,
    problems: arguments.Problems = (),
    heuristics: arguments.Heuristics = (),
    params: arguments.Params = (),
    family: arguments.FamilyName = None,
    seeds: arguments.Seeds = None,
    drawn_with: arguments.DrawnWith = (),
    repeats: Annotated[int, Option("Seeds for each heuristic.", least=1)] = 1,
    seed: Annotated[int, Option("The first seed.", least=0)] = 0,
    profile: arguments.ProfileName = "exact",
    time_limit: arguments.TimeLimit = None,
    run_limit: arguments.RunLimit = None,
    memory_limit: arguments.MemoryLimit = None,
    jobs: Annotated[
        int | None, Option("Processes that work at once; by default 1.", "-j --jobs", least=1, metavar="N")
    ] = None,
    dask: Annotated[
        str | None,
        Option("Work on a Dask cluster instead: of its scheduler, tcp://host:8786.", metavar="ADDRESS"),
    ] = None,
    retry: Annotated[
        str | None,
        Option(
            "Compute again the runs that ended this way; failed includes crashed and out of memory.",
            choices=("failed", "timed-out", "all"),
        ),
    ] = None,
    dry_run: Annotated[bool, Option("Only count the runs: how many are planned, and how many are done.")] = False,
    checked: Annotated[bool, Option("Only check the store: the file, its rows, its proofs.", "--check")] = False,
    out: arguments.Recorded,
) -> None:
    """Measure heuristics against the proved optimum, thousands of times, into a store.

    Each result is stored as soon as it is there. If the command is ended, the same command goes on where it was. What
    is the same by content is never computed twice: instance, problem, parameters, heuristic with its source, seed,
    profile and version. A heuristic that fails, hangs or crashes costs its own run.

    What is measured is said by the options, as for `gap`, or by a TOML file (docs/how-to/sweep.md). A --param that is
    given more than once is tried with each of its values. At the end there is a summary, as that of `gap`; CSV and JSON
    hold one record for each run.
    """
    ctx = click.get_current_context()
    file = _sweep_file(ctx, paths)
    options = {} if file is None else file.options
    folder = Path.cwd() if file is None else Path(file.path).resolve().parent
    path = _store(store, options, folder)
    if checked:
        _check_store(path)
        return

    def limited(name: str | None) -> Profile:
        """The profile of a part, with the limit on time: the command takes precedence over the file."""
        wanted = name if name is not None and not _said(ctx, "profile") else profile
        seconds = time_limit if _said(ctx, "time_limit") else options.get("time_limit")
        return arguments.limited(wanted, math.inf if seconds == "none" else seconds)

    notes = Notes()
    with redirect_stdout(sys.stderr), chdir(folder):
        if file is not None:
            plan = file.planned(notes.left_out, limited)
        else:
            instances = sources(paths, family, seeds, drawn_with)
            if not instances:
                raise UsageError("say what is measured: instances, --family, or a TOML file (docs/how-to/sweep.md)")
            plan = _runs_asked(
                instances, problems, heuristics, params, range(seed, seed + repeats), limited(None), notes
            )
        from optsched.measuring.studies.runs import Work

        work = {run.posed.key: Work(run.group, run.posed.problem, (run.choice,)) for run in plan.runs}
        look_at(list(work.values()), bool(heuristics) or file is not None, notes)
        notes.tell()
    if dry_run:
        from optsched.measuring.sweeping import to_do

        agenda = to_do(plan, path, retry)
        arguments.STDOUT.text(f"{_counts(agenda)}\n")
        _note_kept(agenda, path, retry)
        return
    limits = run_limit or options.get("run_limit"), memory_limit or options.get("memory_limit")
    if jobs and dask:
        raise UsageError("--jobs are processes of this machine, and --dask works on others: leave one out")
    where = jobs or options.get("jobs", 1), dask or (None if jobs else options.get("dask"))
    from optsched.core.processes import Limits

    named = {key: value for key, value in ctx.params.items() if _said(ctx, key)}
    with chdir(folder):
        agenda = _carried_out(plan, path, Limits(*limits), where, retry, notes, named)
    _put_sweep(agenda, path, out)


def _store(path: str | None, options: Mapping[str, Any], folder: Path) -> str:
    """The path of the store, also from another folder."""
    if path:
        return path if folder == Path.cwd() else os.path.abspath(path)
    if path is not None or "store" not in options:
        raise UsageError("say where the results go: --store FILE, such as sweep.sqlite")
    return os.path.relpath(folder / options["store"]) if folder == Path.cwd() else str(folder / options["store"])


def _said(ctx: click.Context, name: str) -> bool:
    """Whether an option is on the command line."""
    return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _sweep_file(ctx: click.Context, paths: Sequence[str]) -> SweepFile | None:
    """The file that says what to measure, if there is one."""
    if not any(name.endswith(".toml") for name in paths):
        return None
    others = [option.opts[0] for option in ctx.command.params if option.name in _MEASURED and _said(ctx, option.name)]
    if len(paths) > 1 or others:
        more = ", ".join([*(name for name in paths if not name.endswith(".toml")), *others]) or "a second file"
        raise UsageError(f"the file says what is measured: leave {more} out, or the file")
    from optsched.measuring.sweeping.plans import SweepFile

    return SweepFile(paths[0])


def _runs_asked(
    instances: list[Source],
    problems: Sequence[str],
    heuristics: Sequence[str],
    params: Sequence[str],
    seeds: range,
    profile: Profile,
    notes: Notes,
) -> Plan:
    """The runs that the options request."""
    from optsched.measuring.studies.runs import problems_with_heuristics
    from optsched.measuring.sweeping.plans import planned
    from optsched.problems import problem_class

    names = [problem_class(name).name for name in problems]
    by_name: dict[str, list[str]] = {}
    for text in params:
        by_name.setdefault(text.partition("=")[0], []).append(text)
    variants = [
        arguments.parameters_of(names or problems_with_heuristics(), texts) for texts in product(*by_name.values())
    ]
    return planned(
        instances,
        names,
        list(dict.fromkeys(heuristics)),
        seeds,
        parameters=variants,
        profile=profile,
        refused=notes.left_out,
    )


def _counts(agenda: Agenda) -> str:
    optima = f", with {agenda.optima} {'optimum' if agenda.optima == 1 else 'optima'} to solve" if agenda.optima else ""
    return f"{counted(agenda.there + agenda.runs, 'run')}: {agenda.there} done, {agenda.runs} to compute{optima}"


def _note_kept(agenda: Agenda, path: str, retry: str | None) -> None:
    """Note results of other code, and runs that had too little time, since they may now get more."""
    from optsched.measuring.sweeping.store import of_other_code

    if agenda.stale:
        stale = f"{path} has {counted(agenda.stale.total(), 'run')} measured {of_other_code(agenda.stale)}"
        arguments.note(f"{stale}: to compute again; the old results stay in the store")
    late = agenda.kept["out-of-time"]
    if late and retry is None:
        arguments.note(
            f"{counted(late, 'run')} in the store had too little time; --retry timed-out computes them again"
        )


def _carried_out(
    plan: Plan,
    path: str,
    limits: Limits,
    where: tuple[int, str | None],
    retry: str | None,
    notes: Notes,
    options: dict[str, Any],
) -> Agenda:
    """The sweep itself; an interrupt says how far it came."""
    from optsched.measuring.sweeping import carry_out, executor_of

    with ExitStack() as stack:
        steps = _noted(path, retry, stack)
        executor = stack.enter_context(executor_of(where[0], limits, where[1]))
        try:
            return carry_out(
                plan, path, executor, retry=retry, limits=limits, notes=notes.recorded, steps=steps, options=options
            )
        except KeyboardInterrupt:
            stack.close()
            if steps.agenda is None:
                arguments.note("interrupted before anything was begun", "warning")
            else:
                wanted = len(plan.unique)
                counts = f"{wanted - steps.agenda.left} of {wanted} runs are in {path}"
                arguments.note(f"interrupted: {counts}; the same command goes on with the others", "warning")
            raise


def _noted(path: str, retry: str | None, stack: ExitStack) -> Any:
    """The progress of a sweep on stderr: a bar, or without a terminal a line now and then; `stack` ends the bar."""
    from optsched.measuring.sweeping import Steps

    class Noted(Steps):
        agenda: Agenda | None = None
        bar = Progress()
        began = noted = 0.0

        def waits(self, message: str) -> None:
            arguments.note(f"{path}: {message}; waiting for its end (Ctrl-C gives up)")

        def begins(self, agenda: Agenda) -> None:
            self.agenda = agenda
            arguments.note(_counts(agenda))
            _note_kept(agenda, path, retry)
            self.bar = stack.enter_context(progress(sys.stderr, agenda.runs + agenda.optima))
            self.bar("")
            self.began = self.noted = time.monotonic()

        def ended(self, run: str, agenda: Agenda) -> None:
            self.bar(run)
            now = time.monotonic()
            if sys.stderr.isatty() or now - self.noted < PAUSE:
                return
            self.noted = now
            done = agenda.ended.total()
            left = time_left(now - self.began, done + agenda.solved.total(), agenda.runs + agenda.optima)
            worse = [f"{count} {how}" for how, count in sorted(agenda.ended.items()) if how not in _AS_MEANT]
            arguments.note(", ".join([f"{done} of {agenda.runs} runs", *worse, left]))

    return Noted()


# Results of a sweep -------------------------------------------------------------------------------------------------


def _put_sweep(agenda: Agenda, path: str, out: arguments.Out) -> None:
    """The results of all requested runs, including earlier ones."""
    from optsched.measuring.sweeping.store import load_sweep

    found = load_sweep(path, agenda.sweep)
    if out.tabled:
        out.text(summaries_text(found.summaries(), out.page))
    elif out.form == "json":
        out.json(found.records())
    else:
        out.text(to_csv(found.records()))
    _raise_failures(found.records())


def _raise_failures(records: Sequence[Mapping[str, Any]]) -> None:
    """Note runs that had too little time; HeuristicFailed if heuristics or solvers failed or crashed."""
    late = sum(record["status"] == "out-of-time" for record in records)
    unsolved = sum(record["limit"] == "TIME" for record in records)
    if late or unsolved:
        counts = f"{counted(late, 'run')} had too little time, and {counted(unsolved, 'run')} a reference that had"
        arguments.note(f"{counts}; --retry timed-out computes them again, with a higher limit")
    failed: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for record in records:
        if record["status"] in ("failed", "crashed", "out-of-memory"):
            failed.setdefault((record["heuristic"], record["status"]), []).append(record)
        elif record["termination"] == "ERROR":
            failed.setdefault(("the solver", "failed"), []).append(record)
    lines = []
    for (what, status), runs in failed.items():
        first = runs[0]
        where = f"{first['instance']}, {first['problem']}, seed {first['seed']}"
        why = f": {first['error'].splitlines()[0]}" if first["error"] else ""
        lines.append(f"{what} {status} in {counted(len(runs), 'run')}, first on {where}{why}")
    if lines:
        raise HeuristicFailed(*lines)


#: The basis of an optimum without a proof.
_WORDS = {"solver": "a solver's word", "enumeration": "enumeration", "nothing": "nothing"}


def _check_store(path: str) -> None:
    """Check a store."""
    from optsched.measuring.sweeping.store import check_store, of_other_code

    with progress(sys.stderr) as step:
        found = check_store(path, step)
    optima = f"{found.optima} {'optimum' if found.optima == 1 else 'optima'}, {found.proved} of them proved again"
    optima += "".join(f", {count} on {_WORDS[kind]}" for kind, count in found.claimed.items())
    arguments.STDOUT.text(f"{path}: {counted(found.runs, 'run')}, {optima}, {counted(found.instances, 'instance')}\n")
    if found.others:
        others = f"{path} has {counted(found.others.total(), 'run')} measured {of_other_code(found.others)}"
        arguments.note(f"{others}: the same sweep computes them again")
    if found.faults:
        raise InputError([Fault("", message) for message in found.faults], path)
