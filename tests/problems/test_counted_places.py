"""The programs of assignment problems: held against definitions, together and apart, and back to placements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import optsched
from optsched.core.placement import NONE
from optsched.core.registry import records
from optsched.instances.generate import generate
from optsched.models import module
from optsched.problems import PROBLEMS
from optsched.problems.counted_places import CountedPlaces, filled
from optsched.problems.programs import samples
from optsched.routes import solve
from optsched.solvers.algebraic import solve_pyomo

#: Problems whose tasks are counted in places.
COUNTED = [name for name, kind in PROBLEMS.items() if issubclass(kind, CountedPlaces)]


def posed(name: str, seed: int) -> list[Any]:
    """The problem with each of its parameters on a small drawn instance."""
    record = records()[name]
    instance = generate(record.family, seed=seed, **record.sizes)
    found = [optsched.problem(name, instance, **parameters) for parameters in ({}, *record.variants)]
    return [problem for problem in found if problem.plainly_infeasible is None]


@pytest.mark.parametrize("name", COUNTED)
def test_a_forbidden_pair_per_task_and_node(name: str) -> None:
    """Tests that a model per pair without a pair has the optimum of the placements without it."""
    for problem in posed(name, 1):
        allowed, best = [], solve(problem).decision
        task = int(np.flatnonzero(problem.nodes_of(best) != NONE)[0])
        node = int(problem.nodes_of(best)[task])
        for placement in samples(problem, best):
            if not problem.violations(placement) and problem.nodes_of(placement)[task] != node:
                allowed.append(problem.evaluate(placement)[0])
        model = module(name).build_pyomo(problem, per_pair=True)
        instance = problem.instance
        model.place[instance.workload.task_ids[problem.tasks[task]], instance.cluster.node_ids[node]].fix(0)
        outcome = solve_pyomo(model, "exact")
        if outcome.objective is None:
            assert not allowed
            continue
        placement = module(name).decode(model, problem)
        assert problem.nodes_of(placement)[task] != node
        assert not problem.violations(placement)
        worth = problem.minimised(problem.evaluate(placement))[0]
        assert all(worth <= problem.minimised((value, *problem.evaluate(placement)[1:]))[0] for value in allowed)


def test_filled() -> None:
    """Tests that steps fill in order, and that there may be none."""
    assert [filled([2, 3], count).tolist() for count in (0, 1, 2, 4, 5)] == [[0, 0], [1, 0], [2, 0], [2, 2], [2, 3]]
    assert filled([], 0).tolist() == []
