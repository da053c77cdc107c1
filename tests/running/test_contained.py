"""Tests of `optsched.running.contained`: heuristics in processes of their own."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import hostile_heuristics
import pytest

import optsched
from optsched.errors import MissingField, UsageError
from optsched.heuristics import HEURISTICS, run
from optsched.problems import Problem
from optsched.processes import Limits, contained
from optsched.processes.containing import TracedElsewhere
from optsched.running.contained import run_contained


@pytest.fixture
def problem() -> Problem:
    """Three tasks and slots for them."""
    posed: Any = optsched.problem("lsap", "papers/guo-fig2")
    return posed


@pytest.mark.parametrize("name", ["dl", "lsap-sched", "rand", "fifo"])
def test_same_as_without(problem: Problem, name: str) -> None:
    """Tests that a run in a process of its own gives what it gives here, seeds and parameters included."""
    given: dict[str, Any] = {"max_idle_rounds": 7} if HEURISTICS[name].online else {}
    here = run(problem, name, 5, **given)
    with contained(Limits(60)):
        there = run(problem, name, 5, **given)
    assert here.placement is not None
    assert there.placement is not None
    assert there.placement.nodes.tolist() == here.placement.nodes.tolist()
    assert (there.parameters, there.rounds, there.idle_slot_time) == (here.parameters, here.rounds, here.idle_slot_time)
    assert (there.error, there.ended, there.cause) == (None, None, None)


@pytest.mark.parametrize(
    ("name", "ended", "told"),
    [
        pytest.param("hangs", "out-of-time", "was out of time: killed after 0.5 s", marks=pytest.mark.thorough),
        ("Counting", "out-of-time", "was out of time: killed after 0.5 s"),
        ("eats", "out-of-memory", "was out of memory: took"),
        ("leaves", "crashed", "crashed: ended with exit code 0 before it answered"),
        pytest.param("kills", "crashed", "crashed: ended by SIGKILL", marks=pytest.mark.thorough),
        ("refuses", None, "raised hostile_jobs.Refuses"),
        pytest.param("exits", None, "raised SystemExit: 7", marks=pytest.mark.thorough),
        ("interrupts", None, "raised KeyboardInterrupt"),
    ],
)
def test_hostile_heuristics(problem: Problem, name: str, ended: str | None, told: str) -> None:
    """Tests that whatever a heuristic does is a run with its error, and how the process ended."""
    limits = Limits(0.5) if ended == "out-of-time" else Limits(60, 400)
    with contained(limits):
        found = run(problem, getattr(hostile_heuristics, name))
    assert found.placement is None
    assert found.ended == ended
    assert found.error is not None
    assert found.error.startswith(f'heuristic "hostile_heuristics:{name}" {told}')
    assert found.out_of_time is None
    if ended is None:
        assert isinstance(found.cause, TracedElsewhere)
        assert "hostile_heuristics.py" in found.cause.trace


def test_deadline_that_heuristics_look_at(problem: Problem) -> None:
    """Tests that a limit on time that is softer than the kill is told as it is without."""
    with contained(Limits(60)):
        found = run(problem, hostile_heuristics.sleeps, time_limit=0.1)
    assert found.out_of_time == 0.1
    assert found.ended is None


def test_heuristics_of_no_module(problem: Problem) -> None:
    """Tests that a function within a function is sent with its code, and that what cannot be is told."""
    offset = 0
    with contained(Limits(60)):
        assert run(problem, lambda problem, rng: [offset] + [None] * (len(problem.tasks) - 1)).placement is not None
        lock = threading.Lock()
        found = run(problem, lambda problem, rng: lock.acquire())
    assert found.error is not None
    assert "cannot be sent to another process: TypeError" in found.error
    assert found.error.endswith("give what can be pickled, such as a function or class of a module")


def test_wrong_usage_is_found_before(problem: Problem) -> None:
    """Tests that what is asked for wrongly is raised here, and that nobody can observe a run elsewhere."""
    with contained(Limits(60)):
        with pytest.raises(UsageError, match="no parameter"):
            run(problem, "dl", nonsense=3)
        with pytest.raises(UsageError, match="seed"):
            run(problem, "dl", -1)
        with pytest.raises(UsageError, match="observers cannot see"):
            run(problem, "dl", observers=[print])
        with pytest.raises(MissingField):
            run(problem, "observed")


def test_processes_of_a_heuristic_end(problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what a good heuristic has started is ended with it."""
    import psutil

    note = tmp_path / "pids"
    monkeypatch.setenv("OPTSCHED_TEST_NOTE", str(note))
    with contained(Limits(60)):
        assert run_contained(problem, optsched.heuristics.heuristic(hostile_heuristics.starts)).placement is not None
        assert not any(psutil.pid_exists(int(word)) for word in note.read_text().split())
