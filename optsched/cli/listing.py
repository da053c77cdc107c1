"""Lists, and instances: `optsched list`, `self-test`, `versions`, `docs`, `describe`, `generate`, `import`.

`list`, `versions` and `docs` show what is installed; `self-test` checks that it works. `describe` says what an instance
holds and which problems can be posed on it. `generate` draws an instance: each family is a command, and its parameters
are the options. `import` makes instances of files of other tools: each importer is a command.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from optsched.cli import arguments
from optsched.cli.arguments import Argument, Option
from optsched.cli.output import progress, tell_assumed
from optsched.core.brief import cited
from optsched.core.errors import ExitCode, Fault, InputError, UsageError, nearest
from optsched.core.kinds import expected, imported_by
from optsched.core.resources import folder
from optsched.measuring.printing import Table
from optsched.solvers.profiles import load_profile, profile_names

if TYPE_CHECKING:
    from optsched.certificates import Finding
    from optsched.core.instance import Instance
    from optsched.core.network import FlowNetwork
    from optsched.instances import importers

#: The packages that `versions` lists, if installed.
PACKAGES = (
    "numpy",
    "scipy",
    "pandas",
    "networkx",
    "highspy",
    "pyomo",
    "pulp",
    "msgspec",
    "click",
    "rich",
    "matplotlib",
    "dask",
    "ortools",
)


def _problems() -> list[dict[str, Any]]:
    from optsched.problems import PROBLEMS
    from optsched.problems.base import table_row

    return [table_row(problem) for problem in PROBLEMS.values()]


def _heuristics() -> list[dict[str, Any]]:
    from optsched.heuristics import HEURISTICS
    from optsched.heuristics.running.base import table_row

    return [table_row(heuristic) for heuristic in HEURISTICS.values()]


def _models() -> list[dict[str, Any]]:
    from optsched.core.registry import record
    from optsched.models import module, names
    from optsched.problems import PROBLEMS

    modelled = names()
    files: dict[str | None, list[str]] = {}
    for path in sorted(folder("models").iterdir()):  # cards and examples: by the longest name that one begins with
        owners = [name for name in modelled if path.name.startswith((f"{name}.", f"{name}-"))]
        files.setdefault(max(owners, key=len, default=None), []).append(path.name)
    return [
        {
            "name": name,
            "title": PROBLEMS[name].title,
            "compact": "Pyomo",
            "literal": "PuLP",
            "module": module(name).__name__,
            "limit": None if (limit := record(name).limit) is None else limit.meaning,
            "files": files.get(name, []),
        }
        for name in modelled
    ]


def _instances() -> list[dict[str, Any]]:
    from optsched.instances.library import library

    fields = ("parameters", "value", "frontier", "certificate", "proved", "reproduce")
    return [
        {
            "name": entry.name,
            "tags": list(entry.tags),
            "source": entry.source,
            "file": str(entry.path),
            "optima": {
                problem: {field: getattr(known, field) for field in fields} for problem, known in entry.optima.items()
            },
        }
        for entry in library().values()
    ]


def _profiles() -> list[dict[str, Any]]:
    fields = ("name", "description", "time_limit", "node_limit", "relative_gap", "threads", "highs")
    return [{field: getattr(load_profile(name), field) for field in fields} for name in profile_names()]


def _families() -> list[dict[str, Any]]:
    from optsched.instances.generate import FAMILIES

    return [
        {
            "name": family.name,
            "description": family.description,
            "paper": family.paper,
            "parameters": {
                name: {"default": parameter.default, "doc": parameter.doc, "range": parameter.range}
                for name, parameter in family.parameters.items()
            },
        }
        for family in FAMILIES.values()
    ]


#: Columns of prose, in which papers are named by their authors.
_PROSE = ("title", "paper", "doc", "description", "source")

#: The lists: how each is found, and the column next to the names (JSON has all).
LISTS: Mapping[str, tuple[Callable[[], list[dict[str, Any]]], str]] = {
    "problems": (_problems, "title"),
    "heuristics": (_heuristics, "doc"),
    "models": (_models, "title"),
    "instances": (_instances, "tags"),
    "profiles": (_profiles, "description"),
    "families": (_families, "description"),
}


@partial(arguments.command, name="list")
def list_(
    *,
    what: Annotated[str, Argument(click.Choice(list(LISTS)))],
    name: Annotated[str | None, Argument()] = None,
    out: arguments.TableOrJson,
) -> None:
    """List what there is: problems, heuristics, models, instances, solver profiles, families of instances.

    With a NAME, everything known about that one: parameters with their defaults, papers, required fields.
    """
    find, key = LISTS[what]
    found = find()
    if name is not None:
        known = [entry["name"] for entry in found]
        found = [entry for entry in found if name in (entry["name"], entry["name"].rpartition("/")[2])]
        if not found:
            raise UsageError(f'{what} have no "{name}"; {nearest(name, known)}')
    if not out.tabled:
        out.json([{**entry, "cited": cited(entry["paper"])} if "paper" in entry else entry for entry in found])
        return
    if name is not None:
        rows = [row for entry in found for row in _all_of(entry)]
        out.table(Table(("field", "value"), rows))
        return
    out.names(((entry["name"], _read(key, entry[key])) for entry in found), 40)


def _all_of(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A row for each field, and one for each parameter or optimum."""
    for field, content in entry.items():
        if isinstance(content, Mapping):
            yield field, "" if content else "-"
            for name, value in content.items():
                if isinstance(value, Mapping):  # of a parameter default and meaning; of an optimum value and proof
                    keys = ("default", "value", "doc", "range", "certificate")
                    yield f"  {name}", "; ".join(_cell(value[key]) for key in keys if key in value)
                else:
                    yield f"  {name}", _cell(value)
        else:
            yield field, _read(field, content)


def _read(column: str, content: Any) -> str:
    """A cell for people: papers by authors and year, if it is prose or a list of tags."""
    if column == "tags":
        return ", ".join(map(cited, content))
    return cited(_cell(content)) if column in _PROSE else _cell(content)


def _cell(content: Any) -> str:
    """A value, or a list of them, as one short text."""
    if isinstance(content, list | tuple):
        return ", ".join(
            f"{entry['name']} ({entry['sense']})" if isinstance(entry, Mapping) else _plain(entry) for entry in content
        )
    return "-" if content is None else _plain(content)


def _plain(content: Any) -> str:
    return f"{content:g}" if isinstance(content, float) else str(content)


@partial(arguments.command, name="self-test")
def self_test(out: arguments.TableOrJson) -> ExitCode:
    """Check this installation: small programs that broken solvers got wrong, and known optima by two routes."""
    done = []
    with progress(sys.stderr) as step:
        step("self-test")
        for check in checks():
            done.append(check)
            step(check.what)
    if out.tabled:
        rows = [("ok" if check.holds else "FALSE", check.what, check.found) for check in done]
        out.table(Table(("", "check", "found"), rows))
    else:
        out.json([{"what": check.what, "holds": check.holds, "found": check.found} for check in done])
    return ExitCode.DONE if all(check.holds for check in done) else ExitCode.FAILED


def checks() -> Iterator[Finding]:
    """Each check when it is done: small programs that releases of HiGHS got wrong, then known optima, one a problem.

    The checks suit every installation; the tests of the package go far beyond them.
    """
    from optsched.certificates import Finding, certify
    from optsched.core.registry import records
    from optsched.instances.files import load
    from optsched.instances.library import library
    from optsched.problems import problem
    from optsched.routes import solve
    from optsched.solvers.highs import SMALL_MODELS, wrong_answers

    wrong = wrong_answers()
    yield Finding("HiGHS", not wrong, "; ".join(wrong) or f"{len(SMALL_MODELS)} small programs solved right")
    entries = library()
    for name, entry in records().items():
        if entry.known is not None:
            listed = entries.get(entry.known.instance)
            if listed is None or name not in listed.optima:
                raise UsageError(
                    f'the record of the problem "{name}" ({entry.problem}) names {entry.known.instance!r} in its '
                    "known, an instance without an optimum in the library; mend it, or uninstall its package"
                )
            posed, known = problem(name, load(listed.path)), listed.optima[name].value
            for route in entry.known.routes:
                solution = solve(posed, route=route)
                holds = solution.optimal and solution.objective == known and certify(posed, solution).valid
                objective = ", ".join(map(str, solution.objective or ("none",)))
                found = f"optimum {', '.join(map(str, known))}, found {objective}"
                yield Finding(f"{name} by {route}", holds, found)


@arguments.command
def versions(out: arguments.TableOrJson) -> None:
    """Versions of this package, of Python, and of the solvers and libraries."""
    from optsched.core.resources import versions

    found = {**versions(PACKAGES), "platform": platform.platform()}
    if out.tabled:
        out.table(Table(("name", "version"), list(found.items())))
    else:
        out.json(found)


# `optsched docs`: the pages of the documentation that come with the package -------------------------------------------

#: Blocks that only the site's builder fills in: a page with such a block is only for the site.
_OF_THE_SITE = re.compile(r"^```\{(include|eval-rst|toctree)\}", re.MULTILINE)


def pages() -> dict[str, Path]:
    """The file of each page by its name, such as `how-to/explain`."""
    root = folder("docs")
    files = {path.relative_to(root).with_suffix("").as_posix(): path for path in sorted(root.rglob("*.md"))}
    return {name: path for name, path in files.items() if not _OF_THE_SITE.search(path.read_text(encoding="utf-8"))}


@arguments.command
def docs(
    page: Annotated[str | None, Argument()] = None,
    path: Annotated[bool, Option("Print where the page's file is, to open it elsewhere.")] = False,
) -> None:
    """Show the documentation, which comes with the package.

    Without PAGE the names and titles of all pages. With one its text: drawn on a terminal, elsewhere as Markdown.
    """
    found, out = pages(), arguments.STDOUT
    if page is None:
        titles = [file.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for file in found.values()]
        out.names(zip(found, titles, strict=True))
        return
    wanted = page.removeprefix("docs/").removesuffix(".md")
    named = [file for name, file in found.items() if wanted in (name, name.rpartition("/")[2])]
    if not named:
        known = {name.rpartition("/")[2]: name for name in found} if "/" not in wanted else found
        raise UsageError(f'there is no page "{page}"; {nearest(wanted, list(known))}; optsched docs lists all')
    if path:
        out.text(f"{named[0]}\n")
    elif sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(named[0].read_text(encoding="utf-8")))
    else:
        out.text(named[0].read_text(encoding="utf-8"))


#: The most missing fields of a problem that a table shows, and JSON.
SHOWN_IN_TABLE, SHOWN_IN_JSON = 3, 100


# Describe ---------------------------------------------------------------------------------------------------------


@arguments.command
def describe(instance: arguments.OneInstance, out: arguments.TableOrJson) -> None:
    """Sizes and labels of an instance, which problems apply, and which fields the others miss."""
    from optsched.core.instance import Instance

    loaded = arguments.load_any(instance)
    fields = ("name", "description", "source", "sha256", "time")
    known = {name: getattr(loaded, name) for name in fields if hasattr(loaded, name)}
    known |= {"sizes": _sizes(loaded), "labels": dict(loaded.labels)}
    if isinstance(loaded, Instance):
        known["parameters"] = {problem: dict(given) for problem, given in loaded.parameters.items()}
    known["problems"] = list(_posable(loaded))
    if not out.tabled:
        out.json(known)
        return
    rows = [(name, str(known[name])) for name in fields if name in known]
    rows += [(name, str(size)) for name, size in known["sizes"].items()]
    rows += [(f"label {name}", text) for name, text in known["labels"].items()]
    for problem, given in known.get("parameters", {}).items():
        rows += [(f"parameter {problem}.{name}", str(setting)) for name, setting in given.items()]
    for entry in known["problems"]:
        shown = entry["missing"][:SHOWN_IN_TABLE]
        more = entry["missing_count"] - len(shown)
        missing = "; ".join(shown) + (f"; and {more} more" if more else "")
        rows.append((f"problem {entry['name']}", "applies" if entry["applies"] else missing))
    out.table(Table(("", "value"), [row for row in rows if row[1]]))


def _sizes(loaded: Instance | FlowNetwork) -> dict[str, int]:
    """The numbers of all things in an instance or a network."""
    import numpy as np

    from optsched.core.instance import KINDS, MAP, PENDING, STATES, Instance

    if not isinstance(loaded, Instance):
        supply = loaded.supply
        return {"nodes": len(loaded), "arcs": loaded.arcs, "supply": int(supply[supply > 0].sum())}
    cluster, workload, state = loaded.cluster, loaded.workload, loaded.state
    maps = workload.kind == MAP
    return {
        "nodes": len(cluster),
        "racks": len(cluster.rack_ids),
        "datacenters": len(cluster.datacenter_ids),
        "node types": len(cluster.type_ids),
        "slots": int(cluster.slots.sum()),
        "idle slots": int(state.idle_slots.sum()),
        "reduce slots": int(cluster.reduce_slots.sum()),
        "idle reduce slots": int(state.idle_reduce_slots.sum()),
        "tasks": len(workload),
        **{f"{kind}s": int(np.count_nonzero(workload.kind == code)) for code, kind in enumerate(KINDS)},
        **{f"{name} maps": int(np.count_nonzero(maps & (state.status == code))) for code, name in enumerate(STATES)},
        "pending maps without replica": int(
            np.count_nonzero(maps & (state.status == PENDING) & (workload.replicas.lengths == 0))
        ),
        "replicas": int(workload.replicas.lengths.sum()),
        "observed placements": int(np.count_nonzero(workload.observed >= 0)),
        "jobs": len(workload.job_ids),
        "groups": len(workload.group_ids),
    }


def _posable(loaded: Instance | FlowNetwork) -> Iterator[dict[str, Any]]:
    """Which problems can be posed on it, and which fields the others lack."""
    from optsched.problems import PROBLEMS

    for name, problem in PROBLEMS.items():
        if isinstance(loaded, problem.posed_on):
            faults = problem.applies(loaded)
            shown = [str(fault) for fault in faults[:SHOWN_IN_JSON]]
            yield {"name": name, "applies": not faults, "missing_count": len(faults), "missing": shown}


# Generate ---------------------------------------------------------------------------------------------------------


class _Families(arguments.Commands):
    """A group with a command for each family, made when it is used; the family's parameters are its options."""

    title, noun = "Families", "family"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0].startswith("-"):  # options may also stand before the family
            at = next((row for row, word in enumerate(args) if word in self.list_commands(ctx)), 0)
            args = [*args[at : at + 1], *args[:at], *args[at + 1 :]]
        return super().parse_args(ctx, args)

    def names(self) -> Collection[str]:
        from optsched.instances.generate import FAMILIES

        return FAMILIES

    def made(self, name: str) -> click.Command:
        from optsched.instances.generate import FAMILIES

        family = FAMILIES[name]
        helps = {key: f"{cited(known.doc)} ({_default(known.default)})" for key, known in family.parameters.items()}
        helps |= {"seed": "The same seed gives the same instance. (0)", "output": _OUTPUT}
        kinds = {"output": arguments.FILE}  # all others are plain text
        return click.Command(
            name,
            {"token_normalize_func": lambda token: token.replace("_", "-")},
            params=[
                option
                for key, text in helps.items()
                for option in Option(text, kind=kinds.get(key)).parameters(key, tuple[str, ...], ())
            ],
            callback=partial(_generate, name),
            help=cited(f"{family.description} {family.paper}").strip(),
        )


#: The help of `--output` of `generate` and `import`.
_OUTPUT = "A .json, .json.gz or .npz file; by default JSON goes to stdout."


def _default(default: Any) -> str:
    if isinstance(default, tuple):
        return ",".join(f"{entry:g}" for entry in default)
    return f"{default:g}" if isinstance(default, float) else str(default)


@click.group("generate", cls=_Families, subcommand_metavar="FAMILY [OPTIONS]")
def generate() -> None:
    """Draw an instance of a FAMILY; its parameters are the options that `generate FAMILY --help` shows."""


def _generate(family: str, /, **options: tuple[str, ...]) -> None:
    """Draw an instance, to stdout or to a file."""
    from optsched.instances.generate import generate

    for name, texts in options.items():
        if len(texts) > 1:
            raise UsageError(f"generate {family}: --{name.replace('_', '-')} is given twice")
    values = {name: texts[0] for name, texts in options.items() if texts}
    output = values.pop("output", None)
    drawn = generate(family, values.pop("seed", "0"), **values)
    _emit(drawn, output)
    tell_assumed([drawn])


def _emit(instance: Instance | FlowNetwork, output: str | None) -> None:
    """The instance or network as a file, or as JSON on stdout."""
    from optsched.instances.files import save, to_json

    if output is None:
        arguments.STDOUT.text(to_json(instance).decode())
    else:
        save(instance, output)


# Import -----------------------------------------------------------------------------------------------------------


class _Importers(arguments.Commands):
    """A group with a command for each importer, made when it is used."""

    def names(self) -> Collection[str]:
        from optsched.instances.importers import IMPORTERS

        return IMPORTERS

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.names())

    def made(self, name: str) -> click.Command:
        from optsched.instances.importers import IMPORTERS

        importer = IMPORTERS[name]
        parameters: list[click.Parameter] = [
            click.Argument(["file"], type=arguments.FILE),
            *map(_option, importer.options),
            click.Option(["--name"], metavar="TEXT", help="Name of the instance; by default after the file."),
            click.Option(["--output"], help=_OUTPUT, type=arguments.FILE),
        ]
        if importer.splits:
            text = "Write each job as DIR/<name>.json instead."
            parameters.append(click.Option(["--split-jobs", "folder"], metavar="DIR", help=text, type=arguments.FOLDER))
        return click.Command(name, params=parameters, callback=partial(_import, importer), help=importer.title)


@click.group("import", cls=_Importers)
def import_() -> None:
    """Make instances of what other tools recorded."""


def _option(option: importers.Option) -> click.Parameter:
    """An option of an importer as one of its command."""
    kind = arguments.FILE if option.metavar == arguments.FILE.name else None
    declared = Option(option.doc, option.written, kind, option.lowest, option.choices, option.metavar)
    return declared.parameters(option.name, tuple[str, ...] if option.several else str, option.default)[0]


def _import(
    importer: importers.Importer, /, file: str, output: str | None, folder: str | None = None, **options: Any
) -> None:
    """Write the contents of a file to stdout, to a file, or each job to its own file in a folder; with warnings."""
    from optsched.instances.files import from_document

    if output is not None and folder is not None:
        raise UsageError("--output and --split-jobs exclude each other: one file, or one a job")
    if importer.splits:
        options["split"] = folder is not None
    paths = [(file, ""), *((path, f"--{name}") for name, path in options.items() if isinstance(path, str))]
    with ExitStack() as readings:  # an error about a file of another kind names that kind
        for path, option in paths:
            if known := [kind.name for kind in imported_by(importer.name, option)]:
                readings.enter_context(expected(path, known[0], known))
        imported = importer.read(file, **options)
    name = importer.name
    made = [from_document(document, f"{file}: {document.get('name', name)}") for document in imported.documents]
    if folder is None:
        _emit(made[0], output)
    else:
        _save_all(made, folder)
    for text in imported.notes:
        arguments.note(text)
    tell_assumed(made)


def _save_all(made: Sequence[Instance | FlowNetwork], folder: str) -> None:
    """Write each into a file of a folder; if writing is interrupted, a message counts the files."""
    from optsched.instances.files import save

    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError([Fault("", f"is no folder to write to: {reason}")], folder) from None
    written = 0
    try:
        for instance in made:
            save(instance, Path(folder, re.sub(r"[^\w.-]+", "_", instance.name) + ".json"))
            written += 1
    except (KeyboardInterrupt, InputError):
        arguments.note(f"{written} of {len(made)} jobs are written to {folder}", "warning")
        raise
