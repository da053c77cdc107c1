"""Runs of a report: names, duplicates, and what came of each."""

from __future__ import annotations

import math

import pytest
from report_records import Study, entries, record

from optsched.errors import UsageError
from optsched.reporting.entries import chosen, entries_of
from optsched.reporting.reading import read
from optsched.studies.records import frame_of


def test_names_tell_apart_what_is_compared() -> None:
    """Tests that parameters are part of a name where one instance or cell has several, and not where instances do."""
    rows = [
        record(instance="a", parameters={"levels": [0, 1, 1]}),
        record(instance="b", parameters={"levels": [0, 1, 2]}),
    ]
    assert {entry.problem for entry in entries(rows)} == {"lsap"}
    rows += [record(instance="a", parameters={"levels": [0, 1, 2]})]
    assert {entry.problem for entry in entries(rows)} == {"lsap,levels=0:1:1", "lsap,levels=0:1:2"}
    rows = [record(heuristic_parameters={"reading": text, "window": 0}) for text in ("sweep", "heartbeat")]
    assert [entry.heuristic for entry in entries(rows)] == ["dl,reading=sweep", "dl,reading=heartbeat"]
    rows = [
        record(instance="a", heuristic_parameters={"alpha": 1}),
        record(instance="b", heuristic_parameters={"alpha": 2}),
    ]
    assert {entry.heuristic for entry in entries(rows)} == {"dl"}
    rows = [record(heuristic_parameters={}), record(heuristic_parameters={"shift": 1})]
    assert [entry.heuristic for entry in entries(rows)] == ["dl", "dl,shift=1"]


def test_recorded_twice() -> None:
    """Tests that a run counts once, the last one, and that it is said whether it came to something else."""
    found, told = entries_of(read(Study([record(4), record(4), record(6), record(instance="b")])).runs)
    assert [entry.objective for entry in found] == [6, 4]
    assert told == ["2 runs are recorded more than once and count once, 1 of them with another result: the last counts"]
    same = [record(instance_sha256="x"), record(instance_sha256="y")]
    assert len(entries(same)) == 2, "two instances of one name"
    assert entries_of(read(Study([record()])).runs)[1] == []


@pytest.mark.parametrize(
    ("changes", "status", "outcome"),
    [
        ({}, "done", "above"),
        ({"value": 2}, "done", "optimal"),
        ({"value": 2, "reference_kind": "bound"}, "done", "above"),
        ({"best": 0}, "done", "beside_zero"),
        ({"best": None}, "done", "unknown"),
        ({"value": None}, "infeasible", "infeasible"),
        ({"value": None, "status": "starved"}, "starved", "starved"),
        ({"value": None, "status": "out-of-time"}, "out-of-time", "out_of_time"),
        ({"value": None, "status": "out-of-memory"}, "out-of-memory", "out_of_memory"),
        ({"value": None, "status": "crashed"}, "crashed", "crashed"),
        ({"value": None, "status": None, "error": "lost"}, "failed", "failed"),
        ({"value": None, "status": None}, "infeasible", "infeasible"),
        ({"status": None}, "done", "above"),
        (
            {"value": None, "status": None, "error": 'heuristic "x" was out of time after 1 s'},
            "out-of-time",
            "out_of_time",
        ),
    ],
)
def test_what_came_of_a_run(changes: dict[str, object], status: str, outcome: str) -> None:
    """Tests the status, also of records that do not tell it, and how the run is counted."""
    (entry,) = entries([record(**changes)])  # type: ignore[arg-type]
    assert (entry.status, entry.outcome) == (status, outcome)
    assert entry.relative == ({"above": 1.0, "optimal": 0.0}.get(outcome) if changes.get("value") != 2 else 0.0)


def test_several_components() -> None:
    """Tests that gaps are of the first component, and that an optimum is met only in all."""
    both = {"sense": ["max", "min"], "components": ["share", "cost"], "objective": [1, 9], "reference": [1, 8]}
    (entry,) = entries([record(**both, absolute_gap=[0, 1], relative_gap=[0, 0.125])])
    assert (entry.component, entry.maximum, entry.relative, entry.outcome) == ("share", True, 0, "above")
    (entry,) = entries([record(components=[], certificate=None)])
    assert (entry.component, entry.maximum, entry.proof) == ("the first component", False, "unknown")


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


def test_frame() -> None:
    """Tests that pictures get numbers, NaN where there is none."""
    table = frame_of(entries([record(), record(None, instance="b", status="starved")]))
    assert table["relative_gap_1"].tolist()[0] == 1
    assert math.isnan(table["relative_gap_1"].tolist()[1])
    assert table["starved"].tolist() == [False, True]
