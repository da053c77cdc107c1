"""Runs jobs in processes: `run` one job; `LocalExecutor` many on this machine, `DaskExecutor` many on a cluster.

On a cluster each job is contained on the machine of its Dask worker. If a worker dies, Dask runs its jobs on another
one; a job whose workers keep dying gets an outcome. A job has its worker's surroundings: folder, environment, modules,
and those of this process's module folders that exist there.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from uuid import uuid4

from optsched.core.errors import OptschedError, UsageError
from optsched.core.processes.handing import CannotSend, Latest, Receiver, pack, send, unpack
from optsched.core.processes.limits import Limits, Outcome, Status
from optsched.core.processes.supervisor import FORKS, STOP, Answer, Held, Surroundings, start

if TYPE_CHECKING:
    from distributed import Client, Future

Job = TypeVar("Job")

#: Idle processes with the same modules that are kept for reuse, by default.
_KEPT = 2

#: Seconds that a supervisor has to end after its connection is closed; then it is killed.
_ENDS = 10.0

#: Seconds between two checks whether an answer is still wanted, and may still be waited for.
_LOOKS = 0.2

#: The message for something that cannot be pickled, with the mend.
_UNSENT = "cannot be sent to another process"
_MEND = "give what can be pickled, such as a function or class of a module"


def run(
    function: Callable[[Job], Any],
    job: Job,
    limits: Limits | None = None,
    *,
    preload: Sequence[str] = (),
    within: float = math.inf,
    latest: Latest | None = None,
) -> Outcome:
    """Run `function(job)` in its own process, which is killed when it exceeds a limit.

    The function is looked up by its name in the process or, if it is of `__main__`, sent with its code; the job must be
    picklable. Even without limits, a crash or an exception is contained. `preload` names modules that the job needs and
    that take long to import; they are loaded once, and must be trusted. `within` this many seconds from now the job is
    killed, whenever it began. `latest` keeps what the job hands over (`optsched.core.processes.handing`); on Ctrl-C
    such a job has a second to answer.

    UsageError if function or job cannot be sent to another process.

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

    `limits` are those of each job.
    """

    limits: Limits

    def map(
        self, function: Callable[[Job], Any], jobs: Iterable[tuple[str, Job]], limits: Limits | None = None
    ) -> Iterator[tuple[str, Outcome]]:
        """The outcome of each job with its key, as they finish: in any order.

        Keys and jobs are drawn only when they can begin. `limits` replace the executor's for these jobs. UsageError if
        the function cannot be sent to another process.
        """
        _packed(function, None)  # a function that cannot be pickled raises here, once
        source = iter(jobs)
        busy: dict[Any, str] = {}
        found: deque[tuple[str, Outcome]] = deque()
        try:
            while True:
                while len(busy) + len(found) < self._room() and (entry := next(source, None)) is not None:
                    key, job = entry
                    try:
                        busy[self._begun(pack((function, job)), limits or self.limits)] = key
                    except CannotSend as error:
                        found.append((key, _unsent(error)))
                if found:
                    yield found.popleft()
                elif busy:
                    found += ((busy.pop(begun), outcome) for begun, outcome in self._ended(list(busy)))
                else:
                    return
        finally:
            self._abandon(list(busy))

    @abstractmethod
    def _room(self) -> int:
        """How many jobs may run at once."""

    @abstractmethod
    def _begun(self, packed: bytes, limits: Limits) -> Any:
        """Start a job and return it."""

    @abstractmethod
    def _ended(self, begun: Sequence[Any]) -> Iterable[tuple[Any, Outcome]]:
        """The jobs that have ended, each with its outcome, after a short wait."""

    @abstractmethod
    def _abandon(self, begun: Sequence[Any]) -> None:
        """Give these jobs up: nobody waits for them any more."""

    @abstractmethod
    def close(self) -> None:
        """End the processes of the jobs, except those that belong to others."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class LocalExecutor(Executor):
    """Runs jobs in processes of this machine.

    At most `workers` jobs run at once; UsageError if it is no whole number above 0. `limits` apply to each job, and
    `preload` is as for `run`.

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
        self._idle: list[_Supervised] = []
        self._session = uuid4().hex

    def run(
        self,
        function: Callable[[Job], Any],
        job: Job,
        limits: Limits | None = None,
        within: float = math.inf,
        latest: Latest | None = None,
    ) -> Outcome:
        """The outcome of one job, in a process of this executor; a job that cannot be sent has failed, as in `map`."""
        try:
            return self.run_packed(pack((function, job)), limits, within, latest)
        except CannotSend as error:
            return _unsent(error)

    def run_packed(
        self, packed: bytes, limits: Limits | None = None, within: float = math.inf, latest: Latest | None = None
    ) -> Outcome:
        """The same for function and job packed by `pack`."""
        asked = packed, limits or self.limits, Surroundings.here(), self._session, within
        return outcome_of(_answered(self._free(), self._idle.append, asked, latest))

    def _free(self) -> _Supervised:
        """A process without a job."""
        return _living(self._idle) or _spared(self._preload)

    def _room(self) -> int:
        return self.workers

    def _begun(self, packed: bytes, limits: Limits) -> _Supervised:
        supervised = self._free()
        supervised.ask(packed, limits, Surroundings.here(), self._session)
        return supervised

    def _ended(self, begun: Sequence[_Supervised]) -> Iterator[tuple[_Supervised, Outcome]]:
        by_connection = {supervised.connection: supervised for supervised in begun}
        for connection in wait(list(by_connection)):
            assert isinstance(connection, Connection)
            supervised = by_connection[connection]
            answered = supervised.take()
            if answered is not None:
                supervised.leave_to(self._idle.append)
                yield supervised, outcome_of(answered)

    def _abandon(self, begun: Sequence[_Supervised]) -> None:
        for supervised in begun:
            supervised.close()

    def close(self) -> None:
        """End the processes of the jobs; a few supervisors are kept for reuse."""
        while self._idle:
            supervised = self._idle.pop()
            supervised.rest()
            _keep(supervised)


def _unsent(error: CannotSend) -> Outcome:
    return Outcome(Status.FAILED, message=f"{_UNSENT}: {error}; {_MEND}")


def _packed(function: Callable[[Any], Any], job: Any) -> bytes:
    try:
        return pack((function, job))
    except CannotSend as error:
        name = getattr(function, "__qualname__", repr(function))
        raise UsageError(f"{name} and what it is run on {_UNSENT}: {error}; {_MEND}") from error


class _Supervised:
    """The caller's side of a process that supervises jobs."""

    def __init__(self, preload: Sequence[str]) -> None:
        self.preload = tuple(preload)
        self.lost = False
        self.held: list[bytes] = []
        self._began, self._late = False, False
        self.process, self.connection = start("optsched.core.processes.supervisor", "main")
        self._receiver = Receiver(self.connection)
        with contextlib.suppress(OSError):  # reported when the answer is due
            self.connection.send((self.preload, FORKS))

    def ask(
        self, packed: bytes, limits: Limits, surroundings: Surroundings, session: str, within: float = math.inf
    ) -> None:
        """Start a job, in a process that has only run jobs of this session.

        The deadline is passed as an instant, since all processes of a machine share the monotonic clock.
        """
        self.held, until = [], time.monotonic() + within
        if within < math.inf:  # nobody may be there to read the job
            while not self._began and (left := until - time.monotonic()) > 0:
                if self.connection.poll(min(left, _LOOKS)):
                    self.take()
            self._late = not self._began
            if self._late:
                return
        job = pickle.dumps((surroundings, limits.memory_mb, packed))
        with contextlib.suppress(OSError):  # it has ended, as `take` will see
            send(self.connection, pickle.dumps((limits, until, session, job)))

    def answer(self, latest: Latest | None = None, unwanted: Callable[[], bool] = lambda: False) -> Answer:
        """The answer, however long it takes; what was handed over before is in `latest`.

        KeyboardInterrupt on Ctrl-C. With a `latest`, only if the job then does not answer soon, or on a second Ctrl-C.
        `unwanted` is called now and then; if it says that nobody waits any more, _Unwanted is raised.
        """
        try:
            return self._awaited(latest, unwanted)
        except KeyboardInterrupt:
            if latest is None:
                raise
            with contextlib.suppress(OSError):
                send(self.connection, STOP)
            answered = self._awaited(latest, unwanted)
            if not answered.done:
                raise
            return answered

    def _awaited(self, latest: Latest | None, unwanted: Callable[[], bool]) -> Answer:
        if self._late:  # no job was sent to it
            self.process.kill()
            self.lost = True
            return Answer(Status.TIMED_OUT, message="no process could be started in time")
        while True:
            if self.connection.poll(_LOOKS):  # Ctrl-C arrives here, and not within a message
                answered = self.take()
                if latest is not None:
                    latest.data = self.held
                if answered is not None:
                    return answered
            elif unwanted():
                raise _Unwanted

    def rest(self) -> None:
        """End the process that runs its jobs, with everything that they left there."""
        with contextlib.suppress(OSError):
            send(self.connection, pickle.dumps(None))

    def take(self) -> Answer | None:
        """The answer once it is there; None before, after a wait for one part.

        OptschedError if the process could not start.
        """
        try:
            packed = self._receiver.take()
        except (EOFError, OSError):
            self.lost = True
            if not self._began:
                message = "a process for runs could not be started; what it wrote on stderr says why"
                raise OptschedError(message) from None
            return Answer(Status.CRASHED, message="the process that watched over it was killed")
        if packed is None:
            return None
        if not self._began:
            self._began = True
            return None
        answered: Answer | Held = pickle.loads(packed)
        if isinstance(answered, Held):
            self.held = [*(self.held if answered.more else ()), answered.value]
            return None
        return answered

    def leave_to(self, keep: Callable[[_Supervised], object]) -> None:
        """Let `keep` keep it for another job, unless it was lost."""
        if self.lost:
            self.close()
        else:
            keep(self)

    def close(self) -> None:
        """End it, its current job, and all processes that the job started."""
        self.connection.close()
        try:
            self.process.wait(_ENDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class _Unwanted(Exception):
    """Nobody waits for the answer any more."""


def _answered(
    supervised: _Supervised,
    keep: Callable[[_Supervised], object],
    asked: tuple[Any, ...],
    latest: Latest | None = None,
    unwanted: Callable[[], bool] = lambda: False,
) -> Answer:
    """The answer of a process to a job (`ask`, then `answer`); the process is kept unless something failed."""
    try:
        supervised.ask(*asked)
        answer = supervised.answer(latest, unwanted)
    except BaseException:
        supervised.close()
        raise
    supervised.leave_to(keep)
    return answer


def _living(idle: list[_Supervised]) -> _Supervised | None:
    """One of the idle processes that is still alive, taken out; None if there is none."""
    while idle:
        supervised = idle.pop()
        if supervised.process.poll() is None:
            return supervised
        supervised.close()
    return None


def outcome_of(answer: Answer) -> Outcome:
    """The outcome of an answer: its value is unpickled here."""
    outcome = Outcome(answer.status, None, answer.message, answer.seconds, answer.peak_mb, answer.traceback)
    if not answer.done:
        return outcome
    try:
        return replace(outcome, value=unpack(answer.value))
    except Exception as error:  # anything that the value's own code raises
        return replace(
            outcome, status=Status.FAILED, message=f"its value cannot be read: {type(error).__name__}: {error}"
        )


#: Idle processes for reuse, by the modules that they have loaded.
_spare: dict[tuple[str, ...], list[_Supervised]] = {}
_lock = threading.Lock()


def _spared(preload: tuple[str, ...]) -> _Supervised:
    """A process that has loaded these modules: a kept one, or a new one."""
    with _lock:
        found = _living(_spare.get(preload, []))
    return found or _Supervised(preload)


def _keep(supervised: _Supervised, most: int = _KEPT) -> None:
    """Keep an idle process for the next job, up to `most` of them."""
    with _lock:
        kept = _spare.setdefault(supervised.preload, [])
        if len(kept) < most:
            kept.append(supervised)
            return
    supervised.close()


@atexit.register
def _end_spare() -> None:
    while _spare:
        for supervised in _spare.popitem()[1]:
            supervised.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_spare.clear)  # they serve the process that started them


# On a cluster ---------------------------------------------------------------------------------------------------------


#: Seconds in which a scheduler must answer, and between two checks whether it still does.
_ANSWERS, _ASKS = 10.0, 1.0

#: Packages that must have the same version there as here, with how many parts of the version count; None: all.
_SAME = {"python": 2, "optsched": None, "dask": None, "distributed": None, "cloudpickle": 1, "numpy": 1}


class DaskExecutor(Executor):
    """Runs jobs on a Dask cluster.

    `address` is that of the scheduler, such as `tcp://10.0.0.1:8786`; `limits` and `preload` are as for `run`, on the
    workers. UsageError if Dask is not installed, nobody answers at the address, or a worker has other versions than
    this process.
    """

    def __init__(self, address: str, limits: Limits | None = None, *, preload: Sequence[str] = ()) -> None:
        self.address, self.limits = address, limits or Limits()
        self._preload = tuple(preload)
        self._session = uuid4().hex
        self._client = _connected(address)
        self._done: SimpleQueue[Future[Any]] = SimpleQueue()
        self._most, self._asked_at = 0, -math.inf
        try:
            _check_same(self._client, address)
        except BaseException:
            self.close()
            raise

    def _room(self) -> int:
        """How many jobs the cluster may have: one for each thread of its workers, and one that waits."""
        if time.monotonic() > self._asked_at + _ASKS:  # workers come and go
            try:
                self._most = 2 * max(1, sum(map(int, self._client.nthreads().values())))
            except OSError:
                raise OptschedError(self._lost) from None
            self._asked_at = time.monotonic()
        return self._most

    def _begun(self, packed: bytes, limits: Limits) -> Future[Any]:
        asked = (packed, limits, self._preload, tuple(sys.path), self._session)
        future = self._client.submit(_answer, *asked, pure=False)
        future.add_done_callback(self._done.put)
        return future

    def _ended(self, begun: Sequence[Future[Any]]) -> Iterator[tuple[Future[Any], Outcome]]:
        with contextlib.suppress(Empty):
            future = self._done.get(timeout=_ASKS)
            if future in begun:  # not of an earlier call that was cut short
                yield future, self._outcome(future)
            return
        if self._client.status != "running":
            raise OptschedError(self._lost)

    def _abandon(self, begun: Sequence[Future[Any]]) -> None:
        if begun and self._client.status == "running":
            with contextlib.suppress(OSError):
                self._client.cancel(begun, force=True)

    @property
    def _lost(self) -> str:
        return f"the Dask scheduler at {self.address} was lost; start it again, and go on from what there is"

    def _outcome(self, future: Future[Any]) -> Outcome:
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        try:
            answer = future.result()
        except KilledWorker as error:
            message = f"{error.allowed_failures + 1} workers in a row died while they had it"
            return Outcome(Status.CRASHED, message=message)
        except CancelledError:
            raise OptschedError(self._lost) from None
        return outcome_of(answer)

    def close(self) -> None:
        """Disconnect from the cluster, which continues."""
        self._client.close()


def _answer(packed: bytes, limits: Limits, preload: tuple[str, ...], path: tuple[str, ...], session: str) -> Answer:
    """The worker's part: run the job in another process, with those module folders of `path` that exist."""
    here = Surroundings.here()
    further = [folder for folder in path if folder not in here.path and os.path.isdir(folder)]
    asked = packed, limits, replace(here, path=(*here.path, *further)), session
    return _answered(_spared(preload), lambda held: _keep(held, os.cpu_count() or 1), asked, unwanted=_unwanted)


def _unwanted() -> bool:
    """Whether nobody waits any more for the job of this worker's thread."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled"


def _connected(address: str) -> Client:
    """The client of the scheduler at the address."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    try:
        from distributed import Client
        from distributed.comm import connect, get_address_host_port
        from distributed.versions import VersionMismatchWarning
    except ImportError:
        message = "a Dask cluster needs distributed, which is not installed"
        raise UsageError(f'{message}: pip install "optsched[dask]"') from None

    async def greeted() -> None:
        """Connect and disconnect; OSError if the server speaks another language."""
        comm = await asyncio.wait_for(connect(address, timeout=_ANSWERS), _ANSWERS)
        await comm.close()

    try:
        with socket.create_connection(get_address_host_port(address), _ANSWERS):
            pass
        with ThreadPoolExecutor(1) as thread:  # Dask's own client gives up late, and a notebook has a loop
            thread.submit(asyncio.run, greeted()).result()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VersionMismatchWarning)  # `_check_same` reports what matters
            return Client(address, timeout=_ANSWERS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:  # TypeError: an address that is no text
        reason = " ".join(str(error).split()) or f"nothing was said in {_ANSWERS:g} s"
        mend = "start one (dask scheduler), or mend the address, such as tcp://10.0.0.1:8786"
        raise UsageError(f'no Dask scheduler answers at "{address}" ({reason}): {mend}') from None


def _check_same(client: Client, address: str) -> None:
    """Raise UsageError if a worker has other versions than this process.

    Workers look its functions up by name, and this process unpickles their values.
    """

    def installed() -> dict[str, str | None]:  # within a function, so that it is sent with its code
        import importlib
        import platform

        found: dict[str, str | None] = {"python": platform.python_version()}
        for name in ("optsched", "dask", "distributed", "cloudpickle", "numpy"):
            try:
                found[name] = str(importlib.import_module(name).__version__)
            except ImportError:
                found[name] = None
        return found

    here = installed()
    lines: dict[str, str] = {}
    for worker, there in sorted(client.run(installed).items()):
        for name, parts in _SAME.items():
            ours, theirs = here[name], there[name]
            if theirs is None or _begin_of(theirs, parts) != _begin_of(str(ours), parts):
                lines.setdefault(f"{name} is {theirs or 'not installed'} and not {ours}", worker)
    if lines:
        others = "; ".join(f"{line} (worker {worker})" for line, worker in lines.items())
        raise UsageError(f"the Dask cluster at {address} has other versions than are here: {others}; install the same")


def _begin_of(version: str, parts: int | None) -> list[str]:
    return version.split(".")[:parts]
