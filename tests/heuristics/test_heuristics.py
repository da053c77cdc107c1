"""The list of all heuristics: whole, and true to the modules; what their parameters refuse."""

import re
from typing import Any

import pytest
import transmission_instances
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from optsched.core.errors import UsageError
from optsched.heuristics import HEURISTICS, applicable, run
from optsched.heuristics.labl import VARIANTS as LABL_VARIANTS
from optsched.heuristics.running.base import Heuristic, table_row
from optsched.heuristics.running.run import run_heuristic
from optsched.measuring.gaps import Reference, gap_of
from optsched.problems import PROBLEMS, Problem
from optsched.problems.parameters import resolve
from optsched.solvers.searches.enumeration import best_placement

#: Numbers that parameters of heuristics refuse; none takes a text that is no number or name.
OUT_OF_RANGE = {
    "rand": {"randomness": (1.5, -1)},
    "lsap-sched": {"window": (-1, 0.5)},
    "lsap-fair-sched": {"alpha": (-1,)},
    "delay": {"D": (-1, 0.5), "D1": (-1,), "D2": (-1,)},
    "fair": {"delay": (-1, 0.5)},
    "capacity": {"reduce_delay": (-1, 0.5)},
    "probabilistic": {"p_min": (1.5, -0.1), "skip_limit": (-1, 1.5)},
    "coupling": {"p_rack": (2,), "p_off": (-1,), "waits": (-1, 0.5)},
    "quincy": {"rack": (-1,), "off_rack": (-1,)},
    "sequential": {"starts": (0, 1.5)},
    "round-robin": {"start": (-1, 0.5)},
    "labl": {"lbar": ("l*", 1.5), "start": ("inf",)},
    "joss-t": {"td": (-1,), "large": (-1,)},
    "ras": {"rounds": (0, 1.5)},
    "fair-sharing": {"slots": (-1, 0.5), "reduce_slots": (-1, 0.5)},
}


@pytest.mark.parametrize("name", HEURISTICS)
def test_what_parameters_refuse(name: str) -> None:
    """Tests each parameter with values that are none, and a parameter that there is not."""
    table, refused = HEURISTICS[name].parameters or (), OUT_OF_RANGE.get(name, {})
    for parameter in table:
        for wrong in ("no such value", *refused.get(parameter.name, ())):
            with pytest.raises(UsageError, match=re.escape(f"{name}: {parameter.name}={wrong!r}: ")):
                resolve(name, table, {parameter.name: wrong})
    with pytest.raises(UsageError, match=f'{name} has no parameter "selection"'):
        resolve(name, table, {"selection": "free"})


def test_list_is_whole() -> None:
    """Tests that each entry has a unique name, a doc of one line, known problems, one way to run, and a row."""
    for name, entry in HEURISTICS.items():
        assert entry.name == name
        assert entry.doc
        assert "\n" not in entry.doc
        assert set(entry.problems) <= set(PROBLEMS)
        assert (entry.batch is None) == entry.online
        assert table_row(entry)["name"] == name
    design = """
        dl rand lsap-sched lsap-fair-sched flow-sched flow-greedy balancing fifo larts delay fair capacity
        probabilistic least-cost coupling quincy sequential round-robin flow-based labl
        joss-t joss-j ras fair-sharing observed
    """
    assert set(design.split()) == set(HEURISTICS)


# Every reading of every heuristic against the optimum: the contract suite runs their defaults -------------------------

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
