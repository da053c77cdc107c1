"""Heuristics under a time limit: those of the list look at it themselves, a user's own code is broken off."""

from __future__ import annotations

import itertools
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import optsched.deadline
from optsched.deadline import deadline
from optsched.errors import OutOfTime, UsageError
from optsched.gaps import gap
from optsched.heuristics import HEURISTICS, applicable, run
from optsched.instances.generate import generate
from optsched.matrix import posable
from optsched.problems import Problem, problem
from optsched.running.alarm import alarm

INSTANCE = generate("mixed", seed=3, nodes=8, tasks=20, reduces=4)
POSED = {posed.name: posed for posed in posable(INSTANCE)}
SERVED = [(posed.name, entry.name) for posed in POSED.values() for entry in applicable(posed, by_default=True)]


def test_every_heuristic_is_tried() -> None:
    """Tests that the instance lets each heuristic of the list run, but for the record of what ran."""
    assert {name for _, name in SERVED} == set(HEURISTICS) - {"observed"}


@pytest.mark.parametrize(("posed", "name"), SERVED)
def test_heuristics_of_the_list_end_at_the_limit(posed: str, name: str) -> None:
    """Tests that without time a run is a record with its error and no placement, and no exception."""
    done = run(POSED[posed], name, time_limit=0)
    assert done.out_of_time == 0
    assert done.placement is None
    assert done.error == f'heuristic "{name}" was out of time after 0 s'


@pytest.mark.parametrize(("posed", "name"), SERVED)
def test_a_limit_that_is_not_reached_changes_nothing(posed: str, name: str) -> None:
    """Tests that under a limit the same placement comes out as without."""
    free, limited = run(POSED[posed], name, seed=1), run(POSED[posed], name, seed=1, time_limit=1000)
    assert free.placement is not None
    assert limited.placement is not None
    assert limited.placement.nodes.tolist() == free.placement.nodes.tolist()
    assert limited.out_of_time is None
    assert limited.error is None


@pytest.mark.parametrize(
    ("posed", "name"),
    [
        ("latency", "labl"),
        ("latency", "round-robin"),
        ("latency", "flow-based"),
        ("flow-congestion", "flow-greedy"),
        ("flow-congestion", "balancing"),
        ("transmission", "fifo"),
        ("utility", "ras"),
        ("utility", "fair-sharing"),
        ("lsap", "dl"),
    ],
)
def test_loops_look_at_the_clock_for_each_task(posed: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the clock is looked at as often as there are tasks to place, wherever the time runs out."""
    looks = itertools.count()
    monkeypatch.setattr(optsched.deadline.time, "monotonic", lambda: float(next(looks)))
    limit = len(POSED[posed].tasks) // 2
    assert run(POSED[posed], name, time_limit=limit).out_of_time == limit


@pytest.mark.parametrize(
    ("posed", "name"), [("transmission", "sequential"), ("flow-congestion", "flow-sched"), ("transmission", "quincy")]
)
def test_what_highs_left_at_the_limit_is_no_placement(posed: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a scheduler whose linear program was cut short has no placement, though HiGHS holds a point of it."""
    cut = []

    def remaining() -> float:
        cut.append(1)
        return 0.0

    monkeypatch.setattr("optsched.solvers.highs.remaining", remaining)
    with pytest.raises(OutOfTime):
        HEURISTICS[name].batch(POSED[posed], np.random.default_rng(0))  # type: ignore[misc]
    assert cut


@pytest.mark.parametrize("limit", [-1, float("nan"), float("inf"), "3", True])
def test_wrong_limits(limit: Any) -> None:
    """Tests that what is no number of seconds is wrong usage."""
    with pytest.raises(UsageError, match="time_limit"):
        run(POSED["lsap"], "dl", time_limit=limit)


def test_earlier_deadline_is_for_whoever_set_it() -> None:
    """Tests that a run within a past deadline raises instead of making a record of a limit that was not its own."""
    with deadline(0), pytest.raises(OutOfTime):
        run(POSED["lsap"], "dl", time_limit=1000)
    with deadline(0), pytest.raises(OutOfTime):
        run(POSED["lsap"], "dl")


def test_out_of_time_without_a_limit_passes() -> None:
    """Tests that an OutOfTime that no limit explains is no record of one."""

    def early(problem: Problem, rng: np.random.Generator) -> list[int]:
        raise OutOfTime("out of time")

    with pytest.raises(OutOfTime):
        run(POSED["lsap"], early)


# A user's own code ------------------------------------------------------------------------------------------------

UNIX = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the timer is Unix's")


@pytest.fixture
def restored() -> Iterator[None]:
    """Checks that signal and timer are as they were."""
    before = signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGINT)
    yield
    assert (signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGINT)) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def endless(problem: Problem, rng: np.random.Generator) -> list[int]:
    """Counts for ever."""
    for _ in itertools.count():
        pass
    return []


def stubborn(problem: Problem, rng: np.random.Generator) -> list[int]:
    """Catches what breaks it off, once."""
    try:
        endless(problem, rng)
    except Exception:
        endless(problem, rng)
    return []


class Endless:
    """A policy that answers no offer."""

    def offer(self, offer: Any, view: Any) -> list[int]:
        while True:
            time.sleep(0.001)


@UNIX
@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("own", [endless, stubborn, Endless])
def test_own_code_is_broken_off(own: Any) -> None:
    """Tests that a user's endless loop ends, also in a policy, and where it catches the exception the second time."""
    done = run(POSED["lsap"], own, time_limit=0.05)
    assert done.out_of_time == 0.05
    assert done.placement is None
    assert done.error is not None
    assert done.error.endswith("was out of time after 0.05 s")


@UNIX
@pytest.mark.usefixtures("restored")
def test_own_code_that_ends_in_time_is_left_alone() -> None:
    """Tests that signal and timer return where nothing rang, and after an exception."""
    assert run(POSED["latency"], lambda problem, rng: [0] * len(problem.tasks), time_limit=1000).error is None
    assert "ZeroDivisionError" in str(run(POSED["lsap"], lambda problem, rng: 1 / 0, time_limit=1000).error)


@UNIX
def test_an_alarm_of_somebody_else_is_left_to_them() -> None:
    """Tests that where the signal or its timer is taken nothing is changed."""
    rung = []
    former = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    try:
        with deadline(0), alarm():
            assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
            signal.raise_signal(signal.SIGALRM)
    finally:
        signal.signal(signal.SIGALRM, former)
    assert rung == [1]
    signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        with deadline(0), alarm():
            assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@UNIX
def test_no_alarm_in_other_threads() -> None:
    """Tests that a run in another thread changes no signal, and ends where the code looks at the deadline itself."""
    seen: list[Any] = []

    def looks(problem: Problem, rng: np.random.Generator) -> list[int]:
        seen.append(signal.getsignal(signal.SIGALRM))
        while True:
            optsched.deadline.check()

    other = threading.Thread(target=lambda: seen.append(run(POSED["lsap"], looks, time_limit=0.01)))
    other.start()
    other.join()
    assert seen[0] is signal.SIG_DFL
    assert seen[1].out_of_time == 0.01


@UNIX
@pytest.mark.usefixtures("restored")
def test_imports_and_highs_are_not_broken_off() -> None:
    """Tests that code which must not be broken off goes on, and what called it is broken off after it."""
    steps: list[str] = []
    held = {"__name__": "optsched.solvers.highs", "steps": steps, "signal": signal}
    exec("def whole():\n    signal.raise_signal(signal.SIGALRM)\n    steps.append('whole')\n", held)

    def caller() -> None:
        held["whole"]()  # type: ignore[operator]
        signal.raise_signal(signal.SIGALRM)
        steps.append("never")

    with deadline(0), alarm(), pytest.raises(OutOfTime):
        caller()
    assert steps == ["whole"]


@UNIX
@pytest.mark.usefixtures("restored")
def test_ctrl_c_within_own_code_passes() -> None:
    """Tests that Ctrl-C ends a run under a limit as it does one without."""

    def pressed(problem: Problem, rng: np.random.Generator) -> list[int]:
        signal.raise_signal(signal.SIGINT)
        return []

    with pytest.raises(KeyboardInterrupt):
        run(POSED["lsap"], pressed, time_limit=1000)


def test_gap_of_a_heuristic_out_of_time() -> None:
    """Tests that a report tells of it and keeps the reference, and that no limit on the gap is met."""
    report = gap(problem("lsap", INSTANCE), "dl", reference=gap(POSED["lsap"], "dl").reference, time_limit=0)
    assert report.run.out_of_time == 0
    assert report.reference.kind == "optimum"
    assert not report.within("inf")
