"""How much weight of jobs can have ended by each instant, and the least sum of job times that this leaves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from optsched.instance import KINDS, Ints
from optsched.problems.base import exact
from optsched.problems.job_times import JobTimes
from optsched.problems.schedule_bounds import fluid_ends, work_by_job
from optsched.problems.schedule_windows import Window, demand
from optsched.results import Number
from optsched.schedule import MICRO

__all__ = ["cheap_limits", "common_unit", "least_total", "most_ended", "most_weight"]

#: An instant, and the weight of the jobs that have ended before it at most.
Limit = tuple[int, Number]


def least_total(problem: JobTimes, limits: Iterable[Limit]) -> Number:
    """The least weighted sum of job times, in seconds, with no more weight ended before each instant than `limits` say.

    A job counts its weight from its arrival to its end, so that the sum is the integral over time of the weight that
    has not ended.
    """
    ordered = sorted(((until, most) for until, most in limits if until > problem.now), reverse=True)
    total = most = sum(problem.weights)
    area: Number = 0
    for place, (until, worth) in enumerate(ordered):
        most = min(most, worth)
        since = ordered[place + 1][0] if place + 1 < len(ordered) else problem.now
        area += (until - since) * (total - most)
    arrivals = problem.jobs.arrival.tolist()
    waited = sum(weight * (problem.now - arrival) for weight, arrival in zip(problem.weights, arrivals, strict=True))
    return exact(Fraction(area + waited), MICRO)


def cheap_limits(problem: JobTimes, alone: Ints | None = None) -> Iterator[Limit]:
    """What counting says: jobs alone on all slots; and, with equal weights, all jobs on one fluid machine a kind.

    The shortest remaining job first has as many jobs ended at any instant as can be (Schrage 1968).

    Parameters
    ----------
    problem
        What it is about.
    alone
        int64, shape (jobs,): microseconds at which each job ends at the earliest, as is proved; by default
        `ScheduleProblem.earliest_completions`.
    """
    earliest = problem.earliest_completions if alone is None else alone
    yield from _stepwise(zip(earliest.tolist(), problem.weights, strict=True))
    if len(set(problem.weights)) != 1:
        return
    for kind, name in enumerate(KINDS):
        slots = int(problem.room[name].sum())
        if slots:
            work, release = work_by_job(problem, kind)
            release = np.where(work > 0, release, earliest)  # it needs none of these slots
            fluid = fluid_ends(work, release - problem.now, slots)
            yield from _stepwise((problem.next_end(problem.now - -end // slots), problem.weights[0]) for end in fluid)


def _stepwise(ends: Iterable[tuple[int, Number]]) -> Iterator[Limit]:
    """Limits where weights end at these instants at the earliest."""
    before: Number = 0
    for end, weight in sorted(ends):
        yield end, before
        before += weight


def most_ended(problem: JobTimes, time: int, windows: Sequence[Window], alone: Ints | None = None) -> Limit:
    """The weight of jobs that can have ended by a time at most, by windows that end then, with their tails.

    `alone` is as of `cheap_limits`.

    Returns
    -------
    tuple
        The next instant at which another one may end, and the weight ended before it.
    """
    demands = [demand(problem, window) for window in windows]
    earliest = problem.earliest_completions if alone is None else alone
    candidates = [
        job
        for job, end in enumerate(earliest.tolist())
        if end <= time and all((need := needs[job]) is not None and need <= room for needs, room in demands)
    ]
    weights = [problem.weights[job] for job in candidates]
    most: Number = sum(weights)
    for needs, room in demands:
        most = min(most, most_weight(weights, [needs[job] or 0 for job in candidates], room))
    return problem.next_end(time + 1), most


def most_weight(weights: Sequence[Number], needs: Sequence[int], room: int) -> Number:
    """A bound on the weight of what fits into a room, all in whole numbers: by parts, then down to sums of weights.

    What weighs most for its need comes first, and the first that does not fit counts in part (Dantzig 1957).

    Examples
    --------
    >>> most_weight([1, 1, 1], [5, 1, 3], 8)
    2
    >>> most_weight([4, 6], [1, 3], 2)
    6
    """
    held = [(weight, need) for weight, need in zip(weights, needs, strict=True) if weight]
    if len({weight for weight, _ in held}) > 1:
        held.sort(key=lambda item: Fraction(item[1]) / item[0])
    else:
        held.sort(key=lambda item: item[1])
    found: Number = 0
    for weight, need in held:
        if need > room:
            found += Fraction(room * weight) / need
            break
        found, room = found + weight, room - need
    unit = common_unit([weight for weight, _ in held])
    return exact(found // unit * unit) if unit else 0


def common_unit(weights: Sequence[Number]) -> Number:
    """The largest number of which all weights are multiples; 0 of none, or where all are 0."""
    parts = [Fraction(weight) for weight in set(weights)]
    below = lcm(*(part.denominator for part in parts))
    return Fraction(gcd(*(int(part * below) for part in parts)), below)
