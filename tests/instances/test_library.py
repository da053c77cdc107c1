"""The index of the instance library: reading it, and its faults. What is in the shipped one has tests of its own."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from optsched.core.errors import InputError
from optsched.instances.library import SCALE, library

ENTRY: dict[str, Any] = {
    "file": "a/b.json",
    "tags": ["scale"],
    "source": "by hand",
    "optima": {
        "latency": {
            "parameters": {"w_rem": 3},
            "value": [4, "1/2"],
            "certificate": "combinatorial",
            "frontier": [[4, "1/2"], [5, 0]],
            "reproduce": "optsched solve a/b --problem latency",
            "proved": "2026-01-01, optsched 0.1.0",
        }
    },
}


def write(folder: Path, instances: Any, name: str = "optsched-optima/1") -> Path:
    """A library with the given index."""
    (folder / "optima.json").write_text(json.dumps({"format": name, "instances": instances}))
    return folder


def test_entry(tmp_path: Path) -> None:
    """Tests that an entry has its file's path, tags, and optima in exact numbers."""
    (entry,) = library(write(tmp_path, {"a/b": ENTRY})).values()
    assert (entry.name, entry.path, entry.tags, entry.source) == ("a/b", tmp_path / "a" / "b.json", (SCALE,), "by hand")
    known = entry.optima["latency"]
    assert known.value == (4, Fraction(1, 2))
    assert known.frontier == ((4, Fraction(1, 2)), (5, 0))
    assert (known.parameters, known.certificate) == ({"w_rem": 3}, "combinatorial")


def test_wrong_index(tmp_path: Path) -> None:
    """Tests that a missing index, one of another format and one without instances are reported."""
    with pytest.raises(InputError, match="cannot be read"):
        library(tmp_path)
    with pytest.raises(InputError, match='format: must be "optsched-optima/1"'):
        library(write(tmp_path, {}, "optsched-optima/2"))
    with pytest.raises(InputError, match="instances: expected an object"):
        library(write(tmp_path, []))
