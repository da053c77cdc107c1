"""Schedule files: nodes and starts there and back, and every fault with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optsched.errors import InputError, UsageError
from optsched.instance import Cluster, Instance, Workload
from optsched.instances.claim_files import SCHEDULE, claim_document, read_schedule, write_claim
from optsched.schedule import Schedule

INSTANCE = Instance(Cluster(["a", "ü"]), Workload(["t1", "t 2", 'odd".id']))
HELD = Schedule.of([(1, 2**53), None, (0, -1_500_000)])


@pytest.mark.parametrize("name", ["run.json", "run.npz"])
def test_round_trip(tmp_path: Path, name: str) -> None:
    """Tests that every start comes back to the microsecond, by ids and by position, and what does not run."""
    write_claim(HELD, INSTANCE, tmp_path / name)
    assert read_schedule(tmp_path / name, INSTANCE) == HELD
    write_claim(Schedule.empty(3), INSTANCE, tmp_path / name)
    assert read_schedule(tmp_path / name, INSTANCE) == Schedule.empty(3)


def test_document() -> None:
    """Tests the form: every task named, null for what does not run, starts as whole numbers."""
    assert claim_document(HELD, INSTANCE) == {
        "format": SCHEDULE,
        "instance_sha256": INSTANCE.sha256,
        "schedule": {
            "t1": {"node": "ü", "start": 2**53},
            "t 2": None,
            'odd".id': {"node": "a", "start": -1500000},
        },
    }


def test_wrong_nouns(tmp_path: Path) -> None:
    """Tests that only a schedule of as many tasks is written, and of an instance."""
    with pytest.raises(UsageError, match="a file of claims holds"):
        write_claim(HELD.placement, INSTANCE, tmp_path / "a.json")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="3 tasks"):
        write_claim(Schedule.empty(2), INSTANCE, tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def faults(tmp_path: Path, **changes: Any) -> list[str]:
    """What is wrong with a file in which some entries are others, or gone where they are `...`."""
    document = {**claim_document(HELD, INSTANCE), **changes}
    file = tmp_path / "run.json"
    file.write_text(json.dumps({key: value for key, value in document.items() if value is not ...}))
    with pytest.raises(InputError) as caught:
        read_schedule(file, INSTANCE)
    assert caught.value.source == str(file)
    return [str(fault) for fault in caught.value.faults]


START = "expected a whole number of microseconds, at most 2^53, got"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"schedule": ...}, ["schedule: is missing"]),
        (
            {"format": "optsched-schedule/2"},
            ['format: is no schedule file: it must begin {"format": "optsched-schedule/1", ...}, and it says "opt'],
        ),
        ({"problem": "makespan"}, ["problem: there is no such field"]),
        ({"instance_sha256": "0" * 64}, ["instance_sha256: is of 000000000000, and the instance is "]),
        ({"schedule": None}, ["schedule: expected an object {task: {node, start} or null}"]),
        (
            {"schedule": {"t1": 3, "t 2": {"node": "b", "start": 1.5}, "t9": None}},
            [
                "schedule.t1: expected an object {node, start}, the start in microseconds, or null",
                "schedule.t 2.node: the instance has no node 'b'",
                f"schedule.t 2.start: {START} 1.5",
                'schedule.t9: the instance has no task "t9"',
                'schedule.odd".id: is missing; null does not run',
            ],
        ),
        (
            {"schedule": {"t1": {}, "t 2": {"node": "a", "start": 2**53 + 1, "end": 3}, 'odd".id': None}},
            [
                "schedule.t1.node: is missing",
                "schedule.t1.start: is missing",
                "schedule.t 2.end: there is no such field; known: node, start",
                f"schedule.t 2.start: {START} 9007199254740993",
            ],
        ),
        (
            {"schedule": {"t1": {"node": "a", "start": True}, "t 2": None, 'odd".id': None}},
            [f"schedule.t1.start: {START}"],
        ),
        ({"schedule": {"t1": None, "t 2": None}}, ['schedule.odd".id: is missing; null does not run']),
    ],
)
def test_faults(tmp_path: Path, changes: dict[str, Any], told: list[str]) -> None:
    """Tests that every fault is told at once, each with its place."""
    found = faults(tmp_path, **changes)
    assert len(found) == len(told)
    for one, begin in zip(found, told, strict=True):
        assert begin in one


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([0, 1, 1], ["schedule: expected two rows for 3 tasks"]),
        ([[0, 1], [1, 2]], ["schedule: expected two rows for 3 tasks"]),
        ([[0.5, 1, 1], [0, 0, 0]], ["schedule: expected two rows for 3 tasks"]),
        ([[0, 2, -2], [0, 0, 0]], ["schedule[0][1]: the instance has 2 nodes", "schedule[0][2]: the instance has"]),
        ([[0, 0, -1], [2**53, 2**53 + 1, 2**60]], [f"schedule[1][1]: {START} 9007199254740993"]),
    ],
)
def test_faults_of_arrays(tmp_path: Path, values: Any, told: list[str]) -> None:
    """Tests that arrays of another shape or type, unknown positions and starts past 2^53 are told."""
    file = tmp_path / "run.npz"
    write_claim(HELD, INSTANCE, file)
    with np.load(file) as arrays:
        held = {**arrays, "schedule": np.array(values)}
    np.savez(file, **held)
    with pytest.raises(InputError) as caught:
        read_schedule(file, INSTANCE)
    found = [str(fault) for fault in caught.value.faults]
    assert len(found) == len(told)
    assert all(one.startswith(begin) for one, begin in zip(found, told, strict=True))
