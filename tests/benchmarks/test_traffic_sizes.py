"""The sizes that `traffic` reaches have the optima of their page."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PAGE = ROOT / "benchmarks" / "README.md"


@pytest.mark.parametrize("case", [0, 1])
def test_sizes_without_slots(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that optima, bounds and proofs of the sizes that take no time are on the page, and what JoSS-J causes."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    study = importlib.import_module("traffic_sizes")
    cells = study.row(study.CASES[case], "none", 60.0).split("|")
    rows = [line.split("|") for line in PAGE.read_text().splitlines()]
    seconds = 10
    assert cells[:seconds] + cells[seconds + 1 :] in [row[:seconds] + row[seconds + 1 :] for row in rows]
