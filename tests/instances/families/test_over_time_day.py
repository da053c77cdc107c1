"""The family of a day of a cluster: when jobs come, what they read, and how much there is to do."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.core.errors import UsageError
from optsched.core.instance import MAP, REDUCE, Instance
from optsched.instances.generate import generate


def drawn(seed: int = 0, **parameters: object) -> Instance:
    """A day."""
    found = generate("day", seed, **parameters)
    assert isinstance(found, Instance)
    return found


def test_arrivals_follow_the_hours() -> None:
    """Tests that at noon more jobs come than at midnight, as the cosine says, and evenly where nothing swings."""
    hour = drawn(jobs=20_000, tasks=20_000, reduces=0, swing=0.8).workload.arrival / 3600
    assert (np.diff(hour) >= 0).all()
    assert 0 <= hour[0] <= hour[-1] <= 24
    # The integral of 1 - 0.8 cos(2 pi t / 24) from 9 to 15 is 6 + 0.8 * 24 / pi * sin(pi / 4) of 24.
    share = ((hour > 9) & (hour < 15)).mean()
    assert share == pytest.approx((6 + 0.8 * 24 / np.pi * np.sin(np.pi / 4)) / 24, abs=0.015)
    even = drawn(jobs=20_000, tasks=20_000, reduces=0, swing=0).workload.arrival / 3600
    assert ((even > 9) & (even < 15)).mean() == pytest.approx(0.25, abs=0.015)


def test_load() -> None:
    """Tests that maps on their data hold the given share of the slots, up to the rounding of their seconds."""
    instance = drawn(nodes=7, slots=3, tasks=500, jobs=20, hours=10, load=0.4)
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
    instance = drawn(nodes=50, tasks=900, jobs=90, replicas=3)
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


def test_what_does_not_go_together() -> None:
    """Tests that more racks or replicas than nodes and other than three factors are refused, and nothing is a day."""
    with pytest.raises(UsageError, match="racks is 11"):
        drawn(racks=11)
    with pytest.raises(UsageError, match="replicas"):
        drawn(nodes=2)
    with pytest.raises(UsageError, match="factors has 2 numbers; it takes three: node, rack, remote"):
        drawn(factors=(1, 2))
    assert len(drawn(tasks=0, reduces=0).workload) == 0
    assert len(drawn(tasks=3, jobs=5).workload) == 123
