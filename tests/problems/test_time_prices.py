"""Prices of slots by time: no bound above the least sum, and a spread of tasks that is the best one."""

from __future__ import annotations

import itertools
import random

import numpy as np
from over_time import batch, proved

from optsched.core.instance import Cluster, Instance, Workload
from optsched.problems.job_times import JobTimes
from optsched.problems.makespan import Makespan
from optsched.problems.time_prices import PricedTime, TimePrices


def test_any_prices_against_enumeration() -> None:
    """Tests that drawn prices, in steps of any length, prove no more than the least sum."""
    chance, positive = random.Random(5), 0
    for weights in ("equal", "group"):
        for problem, optimum in proved(JobTimes, range(24), weights=weights):
            for step in (10**6, 5 * 10**5, 700_001):
                priced = PricedTime(problem, step)
                for _ in range(3):
                    columns = [np.array([chance.choice([0, 0, 1, 3, 9]) for _ in range(8)]) for _ in range(2)]
                    given = TimePrices(step, chance.choice([1, 4]), (columns[0], columns[1]))
                    assert priced.too_large(given) is None
                    free = TimePrices(step, given.scale, (columns[0][:0], columns[1][:0]))
                    assert priced.bound(given) <= optimum
                    positive += priced.bound(given) > priced.bound(free)
    assert positive > 5


def test_tasks_are_spread_as_is_best() -> None:
    """Tests what a job pays against every choice of starts of its tasks on the slots."""
    chance = random.Random(6)
    for _ in range(25):
        count, length, slots = chance.randint(1, 4), chance.randint(1, 2), chance.randint(1, 2)
        workload = Workload([f"t{n}" for n in range(count)], job=[0] * count, duration=[length] * count, job_ids=["j"])
        problem = JobTimes(Instance(Cluster(["a"], slots=[slots]), workload))
        column = np.array([chance.choice([0, 1, 2, 5]) for _ in range(6)])
        priced = PricedTime(problem, 10**6)
        given = TimePrices(10**6, 3, (column, np.zeros(0, dtype=np.int64)))
        steps = priced.steps(given.prices)
        cost = np.append(column, np.zeros(steps, dtype=np.int64))
        best = None
        for starts in itertools.combinations_with_replacement(range(steps - length + 1), count):
            runs = [sum(start <= step < start + length for start in starts) for step in range(steps)]
            if max(runs) <= slots:
                paid = sum(int(cost[start : start + length].sum()) for start in starts)
                value = 3 * (starts[-1] + length) + paid - slots * int(column.sum())
                best = value if best is None else min(best, value)
        assert priced.bound(given) == priced.value(best, 3)


def test_no_more_is_kept_than_two_numbers_of_tasks() -> None:
    """Tests that what many tasks on a slot cost takes no memory for every number of them."""
    many = Workload([f"t{n}" for n in range(40)], job=[0] * 40, duration=[3] * 40, job_ids=["j"])
    priced = PricedTime(JobTimes(Instance(Cluster(["a"], slots=[1]), many)), 10**6)
    assert sorted(priced._chain(priced.classes[0][0], np.arange(200))) == [39, 40]


def test_all_tasks_end_within_all_steps() -> None:
    """Tests that prices never tell that tasks cannot end within as many steps as are looked at, whatever they are."""
    chance = np.random.default_rng(3)
    for problem, _ in proved(Makespan, range(20)):
        priced = PricedTime(problem, 10**6)
        given = TimePrices(10**6, 1, (chance.integers(0, 9, 7), chance.integers(0, 9, 7)))
        paid = priced.paid_by(given, priced.steps(given.prices))
        assert paid is not None
        assert paid <= 0


def test_prices_that_are_too_large() -> None:
    """Tests that what 64 bits, or time, do not allow is told before it is computed."""
    problem = JobTimes(batch(8))
    none = np.zeros(0, dtype=np.int64)
    priced = PricedTime(problem, 10**6)
    assert priced.too_large(TimePrices(10**6, 1, (none, none))) is None
    assert "2^57" in str(priced.too_large(TimePrices(10**6, 2**56, (np.zeros(9, np.int64), none))))
    assert "2^57" in str(priced.too_large(TimePrices(10**6, 1, (np.full(60, 2**52), none))))
    assert "steps" in str(PricedTime(problem, 1).too_large(TimePrices(1, 1, (none, none))))
    many = Workload([f"t{n}" for n in range(1000)], job=[0] * 1000, duration=[1e-6 * 400] * 1000, job_ids=["j"])
    long = PricedTime(JobTimes(Instance(Cluster(["a"]), many)), 1)
    assert "compared" in str(long.too_large(TimePrices(1, 1, (none, none))))
