"""How functions, jobs and values go between processes: pickled; what is of `__main__` (a notebook) with its code."""

from __future__ import annotations

import pickle
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["CannotSend", "Receiver", "pack", "send", "unpack"]

#: So many bytes go at once: what the buffer of a pipe takes, so that a reader never waits within a part.
_PART = 1 << 16


class CannotSend(Exception):
    """Something cannot be pickled; the text says why."""


def pack(content: Any) -> bytes:
    """What is to be sent, as bytes.

    Raises
    ------
    CannotSend
        If that cannot be.

    Examples
    --------
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
    except Exception as error:  # whatever the object's own code raises
        raise CannotSend(" ".join(f"{type(error).__name__}: {error}".split())) from error


def unpack(data: bytes) -> Any:
    """What was sent; raises whatever the object's own code raises."""
    return pickle.loads(data)


def send(connection: Connection, data: bytes) -> None:
    """Send bytes, in parts."""
    connection.send_bytes(len(data).to_bytes(8, "big"))
    view = memoryview(data)
    for start in range(0, len(data), _PART):
        connection.send_bytes(view[start : start + _PART])


class Receiver:
    """Gathers the parts that `send` sent on a connection, without waiting for those that are not there yet."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._length: int | None = None
        self._data = bytearray()

    def take(self) -> bytes | None:
        """The bytes, once they are whole; None before. To be called where the connection has something.

        Raises
        ------
        EOFError, OSError
            If nobody is at the other end any more.
        """
        while True:
            part = self.connection.recv_bytes()
            if self._length is None:
                self._length = int.from_bytes(part, "big")
            else:
                self._data += part
            if len(self._data) >= self._length:
                whole = bytes(self._data)
                self._length, self._data = None, bytearray()
                return whole
            if not self.connection.poll():
                return None
