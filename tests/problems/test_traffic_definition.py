"""`traffic`: violations, tasks in datacenters, and locality."""

import numpy as np
import pytest
from small_problems import traffic as posed

from optsched.core.placement import Placement
from optsched.core.results import Violation
from optsched.problems import Traffic


def test_violations() -> None:
    """Tests each constraint's violation with its ids and amount."""
    problem = posed([[0], [0]], reduces=3, slots=[1, 9], reduce_slots=[9, 1], capacity="slots")
    assert problem.violations(problem.placement([0, 0, 1, 1, 0])) == [
        Violation("slots", ("n0",), 1),
        Violation("reduce-slots", ("n1",), 1),
        Violation("reduces-together", ("j0",), 1),
    ]
    assert problem.violations(problem.placement([-1, 0, -1, 0, 0])) == [
        Violation("every-task-placed", ("j0m0",), 1),
        Violation("every-task-placed", ("j0r0",), 1),
    ]
    with pytest.raises(ValueError, match="an infeasible placement has no value: every-task-placed"):
        problem.evaluate(Placement.empty(5))
    parted = Traffic(problem.instance, reduces="free")
    assert parted.violations(parted.placement([0, 0, 1, 1, 0])) == []


def test_placed_in_spreads_over_slots() -> None:
    """Tests that tasks of a datacenter go to its nodes in turn, and only where there are slots."""
    problem = posed([[0]] * 4, nodes=[0, 0, 0, 1], slots=[1, 0, 3, 1], capacity="slots")
    placement = problem.placed_in(np.array([0, 0, 0, 1]), np.array([1]))
    assert problem.nodes_of(placement).tolist() == [0, 2, 2, 3, 3]


def test_locality_counts() -> None:
    """Tests maps on a replica's node, in its datacenter, and elsewhere."""
    problem = posed([[0], [1], [2], []], nodes=[0, 0, 1])
    counts = problem.locality_counts(problem.placement([0, 0, 0, 0, 0]))
    assert counts == {"node": 1, "datacenter": 1, "off_datacenter": 2}
    near = posed([[0], [0], [1], [2]], nodes=[0, 0, 1])
    assert near.locality_counts(near.placement([0, 0, 0, 0, 0])) == {"node": 2, "datacenter": 1, "off_datacenter": 1}
