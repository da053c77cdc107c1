"""The instances and numbers of single claims."""

from __future__ import annotations

import numpy as np
import pytest

from optsched import load, problem
from optsched.core.instance import Cluster, Instance, Ragged, Shuffle, Workload
from optsched.instances.generate import generate
from optsched.measuring.judging.cases import (
    apart,
    by_switches,
    emitting,
    endless,
    equal_replicas,
    extreme_rate,
    few_large_maps,
    first_jobs,
    higher_loads,
    job_time,
    large_first,
    least_work,
    local_by_job,
    local_in_waves,
    local_tasks,
    map_deviation,
    map_time,
    most_asked,
    rate,
    rated,
    scarcest_used,
    shuffle_shares,
    slowdown,
    two_jobs,
)
from optsched.measuring.judging.findings import Check
from optsched.measuring.judging.quantities import Answer
from optsched.problems import Flow, Latency, Lsap, Utility
from optsched.problems.distances import distances
from optsched.simulating import Levels, simulate


def test_rates_of_the_first_job() -> None:
    """Tests the rate of the first round of Hsu and Freeh's workload: 16 maps of WordCount on 24 + 20 slots."""
    answer = Answer(Flow(first_jobs(0, "1")), "flow-sched")
    assert rate(answer) == pytest.approx(16 * 3.04)
    assert extreme_rate(answer, "least") == pytest.approx(16 * 3.04)
    assert extreme_rate(answer, "most") == pytest.approx(16 * 3.20)


def test_equal_replicas() -> None:
    """Tests that each block has as many replicas, and that as many slots are idle."""
    drawn = equal_replicas(3, "10", "7", "4", "2", "2")
    assert set(drawn.replicas.lengths.tolist()) == {2}
    assert drawn.state.idle_slots.sum() == 7
    assert drawn.state.idle_slots.max() <= 2


def test_waves() -> None:
    """Tests that one wave is the snapshot, and that every task is local if every node holds its block."""
    one = Answer(Lsap(equal_replicas(0, "20", "10", "10", "2")), "lsap-sched")
    assert 10 * local_in_waves(one) == 10 - one.value[0]
    assert local_in_waves(Answer(Lsap(equal_replicas(0, "5", "2", "9", "5")), "dl")) == 1


def test_jobs_together_and_apart() -> None:
    """Tests that both ways place all tasks, and that split blocks stay on their half."""
    instance = two_jobs(1, "split")
    rows = [set(row.tolist()) for row in instance.replicas]
    assert all(row <= set(range(20)) for row in rows[:36])
    assert all(row <= set(range(20, 40)) for row in rows[36:])
    answer = Answer(Latency(instance), "labl")
    assert 72 <= apart(answer, "work") <= 3 * 72
    assert apart(answer, "first") <= apart(answer, "end")
    assert len(two_jobs(1, "mixed").workload) == 72


def test_higher_loads() -> None:
    """Tests that every load is higher by as much."""
    low, high = (higher_loads(2, "latency", more, nodes="5", tasks="6").state.load for more in ("0", "3"))
    assert np.array_equal(low + 3, high)


def test_switches() -> None:
    """Tests that a round over switches costs what the dense network costs, slots being scarce and not."""
    for jobs in ("1", "9"):
        answer = Answer(Flow(first_jobs(0, jobs)), "optimum")
        assert by_switches(answer) == pytest.approx(float(answer.value[0]))


def test_map_times_of_a_type() -> None:
    """Tests mean and deviation of the maps of a job type against the run's own table."""
    instance = generate("hsu-run", seed=0)
    assert isinstance(instance, Instance)
    done = simulate(instance, "fifo", "rates")
    grep = done.tasks["job_id"].str.startswith("grep") & (done.tasks["kind"] == "map")
    maps = done.tasks[grep]["execution_time"]
    assert len(maps) == 16
    assert map_time(done, "grep") == pytest.approx(maps.mean())
    assert map_deviation(done, "grep") == pytest.approx(maps.std(ddof=0))


def test_shuffle_shares() -> None:
    """Tests that random ratios come no nearer to Figure 3 than the search over all of them says."""
    finding = shuffle_shares(Check(says="shares", holds=False), 1)
    assert not finding.true
    (least,) = finding.numbers["jobs that differ at least"]
    rng = np.random.default_rng(0)
    sizes = np.arange(10, 101, 10)
    for ratios in rng.exponential(2, size=(2000, 3)):
        sent = np.outer(ratios, sizes)
        counts = (sent > 50).sum(), (sent > 100).sum(), (sent < 10).sum()
        assert max(abs(count - told) for count, told in zip(counts, (18, 6, 6), strict=True)) >= least


@pytest.mark.parametrize("of", ["paths", "links"])
def test_drawn_rates(of: str) -> None:
    """Tests that paths have rates of their own, and links one rate a node; all are from 10 to 100 MB/s."""
    away = distances(rated(1, "transmission", of, nodes="5"))[np.triu_indices(5, 1)]
    slowest = 2 / 10 if of == "links" else 1 / 10
    assert slowest >= away.max() > away.min() >= 1 / 100
    matrix = distances(rated(1, "transmission", of, nodes="5"))
    assert (matrix == matrix.T).all()
    by_node = matrix[0, 1] - matrix[0, 2] - (matrix[3, 1] - matrix[3, 2])
    assert (abs(by_node) < 1e-12) == (of == "links")


def test_one_large_job_before_small_ones() -> None:
    """Tests its tasks and slots, and that its time and that of the small jobs are those of the run."""
    instance = large_first(2, "traffic", nodes="8", tasks="40", jobs="8")
    jobs = instance.workload.job
    assert set(jobs.tolist()) == {0, 4, 5, 6, 7}
    assert set(instance.cluster.slots.tolist()) == set(instance.state.idle_reduce_slots.tolist()) == {2}
    run = simulate(instance, "joss-t", Levels(duration=4))
    seconds = [run.end[jobs == job].max() / 1e6 for job in (0, 4, 5, 6, 7)]
    assert job_time(run, "large") == seconds[0]
    assert job_time(run, "small") == pytest.approx(np.mean(seconds[1:]))


def test_slowdown() -> None:
    """Tests that it is 1 without overload, and 2 for three maps that each take 2/3 of a node. Reduces do not count."""
    cluster = Cluster(["a"], slots=[3], reduce_slots=[1], capacity={"cpu": [3.0]})
    workload = Workload(
        ["m", "n", "o", "r"], kind=[0, 0, 0, 1], duration=[6.0, 6.0, 3.0, 1.0], demand={"cpu": [2.0] * 3 + [0]}
    )
    instance = Instance(cluster, workload)
    assert slowdown(simulate(instance, "fifo", "levels")) == 1
    assert slowdown(simulate(instance, "fifo", "overload")) == 2


def test_least_work_by_a_makespan() -> None:
    """Tests the points of the frontier (6, 24), (7, 22), (8, 20) of the worked example of Agosta et al."""
    answer = Answer(problem("latency", load("papers/labl-figure2")), None)
    assert [least_work(answer, within) for within in ("6", "7", "8", "9")] == [24, 22, 20, 20]


def test_local_tasks_of_runs() -> None:
    """Tests shares and numbers of local maps, and of reduces that start where a map of their job has ended."""
    done = simulate(load("examples/order-of-jobs"), "fifo")
    assert local_by_job(done).tolist() == (done.jobs["node_local"] / done.jobs["maps"]).tolist()
    tasks = done.tasks
    ran = {kind: tasks[tasks["kind"] == kind] for kind in ("map", "reduce")}
    near = 0
    for reduce in ran["reduce"].itertuples():
        own = ran["map"][(ran["map"]["job_id"] == reduce.job_id) & (ran["map"]["node"] == reduce.node)]
        near += bool((own["finish_time"] <= reduce.starting_time).any())
    assert local_tasks(done, "reduce") == near
    assert local_tasks(done, "map") == done.jobs["node_local"].sum()


def test_what_is_used_of_trackers() -> None:
    """Tests the share of the scarcest resource over the run, and the most at once, by hand."""
    cluster = Cluster(["a"], slots=[2], capacity={"cpu": [4.0], "disk": [10.0]})
    workload = Workload(["m", "n", "o"], duration=[2.0, 1.0, 1.0], demand={"cpu": [1.0, 2.0, 3.0], "disk": [1.0] * 3})
    done = simulate(Instance(cluster, workload), "fifo", "levels", heartbeat=0)
    assert scarcest_used(done) == pytest.approx((2 + 2 + 3) / (4 * 2))
    assert most_asked(done) == 1


def test_few_large_maps() -> None:
    """Tests sizes, and that the swaps end where one job has all maps but not in the counterexample."""
    drawn = few_large_maps(3, "2", "3")
    assert set(drawn.cluster.capacity) == {"cpu", "disk"}
    assert 2 <= len(set(drawn.workload.job.tolist())) <= 3
    assert endless(Answer(Utility(load("papers/ras-endless-swap"), reduces="fixed"), None))
    assert not endless(Answer(Utility(load("papers/ras-utility-table"), reduces="fixed"), None))


@pytest.mark.parametrize(("slots", "near"), [([1, 0, 1], 1), ([0, 2, 0], 0), ([2, 0, 0], 2)])
def test_reduces_near_their_data(slots: list[int], near: int) -> None:
    """Tests a reduce that starts where a map has ended, one where a map still runs, and one where none ran."""
    workload = Workload(
        ["m1", "m2", "r1", "r2"],
        job=[0] * 4,
        job_ids=["j"],
        kind=[0, 0, 1, 1],
        duration=[2.0, 9.0, 3.0, 3.0],
        replicas=Ragged.from_rows([[0], [1], [], []]),
        shuffle=Shuffle([0, 1], [2, 3], [1.0, 1.0]),
    )
    cluster = Cluster(["a", "b", "c"], slots=[1, 1, 0], reduce_slots=slots)
    assert local_tasks(simulate(Instance(cluster, workload), "fifo", Levels(), heartbeat=0), "reduce") == near


def test_emissions() -> None:
    """Tests that (3) gives the true sizes where maps emit linearly, and what each other emission says of a map."""
    for seed in range(5):
        made = emitting(seed, "linear")
        read = made.state.bytes_read[:12, None]
        assert made.workload.shuffle is not None
        sizes = made.workload.shuffle.size.reshape(12, 4)
        emitted = made.state.emitted.reshape(12, 4)
        assert np.allclose(emitted, sizes * read / 128, atol=1e-3)
        spilled = emitting(seed, "four spills").state.emitted.reshape(12, 4)
        assert np.allclose(spilled, sizes * (4 * read / 128 // 1) / 4, atol=1e-3)
        in_turn = emitting(seed, "sorted input").state.emitted.reshape(12, 4)
        assert (np.diff(in_turn / np.maximum(sizes, 0.1), axis=1) <= 1e-2).all()
    uneven, more = (emitting(0, name).state.emitted for name in ("uneven", "very uneven"))
    assert np.isfinite(uneven).all()
    assert not np.array_equal(uneven, more)
