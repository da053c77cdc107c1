"""Tests of `optsched.processes.packing`: what goes from process to process."""

from __future__ import annotations

import threading
from multiprocessing import Pipe

import pytest

from optsched.processes.packing import CannotSend, Receiver, pack, send, unpack


class Refuses:
    """Cannot be pickled, and says so in two lines."""

    def __reduce__(self) -> str:
        raise LookupError("not\nme")


@pytest.mark.parametrize("size", [0, 1, 65536, 65537, 3_000_000])
def test_parts_arrive_whole(size: int) -> None:
    """Tests that bytes of any number arrive as they were sent, also where a pipe does not hold them, twice."""
    ours, theirs = Pipe()
    data = bytes(index % 251 for index in range(size))
    sender = threading.Thread(target=lambda: (send(theirs, data), send(theirs, data[::-1])))
    sender.start()
    receiver = Receiver(ours)
    for expected in (data, data[::-1]):
        found = receiver.take()
        while found is None:
            found = receiver.take()
        assert found == expected
    sender.join()
    theirs.close()
    with pytest.raises(EOFError):
        receiver.take()


def test_part_that_is_missing_is_not_waited_for() -> None:
    """Tests that a message of which only a part is there gives nothing yet, instead of blocking."""
    ours, theirs = Pipe()
    theirs.send_bytes((10).to_bytes(8, "big"))
    theirs.send_bytes(b"12345")
    receiver = Receiver(ours)
    assert receiver.take() is None
    theirs.send_bytes(b"67890")
    assert receiver.take() == b"1234567890"


def test_functions_without_a_name_are_sent_with_their_code() -> None:
    """Tests that a function within a function arrives with what it uses."""
    factor = 7
    assert unpack(pack(lambda number: number * factor))(6) == 42


def test_what_cannot_be_pickled_says_why() -> None:
    """Tests that the reason is told, in one line."""
    with pytest.raises(CannotSend, match=r"^LookupError: not me$"):
        pack(Refuses())
    with pytest.raises(CannotSend, match="lock"):
        pack([threading.Lock()])
