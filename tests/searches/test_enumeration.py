"""Enumeration against judging every placement, the first of equals, Pareto fronts, and what is refused."""

from __future__ import annotations

import congestion_instances
import generalized_assignment_instances as generalized
import pytest
import utility_instances
from hypothesis import given
from hypothesis import strategies as st
from replica_instances import small
from small_problems import pareto_front

from optsched.core.errors import TooLarge
from optsched.problems import Latency, Lsap, Problem
from optsched.searches.enumeration import best_placement, judged


@given(
    st.one_of(
        congestion_instances.problems(weights="literal", scale="rate_in").filter(
            lambda problem: (len(problem.instance.cluster) + 1) ** len(problem.tasks) <= 300
        ),
        utility_instances.problems(tasks=5, nodes=2),
        generalized.problems(),
    )
)
def test_counts_are_enough(problem: Problem) -> None:
    """Tests that enumerations by sets of equal tasks find what judging every node for every task does."""
    best = best_placement(problem)
    values = [value for value, _ in judged(problem)]
    assert (None if best is None else problem.minimised(best[0])) == min(values, default=None)


def test_first_of_equal_placements_is_kept() -> None:
    """Tests that of several optima the first is the answer: nodes in turn for each task in turn, waiting before all."""
    value, nodes = best_placement(Lsap(small([[0, 1], [0, 1], [0, 1]], [1, 1]))) or ((), [])
    assert (value, list(nodes)) == ((0,), [-1, 0, 1])


def test_front_by_hand() -> None:
    """Tests four tasks with their data on one of two servers: each of them elsewhere, at 3 instead of 1, saves time."""
    posed = Latency(small([[0]] * 4, [1, 1]), w_rem=3)
    assert pareto_front(posed) == [(3, 6), (4, 4)]
    assert min(value for value, _ in judged(posed)) == (3, 6)
    assert pareto_front(Latency(small([], [1, 1]))) == [(0, 0)]


def test_nothing_feasible_has_no_best() -> None:
    """Tests two tasks that each take the whole of the only node, and no task at all, which is feasible."""
    assert best_placement(generalized.posed([[1], [1]], {"weight": [[2], [2]]}, {"weight": [3]})) is None
    value, nodes = best_placement(generalized.posed([])) or ((), [0])
    assert (value, list(nodes)) == ((0,), [])


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (generalized.posed([[1, 2]] * 40), r"2\^40 placements; it takes up to 5,000,000, of up to 100 tasks"),
        (Lsap(small([[0]] * 30, [1] * 29)), r"30\^30 placements"),
        (Latency(small([[0]] * 30, [1] * 29)), r"29\^30 placements"),
        (Latency(small([[0]] * 101, [1])), r"1\^101 placements"),
    ],
)
def test_what_takes_too_long_is_refused(problem: Problem, message: str) -> None:
    """Tests that placements are counted before any is tried, waiting among them where tasks may wait."""
    with pytest.raises(TooLarge, match=f'route "brute-force" would try {message}; .*leave the route out'):
        best_placement(problem)


def test_limit_is_the_callers() -> None:
    """Tests that as many placements as are allowed are tried, and one more is refused."""
    posed = Lsap(small([[0], [1]], [1, 1]))
    assert best_placement(posed, most=9) is not None
    with pytest.raises(TooLarge, match=r"3\^2 placements"):
        best_placement(posed, most=8)
