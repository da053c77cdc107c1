"""The families of jobs over time: who arrives when, what runs, and which slots are left."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.core.instance import FINISHED, MAP, REDUCE, RUNNING, Instance
from optsched.instances.generate import generate
from optsched.problems.distances import distances, nested_areas


def drawn(family: str, seed: int = 0, **parameters: object) -> Instance:
    """An instance of a family."""
    found = generate(family, seed, **parameters)
    assert isinstance(found, Instance)
    return found


def test_jobs_and_times() -> None:
    """Tests that every job has a task as far as they go, few the most, and that times are alike in a job."""
    instance = drawn("job-times", tasks=400, reduces=30, jobs=5, gap=7)
    workload = instance.workload
    maps = workload.kind == MAP
    counts = np.bincount(workload.job[maps])
    assert len(counts) == 5
    assert counts.min() >= 1
    assert counts.max() > 2 * 400 / 5
    assert len(np.unique(workload.times[maps], axis=0)) == 5
    assert (np.diff(workload.times[maps], axis=1) > 0).all()
    assert np.isnan(workload.times[~maps]).all()
    assert np.isnan(workload.duration[maps]).all()
    assert set(workload.duration[workload.kind == REDUCE].tolist()) <= set(range(1, 61))
    assert workload.arrival[0] == 0
    assert (np.diff(workload.arrival) > 0).all()
    assert np.array_equal(workload.arrival, workload.arrival.round(3))


def test_mean_gap() -> None:
    """Tests that arrivals are the given seconds apart in the mean, and that there are none without a gap."""
    late = drawn("job-times", tasks=2000, jobs=2000, gap=3).workload.arrival
    assert late[-1] / 1999 == pytest.approx(3, rel=0.1)
    assert not drawn("makespan", gap=0).workload.arrival.any()


def test_what_runs() -> None:
    """Tests that what runs has slots, started within its time, and that busy slots are idle no more."""
    instance = drawn("makespan", nodes=6, tasks=20, slots=3, gap=50, jobs=4, finished=0.5, running=0.4, busy=0.2)
    state, cluster, workload = instance.state, instance.cluster, instance.workload
    runs, ended = state.status == RUNNING, state.status == FINISHED
    assert (runs.sum(), ended.sum()) == (4, 10)
    held = cluster.slots - np.bincount(state.node[runs], minlength=6) - state.idle_slots
    assert held.min() >= 0
    assert held.sum() == round(18 * 0.2)
    assert ((state.start[runs] <= 0) & (state.start[runs] > -workload.times[runs, 0])).all()
    assert not workload.arrival[workload.job[runs | ended]].any()


def test_distances() -> None:
    """Tests each kind of distances: blocks have sizes, areas are nested or not, and all else is drawn as without."""
    plain = drawn("job-times", seed=3)
    assert plain.cluster.topology is None
    assert np.isnan(plain.workload.size).all()
    nested = {}
    for form in range(1, 6):
        instance = drawn("job-times", seed=3, distances=form, size=7)
        workload = instance.workload
        assert np.array_equal(workload.times, plain.workload.times, equal_nan=True)
        assert workload.arrival.tolist() == plain.workload.arrival.tolist()
        assert workload.replicas.values.tolist() == plain.workload.replicas.values.tolist()
        assert set(workload.size[workload.kind == MAP].tolist()) == set(range(8))
        assert np.isnan(workload.size[workload.kind == REDUCE]).all()
        assert {"topology", "size"} <= set(instance.labels)
        areas = nested_areas(instance)
        nested[form] = None if areas is None else len(areas.lengths)
        assert distances(instance).shape == (10, 10)
        assert np.diagonal(distances(instance)).tolist() == [0] * 10
    assert [nested[form] for form in (1, 2, 3, 4)] == [3, 3, None, None]
    kinds = {drawn("makespan", seed=seed, distances=5).labels["topology"] for seed in range(30)}
    assert len(kinds) == 4


# The family of a day of a cluster: when jobs come, what they read, and how much there is to do ------------------------


def day(seed: int = 0, **parameters: object) -> Instance:
    """A day."""
    found = generate("day", seed, **parameters)
    assert isinstance(found, Instance)
    return found


def test_arrivals_follow_the_hours() -> None:
    """Tests that at noon more jobs come than at midnight, as the cosine says, and evenly where nothing swings."""
    hour = day(jobs=20_000, tasks=20_000, reduces=0, swing=0.8).workload.arrival / 3600
    assert (np.diff(hour) >= 0).all()
    assert 0 <= hour[0] <= hour[-1] <= 24
    # The integral of 1 - 0.8 cos(2 pi t / 24) from 9 to 15 is 6 + 0.8 * 24 / pi * sin(pi / 4) of 24.
    share = ((hour > 9) & (hour < 15)).mean()
    assert share == pytest.approx((6 + 0.8 * 24 / np.pi * np.sin(np.pi / 4)) / 24, abs=0.015)
    even = day(jobs=20_000, tasks=20_000, reduces=0, swing=0).workload.arrival / 3600
    assert ((even > 9) & (even < 15)).mean() == pytest.approx(0.25, abs=0.015)


def test_load() -> None:
    """Tests that maps on their data hold the given share of the slots, up to the rounding of their seconds."""
    instance = day(nodes=7, slots=3, tasks=500, jobs=20, hours=10, load=0.4)
    workload = instance.workload
    maps = workload.kind == MAP
    assert workload.times[maps, 0].sum() == pytest.approx(0.4 * 7 * 3 * 36_000, rel=0.01)
    assert np.allclose(workload.times[maps] / workload.times[maps][:, :1], [1, 1.2, 1.6])
    assert len(np.unique(workload.times[maps & (workload.job == 0)], axis=0)) == 1
    assert np.isnan(workload.times[workload.kind == REDUCE]).all()
    first = {job: workload.times[maps & (workload.job == job)][0, 0] for job in range(20)}
    reduces = np.flatnonzero(workload.kind == REDUCE)
    assert all(workload.duration[task] == first[workload.job[task]] for task in reduces)


def test_files_are_shared() -> None:
    """Tests that jobs that read one file read its blocks in order, each on so many nodes, and that files are few."""
    instance = day(nodes=50, tasks=900, jobs=90, replicas=3)
    rows = [instance.replicas[task].tolist() for task in range(900)]
    assert all(len(set(row)) == 3 for row in rows)
    jobs = instance.workload.job[:900]
    files: dict[tuple[int, ...], list[int]] = {}
    for job in range(90):
        files.setdefault(tuple(rows[int(np.flatnonzero(jobs == job)[0])]), []).append(job)
    assert len(files) <= 30
    assert max(map(len, files.values())) >= 10
    for readers in files.values():
        blocks = [[rows[task] for task in np.flatnonzero(jobs == job)] for job in readers]
        longest = max(blocks, key=len)
        assert all(own == longest[: len(own)] for own in blocks)
