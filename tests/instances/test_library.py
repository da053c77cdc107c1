"""The index of the instance library: reading it, and its faults. What is in the shipped one has tests of its own."""

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from optsched.core.errors import InputError
from optsched.instances.library import INDEX, SCALE, library

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


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"file": 3}, "instances.a/b.file: expected a string"),
        ({"tags": "scale"}, "instances.a/b.tags: expected a list"),
        ({"optima": {"lsap": {"value": [0.5], "certificate": "dual"}}}, "instances.a/b.optima.lsap.value[0]: expected"),
        ({"optima": {"lsap": {"certificate": "dual"}}}, "instances.a/b.optima.lsap.value: is missing"),
        ({"place": 1}, "instances.a/b.place: there is no such field"),
    ],
)
def test_faults(tmp_path: Path, change: dict[str, Any], fault: str) -> None:
    """Tests that each fault of an index is reported with its place."""
    with pytest.raises(InputError) as caught:
        library(write(tmp_path, {"a/b": {**ENTRY, **change}}))
    assert f"optima.json: {fault}" in str(caught.value)


def test_wrong_index(tmp_path: Path) -> None:
    """Tests that a missing index, one of another format and one without instances are reported."""
    with pytest.raises(InputError, match="cannot be read"):
        library(tmp_path)
    with pytest.raises(InputError, match='format: must be "optsched-optima/1"'):
        library(write(tmp_path, {}, "optsched-optima/2"))
    with pytest.raises(InputError, match="instances: expected an object"):
        library(write(tmp_path, []))


def test_index_is_read_once_until_it_changes(tmp_path: Path) -> None:
    """Tests that names are looked up in what was read before, and that an index that was written anew is read anew."""
    index = tmp_path / INDEX
    index.write_text('{"format": "optsched-optima/1", "instances": {}}')
    assert library(tmp_path) is library(tmp_path)
    index.write_text('{"format": "optsched-optima/1", "instances": {"a/b": {"file": "a/b.json"}}}')
    os.utime(index, ns=(1, 1))
    assert list(library(tmp_path)) == ["a/b"]
