"""The layer rules of docs/design.md section 4, as import-linter keeps them, and that it would notice a breach."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """What import-linter prints and returns for the package and the rules that lie in `folder`."""
    command = Path(sys.executable).with_name("lint-imports")
    return subprocess.run([command, "--no-cache"], cwd=folder, capture_output=True, text=True, check=False)


def test_layers_hold() -> None:
    """Tests that no module imports upwards, and that each module has its place in a layer."""
    checked = lint_imports(ROOT)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("module", "statement", "contract"),
    [
        ("heuristics/__init__.py", "import optsched.models", "Imports go down only"),
        ("solvers/__init__.py", "import optsched.models", "Imports go down only"),
        ("problems/__init__.py", "import optsched.routes", "Imports go down only"),
        ("certificates/checking.py", "import optsched.solvers", "Imports go down only"),
        ("solvers/highs.py", "import optsched.problems", "Engines know no problem"),
        ("homeless.py", "", "Imports go down only"),
        ("certificates/checking.py", "import optsched.instances", "Certificates share only"),
        ("certificates/checking.py", "import scipy.optimize", "Certificates share only"),
        ("placement.py", "import highspy", "Nouns and problems know no solver"),
    ],
)
def test_breach_is_caught(tmp_path: Path, module: str, statement: str, contract: str) -> None:
    """Tests that an import seeded against the rules, or a module in no layer, breaks the contract that forbids it."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "optsched", tmp_path / "optsched", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "optsched" / module).open("a") as file:
        file.write(f"\n{statement}\n")
    checked = lint_imports(tmp_path)
    assert checked.returncode == 1
    assert re.search(rf"^{contract}.* BROKEN", checked.stdout, re.MULTILINE), checked.stdout + checked.stderr
