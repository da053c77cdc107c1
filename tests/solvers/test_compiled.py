"""Kernels: compiled where numba is, plain Python where it is not, the same answers."""

from __future__ import annotations

import os
import subprocess
import sys

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
