"""What a process does for a sweep: the same as `optsched.gap`, or nothing where its code is another."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from sweeps import TIMES

import optsched
from optsched.core.fingerprint import code_version
from optsched.core.results import Solution
from optsched.heuristics import HeuristicRun
from optsched.measuring.sweeping import executing
from optsched.measuring.sweeping.executing import OptimumJob, Packed, RunJob, execute
from optsched.measuring.sweeping.plans import optimum_key, source_digest
from optsched.solvers.profiles import load_profile


def packed(name: str = "latency", instance: str = "papers/guo-table2") -> Packed:
    """A problem on an instance of the library."""
    problem, profile = optsched.problem(name, instance), load_profile("exact")
    assert isinstance(problem, optsched.problems.Problem)
    return Packed.of(optimum_key(problem, profile), problem, profile)


def run_job(problem: Packed, heuristic: str = "labl", source: str | None = None, **parameters: Any) -> RunJob:
    """A run against the optimum of a problem."""
    solution = execute(OptimumJob(problem))
    assert isinstance(solution, Solution)
    digest = source_digest(heuristic) if source is None else source
    return RunJob(problem, pickle.dumps(solution), heuristic, parameters, digest, 3)


def test_a_run_is_what_gap_gives() -> None:
    """Tests that solving and running in two jobs that went through pickle give the record that `gap` gives."""
    problem = packed()
    job = pickle.loads(pickle.dumps(run_job(problem, variant="strict")))
    record = execute(job)
    expected = optsched.gap(optsched.problem("latency", "papers/guo-table2"), "labl", seed=3, variant="strict").record()
    assert isinstance(record, dict)
    assert {key: record[key] for key in record if key not in TIMES} == {
        key: expected[key] for key in expected if key not in TIMES
    }
    assert record["work_gap_at_makespan"] is not None


def test_what_is_printed_is_no_data(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what a heuristic prints goes to stderr."""
    monkeypatch.setattr(executing, "run", lambda *given, **more: print("said") or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        execute(run_job(packed()))
    assert capsys.readouterr() == ("", "said\n")


def test_refused_memory_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a heuristic that was refused memory ends as such, and not as one that raised."""
    ran = HeuristicRun("labl", {}, None, 0.0, error="raised", cause=MemoryError())
    monkeypatch.setattr(executing, "run", lambda *given, **more: ran)
    with pytest.raises(MemoryError):
        execute(run_job(packed()))


def test_another_source_is_refused() -> None:
    """Tests that a heuristic that has been edited since is not run under the old key."""
    answer = execute(run_job(packed(), source="edited"))
    assert isinstance(answer, str)
    assert "has another source" in answer


def test_another_version_is_refused() -> None:
    """Tests that a process with another version of the package solves nothing under this one's key."""
    answer = execute(OptimumJob(Packed("another key", packed().content)))
    assert isinstance(answer, str)
    assert code_version() in answer
