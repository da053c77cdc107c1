"""The installed package: its data folders, the names of what it ships, and the version of its code.

`optsched --help` and a shell's completion load this module. So nothing here computes, and slow imports are made where
they are needed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from optsched import __version__
from optsched.core.errors import UsageError, nearest

__all__ = ["FAMILIES", "FOLDERS", "HEURISTICS", "code_version", "commit", "folder", "versions"]

#: The folders at the top of the project that ship in the wheel.
FOLDERS = ("models", "instances", "solvers", "docs")

PACKAGE = Path(__file__).resolve().parents[1]


@cache
def _is_checkout(root: Path) -> bool:
    """Whether `root` is this project's own source tree, not just any folder that contains the package; checked once."""
    import tomllib

    try:
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(project.get("project", {}).get("name") == "optsched")


def folder(name: str, package: Path = PACKAGE) -> Path:
    """Path of one of the project's data folders (`FOLDERS`); UsageError if there is none or it is missing.

    In a checkout it is the folder at the top, never `_data` inside the package, which could be a stale copy from a
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


#: Modules of `optsched.heuristics`, each with its heuristics, in the order in which they are listed.
HEURISTICS = {
    "lsap_sched": ("dl", "rand", "lsap-sched", "lsap-fair-sched"),
    "flow_sched": ("flow-sched", "flow-greedy", "balancing"),
    "fair": ("fifo", "larts", "delay", "fair", "capacity"),
    "probabilistic": ("probabilistic", "least-cost", "coupling"),
    "sequential": ("quincy", "sequential"),
    "labl": ("round-robin", "flow-based", "labl"),
    "joss": ("joss-t", "joss-j"),
    "ras": ("ras", "fair-sharing"),
    "observed": ("observed",),
}

#: Modules of `optsched.instances.families`, each with its families of instances, those of a paper's model first.
FAMILIES = {
    "guo": (
        "lsap",
        "fair-lsap",
        "lsap-fairness",
        "worst-group",
        "skewed-lsap",
        "guo-fig4",
        "guo-table3",
        "guo-table3-delay",
        "guo-fairness",
    ),
    "hsu": ("flow", "hsu-table3", "hsu-run"),
    "labl": ("latency", "labl", "skewed-latency", "hot-server"),
    "shen": ("transmission", "shen-table2", "shen-run"),
    "jobs": ("utility", "ras-run", "traffic", "mixed", "makespan", "job-times", "day"),
    "others": (
        "generalized-assignment",
        "min-cost-flow",
        "planted-lsap",
        "planted-fair-lsap",
        "planted-latency",
        "planted-flow",
    ),
}


#: Packages whose versions a file of claims records.
_PACKAGES = ("numpy", "scipy", "networkx", "highspy", "pyomo", "pulp")

#: The first characters of the digest that a version shows.
_SHOWN = 12


@cache
def code_version() -> str:
    """The version with a digest of the text of every module (PEP 440: `0.2.0+src1a2b3c4d5e6f`), computed once.

    A clone and a wheel built from it have the same one. An edit of any module changes it. Keys of sweeps, records and
    files of solutions contain it.
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
    """The commit of the clone at `folder`, with `-dirty` after local changes; None outside a clone.

    Untracked files are no local changes; `code_version` covers those of the package.
    """
    import subprocess

    if not (folder / ".git").exists():  # a repository further up belongs to another project
        return None
    # A git hook that calls us must not redirect git to another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    words = ["git", "--no-optional-locks", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):  # no git here
        return None
    return done.stdout.strip() or None


def versions(packages: Sequence[str] = _PACKAGES) -> dict[str, str]:
    """The versions of this package (and the commit of a clone), Python and packages, as files of claims record them."""
    import platform

    known = commit()
    found = {"optsched": code_version(), **({"commit": known} if known else {}), "python": platform.python_version()}
    installed = {package: _installed(package) for package in packages}
    return found | {package: version for package, version in installed.items() if version is not None}


@cache
def _installed(package: str) -> str | None:
    """The version of an installed package, looked up once; None if it is absent, as a solver may be."""
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
