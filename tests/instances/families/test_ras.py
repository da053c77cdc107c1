"""The family for RAS: profiles of jobs, capacities of trackers and completion goals within what the labels tell."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.core.instance import MAP, REDUCE
from optsched.instances.generate import generate
from optsched.problems import problem
from optsched.simulating import simulate


@pytest.mark.parametrize("seed", range(4))
def test_ranges(seed: int) -> None:
    """Tests counts of maps and reduces, one profile a job and kind, and that a shuffling reduce takes memory alone."""
    instance = generate("utility", seed, jobs=5, nodes=6, maps=7, reduces=3)
    workload = instance.workload
    maps, reduces = (np.bincount(workload.job[workload.kind == kind], minlength=5) for kind in (MAP, REDUCE))
    assert (maps.min() >= 4, maps.max() <= 7, reduces.max() <= 3) == (True, True, True)
    for name, (low, high) in {"cpu": (1, 4), "disk": (1, 6), "memory": (1, 10)}.items():
        assert low <= workload.demand[name].min() <= workload.demand[name].max() <= high
        profiles = zip(workload.job.tolist(), workload.kind.tolist(), workload.demand[name].tolist(), strict=True)
        assert len(set(profiles)) == np.count_nonzero(np.concatenate((maps, reduces)))
    (shuffled,) = workload.demand_shuffle.values()
    assert np.array_equal(shuffled[workload.kind == REDUCE], workload.demand["memory"][workload.kind == REDUCE])
    assert np.isnan(shuffled[workload.kind == MAP]).all()
    assert len(problem("utility", instance).tasks) == len(workload)


def test_capacities() -> None:
    """Tests that trackers of one kind have the middle of each range, that `room` rounds down, and kinds go in turn."""
    cluster = generate("utility", nodes=3).cluster
    assert {name: set(held.tolist()) for name, held in cluster.capacity.items()} == {
        "cpu": {16.0},
        "disk": {20.0},
        "memory": {48.0},
    }
    tight = generate("utility", nodes=1, room=0.3).cluster
    assert {name: held.tolist() for name, held in tight.capacity.items()} == {"cpu": [4], "disk": [6], "memory": [14]}
    dealt = generate("utility", 1, nodes=5, types=2).cluster.capacity
    for name, (low, high) in {"cpu": (8, 24), "disk": (10, 30), "memory": (24, 72)}.items():
        held = dealt[name].tolist()
        assert held[:2] == held[2:4]
        assert held[4] == held[0]
        assert low <= min(held) <= max(held) <= high


def test_goals() -> None:
    """Tests that none or all jobs have a goal, from one map at once to all of them, in time of its maps."""
    assert np.isnan(generate("utility", goals=0).workload.goal).all()
    workload = generate("utility", 2, goals=1, jobs=30, maps=9).workload
    maps = np.bincount(workload.job[workload.kind == MAP], minlength=30)
    assert (workload.goal >= workload.map_time).all()
    assert (workload.goal <= workload.map_time * maps).all()


def test_nothing_to_place() -> None:
    """Tests that no job, and jobs without tasks, are instances."""
    assert len(generate("utility", jobs=0).workload) == 0
    assert len(generate("utility", jobs=2, maps=0, reduces=0).workload) == 0


def test_jobs_as_a_run() -> None:
    """Tests that jobs arrive one after another, and have goals and times of tasks from there on."""
    table, run = generate("utility", 3, jobs=6), generate("ras-run", 3, jobs=6, gap=10, slots=3)
    workload, plain = run.workload, table.workload
    assert np.array_equal(workload.demand["cpu"], plain.demand["cpu"])
    assert (np.diff(workload.arrival) > 0).all()
    assert np.array_equal(workload.goal, workload.arrival + plain.goal, equal_nan=True)
    takes = plain.map_time[plain.job]
    assert np.array_equal(workload.duration, np.where(plain.kind == MAP, takes, 2 * takes))
    assert run.state.idle_slots.tolist() == [3] * 10
    assert not simulate(run, "fair").unfinished
