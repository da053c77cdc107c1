"""Compiling a kernel within a deadline: in a process that can be killed, since numba looks at no clock.

It takes some seconds, once an installation, and what the process compiled is found in numba's cache.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from optsched.core.deadline import check, remaining
from optsched.processes.containing import within_a_call
from optsched.solvers.compiled import compiled

__all__ = ["ready"]


def ready(kernel: Any, *arguments: Any) -> None:
    """Have a kernel compiled for what it is about to be called with, where a deadline holds that this might overrun.

    A function that is not compiled is ready as it is, and so is one in a process that is killed at its limits anyhow.

    Parameters
    ----------
    kernel
        What `compiled` made of a function of a module.
    arguments
        Of the call.

    Raises
    ------
    OutOfTime
        If it was not compiled by the deadline.

    Examples
    --------
    >>> ready(len, [])
    """
    left = remaining()
    if left is None or within_a_call() or not hasattr(kernel, "signatures"):
        return
    import numba

    types = tuple(map(numba.typeof, arguments))
    if types in kernel.signatures or not kernel.stats.cache_path or _is_kept(kernel):
        return
    from optsched.processes.local import run

    function = kernel.py_func
    run(_compile, (function.__module__, function.__qualname__, types), within=left)
    check()


def _is_kept(kernel: Any) -> bool:
    """Whether numba's cache has something of this kernel that is no older than its module."""
    code = kernel.py_func.__code__
    source = Path(code.co_filename)
    name = f"{source.stem}.{kernel.py_func.__qualname__}-{code.co_firstlineno}.py*.nbi"
    written = source.stat().st_mtime
    return any(index.stat().st_mtime >= written for index in Path(kernel.stats.cache_path).glob(name))


def _compile(asked: tuple[str, str, tuple[Any, ...]]) -> None:
    """Compile a kernel for types of arguments, which leaves it in the cache."""
    module, name, types = asked
    kernel: Any = getattr(import_module(module), name)
    if not hasattr(kernel, "signatures"):  # its engine decides whether it is compiled
        kernel = compiled(kernel)
    kernel.compile(types)
