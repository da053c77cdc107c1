"""What holds for every heuristic of Shen et al.'s problems: feasible or starved, never below optimum, same by seed."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transmission_instances import PROBLEMS, problems

from optsched.heuristics import HEURISTICS
from optsched.heuristics.running.base import Heuristic
from optsched.heuristics.running.run import run_heuristic
from optsched.searches.enumeration import best_placement

#: Rounds in vain after which a policy is given up here.
PATIENCE = 40

#: Readings beside the defaults.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "probabilistic": [
        {"average": "eligible", "jobs": "each"},
        {"select": "min_cost", "sizes": "emitted", "skip_limit": 2},
        {"p_min": 0.9, "sizes": "actual", "skip_limit": 0},
    ],
    "least-cost": [{"sizes": "emitted"}],
    "coupling": [
        {"progress": "finished", "sizes": "emitted"},
        {"waits": 0, "p_off": 0.1},
        {"waits_in": "offers", "centre": "free"},
    ],
    "delay": [{"form": "two-level", "D1": 2, "D2": 1}, {"D": 0}],
    "fair": [{"delay": 0}, {"delay": "auto", "assign": "single"}],
    "capacity": [{"reduce_delay": 0}, {"sizes": "emitted"}],
    "larts": [{"sizes": "emitted"}],
    "sequential": [{"ties": "first", "sizes": "emitted"}],
}


def serving(name: str) -> list[tuple[Heuristic, dict[str, Any]]]:
    """Every heuristic that serves a problem, with each of its readings; not what a trace says."""
    entries = [entry for entry in HEURISTICS.values() if name in entry.problems and entry.name != "observed"]
    return [(entry, values) for entry in entries for values in [{}, *VARIANTS.get(entry.name, [])]]


@pytest.mark.parametrize("name", list(PROBLEMS))
@settings(max_examples=25)
@given(st.data())
def test_feasible_or_starved_and_never_below_the_optimum(name: str, data: st.DataObject) -> None:
    """Tests every heuristic in a drawn reading on a generated instance, against all placements.

    A policy cannot move what it has started, so it may come to where a reduce fits nowhere: then it is starved, within
    the rounds that it is given, and nothing is wrong with what it placed but that it is too little.
    """
    problem = data.draw(problems(name))
    best = best_placement(problem)
    entry, parameters = data.draw(st.sampled_from(serving(name)))
    if entry.faults(problem):
        return
    seed = data.draw(st.integers(0, 3))
    options = {"max_idle_rounds": PATIENCE} if entry.online else {}
    run = run_heuristic(problem, entry, seed, **options, **parameters)
    placement = run.raise_if_failed()
    wrong = {violation.constraint for violation in problem.violations(placement)}
    assert wrong == ({"cardinality"} if run.starved else set())
    assert entry.online or not run.starved
    if not run.starved:
        assert problem.evaluate(placement) >= best[0]
    if run.rounds is not None:
        assert run.rounds <= PATIENCE * (problem.due + 1)
    assert run_heuristic(problem, entry, seed, **options, **parameters).placement == placement


@pytest.mark.thorough
@pytest.mark.parametrize("name", list(PROBLEMS))
@settings(max_examples=60)
@given(data=st.data())
def test_hundreds_more(name: str, data: st.DataObject) -> None:
    """Tests the same on 200 instances."""
    test_feasible_or_starved_and_never_below_the_optimum.hypothesis.inner_test(name, data)
