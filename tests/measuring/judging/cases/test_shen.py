"""The instances and numbers of the claims and figures of Shen et al."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optsched import load
from optsched.core.instance import FINISHED, MAP, PENDING, Cluster, Instance, Ragged, Shuffle, Workload
from optsched.instances.generate import generate
from optsched.measuring.judging.cases.shen import (
    emitting,
    least_moved,
    local_by_job,
    local_tasks,
    moved,
    rated,
    shuffle_shares,
)
from optsched.measuring.judging.findings import Check
from optsched.problems import TransmissionMaps, TransmissionReduces
from optsched.problems.distances import distances
from optsched.simulating import Levels, simulate


@pytest.mark.parametrize("policy", ["probabilistic", "fair"])
def test_what_a_run_moves(policy: str) -> None:
    """Tests the cost of a run's maps and reduces against the problems', and the bound against each reduce alone."""
    instance = generate("shen-run", seed=1, batch=2, divide=60, nodes=5)
    assert isinstance(instance, Instance)
    done = simulate(instance, policy, "transfer", seed=1)
    nodes, maps = done.schedule.nodes, instance.workload.kind == MAP
    wide = replace(instance.cluster, slots=np.full(5, 99), reduce_slots=np.full(5, 99))
    state = replace(instance.state, idle_slots=wide.slots, idle_reduce_slots=wide.reduce_slots)
    first = replace(instance, cluster=wide, state=state)
    stage = TransmissionMaps(first)
    assert moved(done, "map") == pytest.approx(float(stage.objective(stage.placement(nodes[stage.tasks]))[0]))
    status = np.where(maps, FINISHED, PENDING)
    second = first.with_state(replace(first.state, status=status, node=np.where(maps, nodes, -1)))
    reduces = TransmissionReduces(second, distinct=False)
    assert moved(done, "reduce") == pytest.approx(
        float(reduces.objective(reduces.placement(nodes[reduces.tasks]))[0]), rel=1e-6
    )
    shuffle, away = instance.workload.shuffle, distances(instance)
    assert shuffle is not None
    least = 0.0
    for reduce in np.flatnonzero(~maps):
        own = shuffle.reduce == reduce
        least += min(float(shuffle.size[own] @ away[nodes[shuffle.map[own]], node]) for node in range(5))
    assert least_moved(done) == pytest.approx(least)
    assert least <= moved(done, "reduce")


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
