"""Boxes of ends of jobs: what prices prove of them, and what they narrow them to, against enumeration."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from over_time import batch, proved

from optsched.core.instance import Cluster, Instance, Workload
from optsched.problems.job_ends import JobEnds
from optsched.problems.job_times import JobTimes
from optsched.problems.time_prices import PricedTime, TimePrices
from optsched.searches.enumeration import best_decision

NONE = np.zeros(0, dtype=np.int64)


def ends_of(problem: JobTimes, step: int) -> np.ndarray:
    """The steps in which the jobs of a best schedule end."""
    found = best_decision(problem)
    assert found is not None
    return (problem.completions(found[1]) - problem.now) // step


def prices(chance: np.random.Generator, step: int, scale: int) -> TimePrices:
    """Some prices."""
    maps, reduces = (chance.integers(0, 9, chance.integers(0, 12)) for _ in range(2))
    return TimePrices(step, scale, (maps, reduces))


@pytest.mark.parametrize("weights", ["equal", "group"])
def test_any_prices_leave_the_best_schedule_in_its_box(weights: str) -> None:
    """Tests on drawn instances that prices prove no more than the optimum, and narrow boxes to what is better only."""
    chance, narrowed = np.random.default_rng(1), 0
    for problem, optimum in proved(JobTimes, range(60), weights=weights):
        if not len(problem.tasks) or not any(problem.weights):
            continue
        step = problem.lattice
        best, limit = ends_of(problem, step), JobEnds.limit_of(problem, step, optimum)
        cost = sum(w * end for w, end in zip(PricedTime(problem, step).weights, best.tolist(), strict=True))
        ends = JobEnds(problem, step, cost + 1 + int(chance.integers(0, 3)))
        heavy = np.array(problem.weights, dtype=object) > 0
        if ends.priced.steps((NONE, NONE)) > 10**5 or int(ends.box.upper.max()) > 10**5:
            continue  # microseconds
        assert ends.value(limit) >= optimum > ends.value(limit - 1)
        for scale in (1, 3, 7, 0):
            box = ends.box
            before = int((box.upper - box.lower).sum())
            given = prices(chance, step, scale)
            assert ends.too_large(given) is None
            units = ends.settle(box, given, ends.limit)
            assert units is None or ends.value(units) <= optimum
            assert (box.lower[heavy] <= best[heavy]).all()
            assert (best[heavy] <= box.upper[heavy]).all()
            narrowed += before > int((box.upper - box.lower).sum())
    assert narrowed > 3


def test_nothing_costs_less_than_the_optimum() -> None:
    """Tests that no prices prove that the optimum is more, within any limit, and that a box may be empty."""
    problem = JobTimes(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[2, 2])))
    ends = JobEnds(problem, 10**6, 9)
    chance = np.random.default_rng(2)
    assert 5 <= max(ends.settle(ends.box, prices(chance, 10**6, 2), 9) or 0 for _ in range(100)) <= 6
    empty = JobEnds(problem, 10**6, 4)
    assert empty.box.empty
    assert empty.settle(empty.box, prices(chance, 10**6, 1), 4) == 4


def test_a_ray_shows_that_nothing_is_in_a_box() -> None:
    """Tests that prices with the scale 0 close a box in which jobs cannot both end, and say nothing of one in which."""
    problem = JobTimes(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[2, 2])))
    ends = JobEnds(problem, 10**6, 9)
    ray = TimePrices(10**6, 0, (np.array([1, 1, 1]), NONE))
    box = ends.box
    box.upper[:] = 3
    assert ends.settle(box, ray, 9) == 9
    assert ends.settle(ends.box, ray, 9) is None


def test_jobs_without_weight_end_whenever() -> None:
    """Tests that of a job without weight no end is looked at, and that its slots are paid for."""
    workload = Workload(
        ["t1", "t2"],
        duration=[2, 5],
        job=[0, 1],
        job_ids=["j", "k"],
        group_ids=["g", "h"],
        job_group=[0, 1],
        group_weight=[1, 0],
    )
    problem = JobTimes(Instance(Cluster(["a"]), workload), weights="group")
    ends = JobEnds(problem, 10**6, 4)
    box = ends.box
    assert (box.lower.tolist(), box.upper.tolist()) == ([2, 5], [3, 5])
    assert ends.settle(box, TimePrices(10**6, 1, (np.array([1, 1, 1]), NONE)), 4) == 1
    assert ends.settle(ends.box, TimePrices(10**6, 1, (NONE, NONE)), 4) == 2


def test_limits_stand_for_values() -> None:
    """Tests that the least limit for a value proves it, and one less does not, also between whole steps."""
    problem = JobTimes(batch(3))
    for value in (50, Fraction(101, 2), 77):
        for step in (10**6, 3 * 10**6):
            limit = JobEnds.limit_of(problem, step, value)
            ends = JobEnds(problem, step, limit)
            assert ends.value(limit) >= int(value) > ends.value(limit - 1)


def test_prices_that_are_too_large() -> None:
    """Tests that prices or steps beyond what can be computed are told."""
    given = TimePrices(5, 7, (np.array([1, 2]), np.array([3])))
    ends = JobEnds(JobTimes(batch(3)), 10**6, 100)
    assert "2^57" in str(ends.too_large(TimePrices(10**6, 1, (np.array([2**57]), NONE))))
    assert "steps of time" in str(JobEnds(JobTimes(batch(3)), 1, 10**9).too_large(given))


def test_a_box_takes_no_gigabytes_to_settle() -> None:
    """Tests that of many jobs over many steps, whose costs are held together, multipliers are too large."""
    workload = Workload([f"t{number}" for number in range(99)], duration=[1e-6] * 99)
    ends = JobEnds(JobTimes(Instance(Cluster(["a"]), workload)), 1, 900_000)
    told = "178180398 costs would have to be compared for each box, more than 10000000"
    assert ends.too_large(TimePrices(1, 1, (NONE, NONE))) == told


def test_limits_after_a_value_prove_more() -> None:
    """Tests that they do also where several units make what two values of schedules differ by at least."""
    for problem, optimum in proved(JobTimes, range(40), weights="group"):
        if any(problem.weights):
            for step in (problem.lattice, 3 * problem.lattice):
                limit = JobEnds.limit_after(problem, step, optimum)
                ends = JobEnds(problem, step, limit)
                assert ends.value(limit) > optimum >= ends.value(limit - 1)
