"""Kernels: compiled where numba is, plain Python where it is not, the same answers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from optsched.solvers.compiled import SWITCH

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


@pytest.mark.parametrize(("switch", "told"), [("1", "True 55 True"), ("0", "False 55 False")])
def test_compiled_or_not(switch: str, told: str, tmp_path: str) -> None:
    """Tests that a kernel gives the same number compiled or not, and that numba stays away where it is turned off."""
    pytest.importorskip("numba")
    environment = os.environ | {SWITCH: switch, "NUMBA_CACHE_DIR": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-c", KERNEL], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert found.stdout.strip() == told


def test_without_numba() -> None:
    """Tests that a module of kernels is as it was written where numba cannot be imported."""
    hidden = "import sys; sys.modules['numba'] = None\n" + KERNEL
    found = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, check=True, timeout=120)
    assert found.stdout.strip() == "False 55 True"


def test_numba_that_cannot_be_imported(tmp_path: Path) -> None:
    """Tests that a numba which does not go with what else is installed is told, and is as none."""
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
