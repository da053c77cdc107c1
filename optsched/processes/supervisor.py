"""The process that watches over one worker: kills it at a deadline or over its memory, starts another, tells what came.

It loads what jobs need and forks workers, so that a new one begins at once; where forking is not safe (macOS, Windows),
it starts them afresh. It ends with the process that asked for it, and takes along whatever jobs have started.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import pickle
import signal
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait

import psutil

from optsched.processes import kernel
from optsched.processes.handing import Receiver, send
from optsched.processes.kernel import connection_of, start
from optsched.processes.outcomes import Limits, Status
from optsched.processes.worker import Answer, serve

__all__ = ["FORKS", "STOP", "main"]

#: Said instead of a job, while one runs: it is to answer soon with what it holds, as on Ctrl-C.
STOP = pickle.dumps("stop")

#: Whether workers are forked.
FORKS = sys.platform == "linux"

#: Seconds between two looks at whether everybody lives, at the worker's memory, and at that of what it has started.
_LIVES, _MEMORY, _ALL_MEMORY = 0.1, 0.02, 0.2

#: Seconds in which a worker must be there, and in which one that has closed its connection must have ended.
_BEGINS, _ENDS = 120.0, 0.3

#: Seconds in which a worker whose job is to stop must answer.
_STOPS = 1.0

#: Of the memory that is allowed, the share that a worker may hold when it is given another job.
_HELD = 0.5


class _Abandoned(Exception):
    """Nobody waits for the answer any more."""


def main(handle: int) -> None:
    """Serve whoever has the other end of the connection: its first word is what to load and whether to fork."""
    os.dup2(2, 1)  # what jobs print is no data
    control = connection_of(handle)
    supervisor = None
    try:
        modules, forks = control.recv()
        supervisor = _Supervisor(control, forks)
        for name in modules:
            importlib.import_module(name)
        supervisor.serve()
    except (EOFError, OSError, _Abandoned):
        pass  # who asked has gone, or sees that this process has
    finally:
        if supervisor is not None:
            supervisor.end_worker()
    os._exit(0)


class _Supervisor:
    def __init__(self, control: Connection, forks: bool) -> None:
        kernel.adopt_orphans()
        self._control, self._forks = control, forks
        self._receiver, self._stopping = Receiver(control), False
        self._parent = os.getppid()
        self._session = ""
        self._worker: _Worker | None = None

    def serve(self) -> None:
        """Say that it is there, then answer one job after another."""
        send(self._control, b"")
        while True:
            while not self._control.poll(1.0):
                self._check_parent()
            asked = self._receiver.take()
            if asked is None or asked == STOP:  # to a job that has just ended
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
            if time.monotonic() >= until:  # it took all the time to get here
                send(self._control, pickle.dumps((Answer(Status.TIMED_OUT, message="no time was left for it"), 0.0)))
                continue
            worker = self._idle_worker()
            began = time.monotonic()
            answer = self._watched(worker, limits, until, job)
            seconds = time.monotonic() - began
            if not session or not answer.reusable or worker.used > _HELD * (limits.memory_mb or math.inf):
                self.end_worker()
            send(self._control, pickle.dumps((answer, seconds)))

    def end_worker(self) -> None:
        """Kill the worker and whatever lives that it has started."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()

    def _check_parent(self) -> None:
        if sys.platform != "win32" and os.getppid() != self._parent:
            raise _Abandoned

    def _idle_worker(self) -> _Worker:
        """A worker that waits for a job; its start counts for none."""
        if self._worker is not None and self._worker.exit_code() is not None:
            self.end_worker()  # a job has left something behind that ended it later
        if self._worker is None:
            self._worker = worker = _Worker(self._forks, self._control)
            until = time.monotonic() + _BEGINS
            while not self._speaks(worker, _LIVES) or worker.receiver.take() is None:
                if time.monotonic() > until or worker.exit_code() is not None:
                    raise OSError("no worker could be started")
        return self._worker

    def _speaks(self, worker: _Worker, seconds: float) -> bool:
        """Whether the worker says something within a time; _Abandoned if who asked has gone."""
        ready = wait([self._control, worker.connection], max(seconds, 0))
        if self._control in ready:
            try:
                self._stopping |= self._receiver.take() is not None  # nothing else is said while a job runs
            except (EOFError, OSError):
                raise _Abandoned from None
        self._check_parent()
        return worker.connection in ready

    def _watched(self, worker: _Worker, limits: Limits, until: float, job: bytes) -> Answer:
        """The worker's answer, or what became of it instead; what it holds before it answers is passed on."""
        memory = _Memory(worker.process, limits.memory_mb)
        killed_before = kernel.killed_for_memory()
        began, stopped = time.monotonic(), False
        ends = min(until, began + (limits.seconds or math.inf))
        try:
            send(worker.connection, job)
            while True:
                left = ends - time.monotonic()
                if self._speaks(worker, min(left, memory.pause)):
                    said = worker.receiver.take()
                    answer = None if said is None else pickle.loads(said)
                    if isinstance(answer, Answer):
                        return memory.told(answer)
                    if said is not None:
                        send(self._control, said)
                elif worker.exit_code() is not None and not worker.connection.poll():
                    break
                if left <= 0:
                    seconds = limits.seconds or time.monotonic() - began
                    return memory.told(Answer(Status.TIMED_OUT, message=f"killed after {seconds:.3g} s"))
                if self._stopping and not stopped:
                    stopped = True
                    ends = min(ends, time.monotonic() + _STOPS)
                    worker.interrupt()
                if memory.over():
                    return memory.told(Answer(Status.OUT_OF_MEMORY))
        except _Abandoned:
            raise
        except Exception:  # the pipe is closed, or what came through it is no answer
            worker.await_end()
        return memory.told(_crashed(worker.exit_code(), killed_before))


def _crashed(code: int | None, killed_before: int | None) -> Answer:
    """What to say of a worker that ended without an answer."""
    if code is None:
        return Answer(Status.CRASHED, message="closed the pipe by which it answers")
    if code >= 0:
        return Answer(Status.CRASHED, message=f"ended with exit code {code} before it answered")
    killed = kernel.killed_for_memory()
    if code == -9 and killed is not None and killed_before is not None and killed > killed_before:
        return Answer(Status.OUT_OF_MEMORY, message="killed by the system, which had no more memory")
    name = f"signal {-code}"
    with contextlib.suppress(ValueError):
        name = signal.Signals(-code).name
    return Answer(Status.CRASHED, message=f"ended by {name}")


class _Worker:
    """A worker, as its supervisor holds it."""

    def __init__(self, forks: bool, control: Connection) -> None:
        self.exit_code: Callable[[], int | None]
        if forks:
            pid, self.connection = _fork(control)
            self.exit_code = _ExitCode(pid)
        else:
            popen, self.connection = start("optsched.processes.worker")
            pid, self.exit_code = popen.pid, popen.poll
        self.process = psutil.Process(pid)
        self.receiver = Receiver(self.connection)

    @property
    def used(self) -> float:
        """Its resident memory, in MiB."""
        return kernel.used_by_all([self.process], math.inf)

    def await_end(self) -> None:
        """Wait a moment for its end, which one whose connection is closed should be near."""
        until = time.monotonic() + _ENDS
        while self.exit_code() is None and time.monotonic() < until:
            time.sleep(0.005)

    def interrupt(self) -> None:
        """Let it answer with what it holds, as on Ctrl-C; on Windows it is not told."""
        if sys.platform != "win32":
            with contextlib.suppress(psutil.Error):
                self.process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """Kill it, its group, and whatever else it has started."""
        self.connection.close()
        kernel.kill_all([self.process, *kernel.descendants(self.process.pid)])
        kernel.kill_group(self.process.pid)
        while found := kernel.descendants(os.getpid()):  # those that were orphans already, and what they start now
            kernel.kill_all(found)
            self.exit_code()
            kernel.reap()


class _ExitCode:
    """The exit code of a forked process as `Popen.poll` gives it: None while it lives, negative for a signal."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._code: int | None = None

    def __call__(self) -> int | None:
        if self._code is None:
            try:
                pid, status = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:
                self._code = 0
            else:
                self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code


def _fork(control: Connection) -> tuple[int, Connection]:
    """A fork of this process that serves jobs."""
    ours, theirs = Pipe()
    parent = os.getpid()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12: libraries have threads, which all sleep
        pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            control.close()
            os.setsid()
            kernel.die_with(parent)
            kernel.reseed()
            serve(theirs)
        finally:
            os._exit(0)
    theirs.close()
    return pid, ours


class _Memory:
    """The memory that a worker and what it has started take, and the most that was seen of it."""

    def __init__(self, worker: psutil.Process, limit: float | None) -> None:
        self._worker, self._limit = worker, limit
        self._next_all = 0.0
        self.peak: float | None = None
        #: Seconds between two looks.
        self.pause = _LIVES if limit is None else _MEMORY

    def over(self) -> bool:
        """Whether it is over the limit now."""
        if self._limit is None:
            return False
        processes = [self._worker]
        now = time.monotonic()
        if now >= self._next_all:
            processes += kernel.descendants(self._worker.pid)
            self._next_all = now + _ALL_MEMORY
        used = kernel.used_by_all(processes, self._limit)
        self.peak = max(self.peak or 0.0, used)
        return used > self._limit

    def told(self, answer: Answer) -> Answer:
        """The answer with the peak that was seen from here, if that is above its own.

        An answer that came just before the process would have been killed is none.
        """
        peak = max(filter(None, (answer.peak_mb, self.peak)), default=None)
        over = self._limit is not None and peak is not None and peak > self._limit
        if over and answer.status not in (Status.CRASHED, Status.TIMED_OUT):
            told = f"took {peak:.0f} MiB of the {self._limit:g} that it may take"
            return Answer(Status.OUT_OF_MEMORY, message=told, traceback=answer.traceback, peak_mb=peak)
        return replace(answer, peak_mb=peak)
