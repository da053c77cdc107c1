"""What is left of a sweep: in which order it comes, what is computed again, and how each end of a job is stored."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sweeps import InProcess, contents, small_plan

import optsched
from optsched.core.errors import UsageError
from optsched.core.instance import Instance
from optsched.core.results import Limit
from optsched.instances.files import parse
from optsched.measuring.gaps import unanswered
from optsched.measuring.sweeping.executing import (
    RETRIED,
    Agenda,
    OptimumJob,
    carry_out,
    instance_row,
    optimum_row,
    planned_row,
    run_row,
    to_do,
)
from optsched.measuring.sweeping.plans import Plan, Planned, planned
from optsched.measuring.sweeping.store import Store, load_sweep
from optsched.processes import Limits, Outcome, Status


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
    _, keys = swept(path)
    assert keys == []
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


def test_every_end_of_a_run_is_a_row(path: Path) -> None:
    """Tests that a run that was killed, crashed or failed costs its own row, with what there is to say."""
    ends = {
        key: Outcome(status, message=ENDS[status][1], seconds=7) for key, status in zip(run_keys(), ENDS, strict=False)
    }
    agenda, keys = swept(path, ends)
    assert len(keys) == 10
    found = statuses(path)
    assert [found[key] for key in run_keys()] == [word for word, _ in ENDS.values()] + ["done"] * 4
    assert agenda.ended["crashed"] == 1
    for record, run, (word, message) in zip(load_sweep(path).records(), swept_plan().runs, ENDS.values(), strict=False):
        assert (record["status"], record["heuristic_seconds"]) == (word, 7)
        assert record["error"].startswith(f'heuristic "{run.choice.entry.name}" ')
        assert record["error"].endswith(message)
        assert record["reference"] is not None
        assert record["objective"] is record["absolute_gap"] is None


@pytest.mark.parametrize(("retry", "again"), [("failed", [0, 2, 3]), ("timed-out", [1]), ("all", [0, 1, 2, 3])])
def test_what_is_computed_again(path: Path, retry: str, again: list[int]) -> None:
    """Tests that what ended badly is computed again where that is asked for, and the rest is not."""
    ends = {key: Outcome(status, message="no", seconds=7) for key, status in zip(run_keys(), ENDS, strict=False)}
    swept(path, ends)
    assert to_do(swept_plan(), path).runs == 0
    assert to_do(swept_plan(), path).kept == {
        "failed": 1,
        "out-of-time": 1,
        "out-of-memory": 1,
        "crashed": 1,
        "done": 4,
    }
    agenda, keys = swept(path, retry=retry)
    assert keys == [run_keys()[number] for number in again]
    assert agenda.there == 8 - len(again)
    assert {statuses(path)[run_keys()[number]] for number in again} == {"done"}
    assert set(RETRIED) == {"failed", "timed-out", "all"}


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

    def kill(key: str, number: int) -> None:
        if number == 2:
            raise MemoryError

    with pytest.raises(MemoryError):
        carry_out(swept_plan(), path, InProcess(kill), retry="failed")
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


def test_an_interrupted_solver_is_no_result(path: Path) -> None:
    """Tests that a solution that was cut short from without is not stored."""
    posed = swept_plan().runs[0].posed
    cut = Outcome(Status.DONE, unanswered(posed.problem, Limit.INTERRUPTED, "Ctrl-C"))
    with pytest.raises(KeyboardInterrupt):
        swept(path, {posed.key: cut})
    assert statuses(path, "optima") == {}


def test_a_worker_with_other_code_ends_the_sweep(path: Path) -> None:
    """Tests that nothing of a worker is stored that runs other code."""
    with pytest.raises(UsageError, match="a worker cannot take part: edited"):
        swept(path, {run_keys()[1]: Outcome(Status.DONE, "edited")})
    assert len(statuses(path)) == 1


def test_jobs_carry_no_proofs(path: Path) -> None:
    """Tests that the data of a proof stay with the process that sweeps, and the store has them."""
    with Store(path, write=True) as store:
        agenda = Agenda(swept_plan(), store)
        key, job = next(agenda.jobs())
        assert isinstance(job, OptimumJob)
    swept(path)
    with Store(path) as store:
        held = Agenda(swept_plan(), store)._hold(swept_plan().runs[0].posed)
        (row,) = store.rows("SELECT solution FROM optima WHERE key = ?", key)
    assert all(not entry.data for entry in held.reference.solution.certificates)
    assert '"node_prices"' in row["solution"]


def test_limits_and_notes_are_kept(path: Path) -> None:
    """Tests that a row says which limits its run had, and its record what was to be said of it."""
    carry_out(
        swept_plan(),
        path,
        InProcess(),
        limits=Limits(5, 2000),
        notes=lambda instance, problem: [f"{problem} on {instance}"],
    )
    with Store(path) as store:
        for table in ("runs", "optima"):
            for row in store.rows(f"SELECT * FROM {table}"):
                assert (row["run_limit"], row["memory_limit"], row["seconds"], row["peak_mb"]) == (5, 2000, 0.5, 64)
    first = load_sweep(path).records()[0]
    assert first["notes"] == ["lsap on lsap-n4-t5-seed0"]
    assert next(iter(first)) == "version"


def test_the_same_whatever_the_order(tmp_path: Path) -> None:
    """Tests that two sweeps of one plan, begun differently, have the same results."""
    one, two = tmp_path / "1.sqlite", tmp_path / "2.sqlite"
    swept(one)
    carry_out(small_plan(seeds=1), two, InProcess())
    swept(two)
    assert contents(one) == contents(two)


def of(instance: str, problem: str, heuristic: str) -> tuple[Planned, dict[str, object]]:
    """A run and its record, as it is stored."""
    (run,) = planned(instance, problem, heuristic).runs
    record = optsched.gap(run.posed.problem, heuristic).record()
    return run, {"version": "1", **json.loads(json.dumps(record))}


def test_gaps() -> None:
    """Tests that a row has the gap of the component that decides, infinite beside 0, and first components."""
    for instance, problem, heuristic, gap, absolute, objective in (
        ("papers/guo-table2", "fair-lsap", "dl", 0.125, None, 50),
        ("papers/guo-fig2", "lsap", "dl", math.inf, 1, 1),
        ("papers/guo-fig2", "latency", "round-robin", 2, 2, 3),
    ):
        row = run_row(*of(instance, problem, heuristic))
        assert (row["gap"], row["objective"]) == (pytest.approx(gap), objective)
        assert absolute in (None, row["absolute_gap"])
        assert (row["status"], row["reference_kind"], row["message"]) == ("done", "optimum", None)


def test_a_run_without_a_value() -> None:
    """Tests that what is unknown is null."""
    run, record = of("papers/guo-fig2", "lsap", "dl")
    record |= {"status": "failed", "error": "raised", "objective": None, "absolute_gap": None, "relative_gap": None}
    row = run_row(run, record)
    assert (row["status"], row["message"], row["objective"], row["gap"]) == ("failed", "raised", None, None)


def test_instances_come_back() -> None:
    """Tests that the content is a file of the instance, the same for the same instance."""
    instance = optsched.load("papers/guo-table2")
    assert isinstance(instance, Instance)
    row = instance_row(instance)
    found = parse(gzip.decompress(row["content"]))
    assert (found.sha256, found.name) == (row["sha256"], row["name"]) == (instance.sha256, "guo-table2")
    assert instance_row(instance) == row


def test_optima() -> None:
    """Tests the figures of an optimum, and that one that was cut short is told so."""
    run, _ = of("papers/guo-fig2", "latency", "labl")
    solution = optsched.solve(run.posed.problem)
    row = optimum_row(run.posed, solution, Outcome(Status.DONE))
    assert (row["status"], row["objective"], row["bound"], row["certificate"]) == ("done", 1, 1, "combinatorial")
    cut = replace(solution, limit=optsched.Limit.TIME, objective=None, bound=(None, None), certificates=())
    row = optimum_row(run.posed, cut, Outcome(Status.DONE))
    assert (row["status"], row["objective"], row["bound"], row["certificate"]) == ("out-of-time", None, None, None)
    crashed = optimum_row(run.posed, cut, Outcome(Status.CRASHED, message="gone"))
    assert (crashed["status"], crashed["message"]) == ("crashed", "gone")


def test_planned() -> None:
    """Tests that a run that is asked for has its place, key and names."""
    run, _ = of("papers/guo-fig2", "lsap", "dl")
    row = planned_row("p", 3, run)
    assert row == {
        "plan": "p",
        "position": 3,
        "run": run.key,
        "group": "papers/guo-fig2",
        "instance": "guo-fig2",
        "label": "dl",
        "variant": "",
    }
