"""`optsched simulate`: policies over time, on instances x policies x seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from optsched.cli import arguments, completing
from optsched.errors import HeuristicFailed, UsageError
from optsched.fingerprint import code_version

if TYPE_CHECKING:
    from optsched.cli.notes import Notes
    from optsched.cli.streams import Sink, Write
    from optsched.instance import Instance
    from optsched.printing import Progress
    from optsched.simulating import Simulation

__all__ = ["policy_named", "simulate"]

#: How tables of jobs may be written.
JOBS = (".csv", ".parquet")

#: Gantt charts side by side at most.
MOST_CHARTS = 4

#: What may be drawn of runs: names of `optsched.drawing.runs.PICTURES`.
PLOTS = ("gantt", "times", "reductions", "running", "locality")


@click.command()
@click.argument("instances", nargs=-1, required=True, metavar="INSTANCE...", shell_complete=completing.instances)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    required=True,
    metavar="H[,K=V...]",
    help="A heuristic, your own as package.module:class, or solve. Lists with colons.",
    shell_complete=completing.heuristics,
)
@click.option(
    "--service",
    metavar="S[,K=V...]",
    help="How long tasks take: levels (by locality; the default), transfer, rates, recorded, or your own as "
    "package.module:class.",
)
@click.option("--heartbeat", type=float, default=3, show_default=True, help="Seconds between a node's; 0: none.")
@click.option(
    "--assign",
    type=click.Choice(["all", "one"]),
    default="all",
    show_default=True,
    help="Tasks that a heartbeat starts: for all free slots, or one of each kind.",
)
@click.option(
    "--slowstart",
    type=float,
    default=0.05,
    show_default=True,
    help="Share of a job's maps that ends before its reduces start.",
)
@click.option("--until", type=float, metavar="S", help="Stop at this time of the instance's clock.")
@click.option(
    "--lose",
    "losses",
    multiple=True,
    metavar="NODE:S[:S]",
    help="A node is lost at a time, and back with its data at another, or never (repeatable).",
)
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True, help="Seeds for each policy.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The first of them.")
@click.option(
    "--jobs", metavar="FILE", help="Write a row for each job, too: .csv or .parquet.", shell_complete=completing.files
)
@click.option(
    "--schedule",
    metavar="FILE.json",
    help="Write what the one run did as a schedule file, too: node and start of each task; FILE.npz is smaller.",
    shell_complete=completing.files,
)
@click.option(
    "--plot",
    "plots",
    multiple=True,
    metavar="WHAT=FILE",
    help=f"Draw it, too (repeatable): {', '.join(PLOTS)}; .svg, .png or .pdf. Needs matplotlib.",
    shell_complete=completing.files,
)
@arguments.run_limit_options
@arguments.record_options
def simulate(
    instances: tuple[str, ...],
    policies: tuple[str, ...],
    service: str | None,
    heartbeat: float,
    assign: str,
    slowstart: float,
    until: float | None,
    losses: tuple[str, ...],
    repeats: int,
    seed: int,
    jobs: str | None,
    schedule: str | None,
    plots: tuple[str, ...],
    form: str | None,
    output: str | None,
) -> None:
    """Run policies over time: jobs arrive, tasks end, slots are offered at heartbeats.

    INSTANCE is a file, a folder, a name from `list instances`, or a pattern of files or of such names. The table has a
    row for each run: when the last task ended, how long jobs took from arrival to end, and how near maps were to their
    data. JSON and CSV hold one record for each run. A batch heuristic, and `solve`, decides about all that waits as
    often as something happens, or every `period` seconds, or once `on_free` slots are free. `observed` runs a trace
    again.

    A run that fails, or ends at --run-limit or --memory-limit, has no row. Exit code 4 if a policy failed, or left
    tasks waiting for ever.
    """
    from optsched.cli.notes import Notes
    from optsched.cli.streams import collected, replacing
    from optsched.instances.schedule_files import schedule_content
    from optsched.studies.choices import groups_of

    _check_jobs(jobs)
    drawn = _pictures_of(plots)
    form = arguments.format_of(form, output)
    made = _service(service)
    chosen = {text: policy_named(text) for text in dict.fromkeys(policies)}
    given = [instance for group in groups_of(instances) for instance in group.instances]
    runs = len(given) * len(chosen) * repeats
    if schedule is not None and runs != 1:
        raise UsageError(f"--schedule is of one run, and these are {runs}: name one instance and one policy")
    if schedule is not None and losses:
        raise UsageError("--schedule is of runs that lose no node; with --lose a task may run more than once")
    _check_pictures(drawn, len(given), len(chosen), repeats)
    notes = Notes()
    for instance in given:
        notes.of_labels(instance)
    notes.tell()
    rules: dict[str, Any] = {
        "service": made,
        "heartbeat": heartbeat,
        "assign": assign,
        "slowstart": slowstart,
        "until": until,
        "losses": [_loss(text) for text in losses],
    }

    failed: list[str] = []

    def found(step: Progress) -> Iterator[Simulation]:
        from optsched.simulating import simulate as run_over_time

        for instance in given:
            for text, (policy, values) in chosen.items():
                for drawn_by in range(seed, seed + repeats):
                    step(f"{instance.name} {text}")
                    try:
                        yield run_over_time(instance, policy, seed=drawn_by, progress=step.within, **rules, **values)
                    except HeuristicFailed as error:
                        failed.extend(f"{instance.name}: {line}" for line in str(error).splitlines())

    def sink(write: Write) -> Sink[Simulation]:
        return _sink(str(form), write, output, given, repeats, notes)

    with ExitStack() as files:
        file = None if jobs is None else files.enter_context(replacing(jobs))
        kept = None if schedule is None else files.enter_context(replacing(schedule))
        pictures = [(plot, files.enter_context(replacing(plot[1]))) for plot in drawn]
        done = collected(found, sink, output, f"of {runs} runs", runs)
        for run in done:
            if run.unfinished and not run.starved:
                arguments.note(f"{run.instance.name}, {run.policy}: {run.unfinished}")
        left = [f'{run.instance.name}: under policy "{run.policy}": {run.unfinished}' for run in done if run.starved]
        if failed:
            raise HeuristicFailed(*failed, *left)
        if file is not None and jobs is not None:
            file.write(_jobs(done, jobs))
        if kept is not None and schedule is not None:
            kept.write(schedule_content(done[0].schedule, done[0].instance, schedule))
        for (what, path), into in pictures:
            into.write(_picture(what, path, done, list(chosen), repeats))
    if left:
        raise HeuristicFailed(*left)


def _loss(text: str) -> tuple[str, float, float | None]:
    """A node, when it is lost, and when it is back; nodes may have colons in their names."""
    parts = text.split(":")
    times: list[float] = []
    while len(parts) > 1 and len(times) < 2:
        try:
            times.insert(0, float(parts[-1]))
        except ValueError:
            break
        parts.pop()
    if not times:
        raise UsageError(f'--lose "{text}": give NODE:S or NODE:S:S, the seconds of its loss and of its return')
    return ":".join(parts), times[0], times[1] if len(times) > 1 else None


def policy_named(text: str, option: str = "--policy") -> tuple[Any, dict[str, Any]]:
    """A policy over time and its parameters: also a batch heuristic or `solve`, with what rounds take."""
    from optsched.simulating import SOLVE
    from optsched.studies.choices import chosen, literal, parted

    name, texts = parted(text, option)
    values = {key: literal(value) for key, value in texts.items()}
    if name == SOLVE:
        return name, values
    entry = chosen(name).entry
    if entry.online:
        choice = chosen(text)
        return choice.entry, dict(choice.parameters)
    return entry, values


def _service(text: str | None) -> Any:
    """A service with its parameters; None: the policy's usual one."""
    from inspect import isabstract

    from optsched.errors import nearest
    from optsched.running.run import users_own
    from optsched.simulating import service_of
    from optsched.simulating.services import SERVICES, service_named
    from optsched.studies.choices import literal, parted

    if text is None:
        return None
    name, texts = parted(text, "--service")
    if ":" not in name and name not in SERVICES:
        known = f"{nearest(name, list(SERVICES))}, or your own as package.module:class"
        raise UsageError(f'there is no service "{name}"; {known}')
    made = users_own(name, "service") if ":" in name else service_named(name)
    if isabstract(made) or not isinstance(made, type):
        return service_of(made)
    try:
        return service_of(made(**{key: literal(value) for key, value in texts.items()}))
    except TypeError as error:
        if not texts:
            raise UsageError(f'--service "{text}": {error}; give its parameters as {name},NAME=VALUE') from None
        raise UsageError(f'--service "{text}": {name} has no parameter {", ".join(texts)}') from None


def _check_jobs(path: str | None) -> None:
    """Raise UsageError where the table of jobs could not be written: before anything is run."""
    if path is None:
        return
    if not path.endswith(JOBS):
        raise UsageError(f"--jobs {path}: give a file that ends in {' or '.join(JOBS)}")
    if path.endswith(".parquet"):
        from importlib.util import find_spec

        if not (find_spec("pyarrow") or find_spec("fastparquet")):
            raise UsageError(f"--jobs {path}: parquet needs pyarrow; install it, or write .csv")


def _pictures_of(texts: Sequence[str]) -> list[tuple[str, str]]:
    """What is to be drawn where; UsageError for what cannot be, before anything is run."""
    from optsched.errors import nearest

    found: list[tuple[str, str]] = []
    for text in texts:
        what, equals, path = text.partition("=")
        if not equals or not path:
            raise UsageError(f'--plot "{text}": give what is drawn and a file, as gantt=day.svg')
        if what not in PLOTS:
            raise UsageError(f'--plot "{text}": there is no picture "{what}"; {nearest(what, PLOTS)}')
        arguments.check_plot(path)
        if path in (other for _, other in found):
            raise UsageError(f'--plot "{text}": {path} is drawn to already; name another file')
        found.append((what, path))
    return found


def _check_pictures(plots: Sequence[tuple[str, str]], instances: int, policies: int, repeats: int) -> None:
    """Raise UsageError where a picture is of other runs than these."""
    for what, path in plots:
        if what == "gantt" and (instances > 1 or policies * repeats > MOST_CHARTS):
            raise UsageError(
                f"--plot gantt={path}: is of one instance and {MOST_CHARTS} runs at most, and these are "
                f"{policies * repeats} on {instances}: name fewer"
            )
        if what == "reductions" and policies == 1:
            raise UsageError(f"--plot reductions={path}: compares the last policy with others: name two or more")


def _picture(what: str, path: str, done: Sequence[Simulation], policies: Sequence[str], repeats: int) -> bytes:
    """A picture of the runs, which are called as their policies were."""
    from optsched.drawing.figures import check_kind, picture
    from optsched.drawing.runs import PICTURES
    from optsched.timelines import timeline

    names = [policies[number // repeats % len(policies)] for number in range(len(done))]
    if what == "gantt" and repeats > 1:
        names = [f"{name}, seed {run.seed}" for name, run in zip(names, done, strict=True)]
    held = [timeline(run, name=name) for name, run in zip(names, done, strict=True)]
    return picture(PICTURES[what](held), check_kind(path))


def _jobs(done: Sequence[Simulation], path: str) -> bytes:
    """The jobs of all runs, each with what it is of."""
    from io import BytesIO

    import pandas as pd

    parts = [run.jobs.assign(instance=run.instance.name, policy=run.policy, seed=run.seed) for run in done]
    table = pd.concat(parts, ignore_index=True)
    first = ["instance", "policy", "seed"]
    table = table[[*first, *(name for name in table.columns if name not in first)]]
    if path.endswith(".csv"):
        return table.to_csv(index=False, lineterminator="\n").encode()
    file = BytesIO()
    table.to_parquet(file, index=False)
    return file.getvalue()


def _sink(
    form: str, write: Write, output: str | None, given: Sequence[Instance], repeats: int, notes: Notes
) -> Sink[Simulation]:
    """What puts out the runs, and in records what was said of their instances."""
    from optsched.cli.streams import Records

    if form in arguments.TABLES:
        first = (*(("instance",) if len(given) > 1 else ()), "policy", *(("seed",) if repeats > 1 else ()))
        return _RunRows(write, output, form, first)

    def record(run: Simulation) -> dict[str, Any]:
        return {"version": code_version(), **run.record_of(), "notes": notes.told(run.instance.name, "")}

    return Records(form, write, ["version", *FIELDS], record)


#: The fields of a record of a run.
FIELDS = (
    "instance",
    "instance_sha256",
    "policy",
    "parameters",
    "seed",
    "service",
    "heartbeat",
    "assign",
    "slowstart",
    "until",
    "losses",
    "tasks",
    "ended",
    "jobs",
    "jobs_ended",
    "makespan",
    "mean_job_time",
    "median_job_time",
    "longest_job_time",
    "maps_node",
    "maps_rack",
    "maps_remote",
    "offers",
    "unfinished",
    "notes",
)


#: Fields of a record that are seconds, by their headings in a table.
_TIMES = {
    "makespan": "makespan",
    "mean job": "mean_job_time",
    "median job": "median_job_time",
    "longest job": "longest_job_time",
}


class _RunRows:
    """Puts out a table at the end, with a row for each run; `first` are fields of its record that stand first."""

    def __init__(self, write: Write, output: str | None, form: str, first: Sequence[str]) -> None:
        self._write, self._output, self._form = write, output, form
        self._first = tuple(first)
        self._rows: list[list[str]] = []

    def add(self, run: Simulation) -> None:
        """The row of one more run."""
        record = run.record_of()
        maps = max(1, sum(run.locality.values()))
        self._rows.append(
            [
                *(str(record[name]) for name in self._first),
                f"{record['ended']}/{record['tasks']}",
                *(_seconds(record[field]) for field in _TIMES.values()),
                *(f"{100 * count / maps:.1f} %" for count in run.locality.values()),
            ]
        )

    def close(self) -> None:
        """There are no more; where every run failed there is no table."""
        if not self._rows:
            return
        from optsched.cli.streams import drawn
        from optsched.printing import Table, render

        numbers = ("tasks", *_TIMES, "node", "rack", "remote")
        table = Table((*self._first, *numbers), self._rows, frozenset((*numbers, "seed")))
        self._write(render(table, drawn(self._output), self._form))


def _seconds(time: float | None) -> str:
    """Seconds as a table shows them."""
    return "-" if time is None else f"{time:,.1f} s"
