"""The program that checks drawn runs: some are right, each check can fail, and it goes on where it ended."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from optsched.core.placement import MICRO, Schedule
from optsched.simulating import Simulation

ROOT = Path(__file__).parents[2]


@pytest.fixture(name="runs")
def _runs(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("generated_runs")


def whole(runs: ModuleType, service: str) -> tuple[Any, Simulation]:
    """A run with that service in which several tasks ran."""
    for number in range(200):
        run = runs.drawn(3, number)
        if run.options["service"] == service:
            done: Simulation = run.done()
            if not done.unfinished and done.schedule.placed > 3:
                return run, done
    raise AssertionError(service)


def test_runs_are_right_and_kept(runs: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that some runs break nothing, that what is kept is not run again, and that the same are drawn again."""
    kept = tmp_path / "kept"
    arguments = ["--runs", "24", "--processes", "1", "--seed", "5", "--json", str(kept)]
    assert runs.main(arguments) == 0
    told = capsys.readouterr().out
    assert "| runs | 24 |" in told
    (line,) = kept.read_text().splitlines()
    kept.write_text(json.dumps(json.loads(line) | {"failed": [[7, "beats a bound"]]}) + "\n")
    assert runs.main(arguments) == 1
    assert "run 7: beats a bound" in capsys.readouterr().out
    assert len(kept.read_text().splitlines()) == 1
    assert str(runs.drawn(5, 7)) == str(runs.drawn(5, 7)) != str(runs.drawn(6, 7))


def test_one_run_is_told(runs: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests `--only`."""
    assert runs.main(["--only", "3"]) == 0
    assert "nothing is wrong with it" in capsys.readouterr().out


@pytest.mark.parametrize("service", ["levels", "transfer", "rates", "recorded"])
def test_what_is_wrong_is_found(runs: ModuleType, service: str) -> None:
    """Tests a task that starts earlier, one that is moved, ends that are others, and a record with a start too late."""
    run, done = whole(runs, service)
    assert runs.broken(run, done, twice=True) == []
    task = int(np.flatnonzero(done.schedule.nodes >= 0)[0])
    starts = done.schedule.starts.copy()
    starts[task] = done.begin - MICRO
    early = replace(done, schedule=Schedule(done.schedule.nodes, starts))
    assert any("released" in line for line in runs.broken(run, early, twice=False))
    end = done.end.copy()
    end[task] += 1
    if service == "levels":
        assert any("tasks end at" in line for line in runs.broken(run, replace(done, end=end), twice=False))
    assert any(line.startswith("tasks that run on") for line in runs.broken(run, replace(done, end=end), twice=False))
    record = done.record.copy()
    record[-1, 0] += 1
    late = runs.broken(run, replace(done, record=record), twice=False)
    assert any(line.startswith("jobs: area") for line in late)
    assert "the same run does not do the same" in runs.broken(run, replace(done, record=record), twice=True)


def test_bounds_are_looked_at(runs: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a run past a bound is told, also past an optimum of a tiny one."""
    run, done = whole(runs, "levels")
    monkeypatch.setattr(runs, "best_decision", lambda problem: ((10**9,), None))
    told = runs.broken(replace(run, tiny=True), done, twice=False)
    assert sorted(told) == sorted(line for line in told if "beats enumeration 1000000000" in line)
    assert len(told) == 2


@pytest.mark.parametrize("option", ["--runs", "--processes"])
def test_numbers_that_are_none(runs: ModuleType, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that a number of runs or processes that is no number of any is told in a line."""
    with pytest.raises(SystemExit):
        runs.main([option, "0"])
    assert f"{option} 0: give 1 or more" in capsys.readouterr().err
