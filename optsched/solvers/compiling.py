"""Compiling a kernel within a deadline: in a process that can be killed, since numba looks at no clock.

It takes some seconds, once an installation, and what the process compiled is found in a file.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from optsched.deadline import check, remaining
from optsched.processes.containing import within_a_call
from optsched.solvers.compiled import Kernel, compiled
from optsched.solvers.machine_code import Kind, kind_of

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
    if left is None or within_a_call() or not isinstance(kernel, Kernel) or kernel.kept(arguments) is not None:
        return
    import numba

    types, dispatcher = tuple(map(numba.typeof, arguments)), kernel.dispatcher
    if types in dispatcher.signatures or not dispatcher.stats.cache_path or _is_kept(dispatcher):
        return
    from optsched.processes.local import run

    function = kernel.py_func
    run(_compile, (function.__module__, function.__qualname__, types, kind_of(arguments)), within=left)
    check()


def _is_kept(dispatcher: Any) -> bool:
    """Whether numba's cache has something of this kernel that is no older than its module."""
    code = dispatcher.py_func.__code__
    source = Path(code.co_filename)
    name = f"{source.stem}.{dispatcher.py_func.__qualname__}-{code.co_firstlineno}.py*.nbi"
    written = source.stat().st_mtime
    return any(index.stat().st_mtime >= written for index in Path(dispatcher.stats.cache_path).glob(name))


def _compile(asked: tuple[str, str, tuple[Any, ...], Kind | None]) -> None:
    """Compile a kernel for arguments of some types and kind, which leaves it in the cache."""
    module, name, types, kind = asked
    kernel: Any = getattr(import_module(module), name)
    if not isinstance(kernel, Kernel):  # its engine decides whether it is compiled
        kernel = compiled(kernel)
    kernel.compile(types, kind)
