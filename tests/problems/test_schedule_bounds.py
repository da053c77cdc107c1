"""Bounds on schedules by counting and of jobs alone, against running what they relax, packing, and enumeration."""

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from over_time import batch, one_job, proved, weighed

from optsched import bounds, solve
from optsched.core.instance import MAP, REDUCE, RUNNING, Cluster, Instance, Ragged, Topology, Workload
from optsched.problems.job_times import JobTimes
from optsched.problems.latency import Latency
from optsched.problems.makespan import Makespan
from optsched.problems.relaxations import Box
from optsched.problems.schedule_bounds import (
    JobEnds,
    JobsAlone,
    PricedTime,
    TimePrices,
    Window,
    area_makespan,
    demand,
    fluid_ends,
    ruled_out,
    tails,
    tails_after_all,
    too_dear,
    work_by_job,
)
from optsched.routes.latency import latency_search
from optsched.solvers.searches.enumeration import best_decision

SECOND = 10**6


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
        for release in ([chance.randint(0, 3) for _ in range(jobs)], [0] * jobs):
            found, least = sum(fluid_ends(np.array(work), np.array(release), slots)), broken_off(work, release, slots)
            assert found == least if not any(release) else found <= least
    assert fluid_ends(np.array([4, 4]), np.array([10, 0]), 2) == [4, 24]  # a machine that waits does not work


def test_area_by_release() -> None:
    """Tests that what is released late counts from there on, and that work is rounded up to whole microseconds."""
    workload = Workload(["t1", "t2"], job=[0, 1], job_ids=["j1", "j2"], arrival=[0, 8], duration=[4, 3])
    problem = Makespan(Instance(Cluster(["a"], slots=[2]), workload))
    assert area_makespan(problem, 0, problem.release) == 9_500_000
    assert area_makespan(problem, 1, problem.release) == 0
    work, release = work_by_job(problem, 0)
    assert (work.tolist(), release.tolist()) == ([4_000_000, 3_000_000], [0, 8_000_000])
    assert [bound.value for bound in problem.cheap_bounds()] == [11, Fraction(19, 2)]


def test_windows_against_enumeration() -> None:
    """Tests that no window rules out what a schedule attains, with any prices."""
    chance, out = random.Random(1), 0
    for problem, optimum in proved(Makespan, range(50)):
        latest = problem.now + int(optimum * 10**6)
        kinds = [kind for kind in (MAP, REDUCE) if (problem.kind == kind).any()]
        for kind in kinds:
            prices = np.array([chance.randint(0, 3) for _ in problem.room["map"]])
            for end in (latest, latest - problem.lattice, latest - 10**6):
                if end > problem.now:
                    found = ruled_out(problem, Window(kind, end, chance.choice([np.ones_like(prices), prices])))
                    out += found
                    assert not found or end < latest
    assert out > 8


def test_demand_of_tasks_beside_one_that_runs() -> None:
    """Tests what maps take within a window of a slot that is held at first, and how long their reduce runs after."""
    workload = Workload(
        ["m1", "m2", "m3", "m4", "r"], job=[0] * 5, kind=[0, 0, 0, 0, 1], job_ids=["j"], duration=[3, 5, 7, 4, 6]
    )
    cluster = Cluster(["a"], slots=[2], reduce_slots=[1])
    running = {"status": [0, 0, 0, 1, 0], "node": [-1, -1, -1, 0, -1], "start": [np.nan] * 3 + [0, np.nan]}
    problem = Makespan(Instance.initial(cluster, workload, idle_slots=[1], **running), slowstart=0.6)
    assert tails(problem).tolist() == [6 * SECOND]
    one = np.ones(1, dtype=np.int64)
    assert demand(problem, Window(MAP, 10 * SECOND, one)) == (15 * SECOND, 16 * SECOND)
    assert demand(problem, Window(MAP, 6 * SECOND, one)) == (None, 8 * SECOND)
    assert tails(Makespan(problem.instance, slowstart=0)).tolist() == [0]


def test_what_fills_a_window_at_the_highest_price() -> None:
    """Tests that a task that just fits is not taken for one that does not, where its price times length is 2^60."""
    problem = Makespan(Instance(Cluster(["a"]), Workload(["t"], duration=[2**20 / 10**6])))
    dearest = Window(MAP, 2**20, np.array([2**40]))
    assert too_dear(problem, dearest)
    dear = dearest._replace(prices=np.array([2**40 - 1]))
    assert not too_dear(problem, dear)
    assert not ruled_out(problem, dear)


def test_reduces_that_wait_for_all_maps() -> None:
    """Tests that maps that run count, ones that have ended do not, and that a job without maps waits for none."""
    kinds = {"job": [0, 0, 0, 0, 1], "job_ids": ["j", "k"], "kind": [0, 0, 0, 1, 1], "duration": [1] * 5}
    state = {"status": [2, 1, 0, 0, 0], "node": [0, 0, -1, -1, -1], "start": [0, 0] + [np.nan] * 3, "idle_slots": [1]}
    workload = Workload(["m1", "m2", "m3", "r", "s"], **kinds)
    instance = Instance.initial(Cluster(["a"], slots=[3], reduce_slots=[2]), workload, **state)
    for slowstart, waits in ((1, [SECOND, 0]), (0.5, [0, 0])):
        assert tails_after_all(Makespan(instance, slowstart=slowstart)).tolist() == waits


def optimum(posed: Latency) -> int:
    """The least makespan of a `latency` problem."""
    return latency_search(posed).first_feasible().limit


def alone_on(cluster: Cluster, times: list[list[float]], rows: list[list[int]], **state: object) -> JobsAlone:
    """One job of maps on a cluster."""
    ids = [f"t{number}" for number in range(len(times))]
    workload = Workload(ids, job=[0] * len(ids), job_ids=["j"], times=times, replicas=Ragged.from_rows(rows))
    return JobsAlone(Makespan(Instance.initial(cluster, workload, **state)))


def test_a_job_alone_by_hand() -> None:
    """Tests units, slots and loads: three maps have their data on `a`, one of whose slots is held for 3 s."""
    cluster = Cluster(["a", "b", "c"], slots=[2, 3, 4])
    state = {"status": [RUNNING, 0, 0, 0], "node": [0, -1, -1, -1], "start": [0.0] + [np.nan] * 3}
    alone = alone_on(cluster, [[3, 3, 3]] + [[2, 4, 6]] * 3, [[], [0], [0], [0]], idle_slots=[1, 0, 2], **state)
    found = alone.posed(0)
    assert (found.unit, found.posed.w_loc, found.posed.w_rem, found.release, found.tail) == (SECOND, 2, 6, 0, 0)
    assert found.node.tolist() == [0, 0, 2, 2]
    assert found.posed.initial_load.tolist() == [0, 3, 0, 0]
    assert [row.tolist() for row in found.posed.replicas] == [[0, 1]] * 3
    assert optimum(found.posed) == 5
    # A node counts with all its slots that have room: within 4 the held slot has none.
    for limit, slots, nodes in ((5, [1, 1], [1, 0, 0]), (5, [1, 0], [0, 0, 0]), (4, [1, 0], [1, 0, 0])):
        assert found.nodes(np.array([*slots, 0, 0], dtype=bool), limit, 3).tolist() == nodes
    # With no rack, what is off the node is off the rack; on `b` no slot becomes free.
    assert alone.latest.tolist() == [6 * SECOND]


def test_twin_slots_count_once() -> None:
    """Tests that slots beyond the tasks with data, and nodes beyond the tasks, are left out; nothing changes."""
    gone = 0
    for seed in range(60):
        instance, alone = one_job(seed, slots=1 + seed % 3, nodes=3 + 9 * (seed % 2), maps=5)
        found = JobsAlone(Makespan(instance)).posed(0)
        ratio = alone.w_loc // found.posed.w_loc
        assert optimum(found.posed) * ratio == optimum(alone)
        gone += len(alone.initial_load) - len(found.node)
    assert gone > 100


def test_maps_without_time_or_slots() -> None:
    """Tests that maps that take no time somewhere are left out, and that there may be no maps or slots at all."""
    cluster = Cluster(["a", "b"])
    found = alone_on(cluster, [[0, 4, 4], [2, 4, 4]], [[0], [0]]).posed(0)
    assert found.posed.instance.workload.task_ids.tolist() == ["t1"]
    assert alone_on(cluster, [[0, 4, 4]], [[0]]).posed(0) is None
    assert alone_on(Cluster(["a"], slots=[0]), [[1, 4, 4]], [[0]]).posed(0) is None
    assert alone_on(cluster, [[5, 4, 3]] * 3, [[0]] * 3).posed(0).posed.w_loc == 1  # type: ignore[union-attr]
    reduce = Instance(Cluster(["a"], reduce_slots=[1]), Workload(["r"], kind=[1], duration=[3]))
    assert JobsAlone(Makespan(reduce)).posed(0) is None
    far = alone_on(Cluster(["a", "b"], slots=[0, 1]), [[1, 4, 4]] * 2, [[0]] * 2).posed(0)
    assert (far.unit, optimum(far.posed)) == (4 * SECOND, 2)


def test_covers_by_node() -> None:
    """Tests that a cover of slots proves no more than that of the nodes that it names, and the other way round."""
    more = 0
    for seed in range(60):
        found = JobsAlone(Makespan(one_job(seed, slots=2, nodes=3, maps=7)[0])).posed(0)
        for limit in range(1, 8):
            chosen = np.random.default_rng(seed + limit).random(len(found.node)) < 0.7
            nodes = found.nodes(chosen, limit, 3)
            again = found.servers(nodes)
            few, many = found.posed.least_remote(limit, chosen), found.posed.least_remote(limit, again)
            assert few <= many
            more += few < many
    assert more


@pytest.mark.parametrize(("size", "scale"), [(0, 1), (3, 0.1)])
def test_a_job_alone_on_the_only_node(size: float, scale: float) -> None:
    """Tests maps that fetch on a cluster of one node: there is no level of times but that of the node itself."""
    cluster = Cluster(["a"], topology=Topology("rate", [[1]]))
    workload = Workload(
        ["t", "u"], job=[0, 0], job_ids=["j"], duration=[2, 4], size=[size] * 2, replicas=Ragged.from_rows([[0], []])
    )
    problem = Makespan(Instance(cluster, workload), service="transfer", scale=scale)
    near, far = problem.times.near_and_far(np.array([True]))
    assert (near.tolist(), far.tolist()) == ([2 * SECOND, 2**60], [2 * SECOND, 4 * SECOND])
    found = JobsAlone(problem).posed(0)
    assert (found.unit, found.posed.w_loc, found.posed.w_rem) == (2 * SECOND, 1, 1)
    assert [bound.value for bound in bounds(problem)] == [4, 6, 4]
    assert solve(problem).bound == (6,)


# Prices of slots by time ----------------------------------------------------------------------------------------------

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
