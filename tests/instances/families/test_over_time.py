"""The families of jobs over time: who arrives when, what runs, and which slots are left."""

from __future__ import annotations

import numpy as np
import pytest

from optsched.instances.generate import generate
from optsched.problems.distances import distances, nested_areas


def test_distances() -> None:
    """Tests each kind of distances: areas are nested or not, nodes are at no distance from themselves, any is any."""
    nested = {}
    for form in range(1, 6):
        instance = generate("job-times", seed=3, distances=form)
        areas = nested_areas(instance)
        nested[form] = None if areas is None else len(areas.lengths)
        assert distances(instance).shape == (10, 10)
        assert np.diagonal(distances(instance)).tolist() == [0] * 10
    assert [nested[form] for form in (1, 2, 3, 4)] == [3, 3, None, None]
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
