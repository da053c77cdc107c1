"""HiGHS without its banner: nothing but data is on stdout, whichever library makes the first object of the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FIRST = {
    "arrays": "solve(problem, route='arrays')",
    "Pyomo": "solve(problem, route='pyomo')",
    "PuLP": "solve(problem, route='pulp')",
    "options": "load_profile('solvers/large.toml')",
    "export": "write_mps(build_pyomo(problem), sys.argv[1])",
}


@pytest.mark.parametrize("first", FIRST)
def test_nothing_is_printed(first: str, tmp_path: Path) -> None:
    """Tests each way in a process of its own, by the file descriptor, which is what HiGHS prints to."""
    program = f"""
import sys
import optsched
from optsched.models.export import write_mps
from optsched.models.lsap import build_pyomo
from optsched.routes import solve
from optsched.solvers.profiles import load_profile
problem = optsched.problem("lsap", optsched.generate("lsap", seed=1))
{FIRST[first]}
print("highspy" in sys.modules)
"""
    command = [sys.executable, "-c", program, f"{tmp_path}/model.mps"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert (ended.stdout, ended.stderr) == ("True\n", "")
