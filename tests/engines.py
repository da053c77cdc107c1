"""What tests do to engines: force those for large inputs onto small ones, press Ctrl-C, move the clock by looks."""

import importlib.util
import itertools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import pytest

from optsched.solvers import compiled, matching

#: From which size on an engine compiles its loops, by module: what asks `compiles` of anything.
THRESHOLDS = {
    "optsched.routes.min_cost_flow": ("_SCALED",),
    "optsched.solvers.searches.capacity_tree": ("_COMPILED_FROM",),
    "optsched.solvers.searches.tabled_assignment": ("_FEW_ENTRIES", "_FEW_PAIRS"),
    "optsched.solvers.matching": ("COMPILED_PAIRS", "COMPILED_TASKS"),
    "optsched.solvers.networks": ("FEW_ARCS",),
}


#: The module of loops that engines import once they take them.
KERNELS = "optsched.solvers.kernels"


def ints(values: Any) -> np.ndarray:
    """An array of int64."""
    return np.array(values, dtype=np.int64)


#: The loop of `matching`, compiled once for all.
_grow = cache(lambda: compiled.compiled(matching.grow))


class _Counting(ModuleType):
    """A module of loops that counts how often somebody takes something of it."""

    def __init__(self, module: ModuleType, used: Any) -> None:
        super().__init__(module.__name__)
        self.__dict__.update(_module=module, _used=used)

    def __getattr__(self, name: str) -> Any:
        self.__dict__["_used"].number += not name.startswith("__")
        return getattr(self.__dict__["_module"], name)


def plain(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    """The module of kernels as it is without numba; engines that import it from now on get it."""
    spec = importlib.util.find_spec(name)
    module = importlib.util.module_from_spec(spec)
    with monkeypatch.context() as patched:
        patched.setattr(compiled, "compiles", lambda: False)
        spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, name, module)
    return module


def force(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every engine that is meant for large inputs take small ones too."""
    for module, names in THRESHOLDS.items():
        monkeypatch.setattr(f"{module}.compiles", lambda: True)
        for name in names:
            monkeypatch.setattr(f"{module}.{name}", -1)


@contextmanager
def large_engines(interpreted: bool) -> Iterator[Any]:
    """Within this, engines for large inputs take all: compiled where numba is installed, or `interpreted`, as Python.

    Gives how often an engine took loops of the modules of kernels; that of plain Python is counted only.
    """
    used = SimpleNamespace(number=0)
    with pytest.MonkeyPatch.context() as patched:
        force(patched)
        # Once its loop is compiled, a matching takes it for small inputs too: what is compiled here is not to stay.
        patched.setattr(matching, "_compiled", cache(_grow))
        if interpreted:
            patched.setitem(sys.modules, KERNELS, _Counting(plain(patched, KERNELS), used))

            def taken() -> Any:
                used.number += 1
                return matching.grow

            patched.setattr(matching, "_compiled", taken)
        yield used


def interrupted(*_: Any, **__: Any) -> NoReturn:
    """Ctrl-C comes, whatever was asked."""
    raise KeyboardInterrupt


@contextmanager
def clock_of_looks() -> Iterator[None]:
    """The clock of deadlines shows how often it was looked at: a limit of 3 ends the fourth look."""
    clock = itertools.count()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("optsched.core.deadline.time", SimpleNamespace(monotonic=lambda: next(clock)))
        yield
