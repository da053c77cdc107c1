"""Bounds on schedules by counting, against running what they relax."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np

from optsched.core.instance import Cluster, Instance, Workload
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_bounds import area_makespan, fluid_completions, work_by_job


def broken_off(work: list[int], release: list[int], slots: int) -> int:
    """The least sum of ends of jobs on one machine, tick by tick, over all orders of priority; in ticks."""
    best = None
    for order in itertools.permutations(range(len(work))):
        left, clock, total = list(work), 0, 0
        while any(left):
            ready = [job for job in order if left[job] and release[job] * slots <= clock]
            clock += 1
            if ready:
                left[ready[0]] -= 1
                total += 0 if left[ready[0]] else clock
        best = total if best is None else min(best, total)
    return best or 0


def test_fluid_against_all_priorities() -> None:
    """Tests that no fixed order of priority gives a lower sum, and that of equal releases the best one gives it."""
    chance = random.Random(3)
    for _ in range(150):
        jobs, slots = chance.randint(1, 4), chance.randint(1, 3)
        work = [chance.randint(1, 6) for _ in range(jobs)]
        release = [chance.randint(0, 3) for _ in range(jobs)]
        found = fluid_completions(np.array(work), np.array(release), slots)
        assert found <= -(-broken_off(work, release, slots) // slots)
        same = fluid_completions(np.array(work), np.zeros(jobs, dtype=np.int64), slots)
        assert same == -(-broken_off(work, [0] * jobs, slots) // slots)


def test_fluid_without_work() -> None:
    """Tests that no job takes no time, and that a machine that waits does not work."""
    assert fluid_completions(np.array([], dtype=np.int64), np.array([], dtype=np.int64), 3) == 0
    assert fluid_completions(np.array([4, 4]), np.array([10, 0]), 2) == 2 + 12


def test_area_by_release() -> None:
    """Tests that what is released late counts from there on, and that work is rounded up to whole microseconds."""
    workload = Workload(["t1", "t2"], job=[0, 1], job_ids=["j1", "j2"], arrival=[0, 8], duration=[4, 3])
    problem = Makespan(Instance(Cluster(["a"], slots=[2]), workload))
    assert area_makespan(problem, 0) == 9_500_000
    assert area_makespan(problem, 1) == 0
    work, release = work_by_job(problem, 0)
    assert (work.tolist(), release.tolist()) == ([4_000_000, 3_000_000], [0, 8_000_000])
    assert [bound.value for bound in problem.cheap_bounds()] == [11, Fraction(19, 2)]
