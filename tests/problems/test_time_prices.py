"""Prices of slots by time, and boxes of ends of jobs: no bound above the least sum, and what is narrowed."""

import itertools
import random

import numpy as np
import pytest
from over_time import batch, proved, weighed

from optsched.core.instance import Cluster, Instance, Workload
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.problems.relaxations import Box
from optsched.problems.time_prices import JobEnds, PricedTime, TimePrices
from optsched.solvers.searches.enumeration import best_decision

NONE = np.zeros(0, dtype=np.int64)


def test_tasks_are_spread_as_is_best() -> None:
    """Tests what a job pays against every choice of starts of its tasks on the slots."""
    chance = random.Random(6)
    for _ in range(25):
        count, length, slots = chance.randint(1, 4), chance.randint(1, 2), chance.randint(1, 2)
        workload = Workload([f"t{n}" for n in range(count)], job=[0] * count, duration=[length] * count, job_ids=["j"])
        problem = JobTimes(Instance(Cluster(["a"], slots=[slots]), workload))
        column = np.array([chance.choice([0, 1, 2, 5]) for _ in range(6)])
        priced = PricedTime(problem, 10**6)
        given = TimePrices(10**6, 3, (column, NONE))
        steps = priced.steps(given.prices)
        cost = np.append(column, np.zeros(steps, dtype=np.int64))
        best = None
        for starts in itertools.combinations_with_replacement(range(steps - length + 1), count):
            runs = [sum(start <= step < start + length for start in starts) for step in range(steps)]
            if max(runs) <= slots:
                paid = sum(int(cost[start : start + length].sum()) for start in starts)
                value = 3 * (starts[-1] + length) + paid - slots * int(column.sum())
                best = value if best is None else min(best, value)
        assert priced.least(given, Box(*np.array([[0], [steps]])), steps)[0] == best


def test_bug_a_makespan_with_weights_of_its_own_was_priced_by_them() -> None:
    """Tests that what a subclass of another package calls `weights` says nothing of jobs."""
    weighed = type("Weighed", (Makespan,), {"name": "weighed", "weights": "heavy"})
    two = Workload(["t1", "t2"], duration=[2, 2])
    priced = PricedTime(weighed(Instance(Cluster(["a"]), two)), 10**6)
    assert priced.rules_out(TimePrices(10**6, 1, (np.ones(3, dtype=np.int64), NONE)), 3)


def test_all_tasks_end_within_all_steps() -> None:
    """Tests that prices never tell that tasks cannot end within as many steps as are looked at, whatever they are."""
    chance = np.random.default_rng(3)
    for problem, _ in proved(Makespan, range(20)):
        priced = PricedTime(problem, 10**6)
        given = TimePrices(10**6, 1, (chance.integers(0, 9, 7), chance.integers(0, 9, 7)))
        for some in (given, TimePrices(10**6, 1, (NONE, NONE))):
            assert not priced.rules_out(some, priced.steps(given.prices))


def test_prices_that_are_too_large() -> None:
    """Tests that what 64 bits, or time, do not allow is told before it is computed."""
    problem = JobTimes(batch(8))
    priced = PricedTime(problem, 10**6)
    assert priced.too_large(TimePrices(10**6, 1, (NONE, NONE))) is None
    assert "2^57" in str(priced.too_large(TimePrices(10**6, 2**56, (np.zeros(9, np.int64), NONE))))
    assert "2^57" in str(priced.too_large(TimePrices(10**6, 1, (np.full(60, 2**52), NONE))))
    assert "steps" in str(PricedTime(problem, 1).too_large(TimePrices(1, 1, (NONE, NONE))))
    many = Workload([f"t{n}" for n in range(1000)], job=[0] * 1000, duration=[1e-6 * 400] * 1000, job_ids=["j"])
    long = PricedTime(JobTimes(Instance(Cluster(["a"]), many)), 1)
    assert "compared" in str(long.too_large(TimePrices(1, 1, (NONE, NONE))))


def ends_of(problem: JobTimes, step: int) -> np.ndarray:
    """The steps in which the jobs of a best schedule end."""
    found = best_decision(problem)
    return (problem.completions(found[1]) - problem.now) // step


def prices(chance: np.random.Generator, step: int, scale: int) -> TimePrices:
    """Some prices."""
    maps, reduces = (chance.integers(0, 9, chance.integers(0, 12)) for _ in range(2))
    return TimePrices(step, scale, (maps, reduces))


@pytest.mark.parametrize("weights", ["equal", "group"])
def test_any_prices_leave_the_best_schedule_in_its_box(weights: str) -> None:
    """Tests on drawn instances that prices prove no more than the optimum, and narrow boxes to what is better only."""
    chance, narrowed, positive = np.random.default_rng(1), 0, 0
    for number, (problem, optimum) in enumerate(proved(JobTimes, range(60), weights=weights)):
        if not len(problem.tasks) or not any(problem.weights):
            continue
        step = (problem.lattice, 700_001)[number % 2]
        best, limit = ends_of(problem, step), PricedTime(problem, step).limit_of(optimum)
        cost = sum(w * end for w, end in zip(PricedTime(problem, step).weights, best.tolist(), strict=True))
        ends = JobEnds(problem, step, cost + 1 + int(chance.integers(0, 3)))
        heavy = np.array(problem.weights, dtype=object) > 0
        if ends.steps((NONE, NONE)) > 10**5 or int(ends.box.upper.max()) > 10**5:
            continue  # microseconds
        assert ends.value(limit) >= optimum > ends.value(limit - 1)
        unpriced = ends.settle(ends.box, TimePrices(step, 1, (NONE, NONE)), ends.limit)
        for scale in (1, 3, 7, 0):
            box = ends.box
            before = int((box.upper - box.lower).sum())
            given = prices(chance, step, scale)
            assert ends.too_large(given) is None
            units = ends.settle(box, given, ends.limit)
            assert units is None or ends.value(units) <= optimum
            positive += units is not None and units > unpriced
            assert (box.lower[heavy] <= best[heavy]).all()
            assert (best[heavy] <= box.upper[heavy]).all()
            narrowed += before > int((box.upper - box.lower).sum())
    assert min(narrowed, positive) > 1


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
    ends = JobEnds(weighed([2, 5], [1, 0]), 10**6, 4)
    box = ends.box
    assert (box.lower.tolist(), box.upper.tolist()) == ([2, 5], [3, 5])
    assert ends.settle(box, TimePrices(10**6, 1, (np.array([1, 1, 1]), NONE)), 4) == 1
    assert ends.settle(ends.box, TimePrices(10**6, 1, (NONE, NONE)), 4) == 2


def test_a_box_takes_no_gigabytes_to_settle() -> None:
    """Tests that of many jobs over many steps, whose costs are held together, multipliers are too large."""
    workload = Workload([f"t{number}" for number in range(99)], duration=[1e-6] * 99)
    ends = JobEnds(JobTimes(Instance(Cluster(["a"]), workload)), 1, 900_000)
    text = "178180398 costs would have to be compared for each box, more than 10000000"
    assert ends.too_large(TimePrices(1, 1, (NONE, NONE))) == text


def test_limits_after_a_value_prove_more() -> None:
    """Tests that they do also where several units make what two values of schedules differ by at least."""
    for problem, optimum in proved(JobTimes, range(40), weights="group"):
        if any(problem.weights):
            for step in (problem.lattice, 3 * problem.lattice):
                limit = PricedTime(problem, step).limit_after(optimum)
                ends = JobEnds(problem, step, limit)
                assert ends.value(limit) > optimum >= ends.value(limit - 1)
