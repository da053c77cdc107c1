"""What the commands share: options, how their values are read and completed, how instances are found, where results go.

A shell asks again at each Tab, so completing a value loads nothing that computes: names come from tables and file
names. Other installed packages are loaded only if they bring names.
"""

from __future__ import annotations

import inspect
import json
import math
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

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

# Values, and completions for a shell --------------------------------------------------------------------------------


class Value(click.ParamType[str]):
    """The name of an option's or argument's values in help, and the completions of a value at Tab."""

    def __init__(self, name: str, offered: Callable[[str], Iterable[str | CompletionItem]]) -> None:
        self.name, self._offered = name, offered

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return self.name

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        items = (CompletionItem(item) if isinstance(item, str) else item for item in self._offered(incomplete))
        return [item for item in items if item.value.startswith(incomplete)]


class Picture(Value):
    """A file for a picture. UsageError before the work is done if it cannot be drawn.

    `also` are endings that the command writes itself.
    """

    def __init__(self, *also: str) -> None:
        super().__init__("FILE", _file)
        self._also = also

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value.lower().endswith(self._also):
            from optsched.showing.figures import check_kind, require

            check_kind(value, f"{param.opts[0] if param else '--plot'} ", self._also)
            require()
        return value


#: How the files of instances end.
_SUFFIXES = (".json", ".json.gz", ".npz", ".csv", ".parquet")


def _listed(group: str, kind: str, place: str) -> Callable[[str], Iterable[str]]:
    """Shipped names and those of installed packages; `place` is the module and name of the whole list.

    The command reports faults of a package when it runs, not while it is typed.
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
    """Names of shipped solver profiles; files if no name begins so."""
    names = sorted(path.stem for path in folder("solvers").glob("*.toml"))
    return [name for name in names if name.startswith(incomplete)] or _file(incomplete)


def _instances(incomplete: str) -> Iterable[str | CompletionItem]:
    """Names of the library, and files of instances; else the last parts of such names, else any file."""
    names = json.loads((folder("instances") / "optima.json").read_text(encoding="utf-8"))["instances"]
    for found in ([*names, *_files_of_instances(incomplete)], (Path(name).name for name in names)):
        if begun := [name for name in found if name.startswith(incomplete)]:
            return begun
    return _file(incomplete)


def _files_of_instances(incomplete: str) -> list[str]:
    """Files and folders that complete the typed text as it is: a path from here gets no `./` unless it was typed."""
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
PICTURE, PICTURE_HELP = Picture(), "Draw it, too: .svg, .png or .pdf. Needs matplotlib."
FOLDER = Value("FOLDER", lambda incomplete: [CompletionItem(incomplete, type="dir")])

#: The values of an option of this name, the same in every command.
_VALUES = {
    "--problem": PROBLEM,
    "--heuristic": HEURISTIC,
    "--policy": HEURISTIC,
    "--family": FAMILY,
    "--profile": PROFILE,
    "--solution": SOLUTION,
    "--start": SOLUTION,
    "--plot": PICTURE,
    **dict.fromkeys(("--to", "--output", "--schedule", "--store", "--junit", "--markdown"), FILE),
}


# Commands and their parameters --------------------------------------------------------------------------------------


class Seconds(click.FloatRange):
    """A finite number of seconds, at least 0, or above 0 with `min_open`; with `none` also that word, for infinity."""

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
    """A group of commands that are made when they are used; for an unknown name it suggests the nearest.

    Its help shortens no sentence.
    """

    #: The help's name for all of them, and the messages' name for one.
    title, noun = "Commands", "command"

    def names(self) -> Collection[str]:
        """All names; checking whether a shipped name is among them needs no look at installed packages."""
        raise NotImplementedError

    def made(self, name: str) -> click.Command:
        """The command of one of the names."""
        raise NotImplementedError

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.names():
            return self.made(cmd_name)
        if not ctx.resilient_parsing:  # else only completions are needed
            known = self.list_commands(ctx)
            raise click.UsageError(f'there is no {self.noun} "{cmd_name}"; {nearest(cmd_name, known)}', ctx)
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(sys.maxsize)) for name, command in commands if command is not None]
        with formatter.section(self.title):
            formatter.write_dl(rows)


@dataclass(frozen=True)
class Option:
    """Declares an option, in the annotation of the command's parameter that gets its value.

    The parameter says the rest: `bool` is a flag, a tuple may be repeated, and one without a default is required.

    Attributes
    ----------
    flags
        Its spellings, separated by blanks; by default the parameter's name.
    kind, least, choices
        Its values, the least number, or all words; by default those of an option of its name in every command.
    shown
        Whether the help shows the default.
    """

    help: str | None = None
    flags: str = ""
    kind: click.ParamType[Any] | None = None
    least: int | None = None
    choices: Sequence[str] = ()
    metavar: str | None = None
    shown: bool = True

    def parameters(self, name: str, hint: Any, default: Any) -> list[click.Parameter]:
        """The option of click."""
        flags = self.flags.split() or [f"--{name.replace('_', '-')}"]
        kind = self.kind or (click.Choice(self.choices) if self.choices else _VALUES.get(flags[0]))
        if kind is None and self.least is not None:
            kind = click.IntRange(self.least)
        given = {} if default is inspect.Parameter.empty else {"default": default}
        several = get_origin(hint) is tuple
        option = click.Option(
            [*flags, name],
            type=kind or (float if float in {hint, *get_args(hint)} else None),
            required=not given,
            multiple=several,
            is_flag=True if hint is bool else None,
            metavar=self.metavar,
            help=self.help,
            show_default=self.shown and isinstance(default, str | int | float) and default is not False,
            **({} if several else given),
        )
        return [option]


@dataclass(frozen=True)
class Argument:
    """Declares an argument in the same way; a tuple takes all given values."""

    kind: click.ParamType[Any] | None = None
    metavar: str | None = None

    def parameters(self, name: str, hint: Any, default: Any) -> list[click.Parameter]:
        """The argument of click."""
        required = default is inspect.Parameter.empty
        several = -1 if get_origin(hint) is tuple else 1
        return [click.Argument([name], type=self.kind, required=required, nargs=several, metavar=self.metavar)]


@dataclass(frozen=True)
class Together:
    """Several parameters that the command gets as one value, made by `make`.

    With `within` that value is a context, and the command runs inside it. The command's own parameter, also called
    `within`, only declares the options: it gets None, and the command does not use it.
    """

    make: Callable[..., Any]
    theirs: Sequence[click.Parameter] = ()
    within: bool = False

    def parameters(self, name: str, hint: Any, default: Any) -> list[click.Parameter]:
        """The parameters of click: `theirs`, or by default those that the parameters of `make` declare."""
        return list(self.theirs) or [one for _, _, own in _declared(self.make) for one in own]


@cache
def _declared(function: Callable[..., Any]) -> list[tuple[str, Option | Argument | Together, list[click.Parameter]]]:
    """What the parameters of a function declare: name, declaration, and parameters of click."""
    return [
        (name, one, one.parameters(name, get_args(parameter.annotation)[0], parameter.default))
        for name, parameter in inspect.signature(function, eval_str=True).parameters.items()
        for one in getattr(parameter.annotation, "__metadata__", ())
    ]


def command(function: Callable[..., Any], name: str | None = None) -> click.Command:
    """The command that calls a function: its parameters declare the options, its docstring is the help.

    The function's result is the exit code.
    """
    declared = _declared(function)
    together = {name: (one, own) for name, one, own in declared if isinstance(one, Together)}

    def called(**values: Any) -> Any:
        with ExitStack() as contexts:
            for key, (one, own) in together.items():
                made = one.make(**{str(each.name): values.pop(str(each.name)) for each in own})
                values[key] = contexts.enter_context(made) if one.within else made
            return function(**values)

    help_text = inspect.getdoc(function)
    params = [one for _, _, own in declared for one in own]
    return click.Command(name or function.__name__, params=params, callback=called, help=help_text)


#: Seconds for each reference and each run of a heuristic, if neither the command nor the profile says any.
DEFAULT_LIMIT = 10.0

#: Parameters of several commands.
OneInstance = Annotated[str, Argument(INSTANCE)]
Params = Annotated[tuple[str, ...], Option("Parameter of a problem; lists with commas.", "--param", metavar="[P.]K=V")]
Problems = Annotated[tuple[str, ...], Option("By default every one that can be posed.", "--problem")]
Heuristics = Annotated[
    tuple[str, ...],
    Option("By default every applicable one; your own as package.module:function. Lists with colons.", "--heuristic"),
]
FamilyName = Annotated[
    str | None, Option("Generated instances, in addition to INSTANCE; see `list families`.", "--family")
]
Seeds = Annotated[str | None, Option("Seeds of the family's instances: 0-29, or 1,4,7. By default 0-9.", metavar="A-B")]
DrawnWith = Annotated[tuple[str, ...], Option("Parameter of the family.", "--set", metavar="K=V")]
Repeats = Annotated[
    int | None, Option("Seeds for each heuristic. By default ten if it draws random numbers, else one.", least=1)
]
FirstSeed = Annotated[int | None, Option("First seed, by default 0; given without --repeats, the only one.", least=0)]
Seed = Annotated[int, Option(least=0)]
Plot = Annotated[str | None, Option(PICTURE_HELP, "--plot")]
Target = Annotated[str | None, Option(PICTURE_HELP, "--to", kind=PICTURE)]
ProfileName = Annotated[str, Option("Solver profile: exact, quick, ci, ..., or a TOML file.", shown=False)]
WholeLimit = Annotated[float | None, Option("Seconds for the whole solve or frontier.", kind=Seconds(), metavar="S")]
TimeLimit = Annotated[
    float | None,
    Option(
        "Seconds for each reference, and for each run of a heuristic. By default the profile's, else "
        f"{DEFAULT_LIMIT:g}; none lifts it.",
        kind=Seconds(none=True),
        metavar="S|none",
    ),
]
RunLimit = Annotated[
    float | None,
    Option(
        "Kill each run of a heuristic, and each solve, after this many seconds.",
        kind=Seconds(min_open=True),
        metavar="S",
    ),
]
MemoryLimit = Annotated[
    int | None,
    Option("Kill a run or solve that takes more memory; Python itself takes some 150.", least=1, metavar="MB"),
]


def limited(profile: ProfileName = "exact", time_limit: TimeLimit = None) -> Profile:
    """The profile for the references, with the seconds for these and for each run of a heuristic."""
    loaded = load_profile(profile)
    if time_limit is None:
        time_limit = DEFAULT_LIMIT if loaded.time_limit is None else loaded.time_limit
    return replace(loaded, time_limit=None if time_limit == math.inf else time_limit)


def _contained(run_limit: RunLimit = None, memory_limit: MemoryLimit = None) -> AbstractContextManager[None]:
    """A context in which each run and each solve has a process of its own, if one of the limits is given."""
    if run_limit is None and memory_limit is None:
        return nullcontext()
    from optsched.core.processes import Limits, contained

    return contained(Limits(run_limit, memory_limit))


Limited = Annotated[Profile, Together(limited)]
RunLimits = Annotated[None, Together(_contained, within=True)]


#: The formats of a table: for people, and for documents.
TABLES = ("table", "markdown", "latex")


@dataclass(frozen=True)
class Out:
    """The destination of a command's data (a file or stdout) and their format: `--format` and `--output`.

    Without a format, the ending of the file decides; else it is a table.
    """

    form: str
    file: str | None = None

    @staticmethod
    def of(form: str | None, output: str | None = None) -> Out:
        """The given format and file, with the default format."""
        return Out(form or {".json": "json", ".csv": "csv"}.get(Path(output or "").suffix, "table"), output)

    @property
    def tabled(self) -> bool:
        """Whether it is a table, for people or for documents."""
        return self.form in TABLES

    @property
    def drawn(self) -> bool:
        """Whether a table goes to a terminal that can draw lines."""
        return self.file is None and sys.stdout.isatty() and (sys.stdout.encoding or "").lower().startswith("utf")

    @property
    def page(self) -> Page:
        """The page for tables.

        Whether stdout is a terminal is checked now: while heuristics run, stdout is stderr.
        """
        return Page(self.form, page_width(file=self.file is not None), self.drawn)

    def text(self, text: str) -> None:
        """Write data: all of them or nothing."""
        if self.file is None:
            click.echo(text, nl=False)
            return
        from optsched.instances.documents.storing import write_whole

        write_whole(self.file, text.encode("utf-8", "backslashreplace"))

    def json(self, content: Any) -> None:
        """Write content as JSON."""
        self.text(to_json(content))

    def table(self, table: Table, heading: str = "", remarks: Sequence[str] = ()) -> None:
        """Write a table."""
        self.text(self.page.put(table, heading, remarks))

    def lines(self, lines: Iterable[str]) -> None:
        """Write sentences, each folded to the width of the terminal."""
        self.text("".join(folded(printable(line), page_width(), "  ") for line in lines))

    def names(self, names: Iterable[tuple[str, str]], widest: int = 30) -> None:
        """Write names and their descriptions, in columns of at most `widest` characters and the rest."""
        lines = click.HelpFormatter(width=page_width())
        lines.write_dl([(name, printable(text)) for name, text in names], col_max=widest)
        self.text(lines.getvalue())


_OUTPUT = Option("Write there instead: the whole file or none.").parameters("output", str, None)
_ANY = Option("By default as --output ends, else a table.", "--format", choices=[*TABLES, "csv", "json"])


def formats(*names: str, file: bool = False) -> Together:
    """`--format`; the first name is the default. With `file` also `--output`."""
    form = Option(None, "--format", choices=names).parameters("form", str, names[0])
    return Together(Out.of, [*form, *_OUTPUT] if file else form)


#: Where data go, and in what format.
Recorded = Annotated[Out, Together(Out.of, [*_ANY.parameters("form", str, None), *_OUTPUT])]
TableOrJson = Annotated[Out, formats("table", "json")]


def seeds_of(repeats: int | None, seed: int | None) -> range | None:
    """The seeds of `--repeats` and `--seed`; None: as many as each heuristic needs (`studies.runs.measure`)."""
    if repeats is None and seed is None:
        return None
    first = seed or 0
    return range(first, first + (repeats or 1))


# Values -----------------------------------------------------------------------------------------------------------


def parameters_of(names: Sequence[str], texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Parameters of each of the problems `names` from `[P.]K=V`; without `P.`, of each problem that has it.

    UsageError if a text is no assignment, or if no problem has such a parameter or accepts the value.
    """
    from optsched.problems import problem_class
    from optsched.problems.parameters import resolve

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


def parameters_for(name: str, texts: Sequence[str]) -> dict[str, Any]:
    """Parameters of one problem from `K=V`, as `parameters_of` reads them."""
    return parameters_of([name], texts)[name]


# Instances --------------------------------------------------------------------------------------------------------


def load_any(argument: str) -> Instance | FlowNetwork:
    """The instance or network of a file, or of an entry of the library; InputError if none, or a faulty one."""
    from optsched.core.instance import Instance
    from optsched.instances.files import load

    loaded = load(argument)
    if isinstance(loaded, Instance) and not loaded.name:
        loaded = replace(loaded, name=argument)  # a record must name its source
    return loaded


# Results ----------------------------------------------------------------------------------------------------------


#: For commands with a single format.
STDOUT = Out("table")


def note(message: str, kind: str = "note") -> None:
    """Print a note on stderr."""
    click.echo(f"optsched: {kind}: {printable(message)}", err=True)


def note_limits(reports: Sequence[GapReport], seconds: float | None) -> None:
    """Note on stderr what was cut short, and what was too large to try."""
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
