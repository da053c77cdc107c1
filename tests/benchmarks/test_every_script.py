"""Scripts of `benchmarks/` without a test file of their own, run with a tiny budget."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def said(*words: str) -> str:
    """What a script prints; it must end well."""
    command = [sys.executable, str(ROOT / "benchmarks" / words[0]), *words[1:]]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "rows"),
    [
        (("fairness_study.py", "--repeats", "1"), 10),
        (("ras_study.py", "--tiny", "1", "--seeds", "1"), 10),
        (("utility_sizes.py", "--time-limit", "0.01"), 10),
        (("house_size.py",), 10),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_prints_rows(words: tuple[str, ...], rows: int) -> None:
    """Tests that the script runs to its end, and prints as many lines or more."""
    assert len(said(*words).splitlines()) >= rows


def test_what_the_library_comes_to(tmp_path: Path) -> None:
    """Tests that what was recorded of an instance compares as the same."""
    file = tmp_path / "net.json"
    said("regression_net.py", "record", str(file), "papers/guo-fig2")
    assert json.loads(file.read_text(encoding="utf-8"))
    assert ", 0 differ, 0 are new" in said("regression_net.py", "compare", str(file), "papers/guo-fig2")
