"""Jobs in processes of this machine: one by `run`, many by `LocalExecutor`."""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import pickle
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

from optsched.core.errors import OptschedError, UsageError
from optsched.core.processes.handing import CannotSend, Latest, Receiver, pack, send, unpack
from optsched.core.processes.limits import Limits, Outcome, Status
from optsched.core.processes.supervisor import FORKS, STOP, Answer, Held, Surroundings, start

Job = TypeVar("Job")

#: Idle processes with the same modules that are kept for reuse, by default.
_KEPT = 2

#: Seconds in which a supervisor ends once its connection is closed; then it is killed.
_ENDS = 10.0

#: Seconds between two looks at whether an answer is still wanted, and may still be waited for.
_LOOKS = 0.2

#: What is wrong with what cannot be pickled, and what to do.
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
    """Run `function(job)` in a process of its own, which is killed when a limit is passed.

    The function is found again by its name, or, where it is of `__main__`, sent with its code; the job can be pickled.
    Without limits, what crashes or raises is contained all the same. `preload` are modules that the job needs and that
    take long to import; they are loaded once, and are trusted. `within` so many seconds from now it is killed, whenever
    it began. `latest` keeps what the job hands over (`optsched.core.processes.handing`); on Ctrl-C such a job has
    a second to answer.

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


def answer_to(
    packed: bytes,
    limits: Limits,
    preload: Sequence[str],
    surroundings: Surroundings,
    session: str,
    unwanted: Callable[[], bool],
) -> Answer:
    """The answer to a job that another machine sent, packed.

    `packed` are function and job, by `pack`. Jobs with the same `session` may be run in the same process, one after
    another. `unwanted` is asked now and then; the job is killed, and Unwanted raised, where it says so.
    """
    supervised, usable = _spared(tuple(preload)), False
    try:
        supervised.ask(packed, limits, surroundings, session)
        while True:
            if supervised.connection.poll(_LOOKS):
                answered = supervised.take()
                if answered is not None:
                    usable = not supervised.lost
                    return answered
            elif unwanted():
                raise Unwanted
    finally:
        if usable:
            _keep(supervised, os.cpu_count() or 1)
        else:
            supervised.close()


class Unwanted(Exception):
    """Nobody waits for the answer any more."""


class Executor(ABC):
    """Runs jobs, each contained.

    `limits` are those of each job.
    """

    limits: Limits

    def map(
        self, function: Callable[[Job], Any], jobs: Iterable[tuple[str, Job]], limits: Limits | None = None
    ) -> Iterator[tuple[str, Outcome]]:
        """The outcome of each job with its key, as they come: in any order.

        Keys and jobs are drawn when they can begin, not before. `limits` are of these jobs, if not those of all.
        UsageError if the function cannot be sent to another process.
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
        """How many jobs may be on at once."""

    @abstractmethod
    def _begun(self, packed: bytes, limits: Limits) -> Any:
        """A job that has begun."""

    @abstractmethod
    def _ended(self, begun: Sequence[Any]) -> Iterable[tuple[Any, Outcome]]:
        """Those of the jobs that have ended, each with its outcome, after waiting for a while."""

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


class LocalExecutor(Executor):
    """Runs jobs in processes of this machine.

    So many `workers` run jobs at once; UsageError if it is no whole number above 0. `limits` are of each job, and
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
        """What comes of one job, in a process of this executor; one that cannot be sent has failed, as in `map`."""
        try:
            return self.run_packed(pack((function, job)), limits, within, latest)
        except CannotSend as error:
            return _unsent(error)

    def run_packed(
        self, packed: bytes, limits: Limits | None = None, within: float = math.inf, latest: Latest | None = None
    ) -> Outcome:
        """The same of function and job by `pack`."""
        supervised = _living(self._idle) or _spared(self._preload)
        usable = False
        try:
            supervised.ask(packed, limits or self.limits, Surroundings.here(), self._session, within)
            answered = supervised.answer(latest)
            usable = not supervised.lost
        finally:
            if usable:
                self._idle.append(supervised)
            else:
                supervised.close()
        return outcome_of(answered)

    def _room(self) -> int:
        return self.workers

    def _begun(self, packed: bytes, limits: Limits) -> _Supervised:
        supervised = _living(self._idle) or _spared(self._preload)
        supervised.ask(packed, limits, Surroundings.here(), self._session)
        return supervised

    def _ended(self, begun: Sequence[_Supervised]) -> Iterator[tuple[_Supervised, Outcome]]:
        by_connection = {supervised.connection: supervised for supervised in begun}
        for connection in wait(list(by_connection)):
            assert isinstance(connection, Connection)
            supervised = by_connection[connection]
            answered = supervised.take()
            if answered is not None:
                if supervised.lost:
                    supervised.close()
                else:
                    self._idle.append(supervised)
                yield supervised, outcome_of(answered)

    def _abandon(self, begun: Sequence[_Supervised]) -> None:
        for supervised in begun:
            supervised.close()

    def close(self) -> None:
        """End the processes of the jobs; a few of those that watched over them are kept for others to use."""
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
    """A process that supervises jobs, as who asks for them holds it."""

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
        """Have a job done, in a process that only jobs of this session had.

        The deadline is passed as an instant, since all processes of a machine share the monotonic clock.
        """
        self.held, until = [], time.monotonic() + within
        if within < math.inf:  # a job that nobody reads might be waited with for long
            while not self._began and (left := until - time.monotonic()) > 0:
                if self.connection.poll(min(left, _LOOKS)):
                    self.take()
            self._late = not self._began
            if self._late:
                return
        job = pickle.dumps((surroundings, limits.memory_mb, packed))
        with contextlib.suppress(OSError):  # it has ended, as `take` will see
            send(self.connection, pickle.dumps((limits, until, session, job)))

    def answer(self, latest: Latest | None = None) -> Answer:
        """The answer, however long it takes; what was handed over before is in `latest`.

        KeyboardInterrupt on Ctrl-C; where there is a `latest`, if the job does not answer soon then, or on a second
        Ctrl-C.
        """
        try:
            return self._awaited(latest)
        except KeyboardInterrupt:
            if latest is None:
                raise
            with contextlib.suppress(OSError):
                send(self.connection, STOP)
            answered = self._awaited(latest)
            if not answered.done:
                raise
            return answered

    def _awaited(self, latest: Latest | None) -> Answer:
        if self._late:  # it has been asked for nothing
            self.process.kill()
            self.lost = True
            return Answer(Status.TIMED_OUT, message="no process could be started in time")
        while True:
            if self.connection.poll(_LOOKS):  # Ctrl-C comes here, and not within a message
                answered = self.take()
                if latest is not None:
                    latest.data = self.held
                if answered is not None:
                    return answered

    def rest(self) -> None:
        """End the process that it runs jobs in, with what these have left there."""
        with contextlib.suppress(OSError):
            send(self.connection, pickle.dumps(None))

    def take(self) -> Answer | None:
        """The answer, once it is there; None while it is not, after waiting for a part.

        OptschedError if the process could not begin.
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

    def close(self) -> None:
        """End it, the job that it may be at, and all that this has started."""
        self.connection.close()
        try:
            self.process.wait(_ENDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _living(idle: list[_Supervised]) -> _Supervised | None:
    """One of the idle processes that still lives, taken out; None where there is none."""
    while idle:
        supervised = idle.pop()
        if supervised.process.poll() is None:
            return supervised
        supervised.close()
    return None


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


#: Idle processes that may be used again, by what they have loaded.
_spare: dict[tuple[str, ...], list[_Supervised]] = {}
_lock = threading.Lock()


def _spared(preload: tuple[str, ...]) -> _Supervised:
    """A process that has loaded these modules: one that was kept, or a new one."""
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
