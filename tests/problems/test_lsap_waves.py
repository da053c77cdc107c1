"""`LsapWaves`: values and constraints of several waves by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from optsched.errors import InputError
from optsched.instance import Cluster, Instance, Ragged, Workload
from optsched.placement import Placement
from optsched.problems import Lsap
from optsched.problems.lsap_waves import LsapWaves
from optsched.routes import solve


def waves(rows: list[list[int]], *capacities: Sequence[int]) -> LsapWaves:
    """All tasks in waves with these idle slots on nodes a, b."""
    workload = Workload([f"t{task}" for task in range(len(rows))], replicas=Ragged.from_rows(rows))
    first = Lsap(Instance(Cluster(["a", "b"], slots=[9, 9]), workload))
    return LsapWaves(first, [np.array(idle) for idle in capacities])


def test_value_and_optimum() -> None:
    """Tests that the value is the sum of the waves' costs, and the optimum waits where waiting makes a task local."""
    problem = waves([[0], [0], [1]], [1, 1], [1, 1])
    spread = problem.placed([Placement.of([0, None, 1]), Placement.of([None, 0, None])])
    assert problem.violations(spread) == []
    assert problem.evaluate(spread) == (0,)
    worse = problem.placed([Placement.of([0, 1, None]), Placement.of([None, None, 0])])
    assert problem.evaluate(worse) == (2,)
    solution = solve(problem)
    assert (solution.objective, str(solution.certificate)) == ((0,), "dual")


def test_no_idling() -> None:
    """Tests that a wave before the last which leaves a slot idle is a violation, so that waiting is not free."""
    problem = waves([[0], [0]], [1, 0], [2, 0])
    idle = problem.placed([Placement.of([None, None]), Placement.of([0, 0])])
    assert [str(entry) for entry in problem.violations(idle)] == ["full-waves() by 1"]
    assert solve(problem).objective == (0,)
    half = waves([[0], [0], [0]], [1, 1], [2, 0])
    idle = half.placed([Placement.of([0, None, None]), Placement.of([None, 0, 0])])
    assert [str(entry) for entry in half.violations(idle)] == ["full-waves() by 1"]
    nobody = half.placed([Placement.of([None] * 3), Placement.of([0, 0, None])])
    assert [str(entry) for entry in half.violations(nobody)] == ["cardinality() by 1", "full-waves() by 2"]


def test_bug_enumeration_of_waves_left_early_slots_idle() -> None:
    """Tests that a slot far from the data is filled although both tasks could be local later, by enumeration too."""
    workload = Workload(["t1", "t2"], replicas=Ragged.from_rows([[0], [0]]))
    problem = LsapWaves(
        Lsap(Instance(Cluster(["a", "b"], slots=[9, 9]), workload), levels=(0, 1, 3)),
        [np.array([0, 1]), np.array([2, 0])],
    )
    for route in ("network", "brute-force"):
        assert solve(problem, route=route).objective == (3,)


def test_surcharges_that_may_total_too_much() -> None:
    """Tests that waves are refused where what makes waiting dear is past 2^53 with all tasks, though costs are not."""
    first = Lsap(Instance(Cluster(["a"], slots=[3]), Workload(["t1", "t2", "t3"])), levels=(0, 0, 2**51))
    with pytest.raises(InputError, match=r"lsap: costs may total too much, past 2\^53/1"):
        LsapWaves(first, [np.array([2]), np.array([1])])


@pytest.mark.parametrize("capacities", [([1, 0],), ([1, 1], [1, 1])])
def test_wrong_number_of_waves(capacities: tuple[list[int], ...]) -> None:
    """Tests that waves which hold too few tasks, or one that is not needed, are refused."""
    with pytest.raises(ValueError, match=r"waves of \d slots do not fit 2 tasks"):
        waves([[0], [0]], *capacities)


def test_nodes_that_are_named_like_a_last_wave() -> None:
    """Tests that the ids of the doubled nodes do not collide with ids of the instance."""
    workload = Workload(["t1", "t2", "t3"], replicas=Ragged.from_rows([[0], [0], [1]]))
    first = Lsap(Instance(Cluster(["a", "a (last wave)"]), workload))
    whole = LsapWaves(first, [np.array([1, 1]), np.array([1, 1])])
    last = ["a (last wave)'", "a (last wave) (last wave)'"]
    assert whole.instance.cluster.node_ids.tolist() == ["a", "a (last wave)", *last]
