"""Repaired placements: feasible or none, never dearer than what they began from."""

from __future__ import annotations

import numpy as np
from generalized_assignment_instances import posed

from optsched.searches.generalized_assignment import improved, repaired


def test_moves_and_swaps() -> None:
    """Tests a move, a swap where no move fits, that too much on a node is taken away, and that it cannot always be."""
    problem = posed([[1, 4], [2, 9], [5, 5]], {"weight": [[2, 2], [2, 2], [1, 1]]}, {"weight": [3, 3]})
    cost = problem.units
    for begin in ([1, 0, 0], [0, 0, 0], [1, 1, 1], [0, 1, 1]):
        found = improved(problem, cost, np.array(begin))
        assert found is not None
        assert cost[np.arange(3), found].sum() == 11
    crowded = posed([[1, 1]] * 3, {"weight": [[2, 2]] * 3}, {"weight": [3, 3]})
    assert improved(crowded, crowded.units, np.array([0, 1, 1])) is None


def test_bug_swaps_of_tasks_where_they_must_not_run() -> None:
    """Tests that tasks leave nodes that they must not run on; what that gains was infinite, less infinitely much."""
    allowed = [[True, False], [False, True], [True, True]]
    problem = posed([[3, 1], [1, 3], [2, 2]], {"weight": [[2, 2]] * 3}, {"weight": [4, 4]}, allowed)
    for begin in ([1, 0, 0], [1, 0, 1], [1, 1, 0]):
        found = improved(problem, problem.units, np.array(begin))
        assert found is not None
        assert found[:2].tolist() == [0, 1]


def test_each_task_once() -> None:
    """Tests that gains decide, that tasks that find no room are moved, and one node alone."""
    problem = posed([[1, 4], [2, 9]], {"weight": [[2, 2], [2, 2]]}, {"weight": [3, 3]})
    for gain in ([[0, 9], [0, 9]], [[9, 0], [9, 0]], [[0, 9], [9, 0]]):
        found = repaired(problem, problem.units, np.array(gain))
        assert found is not None
        assert found.tolist() == [1, 0]
    alone = posed([[3], [4]], {"weight": [[1], [1]]}, {"weight": [2]})
    found = repaired(alone, alone.units, np.zeros((2, 1), dtype=np.int64))
    assert found is not None
    assert found.tolist() == [0, 0]
