"""Tests of `DaskExecutor`: jobs on a real Dask cluster of several worker processes."""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hostile_jobs
import psutil
import pytest

from optsched.core.errors import OptschedError, UsageError
from optsched.core.processes import DaskExecutor, Limits, Status, executors

SILENT: dict[str, Any] = {"processes": True, "dashboard_address": ":0", "silence_logs": "CRITICAL"}

pytestmark = pytest.mark.usefixtures("distributed")


@pytest.fixture(scope="module")
def distributed() -> Any:
    """The package of Dask's clusters, which takes long to import."""
    return pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def local(distributed: Any) -> Iterator[Any]:
    """A cluster of two worker processes with two threads each."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, **SILENT) as found:
        yield found


def workers_of(local: Any) -> list[int]:
    """The ids of the processes of the workers."""
    from distributed import Client

    with Client(local.scheduler_address, set_as_default=False) as client:
        return list(client.run(os.getpid).values())


@pytest.mark.thorough
def test_outcomes(local: Any) -> None:
    """Tests that each job is contained on its worker: whatever one does, the others are done."""
    hostile = {
        "leaves": (os._exit, 0, "crashed", "ended with exit code 0 before it answered"),
        "hangs": (hostile_jobs.ignore_signals, None, "timed-out", "killed after 8 s"),
        "eats": (hostile_jobs.take_memory, 16, "out-of-memory", "took"),
        "refuses": (hostile_jobs.refuse, None, "failed", "raised hostile_jobs.Refuses"),
        "kills": (hostile_jobs.kill_parent, None, "crashed", "the process that watched over it was killed"),
        "unreadable": (hostile_jobs.answer_unreadable, None, "failed", "its value cannot be read"),
    }
    before = sorted(workers_of(local))
    with DaskExecutor(local.scheduler_address, Limits(8, 400)) as executor:
        for function, job, status, message in hostile.values():
            [(key, outcome)] = executor.map(function, [("key", job)])
            assert (key, outcome.status) == ("key", status)
            assert outcome.message.startswith(message)
        jobs = [(str(number), number) for number in range(60)]
        found = dict(executor.map(hostile_jobs.double, jobs))
        assert {key: outcome.value for key, outcome in found.items()} == {key: 2 * job for key, job in jobs}
        mixed: list[tuple[str, Any]] = [("lock", threading.Lock()), ("two", 2)]
        found = dict(executor.map(hostile_jobs.double, mixed))
        assert found["two"].value == 4
        assert found["lock"].message.startswith("cannot be sent to another process: TypeError")
        with pytest.raises(UsageError, match="cannot be sent to another process"):
            next(executor.map(threading.Lock().acquire, []))
    assert sorted(workers_of(local)) == before, "no worker was hurt"


@pytest.mark.thorough
def test_worker_that_is_killed(local: Any) -> None:
    """Tests that the jobs of a worker that was killed mid-way are run elsewhere: each has its value, once."""
    jobs = [(str(number), number) for number in range(80)]
    with DaskExecutor(local.scheduler_address, Limits(30)) as executor:
        found = []
        for key, outcome in executor.map(hostile_jobs.slow_double, jobs):
            found.append((key, outcome.value))
            if len(found) == 10:
                os.kill(workers_of(local)[0], signal.SIGKILL)
    assert sorted(found, key=lambda entry: int(entry[0])) == [(key, 2 * job) for key, job in jobs]


@pytest.mark.thorough
def test_job_that_kills_its_workers(local: Any) -> None:
    """Tests that a job whose workers die, one after another, is given up, and that the cluster goes on."""
    with DaskExecutor(local.scheduler_address, Limits(60)) as executor:
        [(_, outcome)] = executor.map(hostile_jobs.kill_grandparent, [("bad", None)])
        assert outcome.status is Status.CRASHED
        assert outcome.message == "4 workers in a row died while they had it"
        assert dict(executor.map(hostile_jobs.double, [("good", 4)]))["good"].value == 8


@pytest.mark.thorough
def test_nothing_goes_on_where_nobody_waits(local: Any, tmp_path: Path) -> None:
    """Tests that jobs are ended on their workers where who asked for them is interrupted."""
    notes = [tmp_path / "a", tmp_path / "b"]

    def jobs() -> Iterator[tuple[str, str]]:
        for note in notes:
            yield note.name, str(note)
        while not all(note.exists() and note.read_text() for note in notes):
            time.sleep(0.02)
        raise KeyboardInterrupt

    with DaskExecutor(local.scheduler_address) as executor, pytest.raises(KeyboardInterrupt):
        list(executor.map(hostile_jobs.start_children_and_sleep, jobs()))
    pids = [int(word) for note in notes for word in note.read_text().split()]
    until = time.monotonic() + 20
    while any(map(psutil.pid_exists, pids)):
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.thorough
def test_scheduler_that_is_lost(distributed: Any) -> None:
    """Tests that a scheduler which goes away is one error, and no endless wait."""
    own = distributed.LocalCluster(n_workers=1, threads_per_worker=1, **SILENT)
    with DaskExecutor(own.scheduler_address) as executor:
        found = executor.map(hostile_jobs.slow_double, ((str(number), number) for number in range(10_000)))
        assert next(found)[1].done
        own.close()
        with pytest.raises(OptschedError, match=r"the Dask scheduler at tcp://.* was lost; start it again"):
            list(found)


@pytest.mark.thorough
def test_other_versions(local: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that workers with another version of this package are refused, with both versions and a worker."""
    monkeypatch.setattr("optsched.__version__", "99.0")
    text = r"has other versions than are here: optsched is \S+ and not 99.0 \(worker tcp://\S+\); install the same$"
    with pytest.raises(UsageError, match=text):
        DaskExecutor(local.scheduler_address)


def test_begin_of_versions() -> None:
    """Tests which parts of a version count."""
    assert executors._begin_of("3.11.7", 2) == ["3", "11"]
    assert executors._begin_of("3.11.7", None) == ["3", "11", "7"]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("nonsense", "missing port number"),
        ("foo://x:1", "unknown address scheme 'foo'"),
        ("tcp://127.0.0.1:1", "Connection refused"),
        (17, "expected str"),
    ],
)
def test_address_where_nobody_answers(address: Any, why: str) -> None:
    """Tests that an address that is none, or where nobody is, is reported in one line."""
    with pytest.raises(UsageError, match=f'^no Dask scheduler answers at "{address}".*{why}.*start one') as caught:
        DaskExecutor(address)
    assert "\n" not in str(caught.value)


def test_dask_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the extra is named where it is not installed."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r'pip install "optsched\[dask\]"'):
        DaskExecutor("tcp://127.0.0.1:8786")


@pytest.mark.thorough
def test_server_of_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a server that is no scheduler is reported as such, soon."""
    monkeypatch.setattr(executors, "_ANSWERS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(UsageError, match="no Dask scheduler answers"):
        DaskExecutor(f"tcp://127.0.0.1:{server.getsockname()[1]}")
