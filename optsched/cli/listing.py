"""`optsched list`, `self-test` and `versions`: what there is, and whether it works."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from optsched.cli import arguments
from optsched.core.brief import cited
from optsched.core.errors import ExitCode, UsageError, nearest
from optsched.core.resources import folder
from optsched.measuring.printing import Table, progress
from optsched.solvers.profiles import load_profile, profile_names

if TYPE_CHECKING:
    from optsched.certificates import Finding

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
    for path in sorted(folder("models").iterdir()):  # cards and examples: of the longest name that one begins with
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


#: Columns of prose, in which papers are called by their authors.
_PROSE = ("title", "paper", "doc", "description", "source")

#: The lists: how each is found, and what stands next to the names (JSON has all).
LISTS: Mapping[str, tuple[Callable[[], list[dict[str, Any]]], str]] = {
    "problems": (_problems, "title"),
    "heuristics": (_heuristics, "doc"),
    "models": (_models, "title"),
    "instances": (_instances, "tags"),
    "profiles": (_profiles, "description"),
    "families": (_families, "description"),
}


@click.command("list")
@click.argument("what", type=click.Choice(list(LISTS)))
@click.argument("name", required=False)
@arguments.format_option("table", "json")
def list_(what: str, name: str | None, form: str) -> None:
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
    if form == "json":
        arguments.emit_json(
            [{**entry, "cited": cited(entry["paper"])} if "paper" in entry else entry for entry in found]
        )
        return
    if name is not None:
        rows = [row for entry in found for row in _all_of(entry)]
        arguments.emit_table(Table(("field", "value"), rows))
        return
    arguments.emit_names(((entry["name"], _read(key, entry[key])) for entry in found), 40)


def _all_of(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A row for each field, and one for each parameter or optimum."""
    for field, content in entry.items():
        if isinstance(content, Mapping):
            yield field, "" if content else "-"
            for name, value in content.items():
                if isinstance(value, Mapping):  # of a parameter its default, what it is; of an optimum value and proof
                    keys = ("default", "value", "doc", "range", "certificate")
                    yield f"  {name}", "; ".join(_cell(value[key]) for key in keys if key in value)
                else:
                    yield f"  {name}", _cell(value)
        else:
            yield field, _read(field, content)


def _read(column: str, content: Any) -> str:
    """A cell as people read it: papers by authors and year where it is prose or a list of tags."""
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


@click.command("self-test")
@arguments.format_option("table", "json")
@click.pass_context
def self_test(ctx: click.Context, form: str) -> None:
    """Check this installation: small programs that broken solvers got wrong, and known optima by two routes."""
    done = []
    with progress(sys.stderr) as step:
        step("self-test")
        for check in checks():
            done.append(check)
            step(check.what)
    if form == "json":
        arguments.emit_json([{"what": check.what, "holds": check.holds, "found": check.found} for check in done])
    else:
        rows = [("ok" if check.holds else "FALSE", check.what, check.found) for check in done]
        arguments.emit_table(Table(("", "check", "found"), rows))
    ctx.exit(0 if all(check.holds for check in done) else ExitCode.FAILED)


def checks() -> Iterator[Finding]:
    """Each check as it is done: small programs that releases of HiGHS got wrong, then known optima, one a problem.

    It is small enough for every installation; the tests of the package go far beyond.
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
                    "known, an instance without an optimum in the library; mend or uninstall the package that brings it"
                )
            posed, known = problem(name, load(listed.path)), listed.optima[name].value
            for route in entry.known.routes:
                solution = solve(posed, route=route)
                holds = solution.optimal and solution.objective == known and certify(posed, solution).valid
                objective = ", ".join(map(str, solution.objective or ("none",)))
                found = f"optimum {', '.join(map(str, known))}, found {objective}"
                yield Finding(f"{name} by {route}", holds, found)


@click.command()
@arguments.format_option("table", "json")
def versions(form: str) -> None:
    """Versions of this package, of Python, and of what computes."""
    from optsched.core.resources import versions

    found = {**versions(PACKAGES), "platform": platform.platform()}
    if form == "json":
        arguments.emit_json(found)
        return
    arguments.emit_table(Table(("name", "version"), list(found.items())))


# `optsched docs`: the pages of the documentation that come with the package -------------------------------------------

#: Blocks that only the site's builder fills in: a page with such a block is for the site alone.
_OF_THE_SITE = re.compile(r"^```\{(include|eval-rst|toctree)\}", re.MULTILINE)


def pages() -> dict[str, Path]:
    """The file of each page by its name, such as `how-to/explain`."""
    root = folder("docs")
    files = {path.relative_to(root).with_suffix("").as_posix(): path for path in sorted(root.rglob("*.md"))}
    return {name: path for name, path in files.items() if not _OF_THE_SITE.search(path.read_text(encoding="utf-8"))}


@click.command()
@click.argument("page", required=False)
@click.option("--path", is_flag=True, help="Print where the page's file is, to open it elsewhere.")
def docs(page: str | None, path: bool) -> None:
    """Show the documentation, which comes with the package.

    Without PAGE the names and titles of all pages. With one its text: drawn on a terminal, elsewhere as Markdown.
    """
    found = pages()
    if page is None:
        titles = [file.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for file in found.values()]
        arguments.emit_names(zip(found, titles, strict=True))
        return
    wanted = page.removeprefix("docs/").removesuffix(".md")
    named = [file for name, file in found.items() if wanted in (name, name.rpartition("/")[2])]
    if not named:
        known = {name.rpartition("/")[2]: name for name in found} if "/" not in wanted else found
        raise UsageError(f'there is no page "{page}"; {nearest(wanted, list(known))}; optsched docs lists all')
    if path:
        arguments.emit(f"{named[0]}\n")
    elif sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(named[0].read_text(encoding="utf-8")))
    else:
        arguments.emit(named[0].read_text(encoding="utf-8"))
