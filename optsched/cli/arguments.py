"""What the commands share: options, how their values are read and completed, how instances are found, where results go.

A shell asks anew for each Tab, so nothing that computes is loaded to complete a value: names come from tables and file
names. Packages outside are loaded only where there are such.
"""

from __future__ import annotations

import functools
import json
import math
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from optsched.core.errors import UsageError, nearest, printable
from optsched.core.resources import folder
from optsched.measuring.printing import Page, Table, folded, page_width, to_json
from optsched.solvers.profiles import Profile, load_profile

if TYPE_CHECKING:
    from optsched.core.instance import Instance
    from optsched.core.network import FlowNetwork
    from optsched.measuring.gaps import GapReport

Command = TypeVar("Command", bound=Callable[..., Any])

# Values and what a shell offers for them -----------------------------------------------------------------------------


class Value(click.ParamType[str]):
    """How the values of options and arguments are called in help, and which are offered when Tab is pressed."""

    def __init__(self, name: str, offered: Callable[[str], Iterable[str | CompletionItem]]) -> None:
        self.name, self._offered = name, offered

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return self.name

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        items = (CompletionItem(item) if isinstance(item, str) else item for item in self._offered(incomplete))
        return [item for item in items if item.value.startswith(incomplete)]


#: How the files of instances end.
_SUFFIXES = (".json", ".json.gz", ".npz", ".csv", ".parquet")


def _listed(group: str, kind: str, place: str) -> Callable[[str], Iterable[str]]:
    """Shipped names and those that installed packages bring; `place` is the module and name of the whole list.

    The command reports what is wrong with a package when it runs, not while it is typed.
    """

    def names(incomplete: str) -> Iterable[str]:
        from importlib.metadata import entry_points

        from optsched.core import resources

        module, name = place.split(":")
        with suppress(UsageError):
            if entry_points(group=group):
                return list(getattr(import_module(module), name))
        return [name for names in getattr(resources, kind).values() for name in names]

    return names


def _problems(incomplete: str) -> Iterable[str]:
    from optsched.core.registry import SHIPPED, records

    try:
        return list(records())
    except UsageError:
        return [entry.name for entry in SHIPPED]


def _file(incomplete: str) -> Iterable[CompletionItem]:
    """The shell's own completion of files."""
    return [CompletionItem(incomplete, type="file")]


def _profiles(incomplete: str) -> Iterable[str | CompletionItem]:
    """Names of shipped solver profiles; where none begins so, files."""
    names = sorted(path.stem for path in folder("solvers").glob("*.toml"))
    return [name for name in names if name.startswith(incomplete)] or _file(incomplete)


def _instances(incomplete: str) -> Iterable[str | CompletionItem]:
    """Names of the library, and files of instances; else the last parts of such names, else any file there is."""
    names = json.loads((folder("instances") / "optima.json").read_text(encoding="utf-8"))["instances"]
    for found in ([*names, *_files_of_instances(incomplete)], (Path(name).name for name in names)):
        if begun := [name for name in found if name.startswith(incomplete)]:
            return begun
    return _file(incomplete)


def _files_of_instances(incomplete: str) -> list[str]:
    """Files and folders that complete what is typed, as it is typed: a path from here gets no `./` unless given."""
    typed, slash, _ = incomplete.rpartition("/")
    try:
        found = sorted(Path(typed + slash).iterdir())
    except OSError:
        return []
    visible = [path for path in found if not path.name.startswith(".")]
    return [
        f"{typed}{slash}{path.name}{'/' * path.is_dir()}"
        for path in visible
        if path.is_dir() or path.name.endswith(_SUFFIXES)
    ]


INSTANCE = Value("INSTANCE", _instances)
PROBLEM = Value("P", _problems)
HEURISTIC = Value("H[,K=V...]", _listed("optsched.heuristics", "HEURISTICS", "optsched.heuristics:HEURISTICS"))
FAMILY = Value("F", _listed("optsched.families", "FAMILIES", "optsched.instances.generate:FAMILIES"))
PROFILE = Value("NAME|FILE", _profiles)
FILE, SOLUTION = Value("FILE", _file), Value("SOLUTION.json", _file)
FOLDER = Value("FOLDER", lambda incomplete: [CompletionItem(incomplete, type="dir")])

#: The values of an option of this name, which are the same in every command.
_VALUES = {
    "--problem": PROBLEM,
    "--heuristic": HEURISTIC,
    "--policy": HEURISTIC,
    "--family": FAMILY,
    "--profile": PROFILE,
    "--solution": SOLUTION,
    "--start": SOLUTION,
    **dict.fromkeys(("--to", "--output", "--plot", "--schedule", "--jobs", "--store", "--junit", "--markdown"), FILE),
}


def option(name: str, *further: str, **overrides: Any) -> Callable[[Command], Command]:
    """`click.option` with the values that an option of this name has in every command; what is given comes first."""
    return click.option(name, *further, **{"type": _VALUES[name], **overrides})


# Commands and options ------------------------------------------------------------------------------------------------


class Seconds(click.FloatRange):
    """A finite number of seconds, at least 0 or, with `min_open`, above 0; with `none` that word, too, for infinity."""

    def __init__(self, min_open: bool = False, none: bool = False) -> None:
        super().__init__(0, min_open=min_open)
        self._none = none

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if self._none and value == "none":
            return math.inf
        try:
            seconds = float(value)
        except ValueError:
            seconds = math.nan
        if not math.isfinite(seconds) or seconds < 0 or (self.min_open and seconds == 0):
            due = "above 0" if self.min_open else "at least 0, or none" if self._none else "at least 0"
            self.fail(f"expected a finite number of seconds, {due}, got {value!r}", param, ctx)
        return seconds


class Commands(click.Group):
    """A group of commands that are made when they are asked for; where there is none of a name it names the nearest.

    Its help cuts no sentence.
    """

    #: What the help calls them, and messages one of them.
    title, noun = "Commands", "command"

    def names(self) -> Collection[str]:
        """The names of all; whether a shipped one is among them is known without a look at installed packages."""
        raise NotImplementedError

    def made(self, name: str) -> click.Command:
        """The command of one of the names."""
        raise NotImplementedError

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.names():
            return self.made(cmd_name)
        if not ctx.resilient_parsing:  # otherwise only completions are wanted
            known = self.list_commands(ctx)
            raise click.UsageError(f'there is no {self.noun} "{cmd_name}"; {nearest(cmd_name, known)}', ctx)
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(sys.maxsize)) for name, command in commands if command is not None]
        with formatter.section(self.title):
            formatter.write_dl(rows)


def _together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Arguments and options that several commands take, in this order, as one."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


#: Seconds for each reference and each run of a heuristic, where neither the command nor the profile says.
DEFAULT_LIMIT = 10.0

_profile = option("--profile", default="exact", help="Solver profile: exact, quick, ci, ..., or a TOML file.")
param_option = click.option(
    "--param", "params", multiple=True, metavar="[P.]K=V", help="Parameter of a problem; lists with commas."
)
plot_option = option("--plot", help="Draw it, too: .svg, .png or .pdf. Needs matplotlib.")
output_option = option("--output", help="Write there instead: the whole file or none.")

#: One problem on one instance, and how long to solve it.
posed_options = _together(
    click.argument("instance", type=INSTANCE),
    option("--problem", "problem_name", required=True, help="See `list problems`."),
    param_option,
)
limit_options = _together(
    _profile, click.option("--time-limit", type=Seconds(), metavar="S", help="Seconds for the whole solve or frontier.")
)

#: Heuristics on problems, how long for each, and where the records go.
measured_options = _together(
    option("--problem", "problems", multiple=True, help="By default every one that can be posed."),
    option(
        "--heuristic",
        "heuristics",
        multiple=True,
        help="By default every applicable one; your own as package.module:function. Lists with colons.",
    ),
    param_option,
)

#: Instances of a family in addition to those that are named; how often each heuristic runs on each.
drawn_options = _together(
    option("--family", help="Generated instances, in addition to INSTANCE; see `list families`."),
    click.option("--seeds", metavar="A-B", help="Seeds of the family's instances: 0-29, or 1,4,7. By default 0-9."),
    click.option("--set", "drawn_with", multiple=True, metavar="K=V", help="Parameter of the family."),
)
seed_options = _together(
    click.option(
        "--repeats",
        type=click.IntRange(1),
        help="Seeds for each heuristic. By default ten if it draws random numbers, else one.",
    ),
    click.option(
        "--seed", type=click.IntRange(0), help="First seed, by default 0; given without --repeats, the only one."
    ),
)
gap_limit_options = _together(
    _profile,
    click.option(
        "--time-limit",
        type=Seconds(none=True),
        metavar="S|none",
        help="Seconds for each reference, and for each run of a heuristic. By default the profile's, else "
        f"{DEFAULT_LIMIT:g}; none lifts it.",
    ),
)


#: `--run-limit` and `--memory-limit`, for commands that give each run a process of its own.
kill_options = _together(
    click.option(
        "--run-limit",
        type=Seconds(min_open=True),
        metavar="S",
        help="Kill each run of a heuristic, and each solve, after this many seconds.",
    ),
    click.option(
        "--memory-limit",
        type=click.IntRange(1),
        metavar="MB",
        help="Kill a run or solve that takes more memory; Python itself takes some 150.",
    ),
)


def run_limit_options(command: Command) -> Command:
    """`--run-limit` and `--memory-limit`: with one of them each run and each solve has a process of its own."""

    @functools.wraps(command)
    def limited(*args: Any, run_limit: float | None, memory_limit: int | None, **values: Any) -> Any:
        if run_limit is None and memory_limit is None:
            return command(*args, **values)
        from optsched.core.processes import Limits, contained

        with contained(Limits(run_limit, memory_limit)):
            return command(*args, **values)

    return kill_options(limited)  # type: ignore[return-value]


#: The formats of a table: as people read it, and as documents take it.
TABLES = ("table", "markdown", "latex")

record_options = _together(
    click.option(
        "--format",
        "form",
        type=click.Choice([*TABLES, "csv", "json"]),
        help="By default as --output ends, else a table.",
    ),
    output_option,
)


def format_option(*formats: str) -> Callable[[Command], Command]:
    """`--format`; the first is the default."""
    return click.option("--format", "form", type=click.Choice(formats), default=formats[0], show_default=True)


def format_of(form: str | None, output: str | None) -> str:
    """The format of data for a file: the one asked for, else that of the file's ending, else a table."""
    return form or {".json": "json", ".csv": "csv"}.get(Path(output or "").suffix, "table")


def limited(profile: str, time_limit: float | None) -> tuple[Profile, float | None]:
    """The profile for the references and the seconds for each run of a heuristic, by what `gap_limit_options` gave."""
    loaded = load_profile(profile)
    if time_limit is None:
        time_limit = DEFAULT_LIMIT if loaded.time_limit is None else loaded.time_limit
    seconds = None if time_limit == math.inf else time_limit
    return replace(loaded, time_limit=seconds), seconds


def seeds_of(repeats: int | None, seed: int | None) -> range | None:
    """The seeds by what `seed_options` gave; None: as many as each heuristic needs (`studies.runs.measure`)."""
    if repeats is None and seed is None:
        return None
    first = seed or 0
    return range(first, first + (repeats or 1))


def check_plot(path: str | None, option: str = "--plot", also: Sequence[str] = ()) -> None:
    """Raise UsageError where a picture was asked for and cannot be drawn: before the work is done."""
    if path is not None:
        from optsched.showing.figures import check_kind, require

        check_kind(path, f"{option} ", also)
        require()


# Values -----------------------------------------------------------------------------------------------------------


def parameters_of(names: Sequence[str], texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Parameters of each of the problems `names` from `[P.]K=V`; without `P.` of every one of them that has it.

    UsageError if a text is no assignment, or none of the problems has such a parameter or takes the value.
    """
    from optsched.problems import problem_class
    from optsched.problems.base import resolve

    tables = {name: problem_class(name).parameter_table for name in names}
    values: dict[str, dict[str, Any]] = {name: {} for name in names}
    for text in texts:
        key, equals, given = text.partition("=")
        owner, dot, parameter = key.rpartition(".")
        if not equals or not parameter:
            raise UsageError(f'--param "{text}": write it as name=value or problem.name=value')
        if dot and owner not in tables:
            raise UsageError(f'--param "{text}": no problem "{owner}" is chosen; {nearest(owner, list(tables))}')
        owners = [owner] if dot else list(tables)
        known = {name: [entry.name for entry in tables[name]] for name in owners}
        takers = [name for name in owners if parameter in known[name]]
        if not takers:
            names_known = list(dict.fromkeys(entry for entries in known.values() for entry in entries))
            hint = nearest(parameter, names_known)
            raise UsageError(f'--param "{text}": {", ".join(owners)} has no parameter "{parameter}"; {hint}')
        for name in takers:
            values[name][parameter] = given
    for name, table in tables.items():
        resolve(name, table, values[name])
    return values


# Instances --------------------------------------------------------------------------------------------------------


def load_any(argument: str) -> Instance | FlowNetwork:
    """The instance or network of a file, or of an entry of the library; InputError if there is none, or it is wrong."""
    from optsched.core.instance import Instance
    from optsched.instances.files import load

    loaded = load(argument)
    if isinstance(loaded, Instance) and not loaded.name:
        loaded = replace(loaded, name=argument)  # a record must say where it is from
    return loaded


# Results ----------------------------------------------------------------------------------------------------------


def emit(text: str, output: str | None = None) -> None:
    """Put data on stdout, or into a file: the whole of it or nothing."""
    if output is None:
        click.echo(text, nl=False)
        return
    from optsched.instances.documents.storing import write_whole

    write_whole(output, text.encode("utf-8", "backslashreplace"))


def emit_table(
    table: Table, output: str | None = None, form: str = "table", heading: str = "", remarks: Sequence[str] = ()
) -> None:
    """Put a table on stdout, fitted to the terminal, or into a file; `form` is one of `TABLES`."""
    emit(page(output, form).put(table, heading, remarks), output)


def drawn(output: str | None) -> bool:
    """Whether a table goes to a terminal that can draw lines."""
    return output is None and sys.stdout.isatty() and (sys.stdout.encoding or "").lower().startswith("utf")


def page(output: str | None = None, form: str = "table") -> Page:
    """What tables are put on, on stdout or in a file.

    Whether stdout is a terminal is asked now: while heuristics run, stdout stands for stderr.
    """
    return Page(form, page_width(file=output is not None), drawn(output))


def emit_lines(lines: Iterable[str], output: str | None = None) -> None:
    """Put sentences on stdout, or into a file, each folded to the terminal."""
    emit("".join(folded(printable(line), page_width(), "  ") for line in lines), output)


def emit_names(names: Iterable[tuple[str, str]], widest: int = 30) -> None:
    """Put names with what they are on stdout, in columns of at most `widest` characters and the rest."""
    lines = click.HelpFormatter(width=page_width())
    lines.write_dl([(name, printable(text)) for name, text in names], col_max=widest)
    emit(lines.getvalue())


def emit_json(content: Any, output: str | None = None) -> None:
    """Put content on stdout, or into a file, as JSON."""
    emit(to_json(content), output)


def note(message: str, kind: str = "note") -> None:
    """Tell something on stderr."""
    click.echo(f"optsched: {kind}: {printable(message)}", err=True)


def note_limits(reports: Sequence[GapReport], seconds: float | None) -> None:
    """Say on stderr what was cut short, and what was too large to be tried."""
    from optsched.core.results import Limit
    from optsched.routes import end_reason

    solutions = {id(report.reference): report.reference.solution for report in reports}.values()
    refused = {
        entry.raw_status: None
        for entry in solutions
        if entry.decision is None and (entry.limit is Limit.MEMORY or end_reason(entry) is not None)
    }
    for reason in refused:
        note(f"not solved: {reason}", "warning")
    ended = {entry.raw_status: None for entry in solutions if entry.decision is not None and end_reason(entry)}
    for reason in ended:
        note(f"reference cut short: {reason}; it is what was held by then", "warning")
    late = sum(entry.limit is Limit.TIME and end_reason(entry) is None for entry in solutions)
    runs = sum(report.run.out_of_time is not None for report in reports)
    counted = [(late, "reference"), (runs, "run of a heuristic" if runs == 1 else "runs of heuristics")]
    parts = [f"{count} {what}{'s' * (what == 'reference' and count > 1)}" for count, what in counted if count]
    if parts:
        after = "" if seconds is None else f" after {seconds:g} s"
        verb = "was" if late + runs == 1 else "were"
        note(f"{' and '.join(parts)} {verb} out of time{after}; --time-limit S gives more, none lifts it")
