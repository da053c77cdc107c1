"""The study of what freezing r_out costs: its surcharges are the oracle's, and its page quotes what it prints."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from oracles.flow import FlowCongestion as Oracle

from optsched.instances.files import load
from optsched.problems import FlowCongestion

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("nodes", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_surcharges(study: ModuleType, nodes: tuple[int, int]) -> None:
    """Tests that a placement's surcharge by its best sources is the oracle's, and that no sources are better."""
    path = ROOT / "instances" / "papers" / "hsu-storage-load.json"
    problem, oracle = FlowCongestion(load(path)), Oracle(path.read_text(), {})
    best, seeming = study.surcharges(problem, np.array(nodes))
    assert best == pytest.approx(float(oracle.with_readers(nodes) - oracle.value(nodes)[0]), abs=1e-5)
    assert seeming >= best > 0


def test_page_quotes_the_study(study: ModuleType) -> None:
    """Tests that the first rounds of a setting are those that the page was printed from: none above its worst."""
    page = (ROOT / "docs" / "results-hsu.md").read_text()
    for setting in study.SETTINGS:
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {setting.title} |")]
        worst_best, worst_seeming = (float(line.split("|")[cell].strip(" %")) for cell in (5, 7))
        best, seeming = study.excess(study.drawn(0, setting), 85.0)
        assert 0 <= best <= worst_best + 0.05
        assert best <= seeming <= worst_seeming + 0.05
