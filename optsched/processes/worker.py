"""The process that jobs run in, one after another."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path

import psutil

import optsched
from optsched.core.outside import raised
from optsched.processes.handing import CannotSend, pack, to, unpack
from optsched.processes.marks import MARK, connection_of, descendants
from optsched.processes.memory import refused
from optsched.processes.outcomes import Outcome, Status

__all__ = ["Answer", "Held", "Surroundings", "begin_peak", "main", "peak_mb", "serve"]

MIB = 1 << 20


@dataclass(frozen=True)
class Surroundings:
    """What a job finds around it, as the process has it that asked for it."""

    path: tuple[str, ...]
    folder: str
    environment: dict[str, str]

    @classmethod
    def here(cls) -> Surroundings:
        """Those of this process."""
        return cls(tuple(sys.path), os.getcwd(), dict(os.environ))

    def enter(self) -> None:
        """Make them those of this process, which keeps its mark."""
        sys.path[:] = self.path
        os.chdir(self.folder)
        wanted = {**self.environment, MARK: os.environ.get(MARK, "")}
        for name in os.environ.keys() - wanted.keys():
            del os.environ[name]
        os.environ.update({name: value for name, value in wanted.items() if os.environ.get(name) != value})


@dataclass(frozen=True)
class Answer(Outcome):
    """An outcome as it is sent: its value is packed; and whether its process may be given another job.

    `sources` are the files of modules that it has loaded and that are not installed, with the times of their last
    changes: a process that has loaded what was edited since takes no other job.
    """

    reusable: bool = False
    sources: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Held:
    """What a job holds so far (`optsched.processes.handing`), packed; it is sent before the answer."""

    value: bytes
    more: bool


def main(handle: int, modules: list[str]) -> None:
    """Load modules, then serve jobs on a connection."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        with suppress(OSError):  # the first to go where the machine has no more memory
            Path("/proc/self/oom_score_adj").write_text("1000")
    for name in modules:
        importlib.import_module(name)
    serve(connection_of(handle))


def serve(connection: Connection) -> None:
    """Say that it is there, then answer jobs until nobody asks for more."""

    def send(said: Answer | Held | None) -> None:
        """Send it whole: Ctrl-C waits meanwhile."""
        blocked = hasattr(signal, "pthread_sigmask")
        if blocked:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            connection.send(said)
        finally:
            if blocked:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)

    sources: dict[str, int] = {}
    seen: set[str] = set()
    with to(lambda value, more: send(Held(value, more))), suppress(EOFError, OSError, KeyboardInterrupt):
        send(None)
        while True:
            surroundings, packed = connection.recv()
            answer = _perform(surroundings, packed)
            sources |= _sources(sys.modules.keys() - seen)
            seen |= sys.modules.keys()
            send(replace(answer, sources=sources))


def _perform(surroundings: Surroundings, packed: bytes) -> Answer:
    """Run a job: nothing that is raised gets past."""
    begin_peak()
    try:
        surroundings.enter()
        function, job = unpack(packed)
        answer = Answer(Status.DONE, pack(function(job)), reusable=True)
    except CannotSend as error:
        answer = Answer(Status.FAILED, message=f"its value cannot be sent to another process: {error}")
    except BaseException as error:  # KeyboardInterrupt and SystemExit, too: they are the job's own
        answer = _failed(error)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # the job has closed or replaced it
    return replace(answer, peak_mb=peak_mb(), reusable=answer.reusable and _alone())


def _failed(error: BaseException) -> Answer:
    assert error.__traceback__ is not None
    error = error.with_traceback(error.__traceback__.tb_next)  # the job's own, without this module
    try:
        message, trace = raised(error), "".join(traceback.format_exception(error))
    except Exception:  # its own code, of __str__ for one, raises as well
        message = trace = type(error).__name__
    if refused(error):
        return Answer(Status.OUT_OF_MEMORY, message=f"memory was refused: {message}", traceback=trace)
    return Answer(Status.FAILED, message=f"raised {message}", traceback=trace, reusable=isinstance(error, Exception))


#: Folders of what is installed.
_INSTALLED = (os.path.dirname(os.__file__), os.path.dirname(optsched.__file__))


def _sources(names: Iterable[str]) -> dict[str, int]:
    """The files of those modules that are not installed, with the times of their last changes."""
    found = {}
    for name in names:
        path = getattr(sys.modules.get(name), "__file__", None) or ""
        if path and "-packages" not in path and not path.startswith(_INSTALLED):
            with suppress(OSError):
                found[path] = os.stat(path).st_mtime_ns
    return found


def _alone() -> bool:
    """Whether the job has left no thread and no process behind."""
    if threading.active_count() > 1:
        return False
    if not hasattr(os, "waitid"):
        return not descendants(os.getpid())
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # there is none, not even one that has ended
        return True
    return False


def begin_peak() -> None:
    """Measure the peak of this process's memory from now on (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float | None:
    """Most resident memory of this process, in MiB: since `begin_peak` on Linux, else since it began."""
    if sys.platform == "win32":
        return psutil.Process().memory_info().peak_wset / MIB
    if sys.platform == "linux":
        with suppress(OSError):
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / MIB if sys.platform == "darwin" else most / 1024
