"""The names that `import optsched` offers: where they come from, what loading them costs, what they may be called."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import optsched

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("name", optsched.__all__)
def test_public_name_resolves(name: str) -> None:
    """Tests that each public name is found, and that no module is called so: `optsched.gap` would then be either."""
    assert getattr(optsched, name) is not None
    assert importlib.util.find_spec(f"optsched.{name}") is None


def test_type_checkers_and_runtime_agree() -> None:
    """Tests that the imports under TYPE_CHECKING, the lazy ones and `__all__` are the same names and modules."""
    tree = ast.parse(Path(optsched.__file__).read_text())
    (checked,) = (node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(checked.test) == "TYPE_CHECKING"
    imports = [node for node in ast.walk(checked) if isinstance(node, ast.ImportFrom)]
    seen = {alias.name: node.module for node in imports for alias in node.names if "optsched" in str(node.module)}
    assert seen == optsched._MODULES
    assert sorted(["__version__", *seen]) == sorted(optsched.__all__)


def test_unknown_name() -> None:
    """Tests that a name that is not public is an AttributeError, as in any module."""
    with pytest.raises(AttributeError, match="'optsched' has no attribute 'solv'"):
        optsched.solv  # noqa: B018


def test_import_is_light() -> None:
    """Tests that importing the package loads nothing outside the standard library."""
    code = "import sys; before = set(sys.modules); import optsched; print(*set(sys.modules) - before)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names == {"optsched"}


def test_citation_names_this_version() -> None:
    """Tests that CITATION.cff cites the version that the package has."""
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited[1] == optsched.__version__


def test_the_version_after_a_release() -> None:
    """Tests that code with unreleased changes has a development version, above that of the last release."""
    heads = re.findall(r"^## \[?([\w.]+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    number = optsched.__version__.removesuffix(".dev0")
    if heads[0] == "Unreleased":
        assert number != optsched.__version__
        assert [*map(int, number.split("."))] > [*map(int, heads[1].split("."))]
    else:
        assert optsched.__version__ == heads[0]


#: What is run, not imported: a word that runs it, and where.
RUN = {
    "axe-playwright-python": ("axe_playwright_python", "tests/test_accessibility.py"),
    "POT": ("import ot", "benchmarks/comparing/peers.py"),  # called otherwise than it is imported
    "build": ('"-m", "build"', "tests/test_wheel.py"),
    "coverage": ("coverage", ".ci/run"),
    "hatchling": ("hatchling", "pyproject.toml"),
    "import-linter": ("lint-imports", "tests/test_layers.py"),
    "ipykernel": ("kernel", "tests/test_notebooks.py"),
    "pytest-xdist": ("-n ", ".ci/run"),
}


def test_every_dependency_is_used() -> None:
    """Tests that each package that the project asks for, extras included, is imported or run somewhere."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    extras.pop("docs")  # those that the site is built with: test_site
    asked = [*project["dependencies"], *(name for names in extras.values() for name in names)]
    names = {re.match(r"[\w-]+", name)[0] for name in asked} - {"optsched"}
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("optsched", "tests", "benchmarks", "notebooks")
        for path in sorted((ROOT / folder).rglob("*.py"))
    )
    imported = set(re.findall(r"^\s*(?:import|from) (\w+)", code, re.MULTILINE))
    unused = names - imported
    assert unused == RUN.keys() & names
    assert RUN.keys() <= names
    for name, (word, place) in RUN.items():
        assert word in (ROOT / place).read_text(encoding="utf-8"), name
