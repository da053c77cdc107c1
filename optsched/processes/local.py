"""Jobs in processes of this machine: one by `run`, many by `LocalExecutor`.

Each job has a thread here that watches over its process: it kills the process at a deadline or over its memory, and
says what came of the job.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as await_all
from dataclasses import fields, replace
from multiprocessing import Pipe
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4
from weakref import WeakSet

import psutil

from optsched.core.errors import OptschedError, UsageError
from optsched.processes.handing import CannotSend, Latest, pack, unpack
from optsched.processes.marks import descendants, kill, own_mark, start
from optsched.processes.outcomes import Limits, Outcome, Status
from optsched.processes.worker import MIB, Answer, Held, Surroundings

__all__ = ["Executor", "Job", "LocalExecutor", "killed_for_memory", "outcome_of", "run", "used_by_all"]

Given = TypeVar("Given")

#: Seconds between two looks at whether everybody lives, at the worker's memory, and at that of what it has started.
_LIVES, _MEMORY, _ALL_MEMORY = 0.1, 0.02, 0.5

#: Seconds in which a worker must be there, and in which one that has closed its connection must have ended.
_BEGINS, _ENDS = 120.0, 0.3

#: Seconds in which a worker whose job is to stop must answer.
_STOPS = 1.0

#: Seconds in which a job that nobody waits for any more is killed.
_KILLED = 10.0

#: What a worker may hold when it is given another job: a share of the memory that is allowed, and MiB.
_HELD, _HELD_MB = 0.5, 1000.0

#: What is wrong with what cannot be pickled, and what to do.
_UNSENT = "cannot be sent to another process"
_MEND = "give what can be pickled, such as a function or class of a module"


def run(
    function: Callable[[Given], Any],
    job: Given,
    limits: Limits | None = None,
    *,
    preload: Sequence[str] = (),
    within: float = math.inf,
    latest: Latest | None = None,
) -> Outcome:
    """Run `function(job)` in a process of its own, which is killed when a limit is passed.

    Parameters
    ----------
    function
        What is run: found again by its name, or, where it is of `__main__`, sent with its code.
    job
        What it is run on; it can be pickled.
    limits
        By default none: what crashes or raises is contained all the same.
    preload
        Modules that the job needs and that take long to import; the limits do not count their time.
    within
        Seconds from now in which it is killed, whenever it began.
    latest
        Keeps what the job hands over (`optsched.processes.handing`). On Ctrl-C such a job has a second to answer.

    Returns
    -------
    Outcome
        What the job does.

    Raises
    ------
    UsageError
        If function or job cannot be sent to another process.

    Examples
    --------
    >>> import math, os, time
    >>> run(math.sqrt, 4.0).value
    2.0
    >>> print(run(time.sleep, 60, Limits(seconds=0.2)))
    timed-out: killed after 0.2 s
    >>> print(run(os._exit, 3))
    crashed: ended with exit code 3 before it answered
    """
    packed = _packed(function, job)
    with LocalExecutor(1, limits, preload=preload) as executor:
        return executor.run_packed(packed, within=within, latest=latest)


class Executor(ABC):
    """Runs jobs, each contained.

    Attributes
    ----------
    limits
        Of each job.
    """

    limits: Limits

    def map(
        self, function: Callable[[Given], Any], jobs: Iterable[tuple[str, Given]], limits: Limits | None = None
    ) -> Iterator[tuple[str, Outcome]]:
        """The outcome of each job with its key, as they come: in any order.

        Parameters
        ----------
        function
            What is run on each job; it can be imported by its name, or pickled.
        jobs
            Keys and jobs; drawn when they can begin, not before.
        limits
            Of these jobs, if not those of all.

        Raises
        ------
        UsageError
            If the function cannot be sent to another process.
        """
        _packed(function, None)  # a function that cannot be pickled raises here, once
        source = iter(jobs)
        busy: dict[Any, str] = {}
        done: SimpleQueue[Any] = SimpleQueue()
        unsent: deque[tuple[str, Outcome]] = deque()
        try:
            while True:
                while len(busy) + len(unsent) < self._room() and (entry := next(source, None)) is not None:
                    key, job = entry
                    try:
                        begun = self._begun(pack((function, job)), limits or self.limits)
                    except CannotSend as error:
                        unsent.append((key, _unsent(error)))
                        continue
                    busy[begun] = key
                    begun.add_done_callback(done.put)
                if unsent:
                    yield unsent.popleft()
                elif busy:
                    with contextlib.suppress(Empty):
                        ended = done.get(timeout=_LIVES)
                        yield busy.pop(ended), self._outcome(ended)
                else:
                    return
        finally:
            self._abandon(list(busy))

    @abstractmethod
    def _room(self) -> int:
        """How many jobs may be on at once; raises OptschedError where none can be any more."""

    @abstractmethod
    def _begun(self, packed: bytes, limits: Limits) -> Any:
        """The future of a job."""

    @abstractmethod
    def _outcome(self, ended: Any) -> Outcome:
        """What came of a job that has ended."""

    @abstractmethod
    def _abandon(self, begun: Sequence[Any]) -> None:
        """Nobody waits for these jobs any more."""

    @abstractmethod
    def close(self) -> None:
        """End what the jobs ran in, as far as it is not others'."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Job(Future[Answer]):
    """A job of this machine, which ends with its answer."""

    def __init__(self, packed: bytes, limits: Limits, within: float = math.inf, latest: Latest | None = None) -> None:
        super().__init__()
        self.packed, self.limits, self.latest = packed, limits, latest or Latest()
        self.latest.data = []
        self.surroundings = Surroundings.here()
        #: The instant at which it is killed. It is to stop: as on Ctrl-C. Nobody waits for it.
        self.until, self.stops, self.abandoned = time.monotonic() + within, False, False


class LocalExecutor(Executor):
    """Runs jobs in processes of this machine.

    Parameters
    ----------
    workers
        How many jobs run at once.
    limits
        Of each job; none by default.
    preload
        As for `run`.

    Raises
    ------
    UsageError
        If `workers` is no whole number above 0.

    Examples
    --------
    >>> import math
    >>> with LocalExecutor(2) as executor:
    ...     outcomes = dict(executor.map(math.sqrt, [("four", 4.0), ("nine", 9.0), ("none", -1.0)]))
    >>> outcomes["nine"].value, outcomes["none"].message
    (3.0, 'raised ValueError: math domain error')
    """

    def __init__(self, workers: int = 1, limits: Limits | None = None, *, preload: Sequence[str] = ()) -> None:
        if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
            raise UsageError(f"workers={workers!r}: give a whole number, 1 or more")
        self.workers, self.limits = workers, limits or Limits()
        self._preload = tuple(preload)
        self._idle: list[_Worker] = []
        _executors.add(self)

    def run(
        self,
        function: Callable[[Given], Any],
        job: Given,
        limits: Limits | None = None,
        within: float = math.inf,
        latest: Latest | None = None,
    ) -> Outcome:
        """What comes of one job, in a process of this executor; one that cannot be sent has failed, as in `map`."""
        try:
            return self.run_packed(pack((function, job)), limits, within, latest)
        except CannotSend as error:
            return _unsent(error)

    def run_packed(
        self, packed: bytes, limits: Limits | None = None, within: float = math.inf, latest: Latest | None = None
    ) -> Outcome:
        """The same of function and job by `pack`."""
        job = Job(packed, limits or self.limits, within, latest)
        self.begin(job)
        try:
            return outcome_of(_awaited(job))
        except KeyboardInterrupt:
            if latest is None:
                raise
            job.stops = True
            answer = _awaited(job)
            if not answer.done:
                raise
            return outcome_of(answer)
        finally:
            self._abandon([job])

    def begin(self, job: Job) -> None:
        """Begin a job, with a thread of its own."""
        threading.Thread(target=self._serve, args=(job,), daemon=True).start()

    def _serve(self, job: Job) -> None:
        worker = None
        try:
            worker = self._idle_worker(job)
            answer = worker.answer(job)
            if answer.reusable:
                self._idle.append(worker)
            else:
                worker.kill()
            job.set_result(answer)
        except BaseException as error:
            if worker is not None:
                worker.kill()
            job.set_exception(error)

    def _idle_worker(self, job: Job) -> _Worker:
        """One of the idle workers that still lives, or a new one."""
        while self._idle:
            worker = self._idle.pop()
            if worker.exit_code() is None and worker.is_current(job):
                return worker
            worker.kill()  # a job has left something behind that ended it later, or it has loaded other modules
        return _Worker(self._preload)

    def _room(self) -> int:
        return self.workers

    def _begun(self, packed: bytes, limits: Limits) -> Job:
        job = Job(packed, limits)
        self.begin(job)
        return job

    def _outcome(self, ended: Job) -> Outcome:
        return outcome_of(ended.result())

    def _abandon(self, begun: Sequence[Job]) -> None:
        for job in begun:
            job.abandoned = True
        await_all(begun, _KILLED)

    def close(self) -> None:
        """End the processes of the jobs."""
        while self._idle:
            self._idle.pop().kill()


#: All of this process: a fork has their workers not.
_executors: WeakSet[LocalExecutor] = WeakSet()


def _forget() -> None:
    for executor in _executors:
        executor._idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _awaited(job: Job) -> Answer:
    """The answer, however long it takes; on Windows Ctrl-C comes between two looks."""
    while not job.done():
        await_all([job], _LIVES)
    return job.result()


def _unsent(error: CannotSend) -> Outcome:
    return Outcome(Status.FAILED, message=f"{_UNSENT}: {error}; {_MEND}")


def _packed(function: Callable[[Any], Any], job: Any) -> bytes:
    try:
        return pack((function, job))
    except CannotSend as error:
        name = getattr(function, "__qualname__", repr(function))
        raise UsageError(f"{name} and what it is run on {_UNSENT}: {error}; {_MEND}") from error


def outcome_of(answer: Answer) -> Outcome:
    """The outcome of an answer: its value is unpickled here."""
    values = {part.name: getattr(answer, part.name) for part in fields(Outcome)}
    if answer.done:
        try:
            values["value"] = unpack(answer.value)
        except Exception as error:  # anything that its own code raises
            message = f"its value cannot be read: {type(error).__name__}: {error}"
            values |= {"status": Status.FAILED, "value": None, "message": message}
    return Outcome(**values)


# Watch over a job -----------------------------------------------------------------------------------------------------


class _Abandoned(Exception):
    """Nobody waits for the answer any more."""


class _Worker:
    """A process that runs jobs, as who watches over it holds it."""

    def __init__(self, preload: Sequence[str]) -> None:
        _occupy_streams()
        self._mark = f"{own_mark()}-{uuid4().hex}"
        self._connection, theirs = Pipe()
        handle = theirs.fileno()
        try:
            self._started = start(
                "optsched.processes.worker",
                [handle, list(preload)],
                self._mark,
                handle,
                stdin=subprocess.DEVNULL,
                stdout=2,  # what jobs print is no data
                stderr=2,
            )
        except BaseException:
            self._connection.close()
            raise
        finally:
            theirs.close()
        self._process = psutil.Process(self._started.pid)
        self._is_there = False
        self._sources: Mapping[str, int] = {}
        self._folders: tuple[str, ...] = ()

    def exit_code(self) -> int | None:
        """Negative for a signal; None while it lives."""
        code: int | None = self._started.poll()
        return code

    def is_current(self, job: Job) -> bool:
        """Whether what it has loaded is what the job would find: the same folders, and nothing edited since."""
        with contextlib.suppress(OSError):
            edited = any(os.stat(path).st_mtime_ns != changed for path, changed in self._sources.items())
            return not edited and self._folders == _folders(job)
        return False

    def kill(self) -> None:
        """Kill it, and all that it has started."""
        self._connection.close()
        kill(self._mark, self._started.pid)
        self._started.kill()
        self._started.wait()

    def answer(self, job: Job) -> Answer:
        """The answer to a job, or what became of it instead.

        Raises
        ------
        OptschedError
            If the process could not begin.
        """
        if not self._begins(job):
            return Answer(Status.TIMED_OUT, message="no process could be started in time")
        began, killed_before = time.monotonic(), killed_for_memory()
        memory = _Memory(self._process, job.limits.memory_mb)
        try:
            answer = self._watched(job, memory)
        except _Abandoned:
            raise
        except Exception:  # the pipe is closed, or what came through it is no answer
            answer = _crashed(self._ended(), killed_before)
        self._sources, self._folders = answer.sources, _folders(job)
        most = min(_HELD * (job.limits.memory_mb or math.inf), _HELD_MB)
        reusable = answer.reusable and not job.stops and used_by_all([self._process], most) <= most
        return replace(memory.with_peak(answer), seconds=time.monotonic() - began, reusable=reusable)

    def _begins(self, job: Job) -> bool:
        """Wait until it is there; whether that is in time."""
        until = time.monotonic() + _BEGINS
        while not self._is_there:
            if job.abandoned or time.monotonic() >= job.until:
                return False
            try:
                if self._connection.poll(min(_LIVES, max(0.0, job.until - time.monotonic()))):
                    self._connection.recv()
                    self._is_there = True
            except (EOFError, OSError):
                until = 0.0
            if time.monotonic() > until or (self.exit_code() is not None and not self._is_there):
                raise OptschedError("a process for runs could not be started; what it wrote on stderr says why")
        return time.monotonic() < job.until

    def _watched(self, job: Job, memory: _Memory) -> Answer:
        stopped = False
        began = time.monotonic()
        ends = min(job.until, began + (job.limits.seconds or math.inf))
        self._connection.send((job.surroundings, job.packed))
        while True:
            left = ends - time.monotonic()
            if self._connection.poll(max(0.0, min(left, memory.pause))):
                said: Answer | Held = self._connection.recv()
                if isinstance(said, Answer):
                    return said
                job.latest.data = [*(job.latest.data if said.more else ()), said.value]
            elif self.exit_code() is not None and not self._connection.poll():
                raise EOFError
            if left <= 0:
                seconds = job.limits.seconds or time.monotonic() - began
                return Answer(Status.TIMED_OUT, message=f"killed after {seconds:.3g} s")
            if job.abandoned:
                raise _Abandoned
            if job.stops and not stopped:
                stopped = True
                ends = min(ends, time.monotonic() + _STOPS)
                self._interrupt()
            if memory.over():
                return Answer(Status.OUT_OF_MEMORY)

    def _interrupt(self) -> None:
        """Let it answer with its incumbent, as on Ctrl-C; on Windows it gets no signal."""
        if sys.platform != "win32":
            self._started.send_signal(signal.SIGINT)

    def _ended(self) -> int | None:
        """Its exit code, after a moment: it has closed its connection."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._started.wait(_ENDS)
        return self.exit_code()


def _folders(job: Job) -> tuple[str, ...]:
    """Where a job finds modules."""
    return (job.surroundings.folder, *job.surroundings.path)


def _occupy_streams() -> None:
    """Lead to nowhere the streams that this process was started without: a connection would take their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free


def _crashed(code: int | None, killed_before: int | None) -> Answer:
    """What to say of a worker that ended without an answer."""
    if code is None:
        return Answer(Status.CRASHED, message="closed the pipe by which it answers")
    if code >= 0:
        return Answer(Status.CRASHED, message=f"ended with exit code {code} before it answered")
    killed = killed_for_memory()
    if code == -9 and killed is not None and killed_before is not None and killed > killed_before:
        return Answer(Status.OUT_OF_MEMORY, message="killed by the system, which had no more memory")
    name = f"signal {-code}"
    with contextlib.suppress(ValueError):
        name = signal.Signals(-code).name
    return Answer(Status.CRASHED, message=f"ended by {name}")


def killed_for_memory() -> int | None:
    """How many processes the kernel has killed because memory ran out so far; None where it does not say."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return None


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
            processes += descendants(self._worker.pid)
            self._next_all = now + _ALL_MEMORY
        used = used_by_all(processes, self._limit)
        self.peak = max(self.peak or 0.0, used)
        return used > self._limit

    def with_peak(self, answer: Answer) -> Answer:
        """The answer with the peak that was seen from here, if that is above its own.

        An answer that came just before the process would have been killed is none.
        """
        peak = max(filter(None, (answer.peak_mb, self.peak)), default=None)
        over = self._limit is not None and peak is not None and peak > self._limit
        if over and answer.status not in (Status.CRASHED, Status.TIMED_OUT):
            message = f"took {peak:.0f} MiB of the {self._limit:g} that it may take"
            return Answer(Status.OUT_OF_MEMORY, message=message, traceback=answer.traceback, peak_mb=peak)
        return replace(answer, peak_mb=peak)


def used_by_all(processes: Sequence[psutil.Process], most: float) -> float:
    """Resident memory of processes, in MiB; where it is over `most`, what they share is counted once (Linux)."""
    total = sum(_used(process, "memory_info", "rss") for process in processes)
    if total <= most or len(processes) < 2 or sys.platform != "linux":
        return total
    return sum(_used(process, "memory_full_info", "pss") for process in processes)


def _used(process: psutil.Process, method: str, field: str) -> float:
    """A figure of a process's memory, in MiB; 0 where it has ended."""
    try:
        return float(getattr(getattr(process, method)(), field) / MIB)
    except psutil.Error:
        return 0.0
