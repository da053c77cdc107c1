"""The program that checks drawn runs: some are right, each check can fail, and it goes on where it ended."""

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from optsched.core.placement import MICRO, Schedule
from optsched.heuristics.simulating import Simulation


def whole(study: ModuleType, service: str) -> tuple[Any, Simulation]:
    """A run with that service in which several tasks ran."""
    for number in range(200):
        run = study.drawn(3, number)
        if run.options["service"] == service:
            done: Simulation = run.done()
            if not done.unfinished and done.schedule.placed > 3:
                return run, done
    raise AssertionError(service)


@pytest.mark.parametrize("service", ["levels", "transfer", "rates", "recorded"])
def test_what_is_wrong_is_found(study: ModuleType, service: str) -> None:
    """Tests a task that starts earlier, one that is moved, ends that are others, and a record with a start too late."""
    run, done = whole(study, service)
    assert study.broken(run, done, twice=True) == []
    task = int(np.flatnonzero(done.schedule.nodes >= 0)[0])
    starts = done.schedule.starts.copy()
    starts[task] = done.begin - MICRO
    early = replace(done, schedule=Schedule(done.schedule.nodes, starts))
    assert any("released" in line for line in study.broken(run, early, twice=False))
    end = done.end.copy()
    end[task] += 1
    if service == "levels":
        assert any("tasks end at" in line for line in study.broken(run, replace(done, end=end), twice=False))
    assert any(line.startswith("tasks that run on") for line in study.broken(run, replace(done, end=end), twice=False))
    record = done.record.copy()
    record[-1, 0] += 1
    late = study.broken(run, replace(done, record=record), twice=False)
    assert any(line.startswith("jobs: area") for line in late)
    assert "the same run does not do the same" in study.broken(run, replace(done, record=record), twice=True)


def test_bounds_are_looked_at(study: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a run past a bound is reported, also past an optimum of a tiny one."""
    run, done = whole(study, "levels")
    monkeypatch.setattr(study, "best_decision", lambda problem: ((10**9,), None))
    wrong = study.broken(replace(run, tiny=True), done, twice=False)
    assert sorted(wrong) == sorted(line for line in wrong if "beats enumeration 1000000000" in line)
    assert len(wrong) == 2
