"""Tests of `optsched.processes.worker`: what a process that runs jobs answers."""

from __future__ import annotations

import os
import sys
import threading
from multiprocessing import Pipe

import hostile_jobs
import pytest

from optsched.processes import Status, worker
from optsched.processes.handing import hand_over, handing, pack, unpack


@pytest.mark.skipif(sys.platform != "linux", reason="of Linux's kernel")
def test_peak_begins_again() -> None:
    """Tests that the peak forgets what was taken and given back before it began."""
    held = bytearray(b"1" * (64 << 20))
    before = worker.peak_mb()
    del held
    worker.begin_peak()
    after = worker.peak_mb()
    assert before is not None
    assert after is not None
    assert after < before - 50


def answer(function: object, job: object) -> worker.Answer:
    """What is answered to a job."""
    return worker._perform(worker.Surroundings.here(), pack((function, job)))


def test_answers() -> None:
    """Tests what is told of values, of exceptions whatever they are, and of refused memory."""
    done = answer(hostile_jobs.double, 4)
    assert (done.status, unpack(done.value)) == (Status.DONE, 8)
    assert answer(hostile_jobs.refuse, 4).message.startswith("raised hostile_jobs.Refuses")
    assert answer(hostile_jobs.raise_it, SystemExit(2)).status is Status.FAILED
    assert not answer(hostile_jobs.raise_it, KeyboardInterrupt()).reusable
    assert answer(hostile_jobs.answer_unpicklable, 0).message.startswith("its value cannot be sent")
    assert answer(hostile_jobs.wrap_memory_error, 0).status is Status.OUT_OF_MEMORY
    assert answer(int, "x").message == "raised ValueError: invalid literal for int() with base 10: 'x'"


def test_process_with_a_thread_is_used_no_more() -> None:
    """Tests that a process in which a thread was left takes no other job."""
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    assert not answer(hostile_jobs.double, 4).reusable
    ended.set()
    thread.join()


def test_surroundings_are_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that folder, path and environment become those of who asked, but for the mark."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    here = worker.Surroundings.here()
    monkeypatch.setenv("OPTSCHED_TEST_WORD", "set")
    monkeypatch.setenv(worker.MARK, "mine")
    sys.path.append("/nowhere")
    here.enter()
    assert "OPTSCHED_TEST_WORD" not in os.environ
    assert os.environ[worker.MARK] == "mine"
    assert "/nowhere" not in sys.path


def test_worker_ends_with_its_connection() -> None:
    """Tests that a worker says that it is there, ends when nobody can ask any more, and sends nothing from then on."""
    ours, theirs = Pipe()
    serving = threading.Thread(target=lambda: worker.serve(theirs))
    serving.start()
    assert ours.recv() is None
    ours.close()
    serving.join(10)
    assert not serving.is_alive()
    with handing():
        hand_over(lambda: "to nobody")  # to a connection that is closed, before
