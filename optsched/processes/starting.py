"""Starting another Python that has a connection to this one, and finds the same modules."""

from __future__ import annotations

import os
import subprocess
import sys
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["connection_of", "start"]

#: What it runs: the path of this Python, then the function `main` of a module with the handle of the connection.
_BEGIN = (
    "import importlib, os, sys; sys.path[:] = sys.argv[1].split(os.pathsep); "
    "importlib.import_module(sys.argv[2]).main(int(sys.argv[3]))"
)


def start(module: str) -> tuple[subprocess.Popen[bytes], Connection]:
    """Start a process, in a session of its own, that calls `module.main(handle)`; the connection to it.

    Raises
    ------
    OSError
        If the machine has no more processes or handles.
    """
    _occupy_streams()
    ours, theirs = Pipe()
    handle = theirs.fileno()
    command = [sys.executable, "-P", "-c", _BEGIN, os.pathsep.join(sys.path), module, str(handle)]
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=2, **_inheriting(handle))
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return process, ours


def _occupy_streams() -> None:
    """Lead to nowhere the streams that this process was started without: a connection would take their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free


def connection_of(handle: int) -> Connection:
    """The connection whose handle `start` gave to this process."""
    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection

        return PipeConnection(handle)
    return Connection(handle)


def _inheriting(handle: int) -> dict[str, Any]:
    """How a process gets one handle of this one and no other; and no Ctrl-C of its terminal."""
    if sys.platform == "win32":
        os.set_handle_inheritable(handle, True)
        startup = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]})
        return {"startupinfo": startup, "creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"pass_fds": (handle,), "start_new_session": True}
