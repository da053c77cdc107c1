"""The sizes that `traffic` reaches have the optima of their page."""

from pathlib import Path
from types import ModuleType

import pytest

PAGE = Path(__file__).parents[2] / "benchmarks" / "README.md"


@pytest.mark.parametrize("case", [0, 1])
def test_sizes_without_slots(study: ModuleType, case: int) -> None:
    """Tests that optima, bounds and proofs of the sizes that take no time are on the page, and what JoSS-J causes."""
    cells = study.row(study.CASES[case], "none", 60.0).split("|")
    rows = [line.split("|") for line in PAGE.read_text().splitlines()]
    seconds = 10
    assert cells[:seconds] + cells[seconds + 1 :] in [row[:seconds] + row[seconds + 1 :] for row in rows]
