"""What only the kernel knows or does: processes that die with others, memory in use, who was killed for want of it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

__all__ = [
    "adopt_orphans",
    "begin_peak",
    "connection_of",
    "descendants",
    "die_with",
    "kill_all",
    "kill_group",
    "killed_for_memory",
    "limit_data",
    "peak_mb",
    "reap",
    "reseed",
    "start",
    "used_by_all",
]

MIB = 1 << 20

#: From linux/prctl.h.
_PARENT_DEATH_SIGNAL, _CHILD_SUBREAPER = 1, 36

#: What a process may ask for beyond its limit before that is refused: stacks of threads, reserves of allocators. What
#: is resident is what counts; this stops what asks for more than could be watched.
_SLACK_MB = 512
_SLACK_MB_PER_CPU = 16


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def adopt_orphans() -> None:
    """Let processes whose parents end become children of this one (Linux), so that they can be found."""
    _prctl(_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """End this process when its parent does (Linux)."""
    _prctl(_PARENT_DEATH_SIGNAL, 9)
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


def limit_data(memory_mb: float | None) -> None:
    """Refuse this process what is far beyond its limit, leave no core file, and be the first to go for want of memory.

    On Linux only: macOS does not keep such limits, and Windows knows none.
    """
    if sys.platform != "linux":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = hard
    if memory_mb is not None:
        held = psutil.Process().memory_info().data  # private and writable, what the limit counts
        most = held + round((memory_mb + _SLACK_MB + _SLACK_MB_PER_CPU * (os.cpu_count() or 1)) * MIB)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def begin_peak() -> None:
    """Measure the peak of this process's memory from now on (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float | None:
    """Most resident memory of this process, in MiB: since `begin_peak` on Linux, else since it began."""
    if sys.platform == "win32":
        return psutil.Process().memory_info().peak_wset / MIB
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / MIB if sys.platform == "darwin" else most / 1024


def _used(process: psutil.Process) -> float:
    """Resident memory of a process, in MiB; 0 where it has ended."""
    try:
        return float(process.memory_info().rss / MIB)
    except psutil.Error:
        return 0.0


def used_by_all(processes: Iterable[psutil.Process], most: float) -> float:
    """Resident memory of processes, in MiB; where it is over `most`, what they share is counted once (Linux)."""
    found = list(processes)
    total = sum(map(_used, found))
    if total <= most or len(found) < 2 or sys.platform != "linux":
        return total
    shares = 0.0
    for process in found:
        with contextlib.suppress(psutil.Error):
            shares += process.memory_full_info().pss / MIB
    return shares


def killed_for_memory() -> int | None:
    """How many processes the kernel has killed for want of memory so far; None where it does not say."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return None


def descendants(pid: int) -> list[psutil.Process]:
    """All processes that a process has started, and those started by them."""
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.Error:
        return []


def kill_all(found: Iterable[psutil.Process]) -> None:
    """Kill processes at once."""
    for process in found:
        with contextlib.suppress(psutil.Error):
            process.kill()


def kill_group(leader: int) -> None:
    """Kill what is left of a group of processes."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            os.killpg(leader, signal.SIGKILL)


def reap() -> None:
    """Let go of children that have ended, orphans that this process has adopted among them."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue


def reseed() -> None:
    """Give a forked process random numbers of its own where it draws without a seed (Python's own do so themselves)."""
    if "numpy" in sys.modules:
        import numpy as np

        np.random.seed()  # noqa: NPY002 - it is the old global state that forks share


# How processes are started -------------------------------------------------------------------------------------------
#
# Starting another Python that has a connection to this one, and finds the same modules.

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
