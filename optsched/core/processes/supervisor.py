"""The processes that run jobs, and the process that supervises them.

A supervisor watches one worker: it kills it at a deadline or over its memory, starts another, and reports the outcome.
It loads the modules that jobs need and forks workers, so that a new one starts at once. Where forking is not safe
(macOS, Windows), it starts them afresh. It ends with its parent, and ends all processes that jobs have started.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import psutil

from optsched.core.outside import raised
from optsched.core.processes.handing import CannotSend, Receiver, pack, send, to, unpack
from optsched.core.processes.limits import Limits, Outcome, Status, count_after, refused

MIB = 1 << 20

#: From linux/prctl.h.
_PARENT_DEATH_SIGNAL, _CHILD_SUBREAPER = 1, 36

#: MiB that a process may request beyond its limit before that is refused: stacks of threads, reserves of allocators.
#: Only resident memory counts; this stops requests that grow too fast to be watched.
_SLACK_MB = 512
_SLACK_MB_PER_CPU = 16


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def adopt_orphans() -> None:
    """Make processes whose parents end children of this one (Linux), so that they can be found."""
    _prctl(_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """End this process when its parent does (Linux)."""
    _prctl(_PARENT_DEATH_SIGNAL, 9)
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


def limit_data(memory_mb: float | None) -> None:
    """Refuse this process memory far beyond its limit, write no core file, and let the kernel kill it first.

    Linux only: macOS does not enforce such limits, and Windows has none.
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
        held = psutil.Process().memory_info().data  # private and writable: what the limit counts
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
            return count_after("VmHWM:", Path("/proc/self/status").read_text()) / 1024
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / MIB if sys.platform == "darwin" else most / 1024


def used_by_all(processes: Sequence[psutil.Process], most: float) -> float:
    """Resident memory of processes, in MiB; if it is over `most`, shared memory is counted once (Linux)."""

    def taken(of: Callable[[psutil.Process], int]) -> float:
        total = 0
        for process in processes:
            with contextlib.suppress(psutil.Error):  # it has ended
                total += of(process)
        return total / MIB

    resident = taken(lambda process: process.memory_info().rss)
    if resident <= most or len(processes) < 2 or sys.platform != "linux":
        return resident
    return taken(lambda process: process.memory_full_info().pss)


def killed_for_memory() -> int:
    """How many processes the kernel has killed so far because memory ran out; 0 if it does not say."""
    with contextlib.suppress(OSError):
        return count_after("oom_kill", Path("/proc/vmstat").read_text())
    return 0


def descendants(pid: int) -> list[psutil.Process]:
    """All processes that a process has started, and those started by them."""
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.Error:
        return []


def kill_all(processes: Iterable[psutil.Process]) -> None:
    """Kill processes at once."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()


def reap() -> None:
    """Collect ended children, including orphans that this process has adopted."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue


# Start another Python that has a connection to this one, and finds the same modules -----------------------------------

#: Its code: it gets the path of this Python, then calls a module's function with the handle of the connection.
_BEGIN = (
    "import os, sys; from importlib import import_module; sys.path[:] = sys.argv[1].split(os.pathsep); "
    "getattr(import_module(sys.argv[2]), sys.argv[3])(int(sys.argv[4]))"
)


def start(module: str, function: str) -> tuple[subprocess.Popen[bytes], Connection]:
    """Start a process, in its own session, that calls a function with the handle of its end of a connection.

    OSError if the machine has no more processes or handles.
    """
    _occupy_streams()
    ours, theirs = Pipe()
    handle = theirs.fileno()
    command = [sys.executable, "-P", "-c", _BEGIN, os.pathsep.join(sys.path), module, function, str(handle)]
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=2, **_inheriting(handle))
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return process, ours


def _occupy_streams() -> None:
    """Open the null device for standard streams that are missing: a connection would take their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free


def connection_of(handle: int) -> Connection:
    """The connection whose handle `start` passed to this process."""
    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection

        return PipeConnection(handle)
    return Connection(handle)


def _inheriting(handle: int) -> dict[str, Any]:
    """Arguments by which a process inherits one handle and no other, and gets no Ctrl-C of its terminal."""
    if sys.platform == "win32":
        os.set_handle_inheritable(handle, True)
        startup = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]})
        return {"startupinfo": startup, "creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"pass_fds": (handle,), "start_new_session": True}


@dataclass(frozen=True)
class Surroundings:
    """The surroundings of a job, as in the process that asked for it."""

    path: tuple[str, ...]
    folder: str
    environment: dict[str, str]

    @classmethod
    def here(cls) -> Surroundings:
        """Those of this process."""
        return cls(tuple(sys.path), os.getcwd(), dict(os.environ))

    def enter(self) -> None:
        """Apply them to this process."""
        sys.path[:] = self.path
        os.chdir(self.folder)
        for name in os.environ.keys() - self.environment.keys():
            del os.environ[name]
        os.environ.update({name: value for name, value in self.environment.items() if os.environ.get(name) != value})


@dataclass(frozen=True)
class Answer(Outcome):
    """An outcome in the form in which it is sent: its value is packed; and whether its process may get another job."""

    reusable: bool = False


@dataclass(frozen=True)
class Held:
    """A job's result so far (`core.processes.handing`), as bytes: sent before its answer, in case it is killed."""

    value: bytes
    more: bool


def serve(handle: int | Connection) -> None:
    """Answer jobs on a connection, or its handle, until nobody asks for more."""
    connection = connection_of(handle) if isinstance(handle, int) else handle
    signal.signal(signal.SIGINT, signal.default_int_handler)
    adopt_orphans()
    receiver = Receiver(connection)
    send(connection, b"")
    memory_mb: float | None = 0  # an impossible value, so that the first job sets what every job needs
    with to(lambda value, more: send(connection, pickle.dumps(Held(value, more)))):
        while True:
            try:
                asked = receiver.take()
            except (EOFError, OSError, KeyboardInterrupt):  # the last: the job ended before it could be interrupted
                return
            if asked is None:
                continue
            surroundings, limit, packed = pickle.loads(asked)
            if limit != memory_mb:
                memory_mb = limit
                limit_data(memory_mb)
            send(connection, pickle.dumps(_perform(surroundings, packed)))


def _perform(surroundings: Surroundings, packed: bytes) -> Answer:
    """Run a job; no exception gets out."""
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
    except Exception:  # its own code, such as __str__, raises as well
        message = trace = type(error).__name__
    if refused(error):
        return Answer(Status.OUT_OF_MEMORY, message=f"memory was refused: {message}", traceback=trace)
    return Answer(Status.FAILED, message=f"raised {message}", traceback=trace, reusable=isinstance(error, Exception))


def _alone() -> bool:
    """Whether the job has left no thread and no process behind."""
    if threading.active_count() > 1:
        return False
    if sys.platform == "win32":
        return not descendants(os.getpid())
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # there is none, not even one that has ended
        return True
    return False


#: Sent instead of a job while one runs: it should answer soon with its incumbent, as on Ctrl-C.
STOP = pickle.dumps("stop")

#: Whether workers are forked.
FORKS = sys.platform == "linux"

#: Seconds between two checks that everybody lives, of the worker's memory, and of that of its children.
_LIVES, _MEMORY, _ALL_MEMORY = 0.1, 0.02, 0.2

#: Seconds in which a worker must start, and in which a worker without a connection must end.
_BEGINS, _ENDS = 120.0, 0.3

#: Seconds in which a worker must answer after its job was interrupted.
_STOPS = 1.0

#: The share of the memory limit that a worker may hold when it gets another job.
_HELD = 0.5


class _Abandoned(Exception):
    """Nobody waits for the answer any more."""


def main(handle: int) -> None:
    """Serve the other end of the connection: its first message is what to load and whether to fork."""
    os.dup2(2, 1)  # what jobs print must not mix with data
    control = connection_of(handle)
    supervisor = None
    try:
        modules, forks = control.recv()
        supervisor = _Supervisor(control, forks)
        for name in modules:
            importlib.import_module(name)
        supervisor.serve()
    except (EOFError, OSError, _Abandoned):
        pass  # the caller has gone, or sees that this process has
    finally:
        if supervisor is not None:
            supervisor.end_worker()
    os._exit(0)


class _Supervisor:
    def __init__(self, control: Connection, forks: bool) -> None:
        adopt_orphans()
        self._control, self._forks = control, forks
        self._receiver, self._stopping = Receiver(control), False
        self._parent = os.getppid()
        self._session = ""
        self._worker: _Worker | None = None

    def serve(self) -> None:
        """Report that it is there, then answer one job after another."""
        send(self._control, b"")
        while True:
            while not self._control.poll(1.0):
                self._check_parent()
            asked = self._receiver.take()
            if asked is None or asked == STOP:  # STOP: for a job that has just ended
                continue
            job = pickle.loads(asked)
            if job is None:
                self.end_worker()
                continue
            self._stopping = False
            limits, until, session, job = job
            if session != self._session:
                self.end_worker()
            self._session = session
            if time.monotonic() >= until:  # starting took all of the time
                send(self._control, pickle.dumps(Answer(Status.TIMED_OUT, message="no time was left for it")))
                continue
            worker = self._idle_worker()
            began = time.monotonic()
            answer = self._watched(worker, limits, until, job)
            answer = replace(answer, seconds=time.monotonic() - began)
            if not answer.reusable or worker.used > _HELD * (limits.memory_mb or math.inf):
                self.end_worker()
            send(self._control, pickle.dumps(answer))

    def end_worker(self) -> None:
        """Kill the worker and all its living children."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()

    def _check_parent(self) -> None:
        if sys.platform != "win32" and os.getppid() != self._parent:
            raise _Abandoned

    def _idle_worker(self) -> _Worker:
        """A worker that waits for a job; its start-up time is not counted."""
        if self._worker is not None and self._worker.exit_code() is not None:
            self.end_worker()  # something that a job left behind ended it later
        if self._worker is None:
            self._worker = worker = _Worker(self._forks, self._control)
            until = time.monotonic() + _BEGINS
            while not self._speaks(worker, _LIVES) or worker.receiver.take() is None:
                if time.monotonic() > until or worker.exit_code() is not None:
                    raise OSError("no worker could be started")
        return self._worker

    def _speaks(self, worker: _Worker, seconds: float) -> bool:
        """Whether the worker sends something within a time; _Abandoned if the caller has gone."""
        ready = wait([self._control, worker.connection], max(seconds, 0))
        if self._control in ready:
            try:
                self._stopping |= self._receiver.take() is not None  # the only message while a job runs
            except (EOFError, OSError):
                raise _Abandoned from None
        self._check_parent()
        return worker.connection in ready

    def _watched(self, worker: _Worker, limits: Limits, until: float, job: bytes) -> Answer:
        """The worker's answer, or what happened instead; what it hands over before is passed on."""
        memory = _Memory(worker.process, limits.memory_mb)
        killed_before = killed_for_memory()
        began, stopped = time.monotonic(), False
        ends = min(until, began + (limits.seconds or math.inf))
        try:
            send(worker.connection, job)
            while True:
                left = ends - time.monotonic()
                if self._speaks(worker, min(left, memory.pause)):
                    packed = worker.receiver.take()
                    answer = None if packed is None else pickle.loads(packed)
                    if isinstance(answer, Answer):
                        return memory.with_peak(answer)
                    if packed is not None:
                        send(self._control, packed)
                elif worker.exit_code() is not None and not worker.connection.poll():
                    break
                if left <= 0:
                    seconds = limits.seconds or time.monotonic() - began
                    return memory.with_peak(Answer(Status.TIMED_OUT, message=f"killed after {seconds:.3g} s"))
                if self._stopping and not stopped:
                    stopped = True
                    ends = min(ends, time.monotonic() + _STOPS)
                    worker.interrupt()
                if memory.over():
                    return memory.with_peak(Answer(Status.OUT_OF_MEMORY))
        except _Abandoned:
            raise
        except Exception:  # the pipe is closed, or brought something that is no answer
            worker.await_end()
        return memory.with_peak(_crashed(worker.exit_code(), killed_before))


def _crashed(code: int | None, killed_before: int) -> Answer:
    """The message for a worker that ended without an answer."""
    if code is None:
        return Answer(Status.CRASHED, message="closed the pipe by which it answers")
    if code >= 0:
        return Answer(Status.CRASHED, message=f"ended with exit code {code} before it answered")
    if code == -9 and killed_for_memory() > killed_before:
        return Answer(Status.OUT_OF_MEMORY, message="killed by the system, which had no more memory")
    name = f"signal {-code}"
    with contextlib.suppress(ValueError):
        name = signal.Signals(-code).name
    return Answer(Status.CRASHED, message=f"ended by {name}")


class _Worker:
    """The supervisor's side of a worker."""

    def __init__(self, forks: bool, control: Connection) -> None:
        if forks:
            pid, self.connection = _fork(control)
        else:
            self._started, self.connection = start(__name__, "serve")
            pid = self._started.pid
        self.process = psutil.Process(pid)
        self.receiver = Receiver(self.connection)

    def exit_code(self) -> int | None:
        """Negative for a signal; None while it lives."""
        try:
            code: int | None = self.process.wait(0)
        except psutil.TimeoutExpired:
            return None
        return code

    @property
    def used(self) -> float:
        """Its resident memory, in MiB."""
        return used_by_all([self.process], math.inf)

    def await_end(self) -> None:
        """Wait a moment for its end, which should be near once its connection is closed."""
        until = time.monotonic() + _ENDS
        while self.exit_code() is None and time.monotonic() < until:
            time.sleep(0.005)

    def interrupt(self) -> None:
        """Let it answer with its incumbent, as on Ctrl-C; on Windows it gets no signal."""
        if sys.platform != "win32":
            with contextlib.suppress(psutil.Error):
                self.process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """Kill it, its group, and everything else that it has started."""
        self.connection.close()
        kill_all([self.process, *descendants(self.process.pid)])
        if sys.platform != "win32":
            with contextlib.suppress(OSError):
                os.killpg(self.process.pid, signal.SIGKILL)  # the rest of its group
        while found := descendants(os.getpid()):  # earlier orphans, and processes that they start now
            kill_all(found)
            self.exit_code()
            reap()


def _fork(control: Connection) -> tuple[int, Connection]:
    """A fork of this process that serves jobs."""
    ours, theirs = Pipe()
    parent = os.getpid()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of libraries' threads, which all sleep
        pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            control.close()
            os.setsid()
            die_with(parent)
            if "numpy" in sys.modules:  # forks share its old global state, from which code may draw without a seed
                sys.modules["numpy"].random.seed()
            serve(theirs)
        finally:
            os._exit(0)
    theirs.close()
    return pid, ours


class _Memory:
    """The memory of a worker and all that it has started, and its peak so far."""

    def __init__(self, worker: psutil.Process, limit: float | None) -> None:
        self._worker, self._limit = worker, limit
        self._next_all = 0.0
        self.peak: float | None = None
        #: Seconds between two checks.
        self.pause = _LIVES if limit is None else _MEMORY

    def over(self) -> bool:
        """Whether it is over the limit now."""
        if self._limit is None:
            return False
        processes = [self._worker]
        now = time.monotonic()
        if now >= self._next_all:
            processes += descendants(self._worker.pid)
            self._next_all = now + _ALL_MEMORY
        used = used_by_all(processes, self._limit)
        self.peak = max(self.peak or 0.0, used)
        return used > self._limit

    def with_peak(self, answer: Answer) -> Answer:
        """The answer with the peak that was seen from here, if that is above its own.

        An answer that came just before the process would have been killed is discarded.
        """
        peak = max(filter(None, (answer.peak_mb, self.peak)), default=None)
        over = self._limit is not None and peak is not None and peak > self._limit
        if over and answer.status not in (Status.CRASHED, Status.TIMED_OUT):
            message = f"took {peak:.0f} MiB of the {self._limit:g} that it may take"
            return Answer(Status.OUT_OF_MEMORY, message=message, traceback=answer.traceback, peak_mb=peak)
        return replace(answer, peak_mb=peak)
