"""`optsched list`, `self-test` and `versions`: what there is, and whether it works."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Mapping
from typing import Any

import click

from optsched.cli import arguments

__all__ = ["list_", "self_test", "versions"]

#: Exit code where the installed solver or a route is wrong.
FAILED = 4

#: What `versions` tells, where it is installed.
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
    from optsched.running.base import table_row

    return [table_row(heuristic) for heuristic in HEURISTICS.values()]


def _models() -> list[dict[str, Any]]:
    from optsched.models import module, names
    from optsched.problems import PROBLEMS
    from optsched.registry import record
    from optsched.resources import folder

    cards, modelled = folder("models"), names()
    return [
        {
            "name": name,
            "title": PROBLEMS[name].title,
            "compact": "Pyomo",
            "literal": "PuLP",
            "module": module(name).__name__,
            "limit": None if (limit := record(name).limit) is None else limit.meaning,
            "files": sorted(path.name for path in cards.iterdir() if _belongs(path.name, name, modelled)),
        }
        for name in modelled
    ]


def _belongs(file: str, name: str, names: tuple[str, ...]) -> bool:
    """Whether a file of the folder is a model's card or example: of the names that it begins with, that is longest."""
    owners = [entry for entry in names if file.startswith((f"{entry}.", f"{entry}-"))]
    return max(owners, key=len, default=None) == name


def _instances() -> list[dict[str, Any]]:
    from optsched.instances.library import library

    return [
        {
            "name": entry.name,
            "tags": list(entry.tags),
            "source": entry.source,
            "file": str(entry.path),
            "optima": {
                problem: {
                    "parameters": known.parameters,
                    "value": list(known.value),
                    "frontier": [list(point) for point in known.frontier],
                    "certificate": known.certificate,
                    "proved": known.proved,
                    "reproduce": known.reproduce,
                }
                for problem, known in entry.optima.items()
            },
        }
        for entry in library().values()
    ]


def _profiles() -> list[dict[str, Any]]:
    from optsched.solvers.profiles import load_profile, profile_names

    return [
        {
            "name": profile.name,
            "description": profile.description,
            "time_limit": profile.time_limit,
            "node_limit": profile.node_limit,
            "relative_gap": profile.relative_gap,
            "threads": profile.threads,
            "highs": profile.highs,
        }
        for profile in map(load_profile, profile_names())
    ]


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

#: What can be listed: how it is found, and the columns of its table (JSON has all).
LISTS: Mapping[str, tuple[Callable[[], list[dict[str, Any]]], tuple[str, ...]]] = {
    "problems": (_problems, ("name", "title", "paper", "components", "parameters", "requires", "certificate")),
    "heuristics": (_heuristics, ("name", "problems", "parameters", "paper", "doc")),
    "models": (_models, ("name", "compact", "literal", "limit", "module", "files")),
    "instances": (_instances, ("name", "tags", "optima", "source")),
    "profiles": (_profiles, ("name", "description")),
    "families": (_families, ("name", "parameters", "paper", "description")),
}


@click.command("list")
@click.argument("what", type=click.Choice(list(LISTS)))
@arguments.format_option("table", "json")
def list_(what: str, form: str) -> None:
    """List what there is: problems, heuristics, models, instances, solver profiles, families of instances."""
    from optsched.papers import cited

    find, columns = LISTS[what]
    found = find()
    if form == "json":
        arguments.emit_json(
            [{**entry, "cited": cited(entry["paper"])} if "paper" in entry else entry for entry in found]
        )
        return
    from optsched.printing import Table

    rows = [[_read(name, entry[name]) for name in columns] for entry in found]
    arguments.emit_table(Table(columns, rows))


def _read(column: str, content: Any) -> str:
    """A cell as people read it: papers by authors and year where it is prose or a list of tags."""
    from optsched.papers import cited

    if column == "tags":
        return ", ".join(map(cited, content))
    return cited(_cell(content)) if column in _PROSE else _cell(content)


def _cell(content: Any) -> str:
    """A list, or an object by its keys with what is told of each, as one short text."""
    if isinstance(content, Mapping):
        return " ".join(f"{key}{_told(entry)}" for key, entry in content.items())
    if isinstance(content, list):
        return " ".join(
            f"{entry['name']}:{entry['sense']}" if isinstance(entry, Mapping) else str(entry) for entry in content
        )
    return "-" if content is None else str(content)


def _told(entry: Any) -> str:
    for key in ("default", "value"):
        if key in entry:
            content = entry[key]
            return "=" + (",".join(map(_plain, content)) if isinstance(content, tuple | list) else _plain(content))
    return ""


def _plain(content: Any) -> str:
    return f"{content:g}" if isinstance(content, float) else str(content)


@click.command("self-test")
@arguments.format_option("table", "json")
@click.pass_context
def self_test(ctx: click.Context, form: str) -> None:
    """Check this installation: small programs that broken solvers got wrong, and known optima by two routes."""
    from optsched.cli.self_test import checks
    from optsched.printing import Table, progress

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
    ctx.exit(0 if all(check.holds for check in done) else FAILED)


@click.command()
@arguments.format_option("table", "json")
def versions(form: str) -> None:
    """Versions of this package, of Python, and of what computes."""
    from optsched.instances.documents import claims

    found = {**claims.versions(PACKAGES), "platform": platform.platform()}
    if form == "json":
        arguments.emit_json(found)
        return
    from optsched.printing import Table

    arguments.emit_table(Table(("name", "version"), list(found.items())))
