"""The page of sizes of `transmission` has what its heuristics come to, over seeds, beside its optima."""

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
    searched, beside = (line.removeprefix(head) for line in PAGE if line.startswith(head))
    value, bound = map(float, searched.split(" | ")[:2])
    assert beside == f"{' | '.join(study.above(case.problem(), value, bound))} |"
