"""The benchmark of limits: each problem has a hard instance, a run that was broken off goes on, and it runs."""

import json
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from optsched.core.registry import SHIPPED


def test_every_problem_is_measured(study: ModuleType) -> None:
    """Tests that each problem of the registry has an instance."""
    assert set(study.HARD) == {record.name for record in SHIPPED}


def test_rows_are_kept(
    study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that what a file has is not measured again, that a row too late fails, and the table of the worst."""
    monkeypatch.setitem(study.HARD, "lsap", [("lsap", {"nodes": 4, "tasks": 3}, {})])
    asked: list[tuple[str, float]] = []

    def measured(_file: Path, posed: Any, route: str, limit: float, unit: str) -> Any:
        asked.append((route, limit))
        taken = limit + (3.0 if route == "pulp" else 0.5)
        return study.Kept(*posed[:2], route, limit, unit, taken, 9, "OPTIMAL", "1; bound 1", 0.0)

    monkeypatch.setattr(study, "measured", measured)
    file = tmp_path / "rows.jsonl"
    given = ["lsap", "--json", str(file), "--limits", "1,2", "--routes"]
    assert study.main([*given, "arrays,pyomo"]) == 0
    assert study.main([*given, "pyomo,pulp"]) == 1
    assert asked == [(route, limit) for route in ("arrays", "pyomo", "pulp") for limit in (1.0, 2.0)]
    capsys.readouterr()
    assert study.main(["--table", "--json", str(file)]) == 0
    assert "| `lsap` | 6 | 3.00 `pulp` | 3.00 `pulp` |" in capsys.readouterr().out
    assert [study.Kept(**json.loads(line)).route for line in file.read_text().splitlines()][-1] == "pulp"


@pytest.mark.thorough
def test_it_runs(study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests runs by a route, and of a frontier, with limits on time and on memory."""
    monkeypatch.setitem(study.HARD, "latency", [("latency", {"nodes": 4, "tasks": 6}, {})])
    file = tmp_path / "rows.jsonl"
    given = ["latency", "--json", str(file), "--routes", "search,frontier"]
    assert study.main([*given, "--limits", "60"]) == 0
    assert study.main([*given, "--memory", "1000"]) == 0
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["route"], row["unit"]) for row in rows] == [
        (route, unit) for unit in ("s", "MiB") for route in ("search", "frontier")
    ]
    assert [row["ended"] for row in rows] == 2 * ["OPTIMAL", "complete"]
    assert asdict(study.Kept(**rows[0])) == rows[0]
