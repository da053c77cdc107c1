"""Starts processes with a mark, and kills all processes that have it.

The mark is a word in the environment. All that a process starts inherits it, in other sessions too, and keeps it when
its parent ends. So nothing outlives a run: what is left of it is found by its mark. One small process, the warden,
waits for the end of this one, however that comes, and kills what has its mark then.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection
from typing import Any
from uuid import uuid4

import psutil

__all__ = ["MARK", "connection_of", "descendants", "kill", "main", "own_mark", "start"]

#: The variable of the environment that has the marks: those of the processes above, too.
MARK = "OPTSCHED_MARK"

#: Seconds to kill what goes on starting other processes.
_PATIENCE = 10.0

#: What another Python runs: the function `main` of a module, with what it is given. It finds the same modules.
_BEGIN = (
    "import json, sys; from importlib import import_module; "
    "sys.path[:], module, given = json.loads(sys.argv[1]); import_module(module).main(*given)"
)

#: The pipes whose other ends wardens read.
_wardens: list[int] = []


def start(module: str, given: list[Any], mark: str = "", handle: int | None = None, **streams: Any) -> Any:
    """Start a process, in a session of its own, that calls the function `main` of a module.

    Parameters
    ----------
    module, given
        The module, and what its function is called with: values of JSON.
    mark
        Its mark.
    handle
        The handle of this process that it gets; it gets no other.
    streams
        Of `subprocess.Popen`.

    Raises
    ------
    OSError
        If the machine has no more processes or handles.
    """
    command = [sys.executable, "-P", "-c", _BEGIN, json.dumps([sys.path, module, given])]
    environment = os.environ | {MARK: f"{os.environ.get(MARK, '')} {mark}".strip()}
    return subprocess.Popen(command, env=environment, **streams, **_apart(handle))


def _apart(handle: int | None) -> dict[str, Any]:
    """How a process gets one handle of this one and no other; and no Ctrl-C of its terminal."""
    if sys.platform == "win32":
        own: dict[str, Any] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        if handle is not None:
            os.set_handle_inheritable(handle, True)
            own["startupinfo"] = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]})
        return own
    return {"pass_fds": () if handle is None else (handle,), "start_new_session": True}


def connection_of(handle: int) -> Connection:
    """The connection whose handle `start` gave to this process."""
    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection

        return PipeConnection(handle)
    return Connection(handle)


@cache
def own_mark() -> str:
    """The mark of all that this process runs. The first call starts the warden."""
    mark, nowhere = uuid4().hex, subprocess.DEVNULL
    reading, writing = os.pipe()
    try:
        warden = start(__name__, [mark], stdin=reading, stdout=nowhere, stderr=nowhere, cwd=os.path.abspath(os.sep))
    finally:
        os.close(reading)
    warden.returncode = 0  # nobody waits for its end
    _wardens.append(writing)
    return mark


def main(mark: str) -> None:
    """What the warden does: its input ends with the process that started it."""
    with suppress(OSError):
        sys.stdin.buffer.read()
    kill(mark)


def kill(mark: str, root: int | None = None) -> None:
    """Kill all processes with a mark, and what has been started by one of them, `root`."""
    found = [] if root is None else descendants(root)
    until = time.monotonic() + _PATIENCE
    while (found := found + _marked(mark)) and time.monotonic() < until:
        for process in found:
            with suppress(psutil.Error):
                process.kill()
        found = []  # what they have started meanwhile has the mark


def _marked(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if mark in process.environ().get(MARK, ""):
                found.append(process)
    return found


def descendants(pid: int) -> list[psutil.Process]:
    """All processes that a process has started, and those started by them."""
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.Error:
        return []


def _forget() -> None:
    """In a fork: the wardens watch over the process that started them."""
    own_mark.cache_clear()
    for writing in _wardens:
        os.close(writing)
    _wardens.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
