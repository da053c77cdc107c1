"""The study of equation (3): its ways to emit, and that its page quotes what it prints."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from optsched.problems.shuffle_sizes import estimated_sizes

ROOT = Path(__file__).parents[2]


def test_ways_to_emit(study: ModuleType) -> None:
    """Tests each way by hand at half of the input, that nothing is emitted at its start, and all at its end."""
    size, rng = np.full((study.MAPS, study.REDUCES), 8.0), np.random.default_rng(0)
    for emission in study.EMISSIONS.values():
        assert (emission(size, np.zeros(study.MAPS), rng) == 0).all()
        assert (emission(size, np.ones(study.MAPS), rng) == size).all()
    half = np.full(study.MAPS, 0.5)
    assert study.linear(size, half, rng)[0].tolist() == [4, 4, 4, 4]
    assert study.four_spills(size, half + 0.2, rng)[0].tolist() == [4, 4, 4, 4]
    assert study.sorted_input(size, half + 0.125, rng)[0].tolist() == [8, 8, 4, 0]
    assert len(set(study.uneven(size, half, rng)[:, 0].tolist())) == study.MAPS


def test_linear_emission_is_what_equation_3_supposes(study: ModuleType) -> None:
    """Tests that what a map will emit is told by (3) where it emits linearly, to the rounding of what is there."""
    instance = study.drawn(0, study.linear)
    shuffle = instance.workload.shuffle
    progress = (instance.state.bytes_read / instance.workload.size)[shuffle.map]
    assert (np.abs(estimated_sizes(instance) - shuffle.size) <= 0.0006 / progress).all()
    assert study.excess(instance, "extrapolated") <= study.excess(instance, "emitted")
    assert study.excess(instance, "actual") == 0


@pytest.mark.thorough
def test_page_has_what_is_printed(study: ModuleType) -> None:
    """Tests that each line that the study prints is on the page, to the last digit, in the same order."""
    page = (ROOT / "docs" / "results-shen.md").read_text()
    assert study.table(study.HEADER, study.lines(200)) in page
