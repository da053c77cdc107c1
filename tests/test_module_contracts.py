"""What mypy holds modules of models and routes against: every module that the registry names is in its list."""

from __future__ import annotations

import ast
import inspect
from types import ModuleType

import pytest

from optsched import models, routes
from optsched.core.registry import records


def listed(package: ModuleType) -> dict[str, list[str]]:
    """The names in each list that the package assigns for the type checker alone."""
    tree = ast.parse(inspect.getsource(package))
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    assigned = (node for block in blocks for node in block.body if isinstance(node, ast.AnnAssign))
    found = {}
    for node in assigned:
        assert isinstance(node.value, ast.List)  # of a tuple mypy says only that one of its modules does not fit
        found[ast.unparse(node.target)] = [ast.unparse(entry) for entry in node.value.elts]
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


@pytest.mark.parametrize("package", [models, routes], ids=["models", "routes"])
def test_names_are_said_once(package: ModuleType) -> None:
    """Tests that no list names a module twice."""
    for names in listed(package).values():
        assert len(set(names)) == len(names)
