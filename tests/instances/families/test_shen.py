"""The families of Shen et al. 2016: Table II, and small instances of its stages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optsched.core.instance import MAP, REDUCE
from optsched.instances.generate import generate
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.problems.transmission_reduces import TransmissionReduces

STAGES = {kind.name: kind for kind in (Transmission, TransmissionMaps, TransmissionReduces)}


def test_table_2() -> None:
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


@pytest.mark.parametrize("stage", ["transmission", "transmission-maps", "transmission-reduces"])
def test_transmission(stage: str) -> None:
    """Tests that the family gives Shen et al.'s problems all they need, with either form of distances."""
    for spread in (0, 7):
        instance = generate("transmission", seed=1, finished=0.5, spread=spread, jobs=3, reduces=5)
        posed = STAGES[stage](instance)
        assert len(posed.tasks) == {"transmission": 11, "transmission-maps": 6, "transmission-reduces": 5}[stage]
        assert posed.grid == 1


def test_the_batches_as_runs() -> None:
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
