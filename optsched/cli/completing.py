"""What a shell offers for the values of options and arguments when Tab is pressed.

A shell asks anew for each Tab, so nothing that computes is loaded: names come from tables and file names. Packages
outside are loaded only where there are such.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

import click
from click.shell_completion import CompletionItem

__all__ = ["Completion", "families", "files", "folders", "heuristics", "instances", "problems", "profiles"]

#: What click asks for the values of an option or argument that begin with a text.
Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

#: How the files of instances end.
_SUFFIXES = (".json", ".json.gz", ".npz", ".csv", ".parquet")


def _begun(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _listed(group: str, shipped: Iterable[str], place: str) -> list[str]:
    """Shipped names and those that installed packages bring; `place` is the module and name of the whole list.

    What is wrong with a package is told by the command that is run, and not while it is typed.
    """
    from importlib.metadata import entry_points

    from optsched.core.errors import UsageError

    if not entry_points(group=group):
        return list(shipped)
    module, name = place.split(":")
    try:
        return list(getattr(import_module(module), name))
    except UsageError:
        return list(shipped)


def problems(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of problems."""
    from optsched.core.errors import UsageError
    from optsched.core.registry import SHIPPED, records

    try:
        return _begun(records(), incomplete)
    except UsageError:
        return _begun((entry.name for entry in SHIPPED), incomplete)


def heuristics(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of heuristics."""
    from optsched.core.shipped import HEURISTICS

    names = [name for names in HEURISTICS.values() for name in names]
    return _begun(_listed("optsched.heuristics", names, "optsched.heuristics:HEURISTICS"), incomplete)


def families(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of families of generated instances."""
    from optsched.core.shipped import FAMILIES

    names = [name for names in FAMILIES.values() for name in names]
    return _begun(_listed("optsched.families", names, "optsched.instances.generate:FAMILIES"), incomplete)


def profiles(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of shipped solver profiles; where none begins so, files."""
    from optsched.core.resources import folder

    names = sorted(path.stem for path in folder("solvers").glob("*.toml"))
    return _begun(names, incomplete) or files(ctx, param, incomplete)


def instances(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of the library, and files of instances; else the last parts of such names, else whatever file there is."""
    from optsched.core.resources import folder

    names = json.loads((folder("instances") / "optima.json").read_text(encoding="utf-8"))["instances"]
    begun = _begun([*names, *_files_of_instances(incomplete)], incomplete)
    return begun or _begun((Path(name).name for name in names), incomplete) or files(ctx, param, incomplete)


def _files_of_instances(incomplete: str) -> list[str]:
    """Files and folders beside what is typed, as it is typed: a path from here keeps no `./` that was not given."""
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


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Whatever the shell completes a file by."""
    return [CompletionItem(incomplete, type="file")]


def folders(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Whatever the shell completes a folder by."""
    return [CompletionItem(incomplete, type="dir")]
