"""Drawn patterns of `utility`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from utility_instances import problems

from optsched.certificates import certify
from optsched.core.results import Proof
from optsched.instances.generate import generate
from optsched.problems import Utility
from optsched.routes import solve
from optsched.searches.utility_columns import vary
from optsched.searches.utility_patterns import Packing, Patterns, best_patterns


@given(problems())
@settings(max_examples=10)
def test_drawn_patterns(problem: Utility) -> None:
    """Tests that drawn patterns fit, are nearly worth the best one of their type, and are the same each time."""
    packing = Packing.of(problem, problem.lowest_units)
    items = packing.items
    worth = items.share * 1.0 - (np.arange(len(items.limit)) % 2 * 2**16)[:, None]
    drawn = [Patterns(), Patterns()]
    for patterns in drawn:
        vary(packing, patterns, worth, 2.0**16)
    assert drawn[0].kind == drawn[1].kind
    assert [own.tolist() for own in drawn[0].counts] == [own.tolist() for own in drawn[1].counts]
    for kind, counts in zip(drawn[0].kind, drawn[0].counts, strict=True):
        room = problem.type_room[kind]
        best = best_patterns(room[None], items, items.limit, worth[:, kind])[0][0]
        assert (counts @ items.demand <= room).all()
        assert (counts <= items.limit).all()
        assert counts @ worth[:, kind] >= best - 2**16


@pytest.mark.thorough
def test_many_jobs_on_alike_trackers() -> None:
    """Tests that 20 jobs on 200 trackers are closed by prices, where patterns of the linear program do not add up."""
    problem = Utility(generate("utility", seed=1, jobs=20, nodes=200, maps=600))
    solution = solve(problem)
    assert solution.optimal
    assert [certificate.kind for certificate in solution.certificates] == [Proof.DUAL] * 2
    assert certify(problem, solution).valid
