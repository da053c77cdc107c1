"""Identifies the code that computed a result: version, digest of the package's sources, commit of a clone.

`optsched --help` loads this module, so it imports what takes long where it is needed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from optsched import __version__

__all__ = ["code_version", "commit", "versions"]

PACKAGE = Path(__file__).resolve().parents[1]

#: Packages whose versions stand in a file of claims.
_PACKAGES = ("numpy", "scipy", "networkx", "highspy", "pyomo", "pulp")

#: The first characters of the digest that a version shows.
_SHOWN = 12


@cache
def code_version() -> str:
    """The version with a digest of the text of every module (PEP 440: `0.2.0+src1a2b3c4d5e6f`); a process looks once.

    It is the same for a clone and for a wheel that was built from it. An edit of any module changes it. Keys of sweeps,
    records and files of solutions hold it.
    """
    return f"{__version__}+src{_digest(PACKAGE)[:_SHOWN]}"


def _digest(folder: Path) -> str:
    """SHA-256 (hexadecimal) of the paths and texts of the modules in a folder."""
    import hashlib

    found = hashlib.sha256()
    for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*.py")):
        found.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


@cache
def commit(folder: Path = PACKAGE.parent) -> str | None:
    """The commit of the clone at `folder`, with `-dirty` after local changes; None outside of a clone.

    Untracked files are no local changes; `code_version` covers those of the package.
    """
    import subprocess

    if not (folder / ".git").exists():  # a repository further up belongs to another project
        return None
    # A hook of git that calls us must not lead git to another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    words = ["git", "--no-optional-locks", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):  # no git here
        return None
    return done.stdout.strip() or None


def versions(packages: Sequence[str] = _PACKAGES) -> dict[str, str]:
    """The versions of this package (and the commit of a clone), Python and packages, as files of claims have them."""
    import platform

    known = commit()
    found = {"optsched": code_version(), **({"commit": known} if known else {}), "python": platform.python_version()}
    installed = {package: _installed(package) for package in packages}
    return found | {package: version for package, version in installed.items() if version is not None}


@cache
def _installed(package: str) -> str | None:
    """The version of an installed package, which is looked up once; None where it is absent, as a solver may be."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
