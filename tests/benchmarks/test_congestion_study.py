"""The study of Hsu and Freeh's schedulers under the load of the round: it prints what its page shows."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from pages import rows_below

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "results-hsu.md"


def test_every_table_is_printed(
    study: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that the command runs to its end with a tiny budget."""
    monkeypatch.setattr("sys.argv", ["congestion_study.py", "--seeds", "2", "--sizes", "14"])
    monkeypatch.setattr(study, "workload", lambda jobs: "not here")
    study.main()
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if line.startswith("## ")] == [
        "## Small rounds",
        "## Proofs of the small rounds",
        "## The paper's workload",
        "## Convexity",
        "## Sizes",
    ]
    assert "| 14 | 21 | 10 | 11 | 170 |" in printed


@pytest.mark.thorough
def test_page_quotes_the_workload(study: ModuleType) -> None:
    """Tests the rows of one job, and what is said of convexity."""
    printed = [line for line in study.workload([1]).splitlines()[2:] if line]
    quoted = [row for row in rows_below(PAGE, "## The paper's workload") if row.split("|")[2].strip() == "1"]
    assert quoted
    assert [row for row in quoted if row not in printed] == []
    counts = [list(map(int, line.strip("| ").split("|"))) for line in study.convexity().splitlines()[2:]]
    negative, total = (sum(count[column] for count in counts) for column in (1, 2))
    assert f"{negative} of {total} second differences" in " ".join(PAGE.read_text(encoding="utf-8").split())
