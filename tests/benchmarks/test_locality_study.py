"""Guo et al.'s figures with the optimum: the page has the rows that the study prints."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PAGE = ROOT / "docs" / "results-guo.md"


@pytest.mark.parametrize(
    ("part", "rows"),
    [
        ("figure2", 6),
        *(
            pytest.param(part, rows, marks=pytest.mark.thorough)
            for part, rows in (("one-replica", 7), ("figure5", 27), ("figure4a", 13))
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::optsched.problems.fair_lsap.RationRuleWarning")
def test_page_has_what_is_printed(part: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the page's tables of these figures, row by row, with as many instances as it says."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    study = importlib.import_module("locality_study")
    _, told = study.PARTS[part](1000)
    found = [line for line in told.splitlines() if line.startswith("|")]
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert len(found) == rows
    assert [line for line in found if line not in lines] == []
