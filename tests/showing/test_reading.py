"""Sources of reports: JSON and stores through one reader, and what is told of what is none."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from report_records import Study, record, written

import optsched
from optsched.core.errors import InputError, UsageError
from optsched.core.fingerprint import code_version
from optsched.measuring.records import Record
from optsched.showing.building import built
from optsched.showing.reading import FrontierRecord, parsed, read


def test_several_sources_are_one(tmp_path: Path) -> None:
    """Tests that runs, cells and frontiers of all sources are told apart and kept in order."""
    first = written(tmp_path, [record(), record(ran_in="lsap", reason=None)])
    points = {"components": ["x", "y"], "points": [], "complete": False, "limit": "TIME"}
    frontier = {"version": "0.1.0", "instance": "a", "problem": "latency", "parameters": {}} | points
    found = read([first, Path(written(tmp_path, frontier, "frontier.json"))])
    assert [len(part) for part in (found.runs, found.cells, found.frontiers)] == [1, 1, 1]
    assert [source.kind for source in found.sources] == ["records", "records"]
    assert [(source.runs, source.cells, source.frontiers) for source in found.sources] == [(1, 1, 0), (0, 0, 1)]
    assert len(found.sources[0].sha256) == 64
    assert found.versions == ["0.1.0"] * 3
    assert len(read([first, first]).runs) == 1, "the same file twice is one source"


def test_a_study_in_memory() -> None:
    """Tests that reports that were never written are a source, with exact fractions as numbers."""
    found = read(optsched.study("papers/guo-table2", "fair-lsap", "dl"))
    assert found.runs[0].relative_gap == pytest.approx(0.125)
    assert found.sources[0].kind == "study"
    assert found.runs[0].version == code_version()


def test_records_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that `-` is JSON from stdin."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps([record()]).encode())))
    assert read("-").sources[0].name == "stdin"


def test_a_store(tmp_path: Path) -> None:
    """Tests that a store gives the runs of its last sweep, failed ones too, and says how many are not finished."""
    path = str(tmp_path / "sweep.db")
    optsched.sweep(path, ["papers/guo-fig2", "papers/guo-table2"], "lsap", ["dl", "fifo"])
    found = read(path)
    assert (found.sources[0].kind, found.sources[0].name, found.sources[0].runs) == ("store", path, 4)
    assert [run.heuristic for run in found.runs] == ["dl", "fifo"] * 2
    assert {run.status for run in found.runs} == {"done"}
    assert f"optsched {code_version()}, " in found.sources[0].computed_with
    (measured,) = [part for part in built(found)[0].sections[-1].parts if str(part).startswith("The runs of ")]
    assert str(measured).endswith(", by this command:")
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("UPDATE sweeps SET command = '/usr/bin/optsched sweep a.toml'")
    assert read(path).sources[0].command == "optsched sweep a.toml"
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("DELETE FROM runs WHERE heuristic = 'fifo'")
    assert (read(path).sources[0].runs, read(path).sources[0].unfinished) == (2, 2)
    assert read(optsched.load_sweep(path, "all")).sources[0].unfinished == 2
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("DELETE FROM runs")
    with pytest.raises(InputError, match=r"holds no finished run \(4 planned\)"):
        read(path)


def test_stores_that_are_none(tmp_path: Path) -> None:
    """Tests that another database and a broken one are told in a line."""
    with closing(sqlite3.connect(tmp_path / "other.db")) as other, other:
        other.execute("CREATE TABLE things (a)")
    Path(tmp_path, "broken.db").write_bytes(b"SQLite format 3\x00" + b"\x01" * 200)
    for name in ("other.db", "broken.db"):
        with pytest.raises(InputError) as caught:
            read(str(tmp_path / name))
        assert str(caught.value).startswith(str(tmp_path / name))
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="holds no records"):
        read(Study([]))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "is empty: it holds no records"),
        ("[]", "holds no records"),
        ("{", "is no JSON and no store of a sweep"),
        (b"\xff\xfe", "is no JSON and no store of a sweep"),
        ('[{"format": "optsched/1"}]', "[0]: is an instance: measure it first"),
        ('{"format": "optsched/1"}', "records.json: is an instance"),
        ("[" * 100_000, "is no JSON"),
        ("[NaN]", "store of a sweep (JSON is malformed"),
    ],
)
def test_files_that_are_no_source(tmp_path: Path, content: str | bytes, told: str) -> None:
    """Tests that each is one line, with the name of the file."""
    with pytest.raises(InputError) as caught:
        read(written(tmp_path, content))
    assert told in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_every_fault_of_every_source(tmp_path: Path) -> None:
    """Tests that the faults of all sources are told, and that an interrupted command's file says so."""
    first = written(tmp_path, [record(seed="x"), 3])
    second = written(tmp_path, "[\n  {", "b.json.partial")
    with pytest.raises(InputError) as caught:
        read([first, second, str(tmp_path / "none.json")])
    lines = str(caught.value).splitlines()
    assert len(lines) == 4
    assert lines[0].endswith("[0].seed: expected `int`, got `str`")
    assert "an interrupted command left it" in lines[2]
    with pytest.raises(InputError, match="records are read as JSON"):
        read(written(tmp_path, "instance,problem", "gaps.csv"))
    assert "cannot be read: No such file or directory" in lines[3]


def test_wrong_kinds_of_sources() -> None:
    """Tests that no source, and what is none, are wrong usage."""
    for given, told in (([], "a report is of records"), ([3], "is a path, or the reports of a study, not")):
        with pytest.raises(UsageError, match=told):
            read(given)
    assert read([Study([record()])]).runs[0].instance == "a"


def test_records_of_any_age() -> None:
    """Tests that a record without the fields that came later is read, and that what only some records have is kept."""
    found = parsed(record() | {"idle_slot_time": 3}, "[0]")
    assert isinstance(found, Record)
    assert found.further == {"idle_slot_time": 3}
    assert (found.objective, found.status, found.components) == (4, "done", ["locality-cost"])
    new = ("status", "components", "instance_sha256", "source", "notes", "locality", "waiting")
    old = parsed({name: value for name, value in record().items() if name not in new}, "")
    assert isinstance(old, Record)
    assert (old.status, old.components) == ("done", [])


def test_a_frontier() -> None:
    """Tests that what has points is a frontier."""
    document = {
        "version": "0.1.0",
        "instance": "a",
        "problem": "latency",
        "parameters": {},
        "components": ["makespan", "work"],
        "points": [{"objective": [1, 3], "certificate": "dual"}],
        "complete": True,
        "limit": None,
    }
    found = parsed(document, "")
    assert isinstance(found, FrontierRecord)
    assert found.values == [(1, 3)]
    assert isinstance(parsed({**document, "components": ["makespan"]}, ""), list)


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (7, "[3]: is no record: expected an object"),
        ({"format": "optsched/1"}, "[3]: is an instance: measure it first"),
        ({"format": "optsched-solution/1"}, "[3]: is a solution"),
        ({"format": "optsched-baseline/1"}, "[3]: is a baseline"),
        ({"chains": [], "instance": "a"}, "[3]: explains a gap"),
        ({"a": 1, "b": 2}, "[3]: is no record of a gap, matrix or frontier (it has a, b)"),
        ({}, "(it has no field)"),
        (record(seed="zero"), "[3].seed: expected `int`, got `str`"),
        (record(status="lost"), "[3].status: invalid enum value 'lost'"),
        (record(objective=[1, 2]), "[3]: its lists must have an entry a component each, not sense 1, objective 2"),
        ({**record(), "points": [], "components": ["x", "y"]}, "[3]: lacks the field complete"),
    ],
)
def test_what_is_no_record(document: Any, told: str) -> None:
    """Tests that anything else is told with its place, and with what to give instead."""
    found = parsed(document, "[3]")
    assert isinstance(found, list)
    assert told in str(found[0])
