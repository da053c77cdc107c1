"""Packages of their own, as an installer leaves them in a folder, and the command line where they are installed."""

import json
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from optsched.cli import cli
from optsched.core.registry import records
from optsched.heuristics import HEURISTICS
from optsched.instances.generate import FAMILIES
from optsched.instances.importers import IMPORTERS
from optsched.measuring.judging import PAPERS

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tests" / "data" / "outside_package"


def install(folder: Path, name: str, groups: dict[str, dict[str, str]]) -> None:
    """Write what an installer writes beside a package's modules: its metadata and its entry points."""
    written = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    written.mkdir()
    (written / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{point} = {value}" for point, value in points.items())]
    (written / "entry_points.txt").write_text("\n".join(lines) + "\n")


def project() -> dict[str, Any]:
    """What the package of the example says of itself."""
    recorded: dict[str, Any] = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    return recorded


class CommandLine:
    """The command line, in this process."""

    def __call__(self, *arguments: str, code: int = 0) -> Result:
        done = CliRunner().invoke(cli, arguments)
        assert done.exit_code == code, done.stderr
        assert "Traceback" not in done.stderr
        return done

    def json(self, *arguments: str) -> Any:
        """What a command prints as JSON."""
        return json.loads(self(*arguments, "--format", "json").stdout)


@contextmanager
def on_path(*folders: Path) -> Iterator[CommandLine]:
    """The command line where the packages of some folders are installed; all is forgotten at the end."""

    def look_again() -> None:
        records.cache_clear()
        for listed in (HEURISTICS, IMPORTERS, FAMILIES, PAPERS):
            listed.__dict__.pop("_read", None)

    known = set(sys.modules)
    with pytest.MonkeyPatch.context() as patched:
        for folder in folders:
            patched.syspath_prepend(folder)
        look_again()
        yield CommandLine()
    look_again()
    for name in set(sys.modules) - known:
        if getattr(sys.modules[name], "__file__", None) and Path(sys.modules[name].__file__ or "").is_relative_to(
            folder
        ):
            del sys.modules[name]
