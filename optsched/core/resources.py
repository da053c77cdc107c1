"""Where the folders `models`, `instances`, `solvers` and `docs` lie: in the checkout, else in the installed wheel.

Only finding them lives here; what is in them is read by the package of the same name.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from optsched.core.errors import UsageError, nearest

__all__ = ["FOLDERS", "folder"]

#: The folders at the top of the project that ship in the wheel.
FOLDERS = ("models", "instances", "solvers", "docs")

_PACKAGE = Path(__file__).resolve().parents[1]


@cache
def _is_checkout(root: Path) -> bool:
    """Whether `root` is this project's own source tree, not just any folder that holds the package; looked at once."""
    try:
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(project.get("project", {}).get("name") == "optsched")


def folder(name: str, package: Path = _PACKAGE) -> Path:
    """Path of one of the project's data folders (`FOLDERS`); UsageError if there is none, or the installation has lost
    it.

    In a checkout it is the folder at the top, and never `_data` inside the package, which could be a stale copy from a
    build; in an installed wheel it is `_data`.

    >>> folder("solvers").joinpath("exact.toml").is_file()
    True
    """
    if name not in FOLDERS:
        raise UsageError(f'no data folder "{name}": {nearest(name, FOLDERS)}')
    path = package.parent / name if _is_checkout(package.parent) else package / "_data" / name
    if not path.is_dir():
        raise UsageError(f"the data folder {path} is missing: reinstall optsched, or restore the checkout")
    return path
