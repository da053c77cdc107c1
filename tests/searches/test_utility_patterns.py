"""Patterns of `utility`: the best and all maximal ones of a node, and where there are too many."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from utility_instances import posed, problems

from optsched.problems import Utility
from optsched.problems.knapsack import knapsack_bounds
from optsched.problems.utility_program import Items, maximal_patterns
from optsched.routes import solve
from optsched.searches import utility_patterns
from optsched.searches.utility_patterns import best_patterns


@given(problems())
def test_patterns(problem: Utility) -> None:
    """Tests that best patterns fit and are worth the exact knapsack, and that maximal ones are all of them."""
    items = Items.of(problem)
    worth = np.arange(len(items.limit)) % 4 - 1
    values, patterns = best_patterns(problem.type_room, items, items.limit, worth.astype(np.float64))
    assert values.tolist() == knapsack_bounds(problem.type_room, items.demand, items.limit, worth)
    assert (patterns @ items.demand <= problem.type_room).all()
    assert (patterns <= items.limit).all()
    for room in problem.type_room:
        listed = maximal_patterns(room, items, 5_000)
        assert listed is not None
        ranges = (range(most + 1) for most in items.limit.tolist())
        fitting = [counts for counts in itertools.product(*ranges) if (np.array(counts) @ items.demand <= room).all()]
        held = set(fitting)
        maximal = {
            counts
            for counts in fitting
            if not any((*counts[:item], counts[item] + 1, *counts[item + 1 :]) in held for item in range(len(counts)))
        }
        assert {tuple(row) for row in listed.tolist()} == maximal
        assert len(listed) == len(maximal)


def test_divided_rooms_give_patterns_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that with too few states for the room a pattern is found that fits, if not the best."""
    monkeypatch.setattr(utility_patterns, "MOST_STATES", 4)
    problem = posed({"cpu": [11]}, [{"maps": 9, "map": {"cpu": 2}}, {"maps": 9, "map": {"cpu": 3}}])
    items = Items.of(problem)
    values, patterns = best_patterns(problem.type_room, items, items.limit, np.array([2.0, 3.0, 0.0, 0.0]))
    assert 0 < values[0] <= 11
    assert (patterns @ items.demand <= problem.type_room).all()
    assert solve(problem).optimal


def test_too_many_patterns() -> None:
    """Tests that a list of patterns past its limit is none, and the nodes are counted one by one."""
    problem = posed({"cpu": [9, 9]}, [{"maps": 9, "map": {"cpu": 1}}, {"maps": 9, "map": {"cpu": 2}}])
    assert maximal_patterns(problem.type_room[0], Items.of(problem), 1) is None
