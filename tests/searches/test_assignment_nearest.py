"""The nearest optimum of assignment problems, against every placement."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import optsched
from optsched.core.instance import Instance
from optsched.core.placement import NONE
from optsched.problems import PROBLEMS
from optsched.routes import solve
from optsched.searches.assignment import nearest_optimum

CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("lsap", {"nodes": 3, "tasks": 5, "slots": 2, "replicas": 1, "racks": 2}, {"levels": (0, 1, 2)}),
    ("lsap", {"nodes": 4, "tasks": 4, "slots": 1, "idle_ratio": 1.0}, {}),
    ("fair-lsap", {"nodes": 3, "tasks": 4, "slots": 2}, {}),
    ("flow", {"nodes": 4, "tasks": 4, "slots": 2}, {}),
]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("name", "sizes", "parameters"), CASES)
def test_fewest_moves(name: str, sizes: dict[str, Any], parameters: dict[str, Any], seed: int) -> None:
    """Tests that it is an optimum, and that none moves fewer tasks."""
    instance = optsched.generate(name, seed, **sizes)
    assert isinstance(instance, Instance)
    problem = PROBLEMS[name](instance, **parameters)
    solution = solve(problem)
    assert solution.decision is not None
    there = problem.nodes_of(solution.decision)
    every = [
        nodes
        for nodes in itertools.product(range(NONE, len(instance.cluster)), repeat=len(problem.tasks))
        if not problem.violations(problem.placement(nodes))
    ]
    optima = [nodes for nodes in every if problem.evaluate(problem.placement(nodes)) == solution.objective]
    here = np.array(every[np.random.default_rng(seed).integers(len(every))])
    found = nearest_optimum(problem, here, there)
    assert found is not None
    assert problem.evaluate(problem.placement(found)) == solution.objective
    classes = problem.classes().of_task

    def moved(nodes: Any) -> int:
        """How many tasks move, where those of a class may be swapped."""
        pairs = [sorted(zip(classes.tolist(), np.asarray(part).tolist(), strict=True)) for part in (here, nodes)]
        kept = sum(min(pairs[0].count(pair), pairs[1].count(pair)) for pair in set(pairs[0]) if pair[1] != NONE)
        return int((here != NONE).sum()) - kept

    assert moved(found) == min(map(moved, optima))


def test_no_optimum() -> None:
    """Tests that there is nothing nearest to be had from a placement that is not optimal."""
    problem = PROBLEMS["lsap"](optsched.load("papers/guo-fig2"))
    best = problem.nodes_of(solve(problem).decision)
    worst = np.roll(best, 1)
    assert problem.evaluate(problem.placement(worst)) != solve(problem).objective
    assert nearest_optimum(problem, best, worst) is None
