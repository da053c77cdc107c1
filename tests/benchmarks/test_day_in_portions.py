"""The benchmark of days in portions: it runs, and its ways agree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "day_in_portions.py"


@pytest.mark.thorough
def test_it_runs(tmp_path: Path) -> None:
    """Tests its table on a small trace: the same tasks and times in portions as whole, and fewer held at once."""
    trace = tmp_path / "day.tsv"
    trace.write_text("".join(f"job{job}\t{60 * job}\t60\t300000000\t1000\t0\n" for job in range(40)))
    command = [sys.executable, str(PROGRAM), str(trace), "--hours", "1", "--nodes", "5", "--jobs", "4"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    exact, _, whole = (line.split() for line in ran.stdout.splitlines()[1:])
    assert exact[-1] == whole[-1]
    assert exact[3] == whole[2] == "160"
    assert int(exact[4]) < 40
