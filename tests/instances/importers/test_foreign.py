"""What all importers share: text that ends too early, JSON objects and their fields, lines of numbers."""

import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from input_files import NODES, SLS, faults

from optsched.instances.importers.foreign import (
    LARGEST,
    Amount,
    Foreign,
    ForeignFile,
    Host,
    Location,
    located_at,
    stem,
)
from optsched.instances.importers.libraries import import_dimacs, import_orlib_assign, import_orlib_gap
from optsched.instances.importers.sls import import_sls
from optsched.instances.importers.swim import import_swim


def test_cut_compressed_files(file: Callable[..., Path]) -> None:
    """Tests that compressed data that end too early are reported, in each format of lines and in XML."""
    cut = file(gzip.compress(random.Random(0).randbytes(400).hex().encode())[:-40], "cut.gz")
    for importer in (import_dimacs, import_orlib_gap, import_orlib_assign, import_swim):
        assert faults(importer, cut) == ["the compressed data were cut before their end"]
    assert "cut before their end" in faults(import_sls, file(SLS, "jobs"), file(NODES, "nodes"), cut)[0]


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("", [], []),
        ('{"a": 1}[2] 3\n"x" ', [{"a": 1}, [2], 3, "x"], []),
        ('{} {"a": tr', [{}], ["the file ends within job 2; the complete ones before it are kept"]),
        ('{} {"a": tx}', [{}], ["job 2: malformed JSON at line 1, column 10: Expecting value"]),
        ("[" * 100_000, [], ["job 1: is nested too deeply for a Rumen file"]),
        ("9" * 5000, [], ["job 1: holds a number that cannot be read"]),
    ],
)
def test_objects_of_a_text(file: Callable[..., Path], text: str, values: list[Any], expected: list[str]) -> None:
    """Tests that values are read up to the end, a cut, which is a note, or a fault, which ends the reading."""
    reading = ForeignFile(file(text))
    assert list(reading.objects("job")) == values
    lines = [*map(str, reading.faults), *reading.notes]
    assert len(lines) == len(expected)
    assert all(line.startswith(begin) for line, begin in zip(lines, expected, strict=True))


class Record(Foreign):
    """Some fields."""

    size: Amount | None = None
    host: Host | None = None


def test_records(file: Callable[..., Path]) -> None:
    """Tests that null and -1 are unknown, other fields are ignored, 2^53 is the largest, and all faults are shown."""
    reading = ForeignFile(file('{"size": 1, "size": true}'))
    for fields, size in (({"size": None, "more": 1}, None), ({"size": -1}, None), ({"size": LARGEST}, LARGEST)):
        assert reading.record(fields, Record, "r").size == size
    assert reading.faults == []
    (twice,) = reading.objects("job")
    for value in (twice, {"size": LARGEST + 1, "host": "/"}, {"size": -2}, None):
        reading.record(value, Record, "r")
    unknown = "expected an integer, 0 or more, or -1 where it is unknown, got"
    assert [str(fault) for fault in reading.faults] == [
        "r.size: the key is given more than once",
        f"r.size: {unknown} true",
        "r.size: 9007199254740993 is past 2^53",
        'r.host: expected the name of a host or rack, got "/"',
        f"r.size: {unknown} -2",
        "r: expected an object, got null",
    ]


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/r1/h1", Location("h1", "r1")),
        ("h1", Location("h1")),
        ("/d1/r1/h1/", Location("h1", "d1/r1")),
        (r"/r1/a\.b", Location("a.b", "r1")),
    ],
)
def test_hosts(path: str, place: Location) -> None:
    """Tests that a path names host and racks, and that a bare host has no rack."""
    assert located_at(path) == place


@pytest.mark.parametrize(
    ("path", "found"),
    [("a/FB 2009.tsv.gz", "FB_2009"), ("b.gz.tsv.x", "b.gz.tsv.x"), (".tsv", "swim"), ("\u00e9.tsv", "_")],
)
def test_stem(path: str, found: str) -> None:
    """Tests that known suffixes go, that odd characters are one line, and that a name that is gone has another."""
    assert stem(path, "tsv|gz", "swim") == found
