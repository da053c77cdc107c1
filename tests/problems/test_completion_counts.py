"""What can have ended by an instant, against knapsacks and enumeration."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

from over_time import batch, proved

from optsched.instance import MAP
from optsched.problems.completion_counts import cheap_limits, common_unit, least_total, most_ended, most_weight
from optsched.problems.job_times import JobTimes
from optsched.problems.schedule_windows import Window


def test_most_weight_against_every_choice() -> None:
    """Tests that no choice that fits weighs more, and that with equal weights some weighs as much."""
    chance = random.Random(2)
    for _ in range(200):
        size, room = chance.randint(0, 6), chance.randint(0, 12)
        needs = [chance.randint(0, 6) for _ in range(size)]
        weights = [chance.choice([0, 1, 2, Fraction(1, 2), 3]) for _ in range(size)]
        choices = [
            choice
            for count in range(size + 1)
            for choice in itertools.combinations(range(size), count)
            if sum(needs[item] for item in choice) <= room
        ]
        assert most_weight(weights, needs, room) >= max(sum(weights[item] for item in choice) for choice in choices)
        assert most_weight([2] * size, needs, room) == 2 * max(map(len, choices))


def test_common_unit() -> None:
    """Tests that weights are multiples of their unit, and that without weights there is none."""
    assert common_unit([Fraction(1, 2), Fraction(3, 4), 3]) == Fraction(1, 4)
    assert (common_unit([]), common_unit([0, 0]), common_unit([4, 6])) == (0, 0, 2)


def test_counting_against_enumeration() -> None:
    """Tests that counting, and windows at any instants beside it, prove no more than the least sum."""
    chance, closed = random.Random(3), 0
    for weights in ("equal", "group"):
        for problem, optimum in proved(JobTimes, range(30), weights=weights):
            limits = list(cheap_limits(problem))
            counted = least_total(problem, limits)
            for _ in range(4):
                begin = problem.now + chance.choice([0, 10**6])
                end = begin + chance.choice([10**5, 2 * 10**6, 10**7])
                windows = [Window(MAP, begin, end, 0, chance.randint(0, 3)), Window(1, begin, end)]
                limits.append(most_ended(problem, end, windows))
            found = least_total(problem, limits)
            assert counted <= found <= optimum
            closed += found == optimum
    assert closed > 30


def test_what_has_ended_by_an_instant() -> None:
    """Tests that jobs count which could have ended alone, and as many as fit into the window."""
    problem = JobTimes(batch(4, tasks=32))
    assert most_ended(problem, problem.now, [])[1] == 0
    until, most = most_ended(problem, problem.now + 12 * 10**6, [Window(MAP, problem.now, problem.now + 12 * 10**6)])
    assert until == problem.now + 13 * 10**6
    assert 0 < most < 4


def test_without_jobs() -> None:
    """Tests that nothing takes no time, and that limits before the snapshot say nothing."""
    problem = next(found for found, _ in proved(JobTimes, range(80)) if not len(found.jobs))
    assert least_total(problem, [(problem.now + 5, 0), (problem.now - 5, 0)]) == 0


def test_jobs_that_end_later_alone() -> None:
    """Tests that limits count from when jobs are proved to end alone, where that is later than counting says."""
    problem = JobTimes(batch(4, tasks=32))
    later = problem.earliest_completions + 5 * 10**6
    counted, known = (least_total(problem, cheap_limits(problem, ends)) for ends in (None, later))
    assert known > counted
    at = int(problem.earliest_completions.max())
    assert most_ended(problem, at, [])[1] == len(problem.jobs)
    assert most_ended(problem, at, [], later)[1] == int((later <= at).sum()) < len(problem.jobs)
