"""The layer rules of docs/design.md, section 5, as import-linter keeps them, and that it would notice a breach."""

from __future__ import annotations

import ast
import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from optsched.core.registry import _BY_CLASS, SHIPPED
from optsched.core.resources import FAMILIES

ROOT = Path(__file__).resolve().parent.parent


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """What import-linter prints and returns for the package and the rules that lie in `folder`."""
    command = Path(sys.executable).with_name("lint-imports")
    return subprocess.run([command, "--no-cache"], cwd=folder, capture_output=True, text=True, check=False)


def test_layers_hold() -> None:
    """Tests that no module imports upwards, and that each module has its place in a layer."""
    checked = lint_imports(ROOT)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_no_file_imports_in_a_circle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no import of a file comes back to it, not even one within a function or for types alone."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    house_size = importlib.import_module("house_size")
    assert house_size.in_circles(house_size.package()) == []


@pytest.mark.parametrize(
    ("module", "statement", "contract"),
    [
        ("heuristics/__init__.py", "import optsched.models", "Imports go down only"),
        ("solvers/__init__.py", "import optsched.models", "Imports go down only"),
        ("problems/__init__.py", "import optsched.routes", "Imports go down only"),
        ("certificates/checking.py", "import optsched.solvers", "Imports go down only"),
        ("solvers/highs.py", "import optsched.problems", "Engines know no problem"),
        ("homeless.py", "", "Imports go down only"),
        ("measuring/gaps.py", "import optsched.measuring.studies.tables", "What measures is in layers"),
        ("certificates/checking.py", "import optsched.instances", "Certificates share only"),
        ("certificates/checking.py", "import scipy.optimize", "Certificates share only"),
        ("core/placement.py", "import highspy", "Nouns and problems know no solver"),
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


# Problems are told to the program in one place ----------------------------------------------------------------------

#: Rooms with one module a problem or a family; their own shared modules are among `_SHARED`.
_OF_PROBLEMS = (
    "problems",
    "certificates",
    "searches",
    "heuristics",
    "models",
    "routes",
    "instances/families",
    "instances/importers",
)

#: Modules of these rooms that all problems share.
_SHARED = {
    "problems/base.py",
    "certificates/__init__.py",
    "certificates/checking.py",
    "searches/__init__.py",
    "heuristics/__init__.py",
    "heuristics/running/base.py",
    "heuristics/running/course.py",
    "heuristics/running/driver.py",
    "heuristics/running/known.py",
    "heuristics/running/run.py",
    "models/__init__.py",
    "models/base.py",
    "models/export.py",
    "routes/__init__.py",
    "routes/base.py",
    "routes/contained.py",
    "routes/call.py",
    "routes/listing.py",
    "instances/families/__init__.py",
    "instances/families/base.py",
    "instances/importers/__init__.py",
    "instances/importers/foreign.py",
}

#: Texts that are names of problems and mean something else there, or reasons why they may stand there.
_ALLOWED = {
    ("core/placement.py", "flow"): "what a NetworkFlow is called",
    ("instances/claim_files.py", "flow"): "the field that holds one",
    ("cli/simulating.py", "makespan"): "a field of its records",
    ("simulating/simulation.py", "makespan"): "the same",
    ("instances/generate.py", "min-cost-flow"): "the family of networks, for type checkers",
    ("measuring/judging/quantities.py", "lsap"): "what one paper's waves are solved as",
    **{("core/resources.py", name): "a family of instances" for names in FAMILIES.values() for name in names},
}


def hand_kept(package: Path) -> list[str]:
    """Where a module that all problems share names one of them: its class, its module, or its name as a text."""
    names = {entry.name for entry in SHIPPED}
    modules, classes = zip(*(kind.split(":") for kind in _BY_CLASS), strict=True)
    found = []
    for file in sorted(package.rglob("*.py")):
        place = file.relative_to(package).as_posix()
        if place in ("core/registry.py", "problems/__init__.py"):
            continue
        if place.startswith(tuple(f"{room}/" for room in _OF_PROBLEMS)) and place not in _SHARED:
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            told = ""
            if isinstance(node, ast.Constant) and node.value in names and (place, node.value) not in _ALLOWED:
                told = f'the text "{node.value}"'
            elif isinstance(node, ast.ImportFrom) and (
                node.module in modules
                or (node.module == "optsched.problems" and {alias.name for alias in node.names} & set(classes))
            ):
                told = f"an import from {node.module}"
            if told:
                found.append(f"{place}:{node.lineno}: {told}")
    return found


def test_no_shared_module_names_a_problem() -> None:
    """Tests that what depends on the problem stands in its record or its class, and in no list or test of a class."""
    assert hand_kept(ROOT / "optsched") == []


@pytest.mark.parametrize(
    "line",
    [
        'LISTED = ("lsap", "mine")',
        "from optsched.problems import Lsap",
        "def late():\n    from optsched.problems.min_cost_flow import MinCostFlow",
    ],
)
def test_hand_kept_lists_are_caught(tmp_path: Path, line: str) -> None:
    """Tests that a name of a problem, or its class, is found in a module that all share, and not in a problem's own."""
    for name in ("gaps.py", "searches/lsap.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{line}\n")
    (told,) = hand_kept(tmp_path)
    assert told.startswith("gaps.py:")
