"""The process that jobs run in, one after another, until it is killed or another takes its place."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import traceback
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection

from optsched.core.outside import raised
from optsched.processes import handing, kernel
from optsched.processes.handing import CannotSend, Receiver, pack, send, unpack
from optsched.processes.kernel import connection_of
from optsched.processes.outcomes import Status

__all__ = ["Answer", "Held", "Surroundings", "main", "refused", "serve"]

#: How libraries in other languages say in their messages that memory was refused.
_REFUSED = ("bad_alloc", "bad_array_new_length", "cannot allocate memory", "out of memory")


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
        """Make them those of this process."""
        sys.path[:] = self.path
        os.chdir(self.folder)
        for name in os.environ.keys() - self.environment.keys():
            del os.environ[name]
        os.environ.update({name: value for name, value in self.environment.items() if os.environ.get(name) != value})


@dataclass(frozen=True)
class Answer:
    """What the process tells of a job: how it ended, its value as bytes, and whether it may be given another."""

    status: Status
    value: bytes = b""
    message: str = ""
    traceback: str = ""
    peak_mb: float | None = None
    reusable: bool = False


@dataclass(frozen=True)
class Held:
    """What a job holds so far (`optsched.processes.handing`), as bytes: told before its answer, should it be killed."""

    value: bytes
    more: bool


def main(handle: int) -> None:
    """Serve jobs on a connection: what a process that was started, not forked, calls."""
    serve(connection_of(handle))


def serve(connection: Connection) -> None:
    """Answer jobs until nobody asks for more."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kernel.adopt_orphans()
    receiver = Receiver(connection)
    send(connection, b"")
    with handing.to(lambda value, more: send(connection, pickle.dumps(Held(value, more)))):
        _answer(connection, receiver)


def _answer(connection: Connection, receiver: Receiver) -> None:
    memory_mb: float | None = 0  # none that there is, so that what holds for every job is set with the first
    while True:
        try:
            asked = receiver.take()
        except (EOFError, OSError, KeyboardInterrupt):  # the last: its job has ended before it was to stop
            return
        if asked is None:
            continue
        surroundings, limit, packed = pickle.loads(asked)
        if limit != memory_mb:
            memory_mb = limit
            kernel.limit_data(memory_mb)
        send(connection, pickle.dumps(_perform(surroundings, packed)))


def _perform(surroundings: Surroundings, packed: bytes) -> Answer:
    """Run a job: nothing that is raised gets past."""
    kernel.begin_peak()
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
    return replace(answer, peak_mb=kernel.peak_mb(), reusable=answer.reusable and _alone())


def _failed(error: BaseException) -> Answer:
    assert error.__traceback__ is not None
    error = error.with_traceback(error.__traceback__.tb_next)  # the job's own, without this module
    try:
        told, trace = raised(error), "".join(traceback.format_exception(error))
    except Exception:  # its own code, of __str__ for one, raises as well
        told = trace = type(error).__name__
    if refused(error):
        return Answer(Status.OUT_OF_MEMORY, message=f"memory was refused: {told}", traceback=trace)
    return Answer(Status.FAILED, message=f"raised {told}", traceback=trace, reusable=isinstance(error, Exception))


def refused(error: BaseException | None) -> bool:
    """Whether something was raised because memory was refused, by Python or by a library that says so in its words.

    Examples
    --------
    >>> refused(MemoryError()), refused(RuntimeError("std::bad_alloc")), refused(ValueError("no"))
    (True, True, False)
    """
    while error is not None:
        try:
            told = str(error).lower()
        except Exception:  # its own code
            told = ""
        if isinstance(error, MemoryError) or any(text in told for text in _REFUSED):
            return True
        error = error.__cause__ or error.__context__
    return False


def _alone() -> bool:
    """Whether the job has left no thread and no process behind."""
    if threading.active_count() > 1:
        return False
    if sys.platform == "win32":
        return not kernel.descendants(os.getpid())
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # there is none, not even one that has ended
        return True
    return False
