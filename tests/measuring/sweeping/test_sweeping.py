"""What a process does for a sweep: the same as `optsched.gap`, or nothing where its code is another."""

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from command_line import ENVIRONMENT, PROGRAM
from sweeps import InProcess, contents, count, memory_folder, small_plan, stop, timeless

import optsched
from optsched import Family, InputError, Limit, UsageError
from optsched.core.processes import Limits, LocalExecutor, Outcome, Status
from optsched.core.resources import code_version
from optsched.heuristics import HeuristicRun
from optsched.measuring import sweeping as executing
from optsched.measuring.gaps import unanswered
from optsched.measuring.sweeping import Agenda, Job, Steps, carry_out, execute, executor_of, to_do
from optsched.measuring.sweeping.plans import Plan, planned
from optsched.measuring.sweeping.store import Store, check_store, load_sweep


def run_job(source: str | None = None, **parameters: Any) -> Job:
    """A run of labl against the optimum of a problem on an instance of the library."""
    (wanted,) = planned("papers/guo-table2", "latency", ["labl"]).runs
    job = Job.solving(wanted.posed)
    solution = execute(job)
    job = job.solved(solution).of_run(wanted.choice, 3)
    return replace(job, parameters=parameters, source=job.source if source is None else source)


def test_a_run_is_what_gap_gives() -> None:
    """Tests that solving and running in two jobs that went through pickle give the record that `gap` gives."""
    record = execute(pickle.loads(pickle.dumps(run_job(variant="strict"))))
    expected = optsched.gap(optsched.problem("latency", "papers/guo-table2"), "labl", seed=3, variant="strict").record()
    assert timeless(record) == timeless(expected)
    assert record["work_gap_at_makespan"] is not None


def test_what_is_no_answer(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what a heuristic prints goes to stderr, and that one that was refused memory ends as such."""
    monkeypatch.setattr(executing, "run", lambda *given, **more: print("said") or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        execute(run_job())
    assert capsys.readouterr() == ("", "said\n")
    ran = HeuristicRun("labl", {}, None, 0.0, error="raised", cause=MemoryError())
    monkeypatch.setattr(executing, "run", lambda *given, **more: ran)
    with pytest.raises(MemoryError):
        execute(run_job())


def test_other_code_is_refused() -> None:
    """Tests that neither an edited heuristic nor another version of the package runs under the old key."""
    assert "has another source" in str(execute(run_job("edited")))
    assert code_version() in str(execute(replace(run_job(), optimum="another key")))


@cache
def swept_plan() -> Plan:
    """The plan of most tests; its keys take a digest of all sources, which importing this file should not wait for."""
    return small_plan()


def run_keys() -> list[str]:
    """The keys of its runs, in order."""
    return list(swept_plan().unique)


def optimum_keys() -> list[str]:
    """The keys of the optima that they are measured against."""
    return list(dict.fromkeys(run.posed.key for run in swept_plan().runs))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a store is to be."""
    return tmp_path / "a.sqlite"


def swept(path: Path, ends: dict[str, Outcome] | None = None, retry: str | None = None) -> tuple[Agenda, list[str]]:
    """A sweep in which jobs of some keys end so; what came of it, and the keys of the jobs that ran."""
    executor = InProcess(lambda key, number: (ends or {}).get(key))
    return carry_out(swept_plan(), path, executor, retry=retry), executor.keys


def statuses(path: Path, table: str = "runs") -> dict[str, str]:
    """The status of each row."""
    with Store(path) as store:
        return {row["key"]: row["status"] for row in store.rows(f"SELECT key, status FROM {table}")}


def test_runs_go_before_the_next_optimum(path: Path) -> None:
    """Tests that an optimum is solved once, that its runs follow, and that results come from the beginning on."""
    agenda, keys = swept(path)
    assert keys == [optimum_keys()[0], *run_keys()[:4], optimum_keys()[1], *run_keys()[4:]]
    assert (agenda.left, agenda.ended, agenda.solved) == (0, {"done": 8}, {"done": 2})


def test_nothing_is_computed_twice(path: Path) -> None:
    """Tests that what is there is not computed again, and that what is missing alone is."""
    swept(path)
    before = path.read_bytes()
    agenda = to_do(swept_plan(), path)
    assert (agenda.there, agenda.runs, agenda.optima) == (8, 0, 0)
    assert path.read_bytes() == before
    assert swept(path)[1] == []
    with Store(path, write=True) as store, store.transaction():
        store.execute("DELETE FROM runs WHERE key = ?", run_keys()[5])
    assert swept(path)[1] == [run_keys()[5]]


def test_a_drained_executor_is_asked_again(path: Path) -> None:
    """Tests that runs whose optimum ends after the last job was drawn are computed all the same."""

    class Greedy(InProcess):
        """Draws every job before it ends one."""

        calls = 0

        def map(self, function: Any, jobs: Any) -> Iterator[tuple[str, Outcome]]:
            self.calls += 1
            yield from super().map(function, list(jobs))

    executor = Greedy()
    agenda = carry_out(swept_plan(), path, executor)
    assert (agenda.left, executor.calls) == (0, 2)


ENDS = {
    Status.FAILED: ("failed", "raised KeyError: 'lost'"),
    Status.TIMED_OUT: ("out-of-time", "killed after 5 s"),
    Status.OUT_OF_MEMORY: ("out-of-memory", "killed at 200 MiB"),
    Status.CRASHED: ("crashed", "ended with exit code 3 before it answered"),
}


def bad_ends() -> dict[str, Outcome]:
    """Each of these ends, of the first runs."""
    each = zip(run_keys(), ENDS.items(), strict=False)
    return {key: Outcome(status, message=message, seconds=7) for key, (status, (_, message)) in each}


def test_every_end_of_a_run_is_a_row(path: Path) -> None:
    """Tests that a run that was killed, crashed or failed costs its own row, with what there is to say."""
    agenda, _ = swept(path, bad_ends())
    assert agenda.ended["crashed"] == 1
    for record, run, (word, message) in zip(load_sweep(path).records(), swept_plan().runs, ENDS.values(), strict=False):
        assert (record["status"], record["heuristic_seconds"]) == (word, 7)
        assert record["error"].startswith(f'heuristic "{run.choice.entry.name}" ')
        assert record["error"].endswith(message)
        assert record["reference"] is not None
        assert record["objective"] is record["absolute_gap"] is None
    with Store(path) as store:
        rows = list(store.rows("SELECT objective, gap, message FROM runs WHERE status != 'done'"))
    assert [(row["objective"], row["gap"], row["message"][:9]) for row in rows] == [(None, None, "heuristic")] * 4


@pytest.mark.parametrize("status", list(ENDS))
def test_every_end_of_an_optimum_is_a_row(path: Path, status: Status) -> None:
    """Tests that runs are kept where their optimum could not be found, and are measured again once it is."""
    word, message = ENDS[status]
    ends = {optimum_keys()[0]: Outcome(status, message=message, seconds=7)}
    agenda, _ = swept(path, ends)
    assert (agenda.ended, agenda.solved) == ({"done": 8}, {word: 1, "done": 1})
    with Store(path) as store:
        (row,) = store.rows("SELECT * FROM optima WHERE key = ?", optimum_keys()[0])
    assert (row["status"], row["message"], row["objective"], row["bound"]) == (word, message, None, None)
    records = load_sweep(path).records()
    assert [record["reference_kind"] for record in records] == ["bound"] * 4 + ["optimum"] * 4
    assert [record["objective"] is None for record in records] == [False] * 8

    assert to_do(swept_plan(), path).runs == 0
    keys = swept(path, retry="timed-out" if status is Status.TIMED_OUT else "failed")[1]
    assert keys == [optimum_keys()[0], *run_keys()[:4]], "the runs have another reference now"
    assert {record["reference_kind"] for record in load_sweep(path).records()} == {"optimum"}


def test_runs_beside_an_old_reference_are_stale(path: Path) -> None:
    """Tests that runs are measured again after the optimum was solved again, also where a kill came between."""
    swept(path, {optimum_keys()[0]: Outcome(Status.CRASHED, message="gone")})
    with pytest.raises(MemoryError):
        carry_out(swept_plan(), path, InProcess(stop(2, MemoryError())), retry="failed")
    agenda = to_do(swept_plan(), path)
    assert (agenda.runs, agenda.optima) == (3, 0)
    assert swept(path)[1] == run_keys()[1:4]
    assert {record["reference_kind"] for record in load_sweep(path).records()} == {"optimum"}


def test_a_reference_out_of_time(path: Path) -> None:
    """Tests that a reference that was cut short leaves its bound, and is one that had too little time."""
    posed = swept_plan().runs[0].posed
    late = Outcome(Status.DONE, unanswered(posed.problem, Limit.TIME, "out of time"))
    agenda, _ = swept(path, {posed.key: late})
    assert agenda.solved["out-of-time"] == 1
    assert {record["limit"] for record in load_sweep(path).records()} == {"TIME", None}
    assert swept(path, retry="timed-out")[1] == [optimum_keys()[0], *run_keys()[:4]]


def test_what_is_no_result(path: Path) -> None:
    """Tests that nothing is stored of a solver that was interrupted, or of a worker that runs other code."""
    posed = swept_plan().runs[0].posed
    cut = Outcome(Status.DONE, unanswered(posed.problem, Limit.INTERRUPTED, "Ctrl-C"))
    with pytest.raises(KeyboardInterrupt):
        swept(path, {posed.key: cut})
    assert statuses(path, "optima") == {}
    with pytest.raises(UsageError, match="a worker cannot take part: edited"):
        swept(path, {run_keys()[1]: Outcome(Status.DONE, "edited")})
    assert len(statuses(path)) == 1


def test_jobs_carry_no_proofs(path: Path) -> None:
    """Tests that the data of a proof stay with the process that sweeps, and the store has them."""
    with Store(path, write=True) as store:
        agenda = Agenda(swept_plan(), store)
        key, _ = next(agenda.jobs())
    swept(path)
    with Store(path) as store:
        held = Agenda(swept_plan(), store)._hold(swept_plan().runs[0].posed)
        (row,) = store.rows("SELECT solution FROM optima WHERE key = ?", key)
    assert all(not entry.data for entry in pickle.loads(held.solution).certificates)
    assert '"node_prices"' in row["solution"]


def test_limits_and_notes_are_kept(path: Path) -> None:
    """Tests that a row says which limits its run had, and its record what was to be said of it."""
    kept: Any = {"limits": Limits(5, 2000), "notes": lambda instance, problem: [f"{problem} on {instance}"]}
    carry_out(swept_plan(), path, InProcess(), **kept)
    with Store(path) as store:
        for table in ("runs", "optima"):
            for row in store.rows(f"SELECT * FROM {table}"):
                assert (row["run_limit"], row["memory_limit"], row["seconds"], row["peak_mb"]) == (5, 2000, 0.5, 64)
    assert (row["objective"], row["bound"], row["certificate"]) == (0, 0, "dual")
    first = load_sweep(path).records()[0]
    assert first["notes"] == ["lsap on lsap-n4-t5-seed0"]
    assert next(iter(first)) == "version"


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
    """Tests that nothing is made where it is only asked, and that what is no store is reported."""
    path = tmp_path / "a.sqlite"
    assert to_do(small_plan(), path).runs == 8
    assert list(tmp_path.iterdir()) == []
    path.touch()
    assert to_do(small_plan(), path).runs == 8
    path.write_text("no store\n")
    for wrong in (lambda: to_do(small_plan(), path), lambda: carry_out(small_plan(), path, InProcess())):
        with pytest.raises(InputError, match="is no SQLite file"):
            wrong()
    assert [file.name for file in tmp_path.iterdir()] == ["a.sqlite"], "no lock beside what is no store"
    with pytest.raises(InputError, match="/dev/null: is a device or a pipe; name a file"):
        carry_out(small_plan(), "/dev/null", InProcess())
    assert not Path("/dev/null-lock").exists()
    with pytest.raises(InputError, match=f"nodir/x: there is no folder {tmp_path}/nodir: make it, or name another"):
        carry_out(small_plan(), tmp_path / "nodir/x", InProcess())
    with pytest.raises(UsageError, match='did you mean "failed"'):
        to_do(small_plan(), path, "faild")


def test_an_edit_between_two_sweeps_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a heuristic that was edited is not taken from the store, as it would be reported in a notebook.

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


def test_executors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that workers of this machine are the default, and that an address means a cluster."""
    executor = executor_of(2)
    assert isinstance(executor, LocalExecutor)
    assert executor.workers == 2
    monkeypatch.setattr(executing, "DaskExecutor", lambda *given, **more: (given, more))
    limits = Limits(5)
    assert executor_of(2, limits, "tcp://a:1") == (("tcp://a:1", limits), {"preload": executing.PRELOADED})


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


def test_an_error_is_the_outcome_of_the_sweep(path: Path) -> None:
    """Tests that a sweep that ended by an error says so in its row."""
    with pytest.raises(OSError, match="the cluster"):
        carry_out(swept_plan(), path, InProcess(stop(3, OSError("the cluster is gone"))))
    with Store(path) as store:
        assert [row["outcome"] for row in store.rows("SELECT outcome FROM sweeps")] == ["OSError: the cluster is gone"]


def test_two_sweeps_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the second sweep waits, is told who the first one is, and computes only what that left."""
    monkeypatch.setattr("optsched.measuring.sweeping.store._PAUSE", 0.01)
    path = tmp_path / "a.sqlite"
    waited: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    class Told(Steps):
        def waits(self, note: str) -> None:
            waited.append(note)
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
    command = [*PROGRAM, "sweep", "sweep.toml", "--output", "summary.txt"]
    return subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)


def finished(folder: Path) -> str:
    """What the sweep tells that is begun in a folder and left to itself."""
    process = begun(folder)
    _, output = process.communicate()
    assert process.returncode == 0, output
    return output


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
        assert f"{RUNS} runs: {there} done, {RUNS - there} to compute" in finished(other)
        expected, found = (contents(each / "swept.sqlite") for each in (one, other))
        assert len(expected["runs"]) == RUNS
        assert found == expected
        assert (one / "summary.txt").read_text() == (other / "summary.txt").read_text()
        checked = check_store(other / "swept.sqlite")
        assert (checked.runs, checked.proved, checked.faults) == (RUNS, 20, ())
        with Store(other / "swept.sqlite") as store:
            (row,) = store.rows("SELECT count(*) AS begun, sum(ended IS NULL) AS killed FROM sweeps")
        assert row["killed"] == row["begun"] - 1 > 10
