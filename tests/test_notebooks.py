"""Tests that the notebooks run without a fault and still print what is committed.

They run in a process of their own (`notebooks/execute.py`): the client of their kernels leaves sockets to the garbage
collector, which would be warnings in here.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

#: The one that the quick suite runs.
QUICK = "resource_aware"


def printed(path: Path) -> list[list[str]]:
    """What each code cell printed or answered as text; of a figure only that there is one."""
    cells = nbformat.read(path, as_version=4).cells
    return [[_shown(output) for output in cell.outputs] for cell in cells if cell.cell_type == "code"]


def _shown(output: Any) -> str:
    if output.output_type == "stream":
        return f"{output.name}: {output.text.rstrip()}"
    return "image/png" if "image/png" in output.data else str(output.data["text/plain"])


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.thorough] * (path.stem != QUICK)) for path in NOTEBOOKS],
)
def test_runs_and_prints_what_is_committed(path: Path, tmp_path: Path) -> None:
    """Tests that every cell runs, and answers with the committed text and nothing on stderr."""
    command = [sys.executable, str(FOLDER / "execute.py"), "--to", str(tmp_path), str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    after = printed(tmp_path / path.name)
    assert not [text for cell in after for text in cell if text.startswith("stderr")]
    assert after == printed(path)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_holds_no_trace_of_a_machine(path: Path) -> None:
    """Tests that the file is a small notebook in Python, run from top to bottom, without times and paths."""
    assert path.stat().st_size < 300_000  # a clone has all of its versions
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == notebook.metadata.language_info.name + "3" == "python3"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not any("execution" in cell.metadata for cell in notebook.cells)
    assert str(FOLDER.parent) not in path.read_text(encoding="utf-8")


def test_page_has_the_figures_of_the_day() -> None:
    """Tests that each row and each number of hours on the page about one day is what its notebook prints."""
    text = "\n".join(text for cell in printed(FOLDER / "one_day.ipynb") for text in cell)
    page = (FOLDER.parent / "docs" / "explanation" / "day.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").replace("`", "").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    shown = [line.split() for line in text.splitlines()]
    assert len(rows) == 4
    for name, *values in rows:
        assert any(
            line[:1] == [name] and [float(value) for value in line[1:]] == list(map(float, values)) for line in shown
        )
    for expected in re.findall(r"\d+\.\d{3} h", page):
        assert expected in text or f" {float(expected[:-2]):g} " in text
    assert "16 decisions of fair, 0 of them" in text
