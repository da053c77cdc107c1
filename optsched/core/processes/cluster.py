"""Jobs on a Dask cluster (`dask.distributed`), each contained on the machine of the worker that Dask gives it to.

Dask runs the jobs of a worker that died elsewhere; one whose workers keep dying is an outcome. What a job finds around
it is the worker's: its folder, its environment, its modules, and such folders of modules from here as exist there.
"""

from __future__ import annotations

import asyncio
import math
import os
import socket
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from optsched.core.errors import OptschedError, UsageError
from optsched.core.processes.limits import Limits, Outcome, Status
from optsched.core.processes.local import Executor, answer_to, outcome_of
from optsched.core.processes.supervisor import Answer, Surroundings

if TYPE_CHECKING:
    from distributed import Client, Future

Job = TypeVar("Job")

#: Seconds in which a scheduler must answer, and between two looks at whether it still does.
_ANSWERS, _LOOKS = 10.0, 1.0

#: Packages that must be the same there as here, with the number of parts of their version that count; None: all.
_SAME = {"python": 2, "optsched": None, "dask": None, "distributed": None, "cloudpickle": 1, "numpy": 1}


class DaskExecutor(Executor):
    """Runs jobs on a Dask cluster.

    `address` is that of the scheduler, such as `tcp://10.0.0.1:8786`; `limits` and `preload` are as for `run`, on the
    workers. UsageError if Dask is not installed, nobody answers at the address, or a worker has other versions than are
    here.
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
        """How many jobs are with the cluster at most: one for each thread of its workers, and one that waits."""
        if time.monotonic() > self._asked_at + _LOOKS:  # workers come and go
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
        with suppress(Empty):
            future = self._done.get(timeout=_LOOKS)
            if future in begun:  # and not of an earlier call, which was broken off
                yield future, self._outcome(future)
            return
        if self._client.status != "running":
            raise OptschedError(self._lost)

    def _abandon(self, begun: Sequence[Future[Any]]) -> None:
        if begun and self._client.status == "running":
            with suppress(OSError):
                self._client.cancel(begun, force=True)

    @property
    def _lost(self) -> str:
        return f"the Dask scheduler at {self.address} was lost; start it again, and go on from what there is"

    def _outcome(self, future: Future[Any]) -> Outcome:
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
        """Leave the cluster, which runs on."""
        self._client.close()


def _answer(packed: bytes, limits: Limits, preload: tuple[str, ...], path: tuple[str, ...], session: str) -> Answer:
    """What a worker does: have the job run in another process, with the folders of modules of `path` that exist."""
    here = Surroundings.here()
    further = [folder for folder in path if folder not in here.path and os.path.isdir(folder)]
    return answer_to(packed, limits, preload, replace(here, path=(*here.path, *further)), session, _unwanted)


def _unwanted() -> bool:
    """Whether nobody waits for what this thread of a worker is at any more."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled"


def _connected(address: str) -> Client:
    """The worker at the address."""
    try:
        from distributed import Client
        from distributed.comm import get_address_host_port
        from distributed.versions import VersionMismatchWarning
    except ImportError:
        message = "a Dask cluster needs distributed, which is not installed"
        raise UsageError(f'{message}: pip install "optsched[dask]"') from None
    try:
        with socket.create_connection(get_address_host_port(address), _ANSWERS):
            pass
        with ThreadPoolExecutor(1) as thread:  # Dask's own client is long in giving up, and a notebook has a loop
            thread.submit(asyncio.run, _greeted(address)).result()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VersionMismatchWarning)  # `_check_same` reports what matters
            return Client(address, timeout=_ANSWERS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:  # TypeError: an address that is no text
        reason = " ".join(str(error).split()) or f"nothing was said in {_ANSWERS:g} s"
        mend = "start one (dask scheduler), or mend the address, such as tcp://10.0.0.1:8786"
        raise UsageError(f'no Dask scheduler answers at "{address}" ({reason}): {mend}') from None


async def _greeted(address: str) -> None:
    """Connect and part again; OSError where the server speaks another language."""
    from distributed.comm import connect

    comm = await asyncio.wait_for(connect(address, timeout=_ANSWERS), _ANSWERS)
    await comm.close()


def _check_same(client: Client, address: str) -> None:
    """Raise UsageError where a worker has other versions than are here.

    Its functions are found by their names, and its values are read here.
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
