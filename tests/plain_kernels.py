"""Kernels as plain Python: a module of kernels imported once more with compiling turned off."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

from optsched.solvers import compiled


def plain(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    """The module of kernels as it is without numba; engines that import it from now on get it."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with monkeypatch.context() as patched:
        patched.setattr(compiled, "compiles", lambda: False)
        spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, name, module)
    return module
