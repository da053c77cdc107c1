"""Bounds on schedules by counting, against running what they relax, against packing, and against enumeration."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from over_time import proved

from optsched.core.instance import MAP, REDUCE, Cluster, Instance, Ragged, State, Workload
from optsched.problems.makespan import Makespan
from optsched.problems.schedule_bounds import (
    Window,
    all_waited_for,
    area_makespan,
    demand,
    fluid_completions,
    lengths,
    ruled_out,
    tails,
    too_short,
    work_by_job,
)
from optsched.problems.service_times import NEVER


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


@pytest.mark.parametrize("function", [0, 1, 2, 3, 7])
def test_what_fits_on_a_slot_counts_no_more_than_it(function: int) -> None:
    """Tests that any tasks that fit together count no more than a slot, and that the slot itself counts all of it."""
    for window in (1, 5, 12, 30):
        whole = int(lengths(np.array([window]), window, function)[0])
        assert whole == window * max(1, function)
        for count in range(1, 5):
            for times in itertools.combinations_with_replacement(range(window + 1), count):
                if sum(times) <= window:
                    assert int(lengths(np.array(times), window, function).sum()) <= whole


def test_windows_against_enumeration() -> None:
    """Tests that no window rules out what a schedule attains, with any prices, functions, tails and beginnings."""
    chance, out = random.Random(1), 0
    for problem, optimum in proved(Makespan, range(50)):
        latest = problem.now + int(optimum * 10**6)
        kinds = [kind for kind in (MAP, REDUCE) if (problem.kind == kind).any()]
        for kind in kinds:
            for tail in {0, *(tails(problem).tolist() if kind == MAP else ())}:
                prices = np.array([chance.randint(0, 3) for _ in problem.room["map"]])
                begin = chance.choice([problem.now, *problem.earliest_starts.tolist()])
                for end in (latest - tail, latest - tail - problem.lattice, latest - tail - 10**6):
                    if end > begin:
                        window = Window(kind, begin, end, tail, chance.randint(0, 4), chance.choice([None, prices]))
                        found = ruled_out(problem, window)
                        out += found
                        assert not found or end + tail < latest
    assert out > 8


def test_prices_tell_what_is_far_from_its_data() -> None:
    """Tests that all tasks with their data on one node need more than there is, at a price for that node."""
    workload = Workload([f"t{n}" for n in range(6)], replicas=Ragged.from_rows([[0]] * 6), times=[[2, 9, 9]] * 6)
    problem = Makespan(Instance(Cluster(["a", "b"]), workload))
    second = 10**6
    assert not ruled_out(problem, Window(MAP, 0, 9 * second))
    assert not ruled_out(problem, Window(MAP, 0, 10 * second, prices=np.array([9, 2])))
    assert ruled_out(problem, Window(MAP, 0, 9 * second, prices=np.array([9, 2])))


def test_tails_count_the_least_maps_that_reduces_wait_for() -> None:
    """Tests that with a tail just so many maps count as must end before reduces start, without those that run."""
    workload = Workload(
        ["m1", "m2", "m3", "m4", "r"], job=[0] * 5, kind=[0, 0, 0, 0, 1], job_ids=["j"], duration=[3, 5, 7, 4, 6]
    )
    cluster = Cluster(["a"], slots=[2], reduce_slots=[1])
    nan = np.nan
    state = State.initial(
        cluster,
        workload,
        status=[0, 0, 0, 1, 0],
        node=[-1, -1, -1, 0, -1],
        start=[nan, nan, nan, 0, nan],
        idle_slots=[1],
    )
    problem = Makespan(Instance(cluster, workload, state), slowstart=0.6)
    second = 10**6
    assert tails(problem).tolist() == [6 * second]
    assert demand(problem, Window(MAP, 0, 10 * second, 6 * second)) == (8 * second, 16 * second)
    assert demand(problem, Window(MAP, 0, 10 * second)) == (15 * second, 16 * second)
    assert demand(problem, Window(MAP, 0, 6 * second)) == (None, 8 * second)
    assert demand(problem, Window(MAP, 0, 10 * second, 7 * second))[0] == 0
    assert tails(Makespan(problem.instance, slowstart=0)).tolist() == [0]


def test_reduces_have_no_tail() -> None:
    """Tests that a window of reduces with a tail rules nothing out: they need not end before what comes after maps."""
    workload = Workload(["m", "r"], job=[0, 0], kind=[0, 1], job_ids=["j"], duration=[1, 10])
    problem = Makespan(Instance(Cluster(["a"], reduce_slots=[1]), workload))
    second = 10**6
    assert not ruled_out(problem, Window(REDUCE, 0, 2 * second, 10 * second))
    assert ruled_out(problem, Window(REDUCE, 0, 2 * second))


def test_what_fills_a_window_at_the_highest_price() -> None:
    """Tests that a task that just fits is not taken for one that does not, where its price times length is 2^60."""
    problem = Makespan(Instance(Cluster(["a"]), Workload(["t"], duration=[2**20 / 10**6])))
    dearest = Window(MAP, 0, 2**20, prices=np.array([2**40]))
    assert too_short(dearest) is not None
    dear = dearest._replace(prices=np.array([2**40 - 1]))
    assert too_short(dear) is None
    assert not ruled_out(problem, dear)


def test_windows_that_are_too_long() -> None:
    """Tests that what 64 bits cannot hold is told before it is computed."""
    assert too_short(Window(MAP, 0, 2**30, 0, 7)) is None
    assert "2^60" in str(too_short(Window(MAP, 0, 2**53, 0, 1000)))
    assert "2^60" in str(too_short(Window(MAP, 0, 2**53, 0, 0, np.full(4, 1000))))
    assert NEVER == 2**60


def test_reduces_that_wait_for_all_maps() -> None:
    """Tests that maps that run count, ones that have ended do not, and that a job without maps waits for none."""
    cluster = Cluster(["a"], slots=[3], reduce_slots=[2])
    workload = Workload(
        ["m1", "m2", "m3", "r", "s"], job=[0, 0, 0, 0, 1], job_ids=["j", "k"], kind=[0, 0, 0, 1, 1], duration=[1] * 5
    )
    state = State.initial(
        cluster, workload, status=[2, 1, 0, 0, 0], node=[0, 0, -1, -1, -1], start=[0, 0] + [float("nan")] * 3,
        idle_slots=[1],
    )  # fmt: skip
    for slowstart, waits in ((1, [True, False]), (0.5, [False, False])):
        problem = Makespan(Instance(cluster, workload, state), slowstart=slowstart)
        assert all_waited_for(problem).tolist() == waits
