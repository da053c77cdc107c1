"""The site's pages: what they import is in the reference, and what they are built with is asked for.

Whether links, anchors and types lead somewhere the build itself says (`.ci/run`), since its warnings are errors there.
"""

import importlib
import re
import tomllib
from pathlib import Path

import pytest

import optsched

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
REFERENCE = {
    module
    for page in sorted((DOCS / "reference").glob("*.md"))
    for module in re.findall(r"^\.\. automodule:: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
}
#: Pages for users of the package.
PAGES = [
    ROOT / "README.md",
    DOCS / "tutorial.md",
    *sorted((DOCS / "uses").glob("*.md")),
    *sorted((DOCS / "how-to").glob("*.md")),
    *sorted((ROOT / "models").glob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_imports_is_in_the_reference(page: Path) -> None:
    """Tests that each name that a page for users imports is a public one, or of a module that the reference has."""
    text = page.read_text(encoding="utf-8")
    used = re.findall(r"^(?:>>> )?from (optsched\.[\w.]+) import (\w+(?:, \w+)*)", text, re.MULTILINE)
    names = {(module, name) for module, listed in used for name in listed.split(", ") if name not in optsched.__all__}
    modules = {f"{module}.{name}" if module == "optsched.models" else module for module, name in names}
    assert modules <= REFERENCE


@pytest.mark.parametrize("module", sorted(REFERENCE))
def test_modules_of_the_reference_say_what_is_public(module: str) -> None:
    """Tests that each module of the reference exists and has `__all__`, so that nothing of another is shown with it."""
    assert importlib.import_module(module).__all__


def test_extensions_are_asked_for() -> None:
    """Tests that the extra `docs` has what the site's settings name, and nothing else."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    asked = {re.split(r"[<>=[]", name)[0].replace("-", "_") for name in extras["docs"]} - {"optsched"}
    settings = (DOCS / "conf.py").read_text(encoding="utf-8")
    named = {name.partition(".")[0] for name in re.findall(r'^    "([\w.]+)",$', settings, re.MULTILINE)}
    assert asked == named | {re.search(r'^html_theme = "(\w+)"$', settings, re.MULTILINE)[1]}
