"""Kernels: compiled where numba is, plain Python where it is not, the same answers."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from optsched.core.deadline import deadline
from optsched.core.processes import executors
from optsched.solvers.compiled import SWITCH, ready

KERNEL = """
import sys
from optsched.solvers.compiled import compiled, compiles

@compiled
def triangle(count):
    total = 0
    for number in range(count + 1):
        total += number
    return total

print(compiles(), triangle(10), "numba" in sys.modules)
"""


SMALL = """
import sys, warnings
import optsched
from optsched.instances.generate import generate
from optsched.core.registry import records
warnings.simplefilter("ignore")
for entry in records().values():
    optsched.solve(entry.problem_class(generate(entry.family, seed=0, **entry.sizes)))
print([name for name in ("numba", "llvmlite") if name in sys.modules])
"""


@pytest.mark.parametrize(("switch", "expected"), [("1", "True 55 True"), ("0", "False 55 False")])
def test_compiled_or_not(switch: str, expected: str, tmp_path: str) -> None:
    """Tests that a kernel gives the same number compiled or not, and that numba stays away where it is turned off."""
    pytest.importorskip("numba")
    environment = os.environ | {SWITCH: switch, "NUMBA_CACHE_DIR": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", KERNEL], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert found.stdout.strip() == expected


def test_without_numba() -> None:
    """Tests that a module of kernels is as it was written where numba cannot be imported."""
    hidden = "import sys; sys.modules['numba'] = None\n" + KERNEL
    found = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, check=True, timeout=120)
    assert found.stdout.strip() == "False 55 True"


def test_numba_that_cannot_be_imported(tmp_path: Path) -> None:
    """Tests that a numba which does not go with what else is installed is reported, and is as none."""
    (tmp_path / "numba.py").write_text('raise ImportError("Numba needs NumPy 1.0 or less")')
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    found = subprocess.run(
        [sys.executable, "-c", KERNEL], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert found.stdout.strip() == "False 55 False"
    assert found.stderr.count("numba cannot be imported: Numba needs NumPy 1.0 or less; install another version") == 1


def test_numba_stays_away_from_small_inputs() -> None:
    """Tests that neither the package, nor a small solve of any problem, imports numba."""
    found = subprocess.run([sys.executable, "-c", SMALL], capture_output=True, text=True, check=True, timeout=300)
    assert found.stdout.strip() == "[]"


# Within a deadline ----------------------------------------------------------------------------------------------------


#: Asks for a kernel twice, and tells how often a process was asked to compile it.
ASKED = """
import sys
import numpy as np
from optsched.core.deadline import deadline
from optsched.core.errors import OutOfTime
from optsched.core.processes import executors
from optsched.solvers.compiled import ready
from optsched.solvers.kernels import fill_one
numbers = np.zeros(1, dtype=np.int64)
asked = numbers, numbers + 1, 1, np.zeros((2, 2), dtype=np.int64), np.zeros(2, dtype=np.int64), *2 * [numbers.copy()]
run, runs = executors.run, []
executors.run = lambda *given, **named: runs.append(run(*given, **named)) or runs[-1]
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
    monkeypatch.delattr(executors, "run")
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
