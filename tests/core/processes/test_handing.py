"""Tests of `optsched.core.processes.handing`: what a job holds is left where it is killed or interrupted."""

import os
import signal
import threading
import time
from multiprocessing import Pipe

import pytest

from optsched.core.processes import Status, run
from optsched.core.processes.containing import call
from optsched.core.processes.handing import (
    CannotSend,
    Latest,
    Receiver,
    hand_over,
    handing,
    pack,
    send,
    taken,
    taking,
)


def count_and_end(more: bool) -> None:
    """Hands over 1, 2 and 3, and ends without an answer."""
    with handing():
        for number in (1, 2, 3):
            hand_over(lambda number=number: number, more)
    os._exit(0)


def hold_out(answer: str | None) -> str:
    """Hands over, and answers when it is to stop, or not even then; it may be told to at once after handing over."""
    while True:
        try:
            hand_over(lambda: "held")
            time.sleep(60)
        except KeyboardInterrupt:
            if answer is not None:
                return answer


def interrupt_once_held(latest: Latest) -> None:
    """Presses Ctrl-C once something was handed over."""

    def press() -> None:
        while not latest.data:
            time.sleep(0.005)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()


@pytest.mark.parametrize(("more", "values"), [(False, [3]), (True, [1, 2, 3])])
def test_what_was_handed_over_is_left(more: bool, values: list[int]) -> None:
    """Tests that the last of what was handed over is there, or all of it, and nothing of the job before."""
    latest = Latest()
    assert run(count_and_end, more, latest=latest).status is Status.CRASHED
    assert (latest.values, latest.value) == (values, 3)
    assert run(abs, -1, latest=latest).value == 1
    assert latest.value is None


def test_nothing_is_made_for_nobody() -> None:
    """Tests that what would be handed over is not even made where nobody waits for it."""
    made: list[int] = []
    hand_over(lambda: made.append(1))
    assert not made
    assert call(hand_over_and_tell, None).value == 0
    assert call(hand_over_and_tell, None, latest=Latest()).value == 1


def hand_over_and_tell(_job: object) -> int:
    """How often what is handed over was made."""
    made: list[int] = []
    hand_over(lambda: made.append(1))
    return len(made)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows tells no process of Ctrl-C")
def test_interrupted_job_may_answer() -> None:
    """Tests that a job that hands over may answer on Ctrl-C, and that one which does not leaves what it held."""
    latest = Latest()
    interrupt_once_held(latest)
    try:
        assert call(hold_out, "answer", latest=latest).value == "answer"
    except KeyboardInterrupt:  # would end the tests, and not this one alone
        pytest.fail("what the job answered on Ctrl-C was not taken")
    latest = Latest()
    interrupt_once_held(latest)
    with pytest.raises(KeyboardInterrupt):
        call(hold_out, None, latest=latest)
    assert latest.value == "held"


def test_what_is_found_on_the_way_is_taken_where_somebody_waits() -> None:
    """Tests that nobody takes it but within a job that hands over, and nothing where it stands for nothing."""
    found: list[int] = []
    with taking(found.append):
        assert taken(abs) is None
    with handing():
        assert taken(abs) is None
        with taking(found.append):
            tell = taken(lambda value: value or None)
            assert tell is not None
            tell(3)
            tell(0)
        assert taken(abs) is None
    assert found == [3]


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


def test_what_cannot_be_pickled_says_why() -> None:
    """Tests that the reason is reported, in one line."""
    with pytest.raises(CannotSend, match=r"^LookupError: not me$"):
        pack(Refuses())
    with pytest.raises(CannotSend, match="lock"):
        pack([threading.Lock()])
