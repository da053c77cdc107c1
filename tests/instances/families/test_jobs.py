"""The family with the fields of all problems."""

from __future__ import annotations

import pytest

from optsched.core.errors import MissingField
from optsched.instances.generate import generate
from optsched.problems import PROBLEMS, problem

#: How many tasks each problem places: the 12 maps, the 4 reduces, or all.
FIELDS = {
    **dict.fromkeys(("lsap", "fair-lsap", "lsap-fairness", "worst-group", "flow", "latency", "transmission-maps"), 12),
    **dict.fromkeys(("flow-congestion", "transmission", "utility", "traffic"), 16),
    **dict.fromkeys(("makespan", "job-times"), 16),
    "transmission-reduces": 4,
}

#: What wants a cost of each pair, and what is no placement.
OTHERS = {"generalized-assignment", "min-cost-flow"}


@pytest.mark.parametrize("seed", range(3))
def test_every_problem_of_the_papers_can_be_posed(seed: int) -> None:
    """Tests that no problem that places tasks lacks a field, but for generalised assignment, which wants pair costs."""
    instance = generate("mixed", seed)
    assert set(PROBLEMS) - OTHERS == set(FIELDS)
    assert {name: len(problem(name, instance).tasks) for name in FIELDS} == FIELDS
    with pytest.raises(MissingField, match=r"pairs\.cost"):
        problem("generalized-assignment", instance)
