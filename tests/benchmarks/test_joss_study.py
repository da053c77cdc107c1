"""The study of JoSS prints the table of its page, and the sizes that `traffic` reaches have the page's optima."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PAGE = ROOT / "docs" / "results-sharmilarani-joss.md"


@pytest.mark.thorough
def test_page_has_what_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that every row that the study prints is on the page."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.setattr(sys, "argv", ["joss_study.py"])
    importlib.import_module("joss_study").main()
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 6
    lines = PAGE.read_text().splitlines()
    assert [line for line in told if line not in lines] == []


@pytest.mark.parametrize("case", [0, 1])
def test_sizes_without_slots(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that optima, bounds and proofs of the sizes that take no time are on the page, and what JoSS-J causes."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    study = importlib.import_module("traffic_sizes")
    cells = study.row(study.CASES[case], "none", 60.0).split("|")
    rows = [line.split("|") for line in PAGE.read_text().splitlines()]
    seconds = 10
    assert cells[:seconds] + cells[seconds + 1 :] in [row[:seconds] + row[seconds + 1 :] for row in rows]
