"""Jobs alone as `latency` problems on slots: what is posed, against all schedules and all slots written down."""

from __future__ import annotations

import numpy as np
import pytest
from over_time import crowded, one_job

from optsched import bounds, solve
from optsched.core.instance import MAP, RUNNING, Cluster, Instance, Ragged, State, Topology, Workload
from optsched.problems.jobs_alone import JobsAlone
from optsched.problems.latency import Latency
from optsched.problems.makespan import Makespan
from optsched.routes.latency import latency_search
from optsched.searches.enumeration import best_decision

SECOND = 10**6


def optimum(posed: Latency) -> int:
    """The least makespan of a `latency` problem."""
    return latency_search(posed).first_feasible().limit


def alone_on(cluster: Cluster, times: list[list[float]], rows: list[list[int]], **state: object) -> JobsAlone:
    """One job of maps on a cluster."""
    ids = [f"t{number}" for number in range(len(times))]
    workload = Workload(ids, job=[0] * len(ids), job_ids=["j"], times=times, replicas=Ragged.from_rows(rows))
    return JobsAlone(Makespan(Instance(cluster, workload, State.initial(cluster, workload, **state))))


def test_a_job_alone_by_hand() -> None:
    """Tests units, slots and loads: three maps have their data on `a`, one of whose slots is held for 3 s."""
    cluster = Cluster(["a", "b", "c"], slots=[2, 3, 4])
    state = {"status": [RUNNING, 0, 0, 0], "node": [0, -1, -1, -1], "start": [0.0] + [np.nan] * 3}
    alone = alone_on(cluster, [[3, 3, 3]] + [[2, 4, 6]] * 3, [[], [0], [0], [0]], idle_slots=[1, 0, 2], **state)
    found = alone.posed(0)
    assert found is not None
    assert (found.unit, found.posed.w_loc, found.posed.w_rem, found.release, found.tail) == (SECOND, 2, 6, 0, 0)
    assert found.node.tolist() == [0, 0, 2, 2]
    assert found.posed.initial_load.tolist() == [0, 3, 0, 0]
    assert [row.tolist() for row in found.posed.replicas] == [[0, 1]] * 3
    assert optimum(found.posed) == 5
    assert [found.limit(time) for time in (5 * SECOND, 5 * SECOND - 1, -1)] == [5, 4, -1]
    # With no rack, what is off the node is off the rack; on `b` no slot becomes free.
    assert alone.latest.tolist() == [6 * SECOND]


def test_twin_slots_count_once() -> None:
    """Tests that slots beyond the tasks with data, and nodes beyond the tasks, are left out; nothing changes."""
    gone = 0
    for seed in range(60):
        instance, alone = one_job(seed, slots=1 + seed % 3, nodes=3 + 9 * (seed % 2), maps=5)
        found = JobsAlone(Makespan(instance)).posed(0)
        assert found is not None
        ratio = alone.w_loc // found.posed.w_loc
        assert optimum(found.posed) * ratio == optimum(alone)
        gone += len(alone.initial_load) - len(found.node)
    assert gone > 100


def test_no_schedule_is_sooner() -> None:
    """Tests on drawn instances, with held slots, arrivals, reduces and thirds, that each job alone is a relaxation."""
    late = 0
    for seed in range(100):
        problem = Makespan(crowded(seed), slowstart=(0.05, 1, 0.5)[seed % 3])
        if problem.plainly_infeasible is not None:
            continue
        found = best_decision(problem)
        assert found is not None
        last = problem.now + int(found[0][0] * SECOND)
        jobs = JobsAlone(problem)
        for job in range(len(problem.jobs)):
            alone = jobs.posed(job)
            if alone is None:
                assert jobs.latest[job] == problem.now
                continue
            end = alone.release + optimum(alone.posed) * alone.unit + alone.tail
            assert end <= min(last, jobs.latest[job])
            late += end > problem.earliest_completions[job]
    assert late > 20


def test_when_all_can_have_ended() -> None:
    """Tests the latest end that may be proved: with all maps far from their data, or none that takes time."""
    cluster = Cluster(["a", "b", "c"], slots=[1, 1, 2])
    assert alone_on(cluster, [[2, 3, 3]] * 4, [[0]] * 4).latest.tolist() == [3 * SECOND]
    assert alone_on(cluster, [[2, 3, 3]] * 5, [[0]] * 5).latest.tolist() == [6 * SECOND]
    assert alone_on(cluster, [[0, 0, 0]] * 4, [[0]] * 4).latest.tolist() == [0]


def test_maps_without_time_or_slots() -> None:
    """Tests that maps that take no time somewhere are left out, and that there may be no maps or slots at all."""
    cluster = Cluster(["a", "b"])
    found = alone_on(cluster, [[0, 4, 4], [2, 4, 4]], [[0], [0]]).posed(0)
    assert found is not None
    assert found.posed.instance.workload.task_ids.tolist() == ["t1"]
    assert alone_on(cluster, [[0, 4, 4]], [[0]]).posed(0) is None
    assert alone_on(Cluster(["a"], slots=[0]), [[1, 4, 4]], [[0]]).posed(0) is None
    assert alone_on(cluster, [[5, 4, 3]] * 3, [[0]] * 3).posed(0).posed.w_loc == 1  # type: ignore[union-attr]
    reduce = Instance(Cluster(["a"], reduce_slots=[1]), Workload(["r"], kind=[1], duration=[3]))
    assert JobsAlone(Makespan(reduce)).posed(0) is None
    far = alone_on(Cluster(["a", "b"], slots=[0, 1]), [[1, 4, 4]] * 2, [[0]] * 2).posed(0)
    assert far is not None
    assert (far.unit, optimum(far.posed)) == (4 * SECOND, 2)


def test_reduces_that_wait_for_all_maps() -> None:
    """Tests that a reduce adds its time only where it waits for every map, with or without ones that run."""
    workload = Workload(
        ["m1", "m2", "r"], job=[0] * 3, job_ids=["j"], kind=[0, 0, 1], times=[[2, 4, 4], [2, 4, 4], [7, 7, 7]],
        replicas=Ragged.from_rows([[0], [0], []]),
    )  # fmt: skip
    for slowstart, tail in ((1, 7), (0.5, 0)):
        problem = Makespan(Instance(Cluster(["a"], reduce_slots=[1]), workload), slowstart=slowstart)
        jobs = JobsAlone(problem)
        assert jobs.posed(0).tail == tail * SECOND  # type: ignore[union-attr]
        assert jobs.latest.tolist() == [(8 + tail) * SECOND]
        assert jobs.size(0) == 4  # two maps, and a slot for each
        assert (problem.kind == MAP).sum() == 2


def test_covers_by_node() -> None:
    """Tests that a cover of slots proves no more than that of the nodes that it names, and the other way round."""
    more = 0
    for seed in range(60):
        found = JobsAlone(Makespan(one_job(seed, slots=2, nodes=3, maps=7)[0])).posed(0)
        assert found is not None
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
    assert found is not None
    assert (found.unit, found.posed.w_loc, found.posed.w_rem) == (2 * SECOND, 1, 1)
    assert [bound.value for bound in bounds(problem)] == [4, 6, 4]
    assert solve(problem).bound == (6,)
