"""Hands over a job's best result so far to its caller, who keeps it if the job is killed.

A job enables this with `handing`; code that it runs may then `hand_over`. Elsewhere `hand_over` does nothing.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from multiprocessing.connection import Connection
from typing import Any

from optsched.core.deadline import holding

# Functions, jobs and values are sent between processes pickled; those of `__main__` with their code -------------------

#: Bytes that are sent at once: as many as a pipe buffers, so that a reader never waits within a part.
_PART = 1 << 16


class CannotSend(Exception):
    """Something cannot be pickled; the text says why."""


def pack(content: Any) -> bytes:
    """An object as bytes for another process.

    CannotSend if that is impossible.

    >>> unpack(pack(lambda number: number + 1))(2)
    3
    >>> pack(open)  == pack(open)
    True
    """
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL))
    except MemoryError:
        raise
    except Exception as error:  # anything that the object's own code raises
        raise CannotSend(" ".join(f"{type(error).__name__}: {error}".split())) from error


def unpack(data: bytes) -> Any:
    """The object that was sent; raises what its own code raises."""
    return pickle.loads(data)


def send(connection: Connection, data: bytes) -> None:
    """Send bytes, in parts."""
    connection.send_bytes(len(data).to_bytes(8, "big"))
    view = memoryview(data)
    for start in range(0, len(data), _PART):
        connection.send_bytes(view[start : start + _PART])


class Receiver:
    """Collects the parts that `send` sent on a connection, without waiting for parts that are not there yet."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._length: int | None = None
        self._data = bytearray()

    def take(self) -> bytes | None:
        """The bytes, once they are complete; None before. Call it only if the connection has something.

        EOFError or OSError if nobody is at the other end any more.
        """
        while True:
            part = self.connection.recv_bytes()
            if self._length is None:
                self._length = int.from_bytes(part, "big")
            else:
                self._data += part
            if len(self._data) >= self._length:
                message = bytes(self._data)
                self._length, self._data = None, bytearray()
                return message
            if not self.connection.poll():
                return None


_handing: ContextVar[bool] = ContextVar("optsched hands over", default=False)

#: Receives the decisions that an engine finds during its search.
_take: ContextVar[Callable[[Any], None] | None] = ContextVar("optsched takes on the way", default=None)

#: Sends what is handed over; empty if this process has no receiver.
_send: list[Callable[[bytes, bool], None]] = []


class Latest:
    """The caller's copy of what a job handed over."""

    def __init__(self) -> None:
        self.data: list[bytes] = []

    @property
    def value(self) -> Any:
        """What was handed over last; None if nothing was."""
        values = self.values
        return values[-1] if values else None

    @property
    def values(self) -> list[Any]:
        """Everything that was handed over, if each was `more`."""
        return list(map(unpack, self.data))


@contextmanager
def to(send: Callable[[bytes, bool], None]) -> Iterator[None]:
    """In this process, which runs jobs, send what is handed over by `send`: bytes, and whether they are `more`."""
    _send[:] = [send]
    try:
        yield
    finally:
        _send.clear()


def handing() -> AbstractContextManager[None]:
    """Hand over to the caller of the job what is reported within the block."""
    return holding(_handing, True)


@contextmanager
def unheard() -> Iterator[None]:
    """Hand over nothing within the block, so that what was handed over before stays.

    >>> with handing(), taking(print), unheard():
    ...     hand_over(lambda: 1 / 0)
    ...     taken(abs) is None
    True
    """
    with holding(_handing, False), holding(_take, None):
        yield


def hand_over(value: Callable[[], Any], more: bool = False) -> None:
    """Hand over a job's result so far.

    `value` makes it, and is called only if somebody waits for it; it must be picklable. With `more` it is added to what
    was handed over before; otherwise it replaces that.

    >>> hand_over(lambda: 1 / 0)  # nobody waits
    """
    if _handing.get():
        for send in _send:
            send(pack(value()), more)


def taking(take: Callable[[Any], None]) -> AbstractContextManager[None]:
    """In a job that hands over, give `take` what engines find within the block; elsewhere nobody gets it."""
    return holding(_take, take if _handing.get() else None)


def taken(read: Callable[[Any], Any]) -> Callable[[Any], None] | None:
    """A function that an engine calls with each better answer during its search; None if no caller waits for that.

    `read` decodes such an answer; if it returns None, the answer is skipped.

    >>> with handing(), taking(print):
    ...     taken(abs)(-1)
    1
    >>> taken(abs) is None
    True
    """
    take = _take.get()
    if take is None:
        return None

    def tell(answer: Any) -> None:
        decision = read(answer)
        if decision is not None:
            take(decision)

    return tell
