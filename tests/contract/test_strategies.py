"""Strategies of hypothesis: what they draw can be posed, is small, is shown whole, and shrinks."""

import importlib
import json
import sys
from typing import Any

import pytest
from hypothesis import Phase, find, given, seed, settings
from hypothesis import strategies as st
from small_problems import scarcest_first

import optsched
from optsched.core.errors import UsageError
from optsched.core.instance import Instance
from optsched.core.network import FlowNetwork
from optsched.core.registry import records
from optsched.measuring.gaps import gap
from optsched.problems import Problem
from optsched.routes import solve
from optsched.testing.strategies import instances, problems

QUICK = settings(max_examples=5, database=None)


@pytest.mark.parametrize("name", records())
def test_every_problem_has_a_strategy(name: str) -> None:
    """Tests that small instances of every problem's family are drawn, on which it can be posed and solved."""

    @QUICK
    @given(problems(name, most_nodes=4, most_tasks=5))
    def holds(problem: Any) -> None:
        assert problem.name == name
        if isinstance(problem, Problem):
            assert 1 <= len(problem.instance.cluster) <= (4 if "nodes" in records()[name].sizes else 9)
            assert len(problem.tasks) >= 1
        solution = solve(problem, "ci")
        assert solution.objective is None or problem.evaluate(solution.decision) == solution.objective

    holds()


def test_instances_of_a_family() -> None:
    """Tests that another family and fixed sizes are drawn from, and that networks are drawn for `min-cost-flow`."""

    @QUICK
    @given(instances("lsap", family="planted-lsap", sizes={"remote": 0}, most_tasks=3), instances("min-cost-flow"))
    def holds(instance: Instance, network: FlowNetwork) -> None:
        assert len(instance.workload) <= 3
        assert not any(name.startswith("optimum.") for name in instance.labels) or instance.name != "drawn"
        assert isinstance(network, FlowNetwork)

    holds()


@pytest.mark.parametrize(
    ("problem", "heuristic", "most"),
    [
        ("generalized-assignment", None, 1),
        pytest.param("latency", "round-robin", 2, marks=pytest.mark.thorough),
        pytest.param("lsap", "rand", 2, marks=pytest.mark.thorough),
    ],
)
def test_what_fails_shrinks(problem: str, heuristic: str | None, most: int) -> None:
    """Tests that an instance on which a heuristic is not optimal shrinks to a few tasks and nodes."""

    def beaten(posed: Any) -> bool:
        if heuristic is None:
            return solve(posed, "ci").objective is None
        report = gap(posed, heuristic)
        return bool(report.absolute_gap and any(report.absolute_gap))

    found = find(problems(problem), beaten, settings=settings(max_examples=200, database=None))
    assert len(found.tasks) <= most
    assert len(found.instance.cluster) <= most


def test_the_instance_that_fails_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that the falsifying example comes with its document, which loads as the same instance."""
    seen: list[Instance] = []

    @settings(max_examples=3, database=None, phases=(Phase.generate, Phase.shrink))
    @given(problems("latency", w_rem=7))
    def fails(problem: Any) -> None:
        seen.append(problem.instance)
        assert problem.parameters["w_rem"] == 7
        assert len(problem.tasks) > 99

    with pytest.raises(AssertionError) as caught:
        fails()
    (shown,) = (line for line in caught.value.__notes__ if line.startswith("instance: "))
    assert optsched.load(json.loads(shown.removeprefix("instance: "))).sha256 == seen[-1].sha256
    assert len(seen[-1].workload) == len(seen[-1].cluster) == 1


def test_without_hypothesis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that where hypothesis is not installed, one line says how to install it."""
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "optsched.testing.strategies")
    with pytest.raises(ImportError, match=r"needs hypothesis: pip install optsched\[hypothesis\]"):
        importlib.import_module("optsched.testing.strategies")


def test_wrong_arguments() -> None:
    """Tests that problems, families, settings, sizes and parameters that there are not are reported when asked for."""
    for strategy, message in (
        (lambda: problems("lsapp"), "lsapp"),
        (lambda: problems("lsap", family="lsapp"), 'no family "lsapp"'),
        (lambda: problems("lsap", sizes={"nods": 2}), 'lsap: no parameter "nods"'),
        (lambda: problems("lsap", sizes={"nodes": -2}), "it must be an integer"),
        (lambda: problems("lsap", most_tasks=0), "one node and task at least"),
        (lambda: problems("latency", w_ram=1), "w_ram"),
    ):
        with pytest.raises(UsageError, match=message):
            strategy()
    assert isinstance(instances("lsap"), st.SearchStrategy)


def test_bug_a_greedy_rule_passed_the_default_strategy() -> None:
    """Tests that the default strategy refutes the rule "scarcest task first" within its default examples, as a rule."""
    refuted = number = 0
    while refuted < 3 and number < 6:

        @seed(number)
        @settings(max_examples=100, database=None, phases=(Phase.generate,))
        @given(problems("lsap"))
        def optimal(problem: Any) -> None:
            assert gap(problem, scarcest_first).absolute_gap == (0,)

        try:
            optimal()
        except AssertionError:
            refuted += 1
        number += 1
    assert refuted == 3  # 13 of the first 16 seeds do
