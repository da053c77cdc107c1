"""The layer rules of docs/design.md, section 5, as import-linter keeps them, and that it would notice a breach."""

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


#: Imports against the rules: the module that has one, what it imports, and the contract that forbids it.
BREACHES = [
    ("heuristics", "models", "Imports go down only"),
    ("solvers", "models", "Imports go down only"),
    ("problems", "routes", "Imports go down only"),
    ("certificates.checking", "solvers", "Imports go down only"),
    ("solvers.highs", "problems.base", "Engines know no problem"),
    ("solvers.networks", "solvers.searches.assignment", "Engines know no problem"),
    ("measuring.gaps", "measuring.studies.tables", "What measures is in layers, too"),
    ("certificates.checking", "instances", "Certificates share only the nouns and the problems with whoever produces"),
    ("certificates.checking", "scipy", "Certificates share only the nouns and the problems with whoever produces"),
    ("core.placement", "highspy", "Nouns and problems know no solver"),
]


def test_breaches_are_caught(tmp_path: Path) -> None:
    """Tests that an import seeded against the rules, or a module in no layer, breaks the contract that forbids it."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    package = shutil.copytree(ROOT / "optsched", tmp_path / "optsched", ignore=shutil.ignore_patterns("__pycache__"))
    (package / "homeless.py").touch()
    lines = []
    for module, imported, contract in BREACHES:
        name = imported if imported in ("scipy", "highspy") else f"optsched.{imported}"
        path = package / module.replace(".", "/")
        with (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).open("a") as file:
            file.write(f"\nimport {name}\n")
        lines.append((contract, f"optsched.{module} -> {name} "))
    checked = lint_imports(tmp_path)
    assert checked.returncode == 1
    _, *parts = re.split(r"^(.+)\n-{9,}$", checked.stdout, flags=re.MULTILINE)
    told = dict(zip(parts[::2], parts[1::2], strict=True))
    assert [line for contract, line in lines if line not in told[contract]] == []
    assert "- optsched.homeless\n" in told["Imports go down only"]


# Problems are told to the program in one place ----------------------------------------------------------------------

#: Rooms with one module a problem or a family, and their modules that all problems share.
_OF_PROBLEMS: dict[str, set[str]] = {
    "problems": {"base"},
    "certificates": {"__init__", "checking"},
    "solvers/searches": {"__init__"},
    "heuristics": {"__init__"},
    "heuristics/running": {"base", "course", "driver", "known", "run"},
    "models": {"__init__", "base", "export"},
    "routes": {"__init__", "base", "call", "listing"},
    "instances/families": {"__init__", "base"},
    "instances/importers": {"__init__", "foreign"},
}

#: Texts that are names of problems and mean something else there, or reasons why they may stand there.
_ALLOWED = {
    ("core/placement.py", "flow"): "what a NetworkFlow is called",
    ("instances/claim_files.py", "flow"): "the field that holds one",
    ("cli/simulating.py", "makespan"): "a field of its records",
    ("heuristics/simulating/simulation.py", "makespan"): "the same",
    ("instances/generate.py", "min-cost-flow"): "the family of networks, for type checkers",
    ("measuring/judging/quantities.py", "lsap"): "what one paper's waves are solved as",
    **{("core/resources.py", name): "a family of instances" for names in FAMILIES.values() for name in names},
}


def hand_kept(package: Path) -> list[str]:
    """Where a module that all problems share names one of them: its class, its module, or its name as a text."""
    names = {entry.name for entry in SHIPPED}
    modules, classes = zip(*(kind.split(":") for kind in _BY_CLASS), strict=True)
    mentioned = re.compile("|".join([*(f'"{name}"' for name in names), *modules, *(rf"\b{one}\b" for one in classes)]))
    found = []
    for file in sorted(package.rglob("*.py")):
        place = file.relative_to(package).as_posix()
        if place in ("core/shipped_problems.py", "problems/__init__.py"):
            continue
        if file.stem not in _OF_PROBLEMS.get(file.parent.relative_to(package).as_posix(), {file.stem}):
            continue
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if mentioned.search(text) else ():
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
    for name in ("gaps.py", "heuristics/lsap.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{line}\n")
    (told,) = hand_kept(tmp_path)
    assert told.startswith("gaps.py:")
