"""What a type checker sees: README and docs (mypy --strict, but that functions need no types), and lists of modules.

mypy holds every module of models and routes that the registry names against what such a module must have.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from pages import FENCED, PAGES, ROOT, borrowed, steps

from optsched import models, routes
from optsched.core.registry import SHIPPED, records

#: A session gives a name another value; and a user's own functions may be without types.
FLAGS = (
    "--allow-redefinition --allow-untyped-defs --allow-incomplete-defs --allow-untyped-calls --allow-untyped-decorators"
)


def told(folder: Path, cache: Path) -> str:
    """What mypy says of the files of a folder, by the project's own settings; it is of the group `lint`."""
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(cache)]
    command = [sys.executable, "-m", "mypy", *FLAGS.split(), *settings, "--no-pretty", *sorted(folder.glob("*.py"))]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    return run.stdout + run.stderr


@pytest.fixture(scope="module", name="cache")
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def python_of(page: Path) -> dict[str, str]:
    """The files that a page tells to write, as they are at its end, and its session as one more."""
    text = (ROOT / page).read_text(encoding="utf-8")
    session = "".join(
        "".join(example.source for example in doctest.DocTestParser().get_examples(block)) or block
        for language, name, block in FENCED.findall(text)
        if language in ("python", "pycon") and not name
    )
    files = {name: content for name, content in [*borrowed(ROOT / page), *steps(text)] if name.endswith(".py")}
    return {name: content for name, content in {**files, "session.py": session}.items() if content and " " not in name}


@pytest.mark.thorough
@pytest.mark.parametrize("page", [page for page in PAGES if page.parts[0] != "models" and python_of(page)], ids=str)
def test_examples_have_types(page: Path, tmp_path: Path, cache: Path) -> None:
    """Tests that a type checker has nothing to say of a page."""
    for name, content in python_of(page).items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert told(tmp_path, cache).startswith("Success")


@pytest.mark.thorough
def test_names_tell_classes(tmp_path: Path, cache: Path) -> None:
    """Tests that each problem that is shipped is of its own class where its name is written, and instances are."""
    lines = ["import optsched", "from optsched import problems", "from optsched.core.network import FlowNetwork"]
    for entry in SHIPPED:
        kind = entry.problem.rpartition(":")[2]
        lines.append(
            f'p{len(lines)}: problems.{kind} = optsched.problem("{entry.name}", optsched.load("papers/guo-fig2"))'
        )
    lines.append('network: FlowNetwork = optsched.generate("min-cost-flow", 1)')
    lines.append('nodes: int = len(optsched.generate("lsap", 1).cluster)')
    (tmp_path / "posed.py").write_text("\n".join(lines), encoding="utf-8")
    assert told(tmp_path, cache).startswith("Success")
    (tmp_path / "posed.py").write_text("\n".join([*lines, 'optsched.generate("lsap", 1).clusters']), encoding="utf-8")
    assert 'has no attribute "clusters"' in told(tmp_path, cache)


def listed(package: ModuleType) -> dict[str, list[str]]:
    """The names in each list that the package assigns for the type checker alone."""
    tree = ast.parse(inspect.getsource(package))
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    assigned = (node for block in blocks for node in block.body if isinstance(node, ast.AnnAssign))
    found = {}
    for node in assigned:
        assert isinstance(node.value, ast.List)  # of a tuple mypy says only that one of its modules does not fit
        names = [ast.unparse(entry) for entry in node.value.elts]
        assert len(set(names)) == len(names), "a module is named twice"
        found[ast.unparse(node.target)] = names
    return found


def test_every_module_of_models_is_checked() -> None:
    """Tests that mypy sees each module of models, and those of problems with a second program as such."""
    own = {entry.models: entry for entry in records().values() if (entry.models or "").startswith("optsched.")}
    found = listed(models)
    assert {f"optsched.models.{name}" for names in found.values() for name in names} == set(filter(None, own))
    limited = {f"optsched.models.{name}" for name in found["_LIMITED"]}
    assert limited == {path for path, entry in own.items() if entry.limit is not None}


def test_every_module_of_routes_is_checked() -> None:
    """Tests that mypy sees each module of routes."""
    own = {entry.routes for entry in records().values() if (entry.routes or "").startswith("optsched.")}
    every = set().union(*listed(routes).values())
    assert {f"optsched.routes.{name}" for name in every} == own | {"optsched.routes.base"}
