"""The names of what is shipped, told without loading it: they are those of the modules, in their order."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from optsched.core import shipped


@pytest.mark.parametrize(
    ("table", "package", "listed"),
    [
        (shipped.HEURISTICS, "optsched.heuristics", "HEURISTICS"),
        (shipped.FAMILIES, "optsched.instances.families", "FAMILIES"),
    ],
)
def test_tables_are_those_of_the_modules(table: dict[str, tuple[str, ...]], package: str, listed: str) -> None:
    """Tests that a table has each module of a package that lists something, with its names in their order."""
    folder = Path(import_module(package).__path__[0])
    listing = {file.stem for file in folder.glob("[!_]*.py") if f"\n{listed}" in file.read_text(encoding="utf-8")}
    assert listing == set(table)
    for module, names in table.items():
        assert tuple(entry.name for entry in getattr(import_module(f"{package}.{module}"), listed)) == names


def test_telling_names_loads_nothing() -> None:
    """Tests that the tables are read without numpy and without what they name."""
    code = "import sys, optsched.core.shipped; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "optsched.core.shipped" in loaded
    assert not {"numpy", "optsched.heuristics", "optsched.instances"} & set(loaded)
