"""Running heuristics: names, a user's own callables and policies, faulty ones, and that none changes the instance."""

import functools
import importlib
import itertools
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import hostile_heuristics
import numpy as np
import pytest

import optsched
import optsched.core.deadline
from optsched.core.deadline import alarm, deadline
from optsched.core.errors import HeuristicFailed, MissingField, OutOfTime, UsageError
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.processes import Limits, contained
from optsched.core.processes.containing import TracedElsewhere
from optsched.heuristics import HEURISTICS, Heuristic, Offer, Policy, View, applicable, heuristic, run
from optsched.heuristics.running.run import run_contained
from optsched.instances.generate import generate
from optsched.measuring.gaps import gap
from optsched.measuring.matrix import posable
from optsched.problems import FairLsap, Lsap, Problem


@pytest.fixture
def posed() -> Lsap:
    """Three tasks on two nodes with two slots each."""
    workload = Workload(["t1", "t2", "t3"], replicas=Ragged.from_rows([[0], [0, 1], [1]]))
    return Lsap(Instance(Cluster(["a", "b"], slots=[2, 2]), workload))


def by_id(problem: Problem, rng: np.random.Generator, node: str = "a") -> list[str]:
    """Everything on one node."""
    return [node] * len(problem.tasks)


class FirstWaiting(Policy):
    """The first task that waits, as many at once as it is reported."""

    def __init__(self, at_once: int = 1) -> None:
        self.at_once = at_once

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        return view.pending[: min(self.at_once, offer.free)].tolist()


@pytest.mark.parametrize(
    ("given", "arguments", "complaint"),
    [
        ("lsap-shed", {}, 'there is no heuristic "lsap-shed"; did you mean "lsap-sched"'),
        ("labl", {}, "labl does not serve lsap, only latency"),
        ("lsap-sched", {"max_idle_rounds": 3}, "lsap-sched is a batch heuristic: it has no rounds"),
        ("dl", {"max_idle_rounds": 0}, "dl: max_idle_rounds=0: give a number that is 1 or more"),
        *[("dl", {"seed": seed}, "seed .*: give a whole number") for seed in (-1, 1.5, (), True, (3, -1), "1")],
        *[("dl", {"time_limit": limit}, "time_limit") for limit in (-1, float("nan"), float("inf"), "3", True)],
        (3, {}, "3 is no heuristic: give a name, a callable"),
        ("a b:c", {}, "write it as package.module:function"),
        (":c", {}, "write it as package.module:function"),
        ("a:", {}, "write it as package.module:function"),
        ("a:b:c", {}, "write it as package.module:function"),
        ("no.such:thing", {}, 'there is no module "no.such"; install it, or put the folder'),
        ("my_file.py:thing", {}, 'give its name and not its file: "my_file:thing"'),
        ("math:hypott", {}, 'there is no "hypott" in it; did you mean "hypot"?'),
        ("math:pi", {}, "3.14.* is no heuristic"),
        ("fractions:Fraction", {}, r"fractions:Fraction is a class without offer\(offer, view\), which makes a policy"),
        (by_id, {"nodes": "b"}, r"is called with \(problem, rng\) and its parameters: got an unexpected keyword"),
        (lambda problem: [], {}, r"is called with \(problem, rng\) and its parameters: too many positional"),
        (FirstWaiting, {"many": 1}, "is called with its parameters: got an unexpected keyword argument 'many'"),
        (FirstWaiting(1), {"at_once": 2}, "is called with its parameters: got an unexpected"),
    ],
)
def test_wrong_usage(posed: Lsap, given: Any, arguments: dict[str, Any], complaint: str) -> None:
    """Tests that what cannot be run as asked is wrong usage, with the mend, before anything runs."""
    with pytest.raises(UsageError, match=complaint):
        run(posed, given, **arguments)


def test_seed_may_be_a_tuple(posed: Lsap) -> None:
    """Tests that several numbers are a seed, so that repeated runs have streams of their own."""
    runs = [run(posed, "rand", (0, repeat)).placement for repeat in range(20)]
    assert len(set(runs)) > 1
    assert runs == [run(posed, "rand", (0, repeat)).placement for repeat in range(20)]


# A user's own ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "parameters"),
    [
        (by_id, {}),
        (by_id, {"node": "b"}),
        (functools.partial(by_id, node="b"), {}),
        (lambda problem, rng: [0, None, 1], {}),
        (FirstWaiting, {"at_once": 2}),
        (FirstWaiting(2), {}),
        (HEURISTICS["dl"], {}),
        (f"{__name__}:by_id", {"node": "b"}),
        (f"{__name__}:FirstWaiting", {}),
    ],
)
def test_whatever_stands_for_a_heuristic(
    posed: Lsap, given: Any, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that functions, partials, lambdas, policies as class and instance, entries and import names all run."""
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    result = run(posed, given, **parameters)
    assert (result.error, result.placement is None) == (None, False)
    if not isinstance(given, Heuristic):
        assert dict(result.parameters) == parameters


def test_names_of_own_heuristics() -> None:
    """Tests that a callable is called as its import name would be, and a name keeps what was typed."""
    assert heuristic(by_id).name == f"{__name__}:by_id"
    assert heuristic(FirstWaiting(3)).name == f"{__name__}:FirstWaiting"
    assert heuristic(by_id).doc == "Everything on one node."
    assert heuristic("math:hypot").name == "math:hypot"


def test_infeasible_answer_is_a_result(posed: Lsap) -> None:
    """Tests that overfull slots and tasks left out have violations, not errors."""
    assert [str(one) for one in posed.violations(run(posed, by_id).raise_if_failed())] == ["slots(a) by 1"]


def test_callable_that_shows_no_signature(posed: Lsap) -> None:
    """Tests that what cannot be asked for its signature is called all the same."""
    assert "raised TypeError" in (run(posed, "builtins:min", key=len).error or "")


# Faulty ones ----------------------------------------------------------------------------------------------------------


def _raise(error: BaseException) -> Callable[..., Any]:
    def faulty(problem: Problem, rng: np.random.Generator) -> Any:
        raise error

    return faulty


def test_interrupts_pass(posed: Lsap) -> None:
    """Tests that Ctrl-C is not taken for a fault, but an attempt to exit is."""
    with pytest.raises(KeyboardInterrupt):
        run(posed, _raise(KeyboardInterrupt()))
    assert "raised SystemExit: 3" in (run(posed, _raise(SystemExit(3))).error or "")


def test_listed_heuristic_that_breaks_is_reported(posed: Lsap) -> None:
    """Tests that an unforeseen exception of an entry of the list is reported too, but its wrong usage passes."""
    broken = Heuristic("broken", "", "", ("lsap",), "", batch=_raise(IndexError("ours")))
    assert "raised IndexError: ours" in (run(posed, broken).error or "")
    wrong = Heuristic("wrong", "", "", ("lsap",), "", batch=_raise(UsageError("give another")))
    with pytest.raises(UsageError, match="give another"):
        run(posed, wrong)


def test_nothing_that_a_heuristic_does_changes_what_it_is_judged_by(posed: Lsap) -> None:
    """Tests that the instance is read-only and that the problem handed to a user's code is a copy."""

    def vandal(problem: Any, rng: np.random.Generator) -> Any:
        for array in (problem.capacity, problem.replicas.values, problem.instance.state.idle_slots, problem.tasks):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
        problem.tasks = np.zeros(3, dtype=np.int64)
        problem.levels, problem.count, problem.capacity = (9, 9, 9), 1, problem.capacity + 7
        problem.instance = None
        return [0, 1, 1]

    before = posed.instance.sha256
    assert run(posed, vandal).error is not None  # its own copy is spoilt
    assert posed.tasks.tolist() == [0, 1, 2]
    assert (posed.levels, posed.count, posed.instance.sha256) == ((0, 1, 1), 3, before)


def test_copy_of_the_problem_does_not_warn_again(posed: Lsap) -> None:
    """Tests that a beta which has been warned of is not warned of once more by the copy."""
    groups = {"group_ids": ["g1", "g2"], "group_weight": [1, 1]}
    workload = Workload(["t1"], job=[0], job_ids=["j1"], job_group=[0], **groups)
    with pytest.warns(UserWarning, match="beta=1"):
        fair = FairLsap(Instance.initial(Cluster(["a", "b"]), workload, group_running_tasks=[1, 0]), beta=1)
    assert run(fair, by_id).error is None


# What a user's own code raised ------------------------------------------------------------------------------------

BROKEN = """
import numpy as np


def fails(problem, rng):
    return np.zeros(3)[
        helper(problem)
    ]


def helper(problem):
    raise KeyError("rack r7")


def inside_numpy(problem, rng):
    return np.linalg.inv(np.zeros((2, 2)))


class Fails:
    def __init__(self, where="offer"):
        self.where = where
        self.at("init")

    def at(self, where):
        if self.where == where:
            raise ZeroDivisionError(where)

    def start(self, view, rng):
        self.at("start")

    def notify(self, event, view):
        self.at("notify")

    def offer(self, offer, view):
        self.at("offer")
        return Answer(view.pending[:1]) if self.where == "answer" else view.pending[:1].tolist()


class Answer(tuple):
    def __iter__(self):
        raise ZeroDivisionError("answer")
"""


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A user's module whose heuristics raise."""
    (tmp_path / "my_sched.py").write_text(BROKEN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_sched", raising=False)
    return importlib.import_module("my_sched")


def _lines(failing: Callable[[], Any]) -> list[int]:
    """Lines of the user's module in the traceback of the exception that is the cause of a failure."""
    with pytest.raises(HeuristicFailed) as failed:
        failing()
    frames = traceback.extract_tb(failed.value.__cause__.__traceback__)
    return [frame.lineno for frame in frames if frame.filename.endswith("my_sched.py")]


def test_exception_of_a_user_is_chained(posed: Lsap, broken: Any) -> None:
    """Tests that a user's own exception, with its lines, is the cause of what a test of a scheduler raises."""
    result = run(posed, broken.fails)
    assert "KeyError: 'rack r7' (" in result.error
    assert "my_sched.py, line 12)" in result.error
    assert _lines(result.raise_if_failed) == [7, 12]
    assert _lines(lambda: gap(posed, "my_sched:fails").raise_unless_within(0.05)) == [7, 12]
    with pytest.raises(HeuristicFailed, match="answered None") as nonsense:
        run(posed, lambda problem, rng: None).raise_if_failed()
    assert nonsense.value.__cause__ is None


def test_line_of_a_user_whose_library_raised(posed: Lsap, broken: Any) -> None:
    """Tests that the user's own line is shown where it is a library that raised, and the library's place after it."""
    shown, _, place = run(posed, broken.inside_numpy).error.rpartition("; raised in ")
    assert shown.endswith("my_sched.py, line 16")
    assert "linalg" in place


@pytest.mark.parametrize(
    ("text", "raised"),
    [
        ("import no_such_thing_at_all", "ModuleNotFoundError: .*no_such_thing.*; mend the"),
        ("1 / 0", "ZeroDivisionError"),
        ("def broken(:", "SyntaxError"),
        ("import sys; sys.exit(3)", "SystemExit"),
    ],
)
def test_module_that_fails_on_import(
    posed: Lsap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, raised: str
) -> None:
    """Tests that a module that cannot be imported is reported with its own line, and the exception is the cause."""
    (tmp_path / "my_failing.py").write_text(f"# a scheduler\n{text}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=f"importing its module raised {raised}") as failed:
        run(posed, "my_failing:scheduler")
    assert failed.value.__cause__ is not None
    assert "my_failing.py, line 2" in str(failed.value)
    assert "raised in" not in str(failed.value)


INSTANCE = generate("mixed", seed=3, nodes=8, tasks=20, reduces=4)
POSED = {posed.name: posed for posed in posable(INSTANCE)}
SERVED = [(posed.name, entry.name) for posed in POSED.values() for entry in applicable(posed, by_default=True)]


def test_every_heuristic_is_tried() -> None:
    """Tests that the instance lets each heuristic of the list run, but for the record of what ran."""
    assert {name for _, name in SERVED} == set(HEURISTICS) - {"observed"}


@pytest.mark.parametrize(("posed", "name"), SERVED)
def test_limits_of_heuristics_of_the_list(posed: str, name: str) -> None:
    """Tests that a run without time is a record with its error, and that that one not reached changes nothing."""
    done = run(POSED[posed], name, time_limit=0)
    assert (done.out_of_time, done.placement) == (0, None)
    assert done.error == f'heuristic "{name}" was out of time after 0 s'
    free, limited = run(POSED[posed], name, seed=1), run(POSED[posed], name, seed=1, time_limit=1000)
    assert limited.placement.nodes.tolist() == free.placement.nodes.tolist()
    assert (limited.out_of_time, limited.error) == (None, None)


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
    monkeypatch.setattr(optsched.core.deadline.time, "monotonic", lambda: float(next(looks)))
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


def test_time_that_no_limit_of_the_run_explains() -> None:
    """Tests that a deadline of whoever called, and an OutOfTime of the heuristic's own, are raised and not recorded."""
    for limit in (1000, None):
        with deadline(0), pytest.raises(OutOfTime):
            run(POSED["lsap"], "dl", time_limit=limit)
    with pytest.raises(OutOfTime):
        run(POSED["lsap"], _raise(OutOfTime("out of time")))


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
    while True:
        pass


def stubborn(problem: Problem, rng: np.random.Generator) -> list[int]:
    """Catches what breaks it off, once."""
    try:
        endless(problem, rng)
    except Exception:
        return endless(problem, rng)


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
    assert (done.out_of_time, done.placement) == (0.05, None)
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
            optsched.core.deadline.check()

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
    with pytest.raises(KeyboardInterrupt):
        run(POSED["lsap"], lambda problem, rng: signal.raise_signal(signal.SIGINT), time_limit=1000)


def test_gap_of_a_heuristic_out_of_time() -> None:
    """Tests that a report tells of it and keeps the reference, and that no limit on the gap is met."""
    report = gap(POSED["lsap"], "dl", reference=gap(POSED["lsap"], "dl").reference, time_limit=0)
    assert (report.run.out_of_time, report.reference.kind, report.within("inf")) == (0, "optimum", False)


@pytest.fixture(name="problem")
def _problem() -> Problem:
    """Three tasks and slots for them."""
    posed: Any = optsched.problem("lsap", "papers/guo-fig2")
    return posed


@pytest.mark.parametrize("name", ["dl", "lsap-sched"])
def test_same_as_without(problem: Problem, name: str) -> None:
    """Tests that a run in a process of its own gives what it gives here, seeds and parameters included."""
    given: dict[str, Any] = {"max_idle_rounds": 7} if HEURISTICS[name].online else {}
    here = run(problem, name, 5, **given)
    with contained(Limits(60)):
        there = run(problem, name, 5, **given)
    assert there.placement.nodes.tolist() == here.placement.nodes.tolist()
    assert (there.parameters, there.rounds, there.idle_slot_time) == (here.parameters, here.rounds, here.idle_slot_time)
    assert (there.error, there.ended, there.cause) == (None, None, None)


@pytest.mark.parametrize(
    ("name", "ended", "message"),
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
def test_hostile_heuristics(problem: Problem, name: str, ended: str | None, message: str) -> None:
    """Tests that whatever a heuristic does is a run with its error, and how the process ended."""
    limits = Limits(0.5) if ended == "out-of-time" else Limits(60, 400)
    with contained(limits):
        found = run(problem, getattr(hostile_heuristics, name))
    assert (found.placement, found.ended, found.out_of_time) == (None, ended, None)
    assert found.error.startswith(f'heuristic "hostile_heuristics:{name}" {message}')
    if ended is None:
        assert isinstance(found.cause, TracedElsewhere)
        assert "hostile_heuristics.py" in found.cause.trace


def test_deadline_that_heuristics_look_at(problem: Problem) -> None:
    """Tests that a limit on time that is softer than the kill is reported as it is without."""
    with contained(Limits(60)):
        found = run(problem, hostile_heuristics.sleeps, time_limit=0.1)
    assert (found.out_of_time, found.ended) == (0.1, None)


def test_heuristics_of_no_module(problem: Problem) -> None:
    """Tests that a function within a function is sent with its code, and that what cannot be is reported."""
    offset = 0
    with contained(Limits(60)):
        assert run(problem, lambda problem, rng: [offset] + [None] * (len(problem.tasks) - 1)).placement is not None
        lock = threading.Lock()
        found = run(problem, lambda problem, rng: lock.acquire())
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
