"""The benchmark of heuristics by size: all of the list are in it, and it runs."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from optsched.heuristics import HEURISTICS

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "policies_by_size.py"


def test_every_heuristic_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that each of the list has a problem, the one that was asked for where it serves it."""
    pytest.importorskip("resource")
    monkeypatch.syspath_prepend(str(PROGRAM.parent))
    program = importlib.import_module("policies_by_size")
    assert all(program.serving(name, None) in HEURISTICS[name].problems for name in HEURISTICS)
    assert (program.serving("fifo", "flow"), program.serving("labl", "flow")) == ("flow", None)


@pytest.mark.thorough
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_it_runs(tmp_path: Path) -> None:
    """Tests its table and its records on small sizes."""
    path = tmp_path / "found.json"
    sizes = ["--tasks", "50", "100", "--json", str(path)]
    ran = subprocess.run(
        [sys.executable, str(PROGRAM), "labl", "joss-t", "dl", *sizes], capture_output=True, text=True, check=True
    )
    rows = [line.split("|")[1].strip() for line in ran.stdout.splitlines()]
    assert rows == ["heuristic", "---", "posing", "dl", "posing", "labl", "posing", "joss-t"]
    found = json.loads(path.read_text())
    assert {(record["heuristic"], record["tasks"]) for record in found} >= {("dl", 50), ("labl", 100)}
    assert all(record["error"] is None and record["objective"] for record in found if record["heuristic"] != "posing")
    assert all(record["placed"] == record["tasks"] for record in found if record["heuristic"] in ("dl", "joss-t"))
