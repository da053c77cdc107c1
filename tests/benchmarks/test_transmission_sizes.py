"""The page of sizes of `transmission` has the gaps of its heuristics over seeds."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PAGE = (ROOT / "docs" / "results-shen-sizes.md").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("variation", range(3))
def test_heuristics_over_seeds(variation: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the rows of the smallest instances with the second seed, on which some heuristics draw random numbers."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    study = importlib.import_module("transmission_sizes")
    case = study.Case(study.SIZES[-1], *study.VARIATIONS[variation], 1)
    head = f"| {' | '.join(map(str, case.head))} | "
    (row,) = (line.removeprefix(head).strip("| ").split(" | ") for line in PAGE if line.startswith(head))
    value, gap, _, _, *above = row
    assert gap == "proved"
    assert above == study.above(case.problem(), float(value))
