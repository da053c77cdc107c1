"""The benchmark of the engine of simulations: it runs, and its runs end."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from optsched.problems.makespan import Makespan
from optsched.simulating import simulate

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "engine.py"


def test_its_workload_runs_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the policy of the yardstick starts every task, feasibly."""
    monkeypatch.syspath_prepend(str(PROGRAM.parent))
    program = importlib.import_module("engine")
    run = simulate(program.workload(120), program.InOrder)
    assert run.unfinished == ""
    assert Makespan(run.instance).violations(run.schedule) == []


@pytest.mark.thorough
def test_it_runs() -> None:
    """Tests its table on few tasks."""
    ran = subprocess.run([sys.executable, str(PROGRAM), "--tasks", "300"], capture_output=True, text=True, check=True)
    rows = [
        "its bare heap",
        "a bare heap of 100,000",
        "in order ",
        "in order, no heartbeats",
        "dl",
        "fair",
        "delay",
        "probabilistic",
    ]
    assert all(line.startswith(row) for line, row in zip(ran.stdout.splitlines()[1:], rows, strict=True))
