"""Lower bounds of schedules by counting alone: the area of all slots, and one machine as quick as all of them."""

from __future__ import annotations

import heapq

import numpy as np

from optsched.core.instance import KINDS, Ints
from optsched.problems.base import exact_sum
from optsched.problems.schedules import ScheduleProblem

__all__ = ["area_makespan", "fluid_completions", "fluid_ends", "work_by_job"]


def area_makespan(problem: ScheduleProblem, kind: int) -> int:
    """When all tasks of a kind have ended at the earliest, by the room of all slots together; microseconds.

    From each release on, the slots have to do what is released then or later, and what still runs then.
    """
    slots = int(problem.room[KINDS[kind]].sum())
    own = problem.kind == kind
    work = problem.least_times[own]
    release = problem.release[own]
    busy = problem.running_of(kind)[1]
    latest = problem.now
    if not slots:
        return latest
    for begin in np.unique(np.append(release, problem.now)).tolist():
        area = exact_sum(work[release >= begin]) + exact_sum(np.maximum(busy - begin, 0))
        if area:
            latest = max(latest, begin - (-area // slots))
    return latest


def work_by_job(problem: ScheduleProblem, kind: int) -> tuple[Ints, Ints]:
    """The least work of the slots of a kind for each job, and from when on it may be done; int64, shape (jobs,) each.

    Microseconds of one slot, 0 where the job has nothing of the kind; and the earliest microsecond at which some may
    run.
    """
    own = np.flatnonzero(problem.kind == kind)
    _, until, running = problem.running_of(kind)
    work = np.zeros(len(problem.jobs), dtype=np.int64)
    np.add.at(work, problem.jobs.of_task[problem.tasks[own]], problem.least_times[own])
    np.add.at(work, running, until - problem.now)
    release = np.maximum(problem.jobs.arrival, problem.now)
    release[running] = problem.now
    return work, release


def fluid_completions(work: Ints, release: Ints, slots: int) -> int:
    """The least sum of completion times on one machine as quick as all slots; in microseconds, rounded up.

    The job with the least work left runs, and all slots with it, until it ends or another one comes with less. No
    schedule that may break jobs off has a lower sum (Schrage 1968), and so none of the slots.

    >>> fluid_completions(np.array([8, 2]), np.array([0, 1]), 2)
    7
    """
    return -(-sum(fluid_ends(work, release, slots)) // slots)


def fluid_ends(work: Ints, release: Ints, slots: int) -> list[int]:
    """When jobs end on one machine as quick as all slots, the shortest remaining first: microseconds times `slots`.

    At every instant as many have ended as under any other rule (Schrage 1968). `work` is in microseconds of one slot;
    it may run from `release` on, 0 or more.

    >>> fluid_ends(np.array([8, 2]), np.array([0, 1]), 2)
    [4, 10]
    """
    order = np.argsort(release, kind="stable").tolist()
    left: list[tuple[int, int]] = []
    ends: list[int] = []
    sizes, releases = work.tolist(), release.tolist()
    clock, position = 0, 0  # the clock counts microseconds over the number of slots
    while left or position < len(order):
        if not left:
            clock = max(clock, releases[order[position]] * slots)
        while position < len(order) and releases[order[position]] * slots <= clock:
            heapq.heappush(left, (sizes[order[position]], order[position]))
            position += 1
        amount, job = heapq.heappop(left)
        until = releases[order[position]] * slots if position < len(order) else clock + amount
        done = min(amount, until - clock)
        clock += done
        if done == amount:
            ends.append(clock)
        else:
            heapq.heappush(left, (amount - done, job))
    return ends
