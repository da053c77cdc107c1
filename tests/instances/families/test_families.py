"""The families have the sizes, rates and loads of their papers, and what their problems need."""

from dataclasses import replace

import numpy as np
import pytest

from optsched.core.errors import MissingField
from optsched.core.instance import MAP, REDUCE
from optsched.core.network import UNBOUNDED
from optsched.instances.files import to_document
from optsched.instances.generate import generate
from optsched.problems import PROBLEMS, MinCostFlow, problem
from optsched.problems.distances import distances, nested_areas
from optsched.routes import solve


def test_guo() -> None:
    """Tests sizes of Guo et al. 2012 (Figure 4, both columns of Table III), and its E = IS (1 - (1 - 1/N)^T)."""
    for name, nodes, slots, idle, tasks, replicas in [
        ("guo-fig4", 100, 1, 50, 50, 5),
        ("guo-table3", 1000, 2, 200, 300, 3),
        ("guo-table3-delay", 1500, 2, 30, 256, 3),
    ]:
        instance = generate(name)
        assert len(instance.cluster) == nodes
        assert set(instance.cluster.slots.tolist()) == {slots}
        assert instance.state.idle_slots.sum() == idle
        assert instance.replicas.lengths.tolist() == [replicas] * tasks
    drawn = (generate("lsap", seed, nodes=40, tasks=30, replicas=1, idle_ratio=0.75) for seed in range(100))
    matched = [30 - solve(problem("lsap", instance)).objective[0] for instance in drawn]
    assert abs(np.mean(matched) - 30 * (1 - (1 - 1 / 40) ** 30)) < 0.4


def test_guo_fairness() -> None:
    """Tests Guo et al. 2012, section IV.B: 60 nodes, 30 running and 90 pending tasks, weights 1 to 16, one replica."""
    instance = generate("guo-fairness")
    workload = instance.workload
    assert (len(instance.cluster), int(instance.state.idle_slots.sum()), len(workload)) == (60, 30, 90)
    assert workload.group_weight.tolist() == [1, 2, 4, 8, 16]
    assert instance.state.group_running_tasks.sum() == 30
    assert instance.replicas.lengths.tolist() == [1] * 90
    assert set(workload.group.tolist()) == set(range(5))


def test_hsu() -> None:
    """Tests Hsu and Freeh, section 5: nine jobs of 1 GB, 11 compute and 3 storage nodes, rates of Tables 2, 3."""
    instance = generate("hsu-table3")
    cluster, workload = instance.cluster, instance.workload
    assert np.bincount(cluster.type[cluster.slots > 0]).tolist() == [6, 5]
    assert np.bincount(cluster.type[cluster.slots == 0]).tolist() == [2, 1]
    assert np.array_equal(cluster.rack, cluster.type)
    assert cluster.rate_process[:11].tolist() == [60] * 6 + [20] * 5
    assert set(cluster.rate_out.tolist()) == {85}
    assert np.bincount(workload.job).tolist() == [16] * 9
    assert len(generate("hsu-table3", block=128).workload) == 72
    assert instance.replicas.lengths.tolist() == [2] * 144
    assert instance.replicas.values.min() == 11
    assert workload.job_ids.tolist()[-2:] == ["terasort4", "grep1"]
    assert workload.rate_in_by_type[0].tolist() == [3.04, 3.2]
    assert workload.rate_in_by_type[-1].tolist() == [0.23, 0.27]
    assert instance.time == workload.arrival.max() == 40


def test_flow_of_few_nodes_was_no_instance() -> None:
    """Tests that on a cluster too small for nodes of the second type no task has a rate there."""
    instance = generate("flow", seed=0, nodes=2, tasks=1, slots=1, replicas=1)
    (task,) = to_document(instance)["tasks"]
    assert set(task["rate_in"]) == {"c1"}


def test_hsu_experiment_as_a_run() -> None:
    """Tests that jobs arrive every 5 s from 0 on, and the reduces of Table 3: rates, and what they take in."""
    table, run = generate("hsu-table3", seed=4), generate("hsu-run", seed=4, reduces=2)
    workload, maps = run.workload, len(table.workload)
    assert np.array_equal(workload.replicas.take(np.arange(maps)).values, table.replicas.values)
    assert (run.time, workload.arrival.tolist()) == (0, [5.0 * job for job in range(9)])
    received = np.bincount(workload.shuffle.reduce, workload.shuffle.size)[maps:]
    assert np.allclose(received, np.repeat([102.4, 512.0] * 4 + [5.12], 2))
    assert workload.rate_in_by_type[maps : maps + 4].tolist() == [[7.63, 7.63]] * 2 + [[13.31, 22.18]] * 2
    assert workload.duration[[0, maps, -1]].tolist() == [21.053, 13.421, 5.12]
    assert not len(generate("hsu-run", reduces=0).workload.task_ids[maps:])


def test_labl() -> None:
    """Tests Agosta et al., section 4: sizes, integer loads uniform from 0 to 5 with a free server, 1 to 4 replicas."""
    instance = generate("labl")
    assert (len(instance.cluster), len(instance.workload)) == (2000, 3450)
    loads, counts = np.unique(instance.state.load, return_counts=True)
    assert loads.tolist() == [0, 1, 2, 3, 4, 5]
    assert np.all(np.abs(counts - 2000 / 6) < 5 * np.sqrt(2000 * 5 / 36))
    lengths = np.bincount(instance.replicas.lengths)[1:]
    assert np.all(np.abs(lengths - 3450 / 4) < 5 * np.sqrt(3450 * 3 / 16))
    assert instance.labels["load"].startswith("assumed integers")


def test_zipf_crowds_replicas() -> None:
    """Tests that Zipf families crowd replicas on few nodes, and that exponent 0 does not."""
    shares = []
    for exponent in (0.0, 1.0, 2.0):
        held = np.bincount(generate("skewed-latency", exponent=exponent, tasks=2000, replicas=1).replicas.values)
        shares.append(held.max() / 2000)
    assert shares[0] < 0.02
    assert abs(shares[1] - 1 / sum(1 / rank for rank in range(1, 201))) < 0.04
    assert abs(shares[2] - 1 / sum(1 / rank**2 for rank in range(1, 201))) < 0.04


def test_shen_table_2() -> None:
    """Tests numbers of tasks, sizes and shuffle of a batch against Table II and the label's ratio."""
    instance = generate("shen-table2", batch=2)
    workload = instance.workload
    maps, reduces = (np.bincount(workload.job[workload.kind == kind]) for kind in (MAP, REDUCE))
    assert (maps[0], reduces[0], maps[9], reduces[9]) == (143, 190, 824, 193)
    assert len(instance.cluster) == 60
    assert (instance.state.idle_slots.sum(), instance.state.idle_reduce_slots.sum()) == (240, 120)
    assert set(instance.replicas.lengths[workload.kind == MAP].tolist()) == {2}
    read = np.bincount(workload.job[workload.kind == MAP], workload.size[workload.kind == MAP])
    assert np.allclose(read, 1e4 * np.arange(1, 11), rtol=1e-3)
    shuffle = workload.shuffle
    assert len(shuffle) == int((maps * reduces).sum())
    assert np.array_equal(workload.job[shuffle.map], workload.job[shuffle.reduce])
    sent = np.bincount(workload.job[shuffle.map], shuffle.size)
    assert np.allclose(sent, read, rtol=1e-3)  # Terasort shuffles what it reads
    assert "assumed" in instance.labels["shuffle"]


def test_shen_batches_as_runs() -> None:
    """Tests that a run is the batch of Table II with times: by size, and of maps by the hops to their data."""
    given = {"batch": 3, "divide": 40, "nodes": 9}
    table, run = generate("shen-table2", 2, **given), generate("shen-run", 2, **given, map_rate=2, hop=0.5)
    plain = replace(run.workload, duration=table.workload.duration, times=table.workload.times)
    assert replace(run, workload=plain).sha256 == table.sha256
    maps = run.workload.kind == 0
    size, times = run.workload.size[maps], run.workload.times[maps]
    assert np.allclose(run.workload.duration[maps], size / 2, atol=1e-3)
    assert np.allclose(times, size[:, None] * [0.5, 1.5, 2.5], atol=1e-3)
    assert np.isnan(run.workload.times[~maps]).all()
    received = np.bincount(run.workload.shuffle.reduce, run.workload.shuffle.size)[~maps]
    assert np.allclose(run.workload.duration[~maps], received / 10, atol=1e-3)


#: How many tasks each problem places: the 12 maps, the 4 reduces, or all.
FIELDS = {
    **dict.fromkeys(("lsap", "fair-lsap", "lsap-fairness", "worst-group", "flow", "latency", "transmission-maps"), 12),
    **dict.fromkeys(("flow-congestion", "transmission", "utility", "traffic"), 16),
    **dict.fromkeys(("makespan", "job-times"), 16),
    "transmission-reduces": 4,
}

#: What wants a cost of each pair, and what is no placement.
OTHERS = {"generalized-assignment", "min-cost-flow"}


@pytest.mark.parametrize("seed", range(3))
def test_every_problem_of_the_papers_can_be_posed(seed: int) -> None:
    """Tests that no problem that places tasks lacks a field, but for generalised assignment, which wants pair costs."""
    instance = generate("mixed", seed)
    assert set(PROBLEMS) - OTHERS == set(FIELDS)
    assert {name: len(problem(name, instance).tasks) for name in FIELDS} == FIELDS
    with pytest.raises(MissingField, match=r"pairs\.cost"):
        problem("generalized-assignment", instance)
    for spread, finished in ((0, 0.5), (7, 0)):
        stages = generate("transmission", seed, finished=finished, spread=spread)
        assert problem("transmission", stages).grid == problem("transmission-reduces", stages).grid == 1


def test_distances_of_runs() -> None:
    """Tests each kind of distances: areas are nested or not, nodes are at no distance from themselves, any is any."""
    nested = []
    for form in range(1, 6):
        instance = generate("job-times", seed=3, distances=form)
        areas = nested_areas(instance)
        nested.append(None if areas is None else len(areas.lengths))
        assert np.diagonal(distances(instance)).tolist() == [0] * 10
    assert nested[:4] == [3, 3, None, None]
    kinds = {generate("makespan", seed=seed, distances=5).labels["topology"] for seed in range(30)}
    assert len(kinds) == 4


def test_arrivals_follow_the_hours() -> None:
    """Tests that at noon more jobs come than at midnight, as the cosine says, and evenly where nothing swings."""
    hour = generate("day", jobs=20_000, tasks=20_000, reduces=0, swing=0.8).workload.arrival / 3600
    assert (np.diff(hour) >= 0).all()
    assert 0 <= hour[0] <= hour[-1] <= 24
    # The integral of 1 - 0.8 cos(2 pi t / 24) from 9 to 15 is 6 + 0.8 * 24 / pi * sin(pi / 4) of 24.
    share = ((hour > 9) & (hour < 15)).mean()
    assert share == pytest.approx((6 + 0.8 * 24 / np.pi * np.sin(np.pi / 4)) / 24, abs=0.015)
    even = generate("day", jobs=20_000, tasks=20_000, reduces=0, swing=0).workload.arrival / 3600
    assert ((even > 9) & (even < 15)).mean() == pytest.approx(0.25, abs=0.015)


def test_min_cost_flow_family() -> None:
    """Tests that a drawn network has what it promises, and that every one has a flow and a least cost."""
    network = generate("min-cost-flow", seed=1, nodes=6, arcs=60, units=4)
    assert (len(network), network.arcs, network.name) == (6, 60, "min-cost-flow-n6-a60-units4-seed1")
    ends = list(zip(network.tail.tolist(), network.head.tolist(), strict=True))
    assert len(set(ends)) < 60
    assert all(tail != head for tail, head in ends)
    free = network.capacity == UNBOUNDED
    for part in (free, ~free):
        assert network.cost[part].min() < 0 < network.cost[part].max()
    assert free.any()
    assert network.lower.max() > 0
    for seed in range(20):
        sizes = [{"nodes": 4, "arcs": 9, "parallel": 0.5, "unbounded": 0.6, "cost": seed}]
        sizes += [{"arcs": 0}, {"arcs": 1, "nodes": 2, "parallel": 1}, {"units": 0}] if not seed else []
        assert all(solve(MinCostFlow(generate("min-cost-flow", seed, **given))).optimal for given in sizes)
