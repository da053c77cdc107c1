"""What all assignment problems share: pools, classes, constraints, bounds by prices, and limits of exact arithmetic."""

import numpy as np
import pytest
from small_problems import racked

from optsched.core.errors import InputError
from optsched.core.instance import Cluster, Instance, Ragged, Workload
from optsched.core.processes.handing import pack, unpack
from optsched.instances.generate import generate
from optsched.problems import Lsap, problem
from optsched.problems.assignment import Pool, TabledProblem, minimum_by_row
from optsched.problems.counted_places import TaskClasses


def test_classes() -> None:
    """Tests that tasks are equal by their replicas on idle nodes, and by racks only where a rack is worth something."""
    rows = [[0, 3], [3, 0], [0], [0, 2], [1]]
    assert racked([1, 1, 0, 0], rows, levels=(0, 1, 1)).classes().of_task.tolist() == [0, 0, 0, 0, 1]
    racks = racked([1, 0, 0, 1], rows, levels=(0, 1, 2)).classes()
    assert racks.of_task.tolist() == [0, 0, 1, 1, 2]
    assert (racks.first.tolist(), racks.size.tolist()) == ([0, 2, 4], [2, 2, 1])
    assert [row.tolist() for row in racks.members] == [[0, 1], [2, 3], [4]]
    assert TaskClasses.from_keys([]).size.tolist() == []


def test_pool_and_rows() -> None:
    """Tests the cost of the k cheapest tiers, and the minimum over rows, empty ones included."""
    pool = Pool("g", ((2, 3), (7, 2)))
    assert [pool.cost(placed) for placed in range(6)] == [0, 2, 4, 6, 13, 20]
    rows = Ragged.from_rows([[1, 0], [], [2]])
    assert minimum_by_row(rows, np.array([5, 3, 9]), 99).tolist() == [3, 99, 9]
    assert minimum_by_row(Ragged.empty(2), np.zeros(0, dtype=np.int64), 4).tolist() == [4, 4]


def test_totals_past_exact_arithmetic() -> None:
    """Tests that costs which may total past 2^53 are refused with the mend, and those just below are not."""
    racked([3, 0, 0, 0], [[1]] * 3, levels=(0, 0, 2**53 // 3))
    with pytest.raises(InputError, match=r"may total .*past 2\^53/1; scale the costs or rates down"):
        racked([3, 0, 0, 0], [[1]] * 3, levels=(0, 0, 2**53 // 3 + 1))


def test_bug_slots_past_what_int64_adds() -> None:
    """Tests that a thousand nodes of 2^53 slots count as many slots, not as a negative number."""
    cluster = Cluster([f"n{node}" for node in range(1024)], slots=np.full(1024, 2**53))
    problem = Lsap(Instance(cluster, Workload(["t1", "t2"])))
    assert problem.count == 2
    assert problem.evaluate(problem.placement([0, 0])) == (2,)


def test_cost_of_two_levels_is_that_of_its_pairs() -> None:
    """Tests that with racks as dear as anywhere the sum is as by pairs, also off idle nodes, and so is the bound."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        idle = rng.integers(0, 3, 4).tolist()
        rows = [sorted(rng.choice(4, int(rng.integers(0, 4)), replace=False).tolist()) for _ in range(6)]
        flat, racks = racked(idle, rows, levels=(1, 4, 4)), racked(idle, rows, levels=(1, 4, 5))
        pairs = flat.pair_units(np.repeat(np.arange(6), 4), np.tile(np.arange(4), 6)).reshape(6, 4)
        nodes = rng.integers(-1, 4, 6)
        assert flat.units(flat.placement(nodes)) == pairs[nodes >= 0, nodes[nodes >= 0]].sum()
        if sum(idle):
            prices, worth = rng.integers(0, 5, 4), rng.integers(0, 9, 1)
            each = (pairs + prices)[:, np.array(idle) > 0].min(axis=1)
            assert flat.cheapest_units(prices).tolist() == each.tolist()
            assert flat.gains(worth, prices) == np.maximum(worth - each, 0).sum()
            assert (racks.cheapest_units(prices) >= each).all()


def test_table_is_made_anew_where_it_was_sent() -> None:
    """Tests that a problem goes to another process without its table of costs, which is the same there."""
    posed = problem("flow", generate("flow", nodes=12, tasks=30))
    assert isinstance(posed, TabledProblem)
    there = unpack(pack(posed))
    assert "class_units" not in vars(there)
    assert np.array_equal(there.class_units, posed.class_units)
