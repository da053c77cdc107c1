"""What all importers share: text that ends too early, JSON objects and their fields, lines of numbers."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from foreign_files import NODES, SLS, faults

from optsched.core.errors import Fault
from optsched.instances.importers.dimacs import import_dimacs
from optsched.instances.importers.foreign import (
    LARGEST,
    JsonObject,
    Line,
    Location,
    json_objects,
    lines_of,
    stem,
)
from optsched.instances.importers.orlib import import_orlib_assign, import_orlib_gap
from optsched.instances.importers.sls import import_sls
from optsched.instances.importers.swim import import_swim


def test_cut_compressed_files(file: Callable[..., Path]) -> None:
    """Tests that compressed data that end too early are told, in each format of lines and in XML."""
    cut = file(gzip.compress(random.Random(0).randbytes(400).hex().encode())[:-40], "cut.gz")
    for importer in (import_dimacs, import_orlib_gap, import_orlib_assign, import_swim):
        assert faults(importer, cut) == ["the compressed data were cut before their end"]
    assert "cut before their end" in faults(import_sls, file(SLS, "jobs"), file(NODES, "nodes"), cut)[0]


@pytest.mark.parametrize(
    ("text", "values", "told"),
    [
        ("", [], []),
        (" \n\t", [], []),
        ('{"a": 1}[2] 3\n"x" ', [{"a": 1}, [2], 3, "x"], []),
        ('{} {"a": tr', [{}], ["the file ends within job 2; the complete ones before it are kept"]),
        ('{"a": "b', [], ["the file ends within job 1; the complete ones before it are kept"]),
        ('{} {"a": tx}', [{}], ["job 2: malformed JSON at line 1, column 10: Expecting value"]),
        ("{}\n\n]", [{}], ["job 2: malformed JSON at line 3, column 1: Expecting value"]),
        ("[" * 100_000, [], ["job 1: is nested too deeply for a Rumen file"]),
        ("9" * 5000, [], ["job 1: holds a number that cannot be read"]),
    ],
)
def test_objects_of_a_text(text: str, values: list[Any], told: list[str]) -> None:
    """Tests that values are read up to the end, a cut, which is a note, or a fault, which ends the reading."""
    found: list[Fault] = []
    notes: list[str] = []
    assert list(json_objects(text, "job", found, notes)) == values
    lines = [*map(str, found), *notes]
    assert len(lines) == len(told)
    assert all(line.startswith(begin) for line, begin in zip(lines, told, strict=True))


def record_of(**fields: Any) -> tuple[JsonObject, list[Fault]]:
    """A record `r` of these fields, and the faults that it is to fill."""
    found: list[Fault] = []
    return JsonObject(fields, "r", found), found


@pytest.mark.parametrize(
    ("value", "amount", "told"),
    [
        (None, None, []),
        (-1, None, []),
        (0, 0, []),
        (LARGEST, LARGEST, []),
        (LARGEST + 1, None, ["r.size: 9007199254740993 is past 2^53"]),
        (-2, None, ["r.size: -2 is negative; only -1 stands for unknown"]),
        (True, None, ["r.size: must be a whole number, not true"]),
        (1.0, None, ["r.size: must be a whole number, not 1.0"]),
        ("7", None, ['r.size: must be a whole number, not "7"']),
    ],
)
def test_amounts(value: Any, amount: int | None, told: list[str]) -> None:
    """Tests that -1 is unknown, that 2^53 is the largest, and that no truth or decimal is a number of bytes."""
    record, found = record_of(size=value)
    assert (record.amount("size"), [str(fault) for fault in found]) == (amount, told)


@pytest.mark.parametrize(
    ("path", "place", "told"),
    [
        ("/r1/h1", Location("h1", "r1"), []),
        ("h1", Location("h1"), []),
        ("/d1/r1/h1/", Location("h1", "d1/r1"), []),
        (r"/r1/a\.b", Location("a.b", "r1"), []),
        ("/", None, ["r.host: names no host"]),
        ("", None, ['r.host: must be a non-empty string of printable characters, not ""']),
        (None, None, []),
    ],
)
def test_hosts(path: str | None, place: Location | None, told: list[str]) -> None:
    """Tests that a path names host and racks, that a bare host has no rack, and that slashes alone name none."""
    record, found = record_of(host=path)
    assert (record.host("host"), [str(fault) for fault in found]) == (place, told)


def test_layers() -> None:
    """Tests that layers name host and racks, and that one wrong layer leaves no host."""
    record, found = record_of(good=["r1", "h1"], none=[], wrong=["r1", 3])
    assert record.layers("good") == Location("h1", "r1")
    assert (record.layers("none"), record.layers("wrong")) == (None, None)
    assert [str(fault) for fault in found] == ["r.none: names no host", "r.wrong[1]: must be a string, not 3"]


def test_records_that_are_none() -> None:
    """Tests that what is no object, and a key that stands twice, are told once, and nothing is missing in no object."""
    found: list[Fault] = []
    notes: list[str] = []
    (twice,) = json_objects('{"a": 1, "a": 2}', "job", found, notes)
    for value in (twice, [1], None):
        assert JsonObject(value, "", found).name("id", required=True) is None
    assert [str(fault) for fault in found] == [
        *("a: is named twice in one object", "id: is missing"),
        *("must be an object, not a list", "must be an object, not null"),
    ]


@pytest.mark.parametrize(
    ("word", "least", "number", "told"),
    [
        ("+07", 0, 7, None),
        ("-3", -3, -3, None),
        ("-3", 0, 0, "line 4: cost is -3; it must be 0 or more"),
        (f"{LARGEST}", 0, LARGEST, None),
        (f"{LARGEST + 1}", 0, 0, 'line 4: cost "9007199254740993" is past 2^53'),
        ("-0", 0, 0, None),
        ("9" * 5000, 0, 0, f'line 4: cost "{"9" * 36}... is past 2^53'),
        ("1.0", 0, 0, 'line 4: cost must be a whole number, not "1.0"'),
        ("\u0661", 0, 0, 'line 4: cost must be a whole number, not "\\u0661"'),
    ],
)
def test_numbers_of_a_line(word: str, least: int, number: int, told: str | None) -> None:
    """Tests that a word is a whole number from the least up to 2^53, or a fault and 0."""
    found: list[Fault] = []
    assert Line(4, ("a", word)).integer(1, "cost", found, least) == number
    assert [str(fault) for fault in found] == ([] if told is None else [told])


def test_bug_thousands_of_zeros_before_a_number_were_a_traceback() -> None:
    """Tests that zeros before a number count for nothing, however many they are: Python reads at most 4300 digits."""
    found: list[Fault] = []
    assert Line(1, ("0" * 5000 + "1",)).integer(0, "cost", found) == 1
    assert Line(1, ("-" + "0" * 5000,)).integer(0, "cost", found) == 0
    assert found == []


def test_lines_without_words_are_left_out(file: Callable[..., Path]) -> None:
    """Tests that empty lines keep their numbers, and that any line end and white space part words."""
    assert lines_of(file("\na  b\r\n \t\n\tc")) == [Line(2, ("a", "b")), Line(4, ("c",))]


@pytest.mark.parametrize(
    ("path", "found"),
    [("a/FB 2009.tsv.gz", "FB_2009"), ("b.gz.tsv.x", "b.gz.tsv.x"), (".tsv", "swim"), ("\u00e9.tsv", "_")],
)
def test_stem(path: str, found: str) -> None:
    """Tests that known suffixes go, that odd characters are one line, and that a name that is gone has another."""
    assert stem(path, "tsv|gz", "swim") == found
