"""Every reading of every heuristic against the optimum: the contract suite runs their defaults."""

from typing import Any

import pytest
from hypothesis import given, settings
from strategies import problems

from optsched.heuristics import applicable, run
from optsched.heuristics.labl import VARIANTS as LABL_VARIANTS
from optsched.measuring.gaps import Reference, gap_of
from optsched.problems import Problem

pytestmark = pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")

#: Parameters of heuristics beside their defaults.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "dl": [{"reading": "heartbeat"}],
    "rand": [{"randomness": 0.5}, {"reading": "heartbeat", "randomness": 0.5}],
    "lsap-sched": [{"window": 1}, {"window": 3}],
    "lsap-fair-sched": [{"overflow": "naive"}, {"gfc": "difference", "alpha": 0}],
    "balancing": [{"order": "given"}],
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
