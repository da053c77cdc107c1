"""Compiling within a deadline: where, and that what was compiled is found again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from optsched.core.deadline import deadline
from optsched.processes import local
from optsched.solvers.compiling import ready

#: Asks for a kernel twice, and tells how often a process was asked to compile it.
ASKED = """
import sys
import numpy as np
from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime
from optsched.processes import local
from optsched.solvers.compiling import ready
from optsched.solvers.knapsack_kernels import fill_one
numbers = np.zeros(1, dtype=np.int64)
asked = numbers, numbers + 1, 1, np.zeros((2, 2), dtype=np.int64), np.zeros(2, dtype=np.int64), *2 * [numbers.copy()]
run, runs = local.run, []
local.run = lambda *given, **named: runs.append(run(*given, **named)) or runs[-1]
def ask(seconds):
    try:
        with deadline(seconds):
            ready(fill_one, *asked)
            return "ready"
    except OutOfTime:
        return "late"
if __name__ == "__main__":
    print(*[ask(float(seconds)) for seconds in sys.argv[1:]], len(runs), *[outcome.status for outcome in runs])
    fill_one(*asked)
    print(sum(fill_one.stats.cache_hits.values()), "found")
"""


def told(folder: Path, *seconds: float) -> list[str]:
    """What the program tells, with a cache in the folder."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", ASKED, *map(str, seconds)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    return ran.stdout.splitlines()


@pytest.mark.thorough
def test_bug_compiling_overran_a_limit(tmp_path: Path) -> None:
    """Tests that a kernel is compiled in a process, which a deadline ends, and once: then all find it in the cache."""
    pytest.importorskip("numba")
    assert told(tmp_path / "here", 0) == ["late 1 timed-out", "0 found"]
    assert told(tmp_path, 0, 200, 200) == ["late ready ready 2 timed-out done", "1 found"]
    assert told(tmp_path, 0) == ["ready 0", "1 found"]


def test_what_is_not_compiled_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no process is started for plain Python, without a deadline, or for what is compiled here already."""
    monkeypatch.delattr(local, "run")
    numbers = np.zeros(1, dtype=np.int64)
    with deadline(0):
        ready(np.add, numbers, numbers)
    numba = pytest.importorskip("numba")
    kernel = numba.njit(lambda values: values)
    ready(kernel, numbers)
    with deadline(0):
        ready(kernel, numbers)  # there is no cache to find it in
    kernel(numbers)
    with deadline(0):
        ready(kernel, numbers)
