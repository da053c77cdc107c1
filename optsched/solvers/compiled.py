"""Compiles loops on arrays with numba, if it is installed; otherwise the same functions run as plain Python.

A module of kernels decorates its functions with `compiled`. Only an engine whose input is large enough imports it:
importing numba takes some 0.2 s, and reading a compiled kernel from numba's cache 0.1 s more. Kernels call each other
freely. They return after a given number of steps, with their state in arrays of the caller, so that the caller can
check the deadline in between.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, cast

from optsched.core.deadline import check, remaining
from optsched.core.processes.containing import within_a_call

F = TypeVar("F", bound=Callable[..., object])


class NotCompiledWarning(RuntimeWarning):
    """numba is installed, but cannot be used."""


#: Set to 0 in the environment, this turns compiling off.
SWITCH = "OPTSCHED_COMPILED"


@cache
def compiles() -> bool:
    """Whether kernels are compiled here: numba can be imported and the environment does not turn it off.

    It imports numba, so call this last, and only for a large input. If numba is installed but cannot be imported (for
    example because NumPy is too new), a warning appears once, and numba counts as missing.
    """
    if os.environ.get(SWITCH) == "0" or find_spec("numba") is None:
        return False
    try:
        import_module("numba")
    except ImportError as error:
        message = f"loops are not compiled, since numba cannot be imported: {error}; install another version of it"
        warnings.warn(message, NotCompiledWarning, stacklevel=2)
        return False
    return True


def compiler(engine: str) -> dict[str, str]:
    """Name and version, for a solution, of an engine whose loops are compiled; the version is numba's.

    >>> compiler("cost scaling")["name"]
    'cost scaling'
    """
    if not compiles():
        return {"name": engine}
    import numba

    return {"name": engine, "version": f"numba {numba.__version__}"}


def compiled(function: F) -> F:
    """A function in the part of Python that numba compiles: compiled at its first call, or itself without numba.

    The compiled form is kept in numba's cache, if a folder for it can be written; so it is compiled only once.
    """
    if not compiles():
        return function
    import numba

    try:
        return cast(F, numba.njit(cache=True)(function))
    except RuntimeError:  # no folder for the cache, as for functions that were typed in
        return cast(F, numba.njit(function))


# Within a deadline -------------------------------------------------------------------------------------------------
# Compiling runs in a process that can be killed, since numba checks no clock. It takes some seconds, once per
# installation, and numba's cache keeps the result.


def ready(kernel: Any, *arguments: Any) -> None:
    """Compile a kernel for the arguments of the next call, if a deadline is in force that this might overrun.

    Nothing happens for a function that is not compiled, or in a process that is killed at its limits anyhow. OutOfTime
    if it was not compiled by the deadline.
    """
    left = remaining()
    if left is None or within_a_call() or not hasattr(kernel, "signatures"):
        return
    import numba

    types, folder, code = tuple(map(numba.typeof, arguments)), kernel.stats.cache_path, kernel.py_func.__code__
    if types in kernel.signatures or not folder:
        return
    # It may be in numba's cache, in a file that is no older than its module.
    source = Path(code.co_filename)
    name = f"{source.stem}.{kernel.py_func.__qualname__}-{code.co_firstlineno}.py*.nbi"
    written = source.stat().st_mtime
    if any(index.stat().st_mtime >= written for index in Path(folder).glob(name)):
        return
    from optsched.core.processes.executors import run

    function = kernel.py_func
    run(_compile, (function.__module__, function.__qualname__, types), within=left)
    check()


def _compile(asked: tuple[str, str, tuple[Any, ...]]) -> None:
    """Compile a kernel for types of arguments, which leaves it in the cache."""
    module, name, types = asked
    kernel: Any = getattr(import_module(module), name)
    if not hasattr(kernel, "signatures"):  # its engine decides whether it is compiled
        kernel = compiled(kernel)
    kernel.compile(types)
