"""Sweeps from beginning to end: in processes, killed and resumed, two at once, with heuristics that misbehave."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import ENVIRONMENT
from sweeps import InProcess, contents, count, memory_folder, small_plan

import optsched
from optsched.core.errors import InputError, UsageError
from optsched.core.fingerprint import code_version
from optsched.measuring.studies.choices import Family
from optsched.measuring.sweeping import executing
from optsched.measuring.sweeping.executing import Agenda, Steps, carry_out, executor_of, to_do
from optsched.measuring.sweeping.plans import digest_of, planned
from optsched.measuring.sweeping.store import Store, check_store, load_sweep
from optsched.processes import Limits, LocalExecutor


def test_a_sweep_in_processes(tmp_path: Path) -> None:
    """Tests that results of processes are those of this one, and that the second call computes nothing."""
    drawn = Family("lsap", range(2), {"nodes": 4, "tasks": 5})
    for _ in range(2):
        found = optsched.sweep(tmp_path / "a.sqlite", drawn, "lsap", ["lsap-sched", "rand"], 2, workers=2)
        assert (len(found), found.finished) == (8, True)
    carry_out(small_plan(), tmp_path / "b.sqlite", InProcess())
    assert contents(tmp_path / "a.sqlite") == contents(tmp_path / "b.sqlite")
    with Store(tmp_path / "a.sqlite") as store:
        first, second = store.rows("SELECT * FROM sweeps")
        assert {row["sweep"] for row in store.rows("SELECT sweep FROM runs")} == {first["id"]}
    assert first["plan"] == second["plan"]
    assert first["outcome"] == second["outcome"] == "finished"
    assert json.loads(first["versions"])["optsched"] == code_version()


def test_time_limits_are_kept_and_are_no_key(tmp_path: Path) -> None:
    """Tests that a run that was cut short is computed again with more time where that is asked for, and only then."""
    path, family = tmp_path / "a.sqlite", Family("lsap", [0], {"nodes": 300, "tasks": 300})

    def sweep(time_limit: float | None, retry: str | None = None) -> tuple[str, float | None]:
        found = optsched.sweep(path, family, "lsap", "dl", time_limit=time_limit, retry=retry)
        with Store(path) as store:
            (row,) = store.rows("SELECT time_limit FROM runs")
        return found.records()[0]["status"], row["time_limit"]

    assert sweep(0) == ("out-of-time", 0)
    assert sweep(None) == ("out-of-time", 0)
    assert sweep(None, "timed-out") == ("done", None)


def test_what_is_to_be_done_changes_nothing(tmp_path: Path) -> None:
    """Tests that nothing is made where it is only asked, and that what is no store is told."""
    path = tmp_path / "a.sqlite"
    assert to_do(small_plan(), path).runs == 8
    assert list(tmp_path.iterdir()) == []
    path.touch()
    assert to_do(small_plan(), path).runs == 8
    path.write_text("no store\n")
    with pytest.raises(InputError, match="is no SQLite file"):
        to_do(small_plan(), path)
    with pytest.raises(InputError, match="is no SQLite file"):
        carry_out(small_plan(), path, InProcess())
    assert [file.name for file in tmp_path.iterdir()] == ["a.sqlite"], "no lock beside what is no store"
    with pytest.raises(InputError, match="is a folder"):
        to_do(small_plan(), tmp_path)
    with pytest.raises(InputError, match="/dev/null: is a device or a pipe; name a file"):
        carry_out(small_plan(), "/dev/null", InProcess())
    assert not Path("/dev/null-lock").exists()
    with pytest.raises(UsageError, match='did you mean "failed"'):
        to_do(small_plan(), path, "faild")


def test_an_edit_between_two_sweeps_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a heuristic that was edited is not taken from the store, as it would be told in a notebook.

    Nor is it taken from what Python keeps of a module, which an edit of as many signs within a second leaves as it is.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    found = []
    for node in (0, 1):
        Path("between.py").write_text(f"def run(problem, rng):\n    return [{node}] * len(problem.tasks)\n")
        os.utime("between.py", (10**9, 10**9))
        result = optsched.sweep("a.sqlite", "papers/guo-fig2", "latency", "between:run")
        found.append(result.records()[0]["objective"])
    assert found[0] != found[1]
    assert count(tmp_path / "a.sqlite") == 2


def test_wrong_limits_are_told_by_their_names(tmp_path: Path) -> None:
    """Tests that a limit that is none is told as it is called here."""
    limits: list[dict[str, Any]] = [{"run_limit": -1}, {"memory_limit": 0}]
    for wrong, told in zip(limits, ("run_limit=-1: give", "memory_limit=0: give"), strict=True):
        with pytest.raises(UsageError, match=told):
            optsched.sweep(tmp_path / "a.sqlite", "papers/guo-fig2", "latency", "labl", **wrong)
    assert list(tmp_path.iterdir()) == []


def test_executors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that workers of this machine are the default, and that an address means a cluster."""
    executor = executor_of(2)
    assert isinstance(executor, LocalExecutor)
    assert executor.workers == 2
    monkeypatch.setattr(executing, "DaskExecutor", lambda *given, **more: (given, more))
    limits = Limits(5)
    assert executor_of(2, limits, "tcp://a:1") == (("tcp://a:1", limits), {"preload": executing.PRELOADED})


@pytest.mark.thorough
def test_on_a_cluster(tmp_path: Path) -> None:
    """Tests that a Dask cluster of three worker processes, one of which is killed mid-way, gives the results of this
    process.
    """
    distributed = pytest.importorskip("distributed")
    plan = small_plan(seeds=60)
    seen: list[str] = []

    class Told(Steps):
        def waits(self, told: str) -> None: ...

        def ended(self, told: str, agenda: Agenda) -> None:
            seen.append(told)
            if len(seen) == 40:
                os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    with (
        memory_folder(tmp_path) as folder,
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
        distributed.Client(cluster.scheduler_address, set_as_default=False) as client,
    ):
        with executor_of(1, None, cluster.scheduler_address) as executor:
            agenda = carry_out(plan, folder / "cluster.sqlite", executor, steps=Told())
        carry_out(plan, folder / "here.sqlite", InProcess())
        assert agenda.ended == {"done": 240}
        assert contents(folder / "cluster.sqlite") == contents(folder / "here.sqlite")
        assert not check_store(folder / "cluster.sqlite").faults


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a sweep whose disk becomes full ends with what to do, and goes on when there is room."""
    path = tmp_path / "a.sqlite"
    carry_out(small_plan(seeds=1, instances=1), path, InProcess())

    class Full(Store):
        """Its disk has room for no further page."""

        def __init__(self, *given: Any, **more: Any) -> None:
            super().__init__(*given, **more)
            pages = next(self.rows("PRAGMA page_count"))["page_count"]
            next(self.rows(f"PRAGMA max_page_count = {pages + 2}"))

    with monkeypatch.context() as patched:
        patched.setattr(executing, "Store", Full)
        with pytest.raises(InputError, match="the disk is full; what was finished is kept"):
            carry_out(small_plan(seeds=6), path, InProcess())
    assert not check_store(path).faults
    there = count(path)
    assert carry_out(small_plan(seeds=6), path, InProcess()).there == there
    assert count(path) == 24


def test_an_error_is_the_outcome_of_the_sweep(tmp_path: Path) -> None:
    """Tests that a sweep that ended by an error says so in its row."""

    def broken(key: str, number: int) -> None:
        if number == 3:
            raise OSError("the cluster is gone")

    with pytest.raises(OSError, match="the cluster"):
        carry_out(small_plan(), tmp_path / "a.sqlite", InProcess(broken))
    with Store(tmp_path / "a.sqlite") as store:
        assert [row["outcome"] for row in store.rows("SELECT outcome FROM sweeps")] == ["OSError: the cluster is gone"]


def test_two_sweeps_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the second sweep waits, is told who the first one is, and computes only what that left."""
    monkeypatch.setattr("optsched.measuring.sweeping.store._PAUSE", 0.01)
    path = tmp_path / "a.sqlite"
    waited: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    class Told(Steps):
        def waits(self, told: str) -> None:
            waited.append(told)
            go_on.set()

    def slow(key: str, number: int) -> None:
        begun.set()
        assert go_on.wait(60)

    first = threading.Thread(target=carry_out, args=(small_plan(seeds=1), path, InProcess(slow)))
    first.start()
    assert begun.wait(60)
    executor = InProcess()
    agenda = carry_out(small_plan(seeds=2), path, executor, steps=Told())
    first.join()
    assert agenda.there == 4
    assert (len(executor.keys), count(path)) == (4, 8)
    assert len(waited) == 1
    assert waited[0].startswith(f"process {os.getpid()} on ")


#: Heuristics that misbehave, and one that does not.
HOSTILE = """
import os, time

def sleeps(problem, rng):
    while True:
        time.sleep(1)

def grows(problem, rng):
    held = []
    while True:
        held.append(bytearray(10_000_000))

def leaves(problem, rng):
    os._exit(3)

def raises(problem, rng):
    return {}["lost"]

def sound(problem, rng):
    nodes = problem.instance.cluster.node_ids
    return [nodes[index % len(nodes)] for index in range(len(problem.tasks))]
"""


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with heuristics that misbehave, which is the current one."""
    (tmp_path / "hostile.py").write_text(HOSTILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("hostile", None)


@pytest.mark.thorough
def test_each_costs_one_row(hostile: Path) -> None:
    """Tests that a heuristic that sleeps for ever, one that takes all memory, one that ends its process and one that
    raises cost one row each, and that all other runs are there.
    """
    names = [f"hostile:{name}" for name in ("sleeps", "grows", "leaves", "raises", "sound")]
    found = optsched.sweep(
        hostile / "a.sqlite",
        Family("latency", [0], {"nodes": 4, "tasks": 4}),
        "latency",
        [*names, "labl"],
        run_limit=5,
        memory_limit=700,
        workers=2,
    )
    status = {record["heuristic"]: record["status"] for record in found.records()}
    assert status == {
        "hostile:sleeps": "out-of-time",
        "hostile:grows": "out-of-memory",
        "hostile:leaves": "crashed",
        "hostile:raises": "failed",
        "hostile:sound": "done",
        "labl": "done",
    }
    assert count(hostile / "a.sqlite") == 6
    assert not check_store(hostile / "a.sqlite").faults


def test_an_edited_heuristic_is_computed_again(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an edit of a user's heuristic is another run, that the other runs stay, and that the old one does."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def swept() -> list[float]:
        """What another process finds."""
        digest_of.cache_clear()
        sys.modules.pop("hostile", None)
        plan = planned(Family("latency", [0], {"nodes": 4, "tasks": 8}), "latency", ["hostile:sound", "labl"])
        carry_out(plan, "a.sqlite", InProcess())
        return list(load_sweep("a.sqlite").frame()["objective_1"])

    before = swept()
    assert swept() == before
    assert count(hostile / "a.sqlite") == 2
    (hostile / "hostile.py").write_text(HOSTILE.replace("index % len(nodes)", "0"))
    after = swept()
    assert after[0] > before[0], "all tasks on one node"
    assert after[1] == before[1]
    assert count(hostile / "a.sqlite") == 3
    digest_of.cache_clear()


#: A sweep of 2000 runs and 20 optima that the kills and the resumptions are of.
SWEEP = """
store = "swept.sqlite"
jobs = 2
problem = "lsap"
heuristic = ["lsap-sched", "dl", "rand", "fifo"]
family = {name = "lsap", seeds = "0-19", nodes = 5, tasks = 8}
seeds = 25
"""
RUNS = 20 * 4 * 25


def begun(folder: Path) -> subprocess.Popen[str]:
    """The sweep, begun in a folder."""
    command = [sys.executable, "-m", "optsched", "sweep", "sweep.toml", "--output", "summary.txt"]
    return subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)


def finished(folder: Path) -> str:
    """What the sweep tells that is begun in a folder and left to itself."""
    process = begun(folder)
    _, told = process.communicate()
    assert process.returncode == 0, told
    return told


def kill_once(folder: Path, draw: random.Random) -> int:
    """Begin the sweep, and kill it with -9: at an early moment, or after some more results. How many are there then."""
    before = count(folder / "swept.sqlite")
    process = begun(folder)
    if draw.random() < 0.3:
        time.sleep(draw.uniform(0, 1.5))
    else:
        wanted = before + draw.randrange(1, 120)
        while process.poll() is None and count(folder / "swept.sqlite") < wanted:
            time.sleep(0.002)
        time.sleep(draw.uniform(0, 0.02))
    assert process.poll() is None, "it was killed before its end"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return count(folder / "swept.sqlite")


@pytest.mark.thorough
def test_killed_twenty_times(tmp_path: Path) -> None:
    """Tests that a sweep that is killed with -9 at twenty moments, and begun again each time, ends with the results of
    one that is left to itself, that nothing that was there is lost, and that its store is sound.
    """
    with memory_folder(tmp_path) as folder:
        one, other = folder / "one", folder / "other"
        for each in (one, other):
            each.mkdir()
            (each / "sweep.toml").write_text(SWEEP)
        finished(one)
        draw, there = random.Random(11), 0
        for _ in range(20):
            now = kill_once(other, draw)
            assert now >= there, "a result was lost"
            there = now
        assert 0 < there < RUNS
        assert f"{RUNS} runs: {there} there, {RUNS - there} to be computed" in finished(other)
        expected, found = (contents(each / "swept.sqlite") for each in (one, other))
        assert len(expected["runs"]) == RUNS
        assert found == expected
        assert (one / "summary.txt").read_text() == (other / "summary.txt").read_text()
        checked = check_store(other / "swept.sqlite")
        assert (checked.runs, checked.proved, checked.faults) == (RUNS, 20, ())
        connection = sqlite3.connect(other / "swept.sqlite")
        ((sweeps, killed),) = connection.execute("SELECT count(*), sum(ended IS NULL) FROM sweeps")
        connection.close()
        assert killed == sweeps - 1 > 10
