"""Compiling loops on arrays with numba, where it is installed; without it the same functions run as plain Python.

A module of kernels decorates its functions with `compiled`, and is imported only by an engine that has decided that
its input is large enough to pay for it: reading machine code takes some 0.05 s, and importing numba, where there is
none yet, 0.5 s. Kernels call each other freely. They return after a given number of steps, with their state in arrays
that they were given, so that their caller can look at the deadline in between.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from typing import Any, TypeVar, cast

from optsched.solvers.machine_code import Kind, imported_before, keep, keeps, kind_of, loaded, note_import

__all__ = ["SWITCH", "Kernel", "compiled", "compiler", "compiles"]

F = TypeVar("F", bound=Callable[..., object])

#: Set to 0 in the environment, this turns compiling off.
SWITCH = "OPTSCHED_COMPILED"

#: After so many calls of machine code, of some 0.03 ms each, numba is imported, whose own calls take 0.002 ms.
_CALLS = 10_000


@cache
def compiles() -> bool:
    """Whether kernels are compiled here: numba can be imported and the environment does not turn it off.

    The first time in an environment it imports numba, so ask this last, of a large input. A numba that is installed but
    cannot be imported, as beside a NumPy that is too new for it, is warned of once, and is as none.
    """
    if os.environ.get(SWITCH) == "0" or find_spec("numba") is None:
        return False
    if imported_before():
        return True
    try:
        importlib.import_module("numba")
        note_import()
    except ImportError as error:
        told = f"loops are not compiled, since numba cannot be imported: {error}; install another version of it"
        warnings.warn(told, RuntimeWarning, stacklevel=2)
        return False
    return True


def compiler(engine: str) -> dict[str, str]:
    """Name and version, for a solution, of an engine whose loops are compiled: the version is numba's.

    >>> compiler("cost scaling")["name"]
    'cost scaling'
    """
    if not compiles():
        return {"name": engine}
    from importlib.metadata import version

    return {"name": engine, "version": f"numba {version('numba')}"}


class Kernel:
    """A loop that numba compiles at its first call for arguments of some kind.

    Its machine code is kept, and later processes run it without importing numba (`machine_code`), until they have
    called it so often that numba's quicker calls make up for that. Without such a file, numba loads what it compiled
    from its own cache.

    Attributes
    ----------
    py_func
        The function as it was written.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        self._codes: dict[Kind, Callable[..., Any]] = {}
        self._compiled: set[Kind | None] = {None}
        self._calls = 0

    @cached_property
    def dispatcher(self) -> Any:
        """The same for numba, which is imported."""
        import numba

        try:
            return numba.njit(cache=True)(self.py_func)
        except RuntimeError:  # no folder for the cache, as for functions that were typed in
            return numba.njit(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        """What numba asks for where one kernel calls another."""
        from numba.core.types import Dispatcher

        return Dispatcher(self.dispatcher)

    def kept(self, arguments: Sequence[Any]) -> Callable[..., Any] | None:
        """Its machine code for such arguments, if there is a file of it."""
        kind = kind_of(arguments)
        if kind is None:
            return None
        if kind not in self._codes:
            code = loaded(self.py_func, kind)
            if code is None:
                return None
            self._codes[kind] = code
        return self._codes[kind]

    def compile(self, types: tuple[Any, ...], kind: Kind | None) -> None:
        """Have numba compile it for arguments of these types (numba's) and this kind, and keep its machine code."""
        import numba

        if not hasattr(self.dispatcher, "overloads"):  # the environment turns numba's compiling off
            return
        self.dispatcher.compile(types)
        if kind is None or kind in self._codes or not keeps(self.py_func, kind):
            return
        made = self.dispatcher.overloads[types]
        if made.library._compiled_object is None:  # numba's cache gives it away once
            fresh = numba.njit(self.py_func)
            fresh.compile(types)
            made = fresh.overloads[types]
        code = made.library._compiled_object
        keep(self.py_func, kind, str(made.signature.return_type), made.fndesc.llvm_func_name, code)

    def __call__(self, *arguments: Any) -> Any:
        if self._calls < _CALLS:
            self._calls += 1
            kind = kind_of(arguments)
            if kind not in self._compiled:
                code = self.kept(arguments)
                if code is not None:
                    return code(*arguments)
                import numba

                self.compile(tuple(map(numba.typeof, arguments)), kind)
                self._compiled.add(kind)
        return self.dispatcher(*arguments)


def compiled(function: F) -> F:
    """A function in the part of Python that numba compiles: compiled at its first call, or itself without numba.

    What was compiled is kept where a folder for it can be written, and so is compiled once (see `Kernel`).

    Examples
    --------
    >>> @compiled
    ... def doubled(count):
    ...     return 2 * count
    >>> doubled(21)
    42
    """
    return cast(F, Kernel(function)) if compiles() else function
