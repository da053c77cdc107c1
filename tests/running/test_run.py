"""Running heuristics: names, a user's own callables and policies, faulty ones, and that none changes the instance."""

from __future__ import annotations

import functools
import importlib
import math
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optsched.errors import HeuristicFailed, UsageError
from optsched.gaps import gap
from optsched.heuristics import HEURISTICS, Heuristic, Offer, Policy, View, heuristic, run
from optsched.instance import Cluster, Instance, Ragged, Workload
from optsched.problems import FairLsap, Latency, Lsap, Problem


@pytest.fixture
def posed() -> Lsap:
    """Three tasks on two nodes with two slots each."""
    workload = Workload(["t1", "t2", "t3"], replicas=Ragged.from_rows([[0], [0, 1], [1]]))
    return Lsap(Instance(Cluster(["a", "b"], slots=[2, 2]), workload))


def by_id(problem: Problem, rng: np.random.Generator, node: str = "a") -> list[str]:
    """Everything on one node."""
    return [node] * len(problem.tasks)


class FirstWaiting(Policy):
    """The first task that waits, as many at once as it is told."""

    def __init__(self, at_once: int = 1) -> None:
        self.at_once = at_once

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        return view.pending[: min(self.at_once, offer.free)].tolist()


def test_names_and_problems_that_do_not_fit(posed: Lsap) -> None:
    """Tests that unknown names and problems that a heuristic does not serve are wrong usage, with what to do."""
    with pytest.raises(UsageError, match='there is no heuristic "lsap-shed"; did you mean "lsap-sched"'):
        run(posed, "lsap-shed")
    served = "lsap, fair-lsap, lsap-fairness, worst-group, flow"
    with pytest.raises(UsageError, match=f"dl does not serve latency, only {served}"):
        run(Latency(posed.instance), "dl")
    with pytest.raises(UsageError, match="lsap-sched is a batch heuristic: it has no rounds"):
        run(posed, "lsap-sched", max_idle_rounds=3)
    with pytest.raises(UsageError, match="dl: max_idle_rounds=0: give a number that is 1 or more"):
        run(posed, "dl", max_idle_rounds=0)
    for seed in (-1, 1.5, (), True, (3, -1), "1"):
        with pytest.raises(UsageError, match=r"seed .*: give a whole number"):
            run(posed, "dl", seed)  # type: ignore[arg-type]


def test_seed_may_be_a_tuple(posed: Lsap) -> None:
    """Tests that several numbers are a seed, so that repeated runs have streams of their own."""
    runs = [run(posed, "rand", (0, repeat)).placement for repeat in range(20)]
    assert len(set(runs)) > 1
    assert runs == [run(posed, "rand", (0, repeat)).placement for repeat in range(20)]


def test_what_a_run_says(posed: Lsap) -> None:
    """Tests the record of an online and of a batch heuristic."""
    online = run(posed, "dl", max_idle_rounds=4)
    assert (online.name, online.error, online.starved, online.rounds) == ("dl", None, False, 1)
    assert dict(online.parameters) == {"reading": "sweep", "max_idle_rounds": 4}
    assert online.seconds >= 0
    batch = run(posed, "lsap-sched", window=2)
    assert dict(batch.parameters) == {"window": 2}
    assert (batch.rounds, batch.idle_slot_time) == (None, None)


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
    assert result.error is None
    assert result.placement is not None
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
    result = run(posed, by_id)
    assert result.error is None
    assert [str(one) for one in posed.violations(result.raise_if_failed())] == ["slots(a) by 1"]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (3, "3 is no heuristic: give a name, a callable"),
        ("a b:c", "write it as package.module:function"),
        (":c", "write it as package.module:function"),
        ("a:", "write it as package.module:function"),
        ("a:b:c", "write it as package.module:function"),
        ("no.such:thing", 'there is no module "no.such"; install it, or put the folder'),
        ("my_file.py:thing", 'give its name and not its file: "my_file:thing"'),
        ("math:hypott", 'there is no "hypott" in it; did you mean "hypot"?'),
        ("math:pi", "3.14.* is no heuristic"),
        ("fractions:Fraction", r"fractions:Fraction is a class without offer\(offer, view\), which makes a policy"),
    ],
)
def test_what_is_no_heuristic(posed: Lsap, given: Any, complaint: str) -> None:
    """Tests that wrong types and names that lead nowhere are wrong usage, with the mend."""
    with pytest.raises(UsageError, match=complaint):
        run(posed, given)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("import no_such_dependency", r"importing its module raised ModuleNotFoundError: .*no_such_dep.*; mend the"),
        ("def broken(:", "importing its module raised SyntaxError"),
        ("1 / 0", r"importing its module raised ZeroDivisionError: .*own_heuristic.py, line 1\)"),
    ],
)
def test_module_that_cannot_be_imported(
    posed: Lsap, source: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a fault inside a user's module is told as such, with its place."""
    (tmp_path / "own_heuristic.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=complaint):
        run(posed, "own_heuristic:place")
    sys.modules.pop("own_heuristic", None)


@pytest.mark.parametrize(
    ("given", "parameters", "complaint"),
    [
        (by_id, {"nodes": "b"}, r"is called with \(problem, rng\) and its parameters: got an unexpected keyword"),
        (lambda problem: [], {}, r"is called with \(problem, rng\) and its parameters: too many positional"),
        (FirstWaiting, {"many": 1}, "is called with its parameters: got an unexpected keyword argument 'many'"),
        (FirstWaiting(1), {"at_once": 2}, "is called with its parameters: got an unexpected"),
    ],
)
def test_call_that_does_not_fit(posed: Lsap, given: Any, parameters: dict[str, Any], complaint: str) -> None:
    """Tests that a signature which does not take the parameters is wrong usage, told before anything runs."""
    with pytest.raises(UsageError, match=complaint):
        run(posed, given, **parameters)


def test_callable_that_shows_no_signature(posed: Lsap) -> None:
    """Tests that what cannot be asked for its signature is called all the same."""
    assert "raised TypeError" in (run(posed, "builtins:min", key=len).error or "")


# Faulty ones ----------------------------------------------------------------------------------------------------------


def _raise(error: BaseException) -> Callable[..., Any]:
    def faulty(problem: Problem, rng: np.random.Generator) -> Any:
        raise error

    return faulty


class Answers(Policy):
    """A policy that always gives the same answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def offer(self, offer: Offer, view: View) -> Any:
        return self.answer


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (lambda problem, rng: None, "answered None; give a Placement"),
        (lambda problem, rng: ["a"], "answered 1 nodes; give exactly one for each of problem.tasks, that is 3"),
        (lambda problem, rng: ["a", "b", "n93"], 'answered node "n93" for task "t3": the instance has no such node'),
        (lambda problem, rng: [0, 1, 2], 'answered node index 2 for task "t3"'),
        (lambda problem, rng: [0, 1, math.nan], 'answered nan for task "t3"'),
        (lambda problem, rng: {"t9": "a"}, 'names task "t9", which is none of problem.tasks'),
        (_raise(ValueError("bad luck")), "raised ValueError: bad luck (/"),
        (_raise(MemoryError()), "raised MemoryError (/"),
        (_raise(UsageError("not yours")), "raised optsched.errors.UsageError: not yours (/"),
        (Answers(None), "answered None; give a sequence of tasks"),
        (Answers([0, 1, 2]), "answered 3 tasks, more than the 2 free slots"),
        (Answers([1, 1]), 'answered task "t2" twice'),
        (Answers([9]), "answered 9, no task of the view, which is no map that waits"),
        (Answers([math.nan]), "answered nan; give the tasks' numbers"),
        (Answers([0]), 'answered task "t1", which is no map that waits'),
    ],
)
def test_faulty_heuristic_is_reported(posed: Lsap, given: Any, complaint: str) -> None:
    """Tests that nonsense and exceptions are a record with the heuristic's name and what was wrong."""
    result = run(posed, given)
    assert result.placement is None
    assert result.error is not None
    assert result.error.startswith(f'heuristic "{result.name}" ')
    assert complaint.replace("(/", "(") in result.error
    assert "\n" not in result.error
    with pytest.raises(HeuristicFailed) as failed:
        result.raise_if_failed()
    assert str(failed.value) == result.error


def test_exception_is_told_with_its_line(posed: Lsap) -> None:
    """Tests that a report names file and line of the user's own code."""

    def divides(problem: Problem, rng: np.random.Generator) -> Any:
        return 1 // len(problem.tasks[:0])

    result = run(posed, divides)
    line = divides.__code__.co_firstlineno + 1
    assert result.error == (
        f'heuristic "{result.name}" raised ZeroDivisionError: integer division or modulo by zero '
        f"({__file__}, line {line})"
    )


def test_constructor_that_raises_is_reported(posed: Lsap) -> None:
    """Tests that a policy that cannot be made is a record too."""

    class Broken(FirstWaiting):
        def __init__(self) -> None:
            raise OSError("no table")

    assert "raised OSError: no table" in (run(posed, Broken).error or "")


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
        for array in (
            problem.capacity,
            problem.replicas.values,
            problem.instance.state.idle_slots,
            problem.instance.workload.replicas.values,
            problem.tasks,
        ):
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

    loads = Latency(posed.instance)

    def adds_up(problem: Any, rng: np.random.Generator) -> Any:
        problem.initial_load = problem.initial_load + 5
        return [0, 1, 1]

    assert loads.evaluate(run(loads, adds_up).raise_if_failed()) == (2, 3)


def test_copy_of_the_problem_does_not_warn_again(posed: Lsap) -> None:
    """Tests that a beta which has been warned of is not warned of once more by the copy."""
    workload = Workload(
        ["t1"],
        job=[0],
        job_ids=["j1"],
        job_group=[0],
        group_ids=["g1", "g2"],
        group_weight=[1, 1],
    )
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


def _lines(error: BaseException | None) -> list[int]:
    """Lines of the user's module in a traceback."""
    assert error is not None
    frames = traceback.extract_tb(error.__traceback__)
    return [frame.lineno for frame in frames if frame.filename.endswith("my_sched.py") and frame.lineno is not None]


def test_exception_of_a_user_is_chained(posed: Lsap, broken: Any) -> None:
    """Tests that a user's own exception, with its lines, is the cause of what a test of a scheduler raises."""
    result = run(posed, broken.fails)
    assert result.error is not None
    assert "KeyError: 'rack r7'" in result.error
    assert "my_sched.py, line 12)" in result.error
    with pytest.raises(HeuristicFailed) as failed:
        result.raise_if_failed()
    assert isinstance(failed.value.__cause__, KeyError)
    assert _lines(failed.value.__cause__) == [7, 12]
    with pytest.raises(HeuristicFailed) as judged:
        gap(posed, "my_sched:fails").raise_unless_within(0.05)
    assert _lines(judged.value.__cause__) == [7, 12]


def test_line_of_a_user_whose_library_raised(posed: Lsap, broken: Any) -> None:
    """Tests that the user's own line is told where it is a library that raised, and the library's place after it."""
    told = run(posed, broken.inside_numpy).error
    assert told is not None
    assert "my_sched.py, line 16; raised in " in told
    assert "linalg" in told.rpartition("raised in")[2]


@pytest.mark.parametrize("where", ["start", "offer", "notify", "answer"])
def test_exception_of_a_policy_is_chained(posed: Lsap, broken: Any, where: str) -> None:
    """Tests the same of each method of a policy, and of what it answers."""
    result = run(posed, broken.Fails, where=where)
    assert result.error is not None
    assert f"ZeroDivisionError: {where}" in result.error
    assert "my_sched.py, line " in result.error
    with pytest.raises(HeuristicFailed) as failed:
        result.raise_if_failed()
    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    assert _lines(failed.value.__cause__)


def test_exception_of_making_a_policy_is_chained(posed: Lsap) -> None:
    """Tests the same of the constructor, and that what is merely nonsense has no cause."""

    class Unmade(FirstWaiting):
        def __init__(self) -> None:
            raise OSError("no licence")

    with pytest.raises(HeuristicFailed, match="no licence") as failed:
        run(posed, Unmade).raise_if_failed()
    assert isinstance(failed.value.__cause__, OSError)
    with pytest.raises(HeuristicFailed, match="answered None") as nonsense:
        run(posed, lambda problem, rng: None).raise_if_failed()
    assert nonsense.value.__cause__ is None


@pytest.mark.parametrize("text", ["import no_such_thing_at_all", "1 / 0", "def broken(:", "import sys; sys.exit(3)"])
def test_module_that_fails_on_import(posed: Lsap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Tests that a module that cannot be imported is told with its own line, and the exception is the cause."""
    (tmp_path / "my_failing.py").write_text(f"# a scheduler\n{text}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match="importing its module raised") as failed:
        run(posed, "my_failing:scheduler")
    assert failed.value.__cause__ is not None
    assert "my_failing.py, line 2" in str(failed.value)
    assert "raised in" not in str(failed.value)
