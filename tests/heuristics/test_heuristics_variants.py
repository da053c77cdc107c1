"""Every reading of every heuristic against the optimum: the contract suite runs their defaults."""

from typing import Any

import pytest
import transmission_instances
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from optsched.heuristics import HEURISTICS, applicable, run
from optsched.heuristics.labl import VARIANTS as LABL_VARIANTS
from optsched.heuristics.running.base import Heuristic
from optsched.heuristics.running.run import run_heuristic
from optsched.measuring.gaps import Reference, gap_of
from optsched.problems import Problem
from optsched.solvers.searches.enumeration import best_placement

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")

#: Parameters of heuristics beside their defaults.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "dl": [{"reading": "heartbeat"}],
    "rand": [{"randomness": 0.5}, {"reading": "heartbeat", "randomness": 0.5}],
    "lsap-sched": [{"window": 1}, {"window": 3}],
    "lsap-fair-sched": [{"overflow": "naive"}, {"gfc": "difference", "alpha": 0}],
    "balancing": [{"order": "given"}],
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
    "round-robin": [{"start": 3}],
    "flow-based": [{"ties": "work"}, {"covers": "fresh"}],
    "labl": [{"variant": variant, "lbar": lbar} for variant in LABL_VARIANTS for lbar in ("l**", "l**+1", "inf")],
}


@pytest.mark.parametrize("name", ["lsap", "fair-lsap", "lsap-fairness", "flow", "flow-congestion", "latency"])
def test_variants_of_heuristics(name: str) -> None:
    """Tests that every reading of every heuristic gives a feasible placement that does not beat the optimum."""

    def check_variants(problem: Problem) -> None:
        reference = Reference(problem)
        for entry in applicable(problem):
            for parameters in VARIANTS.get(entry.name, []):
                report = gap_of(problem, run(problem, entry, seed=1, **parameters), 1, reference)
                assert report.feasible, (entry.name, parameters, report.error, report.violations)

    settings(max_examples=12)(given(problems(name))(check_variants))()


# Shen et al.'s problems, in which a policy may starve ----------------------------------------------------------------

#: Rounds in vain after which a policy is given up here.
PATIENCE = 40


def serving(name: str) -> list[tuple[Heuristic, dict[str, Any]]]:
    """Every heuristic that serves a problem, with each of its readings; not what a trace says."""
    entries = [entry for entry in HEURISTICS.values() if name in entry.problems and entry.name != "observed"]
    return [(entry, values) for entry in entries for values in [{}, *VARIANTS.get(entry.name, [])]]


@pytest.mark.parametrize("name", list(transmission_instances.PROBLEMS))
@settings(max_examples=25)
@given(st.data())
def test_feasible_or_starved_and_never_below_the_optimum(name: str, data: st.DataObject) -> None:
    """Tests every heuristic in a drawn reading on a generated instance, against all placements.

    A policy cannot move what it has started, so it may come to where a reduce fits nowhere: then it is starved, within
    the rounds that it is given, and nothing is wrong with what it placed but that it is too little.
    """
    problem = data.draw(transmission_instances.problems(name))
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
@pytest.mark.parametrize("name", list(transmission_instances.PROBLEMS))
@settings(max_examples=60)
@given(data=st.data())
def test_hundreds_more(name: str, data: st.DataObject) -> None:
    """Tests the same on 200 instances."""
    test_feasible_or_starved_and_never_below_the_optimum.hypothesis.inner_test(name, data)
