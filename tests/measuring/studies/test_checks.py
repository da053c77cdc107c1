"""What is asserted of a heuristic, what is found wrong before it runs, and what comes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from optsched.core.errors import InputError, UsageError
from optsched.measuring.studies.baselines import Baseline
from optsched.measuring.studies.check_files import _RULES
from optsched.measuring.studies.checks import Check, CheckArguments, kinds_of
from optsched.measuring.studies.choices import Family


def nowhere(problem: Any, rng: Any) -> list[None]:
    """Places nothing, which is infeasible."""
    return [None] * len(problem.tasks)


def broken(problem: Any, rng: Any) -> list[str]:
    """Raises."""
    raise KeyError("lost")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"max_gap": "5%"}, "worst gap at most 5 %"),
        ({"max_absolute": 2, "over": 0.9, "baseline": "x.json"}, "0.9 quantile of the gap at most 2"),
        ({"max_gap": 0, "certify": ["solver"]}, "worst gap at most 0 %, proved"),
        ({}, "feasible"),
        ({"baseline": "x.json", "certify": True}, "no worse than recorded, proved"),
    ],
)
def test_asserted(given: dict[str, Any], told: str) -> None:
    """Tests that what must hold is told in a few words."""
    assert Check.of("dl", "papers/guo-fig2", "lsap", **given).asserted.startswith(told)


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"feasible": False}, UsageError, "nothing is asserted"),
        ({"heuristic": []}, UsageError, "at least one heuristic in at least one problem"),
        ({"problem": []}, UsageError, "at least one heuristic in at least one problem"),
        ({"problem": ["lsap", "lsapp"]}, UsageError, 'did you mean "lsap"'),
        ({"certify": ["solvr"]}, UsageError, 'did you mean "solver"'),
        ({"seeds": 0}, UsageError, "seeds 0: give how many"),
        ({"instances": []}, UsageError, "on at least one instance"),
        ({"heuristic": ["dl", "labl"]}, UsageError, "heuristic labl serves latency; not lsap"),
        ({"problem": ["lsap", "latency"]}, UsageError, "heuristic dl serves .*; not latency"),
        ({"max_gap": 0, "component": "work"}, UsageError, 'no component "work"'),
        ({"parameters": {"levls": [0, 1, 2]}}, UsageError, 'did you mean "levels"'),
        ({"instances": "no/such.json"}, InputError, "No such file"),
        ({"baseline": "."}, InputError, "cannot be read as a baseline"),
        ({"problem": None}, UsageError, "in a problem, or a list of them, by name, not None"),
        ({"parameters": "levels=0,1,2"}, UsageError, "a mapping of names to values"),
    ],
)
def test_wrong_use(given: dict[str, Any], error: Any, told: str) -> None:
    """Tests that what is asked for wrongly is told before anything runs."""
    with pytest.raises(error, match=told):
        Check.of(**{"heuristic": "dl", "instances": "papers/guo-fig2", "problem": "lsap"} | given).planned()


def test_several_heuristics_and_problems() -> None:
    """Tests that each heuristic is measured in each problem, with each seed, and that the line names them all."""
    planned = Check.of(["dl", "lsap-sched"], "papers/guo-table2", ["lsap", "fair-lsap"], seeds="3,5").planned()
    assert planned.steps == 8
    steps: list[str] = []
    outcome = planned.judge(planned.measure(steps.append))
    assert len(steps) == 8
    assert not outcome.failed
    assert outcome.told.startswith("dl, lsap-sched in lsap, fair-lsap, 8 runs of 2 seeds: worst gap ")
    assert {(entry.heuristic, entry.report.problem.name, entry.report.seed) for entry in outcome.reports.measured} == {
        (label, name, seed) for label in ("dl", "lsap-sched") for name in ("lsap", "fair-lsap") for seed in (3, 5)
    }
    assert outcome.numbers["runs"] == 8


def test_each_assertion_fails() -> None:
    """Tests that a gap, an infeasible placement and a reference that is not proved each break what is asserted."""
    twins = Family("lsap", 2, {"nodes": 6, "tasks": 9})
    assert Check.of("rand", twins, "lsap", max_absolute=0).planned().run().failed
    outcome = Check.of(nowhere, "papers/guo-fig2", "lsap").planned().run()
    assert "infeasible" in next(outcome.lines())
    assert outcome.cause is None
    assert not Check.of(nowhere, "papers/guo-fig2", "lsap", feasible=False, certify=True).planned().run().failed
    tried = Family("job-times", [0], {"nodes": 2, "tasks": 5, "jobs": 3, "replicas": 1, "reduces": 0, "slots": 1})
    (breach,) = Check.of("dl", tried, "job-times", certify=[]).planned().run().breaches
    assert breach.told.startswith("the reference is not proved: ")
    assert not Check.of("dl", tried, "job-times", certify="enumeration").planned().run().failed


def test_what_it_raised() -> None:
    """Tests that the user's own exception is the cause."""
    outcome = Check.of(broken, "papers/guo-fig2", "lsap").planned().run()
    assert isinstance(outcome.cause, KeyError)
    assert any("cd a/b && " in line or "no name that a command could import" in line for line in outcome.lines("a/b"))


def test_against_a_baseline(tmp_path: Path) -> None:
    """Tests that without a baseline it is said how to record one, and that worse, equal and better are told apart."""
    path = tmp_path / "gaps.json"

    def check(heuristic: str, record: bool = False) -> Any:
        choice = replace(Check.of(heuristic, "papers/guo-fig2", "lsap").choices[0], label="mine")
        made = Check.of(choice, "papers/guo-fig2", "lsap", baseline=path)
        return made.planned(record, "run it with --record").run()

    (breach,) = check("lsap-sched").breaches
    assert breach.told == f"there is no baseline {path}; run it with --record"
    recorded = check("lsap-sched", record=True)
    assert not recorded.failed
    assert not path.exists(), "what is recorded is written by whoever asks for it"
    Baseline.of(recorded.reports.measured).write(path)
    assert not check("lsap-sched").failed
    worse = check("rand")
    assert worse.failed
    Baseline.of(worse.reports.measured).write(path)
    better = check("lsap-sched")
    assert (better.failed, better.improved) == (False, 1)
    assert better.told.endswith("; 1 better than recorded")


def test_kinds() -> None:
    """Tests what certify stands for."""
    given: list[Any] = [False, True, [], "solver", ["solver", "nothing"]]
    assert list(map(kinds_of, given)) == [None, (), (), ("solver",), ("solver", "nothing")]


def test_arguments_are_declared_once() -> None:
    """Tests that a file of checks has a key for each argument and no other, and that a wrong name is refused."""
    assert set(_RULES) - {"name", "heuristic", "instances", "family", "problem"} == set(CheckArguments.__annotations__)
    with pytest.raises(TypeError, match="no argument max_gaps"):
        Check.of("dl", "papers/guo-fig2", "lsap", max_gaps=0)  # type: ignore[typeddict-item]
