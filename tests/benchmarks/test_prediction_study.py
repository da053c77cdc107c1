"""What a simulation predicts of a trace: nothing is off where durations are known, and what is drawn was recorded."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from optsched.core.instance import REDUCE
from optsched.core.placement import MICRO

ROOT = Path(__file__).parents[2]


def attempt(kind: str, number: int, host: str, start: int, end: int, holder: str = "") -> dict[str, Any]:
    """A task with one successful attempt, in seconds after the trace's begin; a map's data is on `holder`."""
    layers = [{"layers": [f"r{holder[1]}", holder]}] if holder else []
    times = {"startTime": 1000 * (100 + start), "finishTime": 1000 * (100 + end)}
    won = {"result": "SUCCESS", "hostName": f"/r{host[1]}/{host}", **times}
    return {"taskID": f"task_{kind}_{number}", "preferredLocations": layers, "inputBytes": 64, "attempts": [won]}


@pytest.fixture(name="trace")
def _trace(tmp_path: Path) -> Path:
    """Two jobs: one of two maps and a reduce that waits for them, one of a map that starts after a setup."""
    one = {
        "jobID": "job_1",
        "submitTime": 100_000,
        "mapTasks": [attempt("m1", 1, "h1", 0, 10, "h1"), attempt("m1", 2, "h1", 0, 30, "h1")],
        "reduceTasks": [attempt("r1", 1, "h1", 5, 37)],
    }
    two = {"jobID": "job_2", "submitTime": 100_000, "mapTasks": [attempt("m2", 1, "h2", 10, 22, "h2")]}
    file = tmp_path / "small.json"
    file.write_text(json.dumps(one) + json.dumps(two))
    return file


def test_what_was_recorded(study: ModuleType, trace: Path) -> None:
    """Tests times of tasks and jobs, what passed before the first start, and arrivals that are put off until then."""
    found = study.recorded(trace, None, whole=False, started=False)
    assert (found.took / MICRO).tolist() == [10, 30, 7, 12]
    assert (found.job_times / MICRO).tolist() == [37, 22, 37]
    assert found.unstarted.tolist() == [0, 10 / 22]
    assert (study.recorded(trace, None, whole=True, started=False).took / MICRO).tolist() == [10, 30, 32, 12]
    late = study.recorded(trace, None, whole=False, started=True)
    assert (late.job_times / MICRO).tolist() == [37, 12, 37]
    assert late.instance.workload.arrival.tolist() == [0, 10]


def test_nothing_is_off_where_all_is_known(study: ModuleType, trace: Path) -> None:
    """Tests that recorded durations give the recorded times, without heartbeats, where the policy has no choice."""
    found = study.recorded(trace, None, whole=False, started=True)
    for policy in study.POLICIES:
        assert study.errors(found, "as recorded", policy, 3, 0, False).tolist() == [0, 0, 0]


def test_what_is_drawn(study: ModuleType, trace: Path) -> None:
    """Tests that times are drawn from attempts at the level, of the job or of all, and of reduces from reduces."""
    found = study.recorded(trace, None, whole=False, started=False)
    seen: dict[str, list[set[float]]] = {known: [set() for _ in found.took] for known in study.KNOWN}
    for seed in range(40):
        for known in study.KNOWN:
            drawn = study.drawn(found, known, np.random.default_rng(seed)).workload
            for values, times in zip(seen[known], drawn.times.tolist(), strict=True):
                values |= set(times)
            assert set(drawn.times[drawn.kind == REDUCE].ravel().tolist()) == {7.0}
    (one, two, _, other), everything = seen["of the job"], {10, 30, 12}
    assert (one >= {10, 30}, two >= {10, 30}, other >= {12}) == (True, True, True)
    assert [seen["as recorded"][task] for task in (0, 1, 3)] == [{10}, {30}, {12}]
    assert [seen["of all"][task] for task in (0, 1, 3)] == [everything] * 3


def test_table(study: ModuleType, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that there is a row for each policy and each way to know durations, and that seeds tell."""
    study.main([str(trace), "--repeats", "2", "--heartbeat", "0", "--arrival", "started"])
    output = capsys.readouterr()
    rows = [line.strip("| ").split(" | ") for line in output.out.splitlines()[2:]]
    assert [row[1:3] for row in rows] == [[policy, known] for policy in study.POLICIES for known in study.KNOWN]
    assert rows[0][3:] == ["+0 %"] * 5 + ["100 %", "+0 % (+0 % to +0 %)"]
    assert "small: 2 jobs, attempts by level 3, 0, 1" in output.err
    study.main([str(trace), "--repeats", "1", "--reduces", "recorded"])
    assert "| fair | of all |" in capsys.readouterr().out
