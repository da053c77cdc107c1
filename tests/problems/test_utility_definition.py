"""`utility`: its functions (7) at every edge, value, feasibility, the spread of reduces, rooms, and what is refused."""

import math
import re
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import SWAPS
from small_problems import utility as posed
from strategies import utilities

from optsched.core.errors import InputError, MissingField
from optsched.core.instance import REDUCE, Cluster, Instance, Workload
from optsched.core.results import Violation
from optsched.problems.base import GRID
from optsched.problems.utility import Allocation, Utility
from optsched.problems.utility_definition import Rooms, map_table, reduce_table, required_maps, spread_reduces


def test_edges_of_reduces() -> None:
    """Tests Sharmilarani et al., note 2: no reduce pending, and one; smoothed tables are finite."""
    assert [reduce_table(0), reduce_table(1)] == [[0], [-math.inf, 0]]
    assert [reduce_table(pending, smoothed=True) for pending in (0, 1)] == [[0], [-1, 0]]
    assert map_table(3, 3, smoothed=True) == pytest.approx([-1, -0.5, math.log(3) / math.log(4) - 1, 1])


@pytest.mark.parametrize(
    ("pending", "map_time", "goal", "now", "required"),
    [
        (10, 30, 130, 50, 4),
        (10, 30, 50, 50, 10),
        (10, 30, 20, 50, 10),
        (10, 30, math.nan, 50, 0),
        (0, 30, 20, 50, 0),
        (0, math.nan, math.nan, 0, 0),
        (10, 0, 130, 50, 0),
        (10, 0.1, 1, 0, 1),
        (3, 0.1, 0.3, 0, 1),
        (10, 30, 51, 50, 300),
        (2, 1, 5e-324, 0, 2**53),
    ],
)
def test_required_maps(pending: int, map_time: float, goal: float, now: float, required: int) -> None:
    """Tests the estimator of Sharmilarani et al., III.G: waves in time, a goal passed, none, decimals as written."""
    assert required_maps(pending, map_time, goal, now) == required


def test_value_and_violations() -> None:
    """Tests attributes, value and violations on the instance of Sharmilarani et al., note 7."""
    assert SWAPS.required.tolist() == [2, 4]
    assert (SWAPS.demand_map.tolist(), SWAPS.capacity.tolist()) == ([[2, 2], [1, 3]], [[5, 3], [5, 7]])
    assert SWAPS.map_utility[0].tolist() == SWAPS.map_worth(0, 0).tolist() == [-1000 * GRID, -GRID, 0, GRID]
    placement = SWAPS.placement([1, 1, -1, 0, 1, -1, -1, -1])
    lowest, used = SWAPS.evaluate(placement)
    assert (lowest, min(SWAPS.utilities(placement)), len(SWAPS.utilities(placement))) == (Fraction(-1, 2), lowest, 2)
    assert float(used) == pytest.approx(5 / 5 + 7 / 7 + 1 / 5 + 3 / 3, abs=1e-5)
    counts = SWAPS.allocated(placement)
    assert (counts.maps.tolist(), counts.reduces.tolist()) == ([[0, 2], [1, 1]], [[0, 0], [0, 0]])
    assert SWAPS.placement_of(counts) == placement
    assert SWAPS.evaluate(SWAPS.placement([-1] * 8)) == (-1000, 0)
    assert SWAPS.violations(SWAPS.placement([1, 1, 1, 0, 0, -1, -1, -1])) == [
        Violation("capacity", ("disk", "n0"), 3),
        Violation("capacity", ("cpu", "n1"), 1),
    ]


@pytest.mark.parametrize("capacity", [{"cpu": [1, 10], "disk": [9, 9]}, {"disk": [9, 9], "cpu": [1, 10]}])
def test_task_has_no_share_of_a_tracker_that_it_does_not_fit(capacity: dict[str, list[float]]) -> None:
    """Tests that a task that one resource keeps from a tracker takes no share of it, whatever fits before or after.

    A map of 5 cores and 3 disks takes 5/10 + 3/9 of the tracker of ten cores, and nothing of that of one core.
    """
    problem = posed(capacity, [{"maps": 1, "map": {"cpu": 5, "disk": 3}}])
    share = problem.map_share[0, problem.node_type].tolist()
    assert share[0] == 0
    assert abs(Fraction(share[1], GRID) - Fraction(5, 6)) < Fraction(1, GRID)
    (most,) = (bound for bound in problem.cheap_bounds() if bound.component == "utilisation")
    assert most.value == Fraction(share[1], GRID)
    assert problem.violations(problem.placement([0])) == [Violation("capacity", ("cpu", "n0"), 4)]


def test_missing_fields() -> None:
    """Tests that every record that lacks a field is told: job, demand, capacity, length of a map with a goal."""
    cluster, goal = Cluster(["n"]), {"job_ids": ["j"], "goal": [9.0]}
    workload = Workload(["a", "b", "c"], job=[0, -1, 0], demand={"cpu": [1, 1, float("nan")]}, **goal)
    with pytest.raises(MissingField) as caught:
        Utility(Instance(cluster, workload))
    places = [fault.place for fault in caught.value.faults]
    assert places == ["tasks[1].job", "tasks[2].demand", "nodes[0].capacity.cpu", "jobs[0].map_time"]
    silent = Utility.applies(Instance(cluster, Workload(["a"], job=[0], job_ids=["j"])))
    assert [fault.place for fault in silent] == ["tasks[0].demand"]
    passed = Workload(["a"], job=[0], demand={"cpu": [0]}, **goal)
    assert Utility(Instance.initial(cluster, passed, time=9)).required.tolist() == [1]


@pytest.mark.parametrize(
    ("demands", "message"),
    [
        ([1.0, 2.0], 'tasks[1].demand.cpu: 2, but "a" of the same job and kind takes 1; give b a job of its own'),
        ([1 / 3, 1 / 3], "tasks[].demand.cpu: demands of utility must have a common denominator of at most 2^20"),
        ([2.0**53, 2.0**53], "tasks[].demand.cpu: demands may total too much, past 2^53/1"),
    ],
)
def test_demands_that_do_not_do(demands: list[float], message: str) -> None:
    """Tests that a job has one profile, and that demands must be exact and total within 2^53."""
    workload = Workload(["a", "b"], job=[0, 0], job_ids=["j"], demand={"cpu": demands})
    with pytest.raises(InputError, match=re.escape(message)):
        Utility(Instance(Cluster(["n"], capacity={"cpu": [9.0]}), workload))


# Reduces first -----------------------------------------------------------------------------------------------------


def test_reduces_are_spread() -> None:
    """Tests Sharmilarani et al., III.J: evenly; then no two of a job together; then the first; only in room."""
    job = {"reduces": 2, "reduce": {"memory": 1}}
    assert spread_reduces(posed({"memory": [9, 9, 9]}, [job, job])).tolist() == [[1, 1, 0], [1, 0, 1]]
    crowded = posed({"memory": [9, 9]}, [{**job, "reduces": 3}, {**job, "reduces": 1}])
    assert spread_reduces(crowded).tolist() == [[2, 1], [0, 1]]
    apart = posed({"memory": [9, 9]}, [{**job, "reduces": 1}, {**job, "reduces": 1}, job], running=[(2, REDUCE, 0)])
    assert spread_reduces(apart).tolist() == [[0, 1], [1, 0], [1, 1]]
    others = posed({"memory": [9, 9]}, [job, {"reduce": {"memory": 1}}], running=[(1, REDUCE, 0)])
    assert spread_reduces(others).tolist() == [[1, 1]]
    assert others.other_reduces.tolist() == [1, 0]
    full = posed({"memory": [1, 0.5]}, [job])
    assert spread_reduces(full).tolist() == [[1, 0]]
    # Fewest reduces of all comes first, five against six, however many of these are of the same job.
    busy = [(0, REDUCE, 0)] * 5 + [(1, REDUCE, 1)] * 6
    crowds = posed({"memory": [9, 9, 0]}, [{**job, "reduces": 1}, {"reduce": {"memory": 1}}], running=busy)
    assert spread_reduces(crowds)[0].tolist() == [1, 0, 0]


# Rooms --------------------------------------------------------------------------------------------------------------


@given(utilities(), st.data())
def test_rooms_are_those_of_the_problem(problem: Utility, data: st.DataObject) -> None:
    """Tests that after any tasks are put and taken what is free is the capacity less what the problem says is used."""
    jobs, nodes = len(problem.jobs), len(problem.free)
    rooms = Rooms(problem)
    counts = Allocation(*(np.zeros((jobs, nodes), dtype=np.int64) for _ in range(2)))
    for _ in range(data.draw(st.integers(0, 12)) if jobs else 0):
        kind, job, node = (data.draw(st.sampled_from(range(size))) for size in (2, jobs, nodes))
        if data.draw(st.booleans()):
            if counts[kind][job].sum() == (problem.pending_maps, problem.pending_reduces)[kind][job]:
                continue
            fits = rooms.fits(kind, job, node)
            counts[kind][job, node] += 1
            assert fits == bool((problem.used(counts) <= problem.free).all()) or (rooms.free < 0).any()
            rooms.put(kind, job, node)
        elif counts[kind][job, node]:
            counts[kind][job, node] -= 1
            rooms.put(kind, job, node, -1)
        assert np.array_equal(rooms.free, problem.free - problem.used(counts))
    assert np.array_equal(Rooms(problem, counts).free, rooms.free)


@given(utilities(), st.sampled_from([0, 1, 8]), st.data())
def test_first_job_that_fits(problem: Utility, tried: int, data: st.DataObject) -> None:
    """Tests that it is the first of an order, however many jobs are looked at one by one before all are at once."""
    rooms = Rooms(problem)
    for job in range(len(problem.jobs)):
        for kind, most in enumerate((problem.pending_maps, problem.pending_reduces)):
            node = data.draw(st.sampled_from(range(len(problem.free))))
            if most[job] and rooms.fits(kind, job, node):
                rooms.put(kind, job, node)
    drawn = data.draw(st.permutations(range(len(problem.jobs))))
    for kind, most in enumerate((problem.pending_maps, problem.pending_reduces)):
        order = [(0.5, job) for job in drawn if rooms.placed[kind][job] < most[job]]  # those that wait
        for node in range(len(problem.free)):
            with patch("optsched.problems.utility_definition._TRIED", tried):
                found = rooms.first(kind, node, order)
            assert found == next((job for _, job in order if rooms.fits(kind, job, node)), None)
