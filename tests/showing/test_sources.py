"""Tests for what reports are made of: sources, and runs that are reported once."""

import io
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from report_records import Study, entries, record, written

import optsched
from optsched.core.errors import InputError, UsageError
from optsched.core.resources import code_version
from optsched.measuring.records import Record
from optsched.showing.reports import built
from optsched.showing.sources import chosen, entries_of, parsed, read


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
    (source,) = found.sources
    assert (source.kind, source.name, source.runs) == ("store", path, 4)
    assert [(run.heuristic, run.status) for run in found.runs] == [("dl", "done"), ("fifo", "done")] * 2
    assert f"optsched {code_version()}, " in source.computed_with
    (measured,) = (part for part in built(found)[0].sections[-1].parts if str(part).startswith("The runs of "))
    assert str(measured).endswith(", by this command:")

    def store(statement: str) -> None:
        with closing(sqlite3.connect(path)) as held, held:
            held.execute(statement)

    store("UPDATE sweeps SET command = '/usr/bin/optsched sweep a.toml'")
    assert read(path).sources[0].command == "optsched sweep a.toml"
    store("DELETE FROM runs WHERE heuristic = 'fifo'")
    assert (read(path).sources[0].runs, read(path).sources[0].unfinished) == (2, 2)
    assert read(optsched.load_sweep(path, "all")).sources[0].unfinished == 2
    store("DELETE FROM runs")
    with pytest.raises(InputError, match=r"holds no finished run \(4 planned\)"):
        read(path)


def test_stores_that_are_none(tmp_path: Path) -> None:
    """Tests that another database and a broken one are reported in a line."""
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
    ("content", "message"),
    [
        ("", "is empty: it holds no records"),
        ("[]", "holds no records"),
        (b"\xff\xfe", "is no JSON and no store of a sweep"),
        ('[{"format": "optsched/1"}]', "this is an instance, not a file of gap records; optsched describe"),
        ("[" * 100_000, "is no JSON"),
        ("[NaN]", "store of a sweep (JSON is malformed"),
    ],
)
def test_files_that_are_no_source(tmp_path: Path, content: str | bytes, message: str) -> None:
    """Tests that each is one line, with the name of the file."""
    with pytest.raises(InputError) as caught:
        read(written(tmp_path, content))
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_every_fault_of_every_source(tmp_path: Path) -> None:
    """Tests that the faults of all sources are reported, and that an interrupted command's file says so."""
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
    for given, message in (([], "a report is of records"), ([3], "is a path, or the reports of a study, not")):
        with pytest.raises(UsageError, match=message):
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


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (7, "[3]: is no record: expected an object"),
        ({"format": "optsched/1"}, "[3]: is an instance: give what optsched gap"),
        ({"format": "optsched-solution/1"}, "[3]: is a solution"),
        ({"format": "optsched-baseline/1"}, "[3]: is a baseline"),
        ({"chains": [], "instance": "a"}, "[3]: is no record of a gap"),
        ({"a": 1, "b": 2}, "[3]: is no record of a gap, matrix or frontier (it has a, b)"),
        ({}, "(it has no field)"),
        (record(seed="zero"), "[3].seed: expected `int`, got `str`"),
        (record(status="lost"), "[3].status: invalid enum value 'lost'"),
        (record(objective=[1, 2]), "[3]: its lists must have an entry a component each, not sense 1, objective 2"),
        ({**record(), "points": [], "components": ["x", "y"]}, "[3]: lacks the field complete"),
    ],
)
def test_what_is_no_record(document: Any, message: str) -> None:
    """Tests that anything else is reported with its place, and with what to give instead."""
    with pytest.raises(InputError) as caught:
        parsed(document, "[3]")
    assert message in str(caught.value.faults[0])


def test_recorded_twice() -> None:
    """Tests that a run counts once, the last one, and that it is said whether it came to something else."""
    found, (shown,) = entries_of(read(Study([record(4), record(4), record(6), record(instance="b")])).runs)
    assert [entry.objective for entry in found] == [6, 4]
    assert shown == "2 runs are recorded more than once and count once, 1 of them with another result: the last counts"
    same = [record(instance_sha256="x"), record(instance_sha256="y")]
    assert len(entries(same)) == 2, "two instances of one name"
    assert entries_of(read(Study([record()])).runs)[1] == []


@pytest.mark.parametrize(
    ("changes", "status", "outcome"),
    [
        ({}, "done", "above"),
        ({"value": 2}, "done", "optimal"),
        ({"value": 2, "reference_kind": "bound"}, "done", "above"),
        ({"best": 0}, "done", "over_zero"),
        ({"best": None}, "done", "unknown"),
        ({"value": None}, "infeasible", "infeasible"),
        ({"value": None, "status": "starved"}, "starved", "starved"),
        ({"value": None, "status": "out-of-time"}, "out-of-time", "out_of_time"),
        ({"value": None, "status": "out-of-memory"}, "out-of-memory", "out_of_memory"),
        ({"value": None, "status": "crashed"}, "crashed", "crashed"),
        ({"value": None, "status": None, "error": "lost"}, "failed", "failed"),
        ({"value": None, "status": None}, "infeasible", "infeasible"),
        ({"status": None}, "done", "above"),
        ({"value": None, "status": None, "error": "x was out of time after 1 s"}, "out-of-time", "out_of_time"),
    ],
)
def test_what_came_of_a_run(changes: dict[str, object], status: str, outcome: str) -> None:
    """Tests the status, also of records that do not tell it, and how the run is counted."""
    (entry,) = entries([record(**changes)])
    assert (entry.status, entry.outcome) == (status, outcome)


def test_several_components() -> None:
    """Tests that gaps are of the first component, and that an optimum is met only in all."""
    both = {"sense": ["max", "min"], "components": ["share", "cost"], "objective": [1, 9], "reference": [1, 8]}
    (entry,) = entries([record(**both, absolute_gap=[0, 1], relative_gap=[0, 0.125])])
    assert (entry.component, entry.maximum, entry.relative, entry.outcome) == ("share", True, 0, "above")
    (entry,) = entries([record(components=[], certificate=None)])
    assert (entry.component, entry.maximum, entry.proof) == ("component 1", False, "unknown")


def test_waves() -> None:
    """Tests that waves, which former versions recorded, are instances of their own."""
    found = entries([record(wave=None), record(wave=0), record(wave=1)])
    assert [entry.instance for entry in found] == ["a, all waves", "a, wave 0", "a, wave 1"]
    assert len({entry.reference for entry in found}) == 3


def test_chosen() -> None:
    """Tests that problems and heuristics are chosen by name or label, and that a wrong name names the nearest."""
    rows = [record(heuristic_parameters={"reading": text}) for text in ("sweep", "heartbeat")]
    found = entries([*rows, record(problem="flow", heuristic="fifo")])
    assert len(chosen(found, ["lsap"], [])) == len(chosen(found, [], ["dl"])) == 2
    assert len(chosen(found, ["lsap"], ["dl,reading=sweep"])) == 1
    assert len(chosen(found, [], [])) == 3
    with pytest.raises(UsageError, match='no record is of problem "lsab"; did you mean "lsap"'):
        chosen(found, ["lsab"], [])
