"""Entries of a source are read as what they are, or it is said what they are instead."""

from __future__ import annotations

from typing import Any

import pytest
from report_records import record

from optsched.reporting.records import FrontierRecord, Record, parsed


def test_records_of_any_age() -> None:
    """Tests that a record without the fields that came later is read, and that what is not used is passed over."""
    found = parsed(record() | {"idle_slot_time": 3}, "[0]")
    assert isinstance(found, Record)
    assert (found.objective, found.status, found.components) == (4, "done", ["locality-cost"])
    new = ("status", "components", "instance_sha256", "source", "notes", "locality", "waiting")
    old = parsed({name: value for name, value in record().items() if name not in new}, "")
    assert isinstance(old, Record)
    assert (old.status, old.components) == (None, [])


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
