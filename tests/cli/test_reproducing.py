"""`optsched figure`: lists, measures, shows what is kept, and refuses what makes no sense."""

import csv
import io
from pathlib import Path

import pytest
from command_line import answer, run, stdout

from optsched.core.errors import OutOfTime
from optsched.measuring.reproducing import cells


def test_list() -> None:
    """Tests the list in each form, and by words and paper."""
    assert "guo-2012/4b: " in stdout("figure")
    assert "guo-2012/4b" in [one["id"] for one in answer("figure")]
    assert "Figure 4(b)" in stdout("figure", "--paper", "guo-2012", "replicas", "--format", "markdown")


def test_measure(tmp_path: Path) -> None:
    """Tests a table, CSV and JSON of the same numbers, and a picture."""
    words = ["figure", "guo-2012/4b", "--seeds", "2", "--store", str(tmp_path / "draws.sqlite")]
    svg, pgf = tmp_path / "b.svg", tmp_path / "b.pgf"
    shown = stdout(*words, "--plot", str(svg))
    assert shown.splitlines()[0].split()[:4] == ["replicas", "of", "a", "block"]
    assert "means of 2 draws" in " ".join(shown.split())
    assert svg.read_text().startswith("<?xml")
    stdout(*words, "--plot", str(pgf))
    assert "\\addlegendentry{optimum}" in pgf.read_text()
    rows = list(csv.DictReader(io.StringIO(stdout(*words, "--format", "csv"))))
    assert [float(row["mean"]) for row in rows] == [point["mean"] for point in answer(*words)["points"]]
    assert "\\begin{tabular}" in stdout(*words, "--format", "latex")


def test_partial_results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests that numbers so far come to stderr, and that a table that lacks points ends in exit code 5."""
    monkeypatch.setattr("optsched.cli.reproducing._BETWEEN_TABLES", 0)
    done = run("figure", "guo-2012/4b", "--seeds", "3")
    assert [f"means of {count} draws" in " ".join(done.stderr.split()) for count in (2, 3)] == [True, False]
    measured = cells.numbers

    def some_alone(cell: cells.Cell) -> cells.Numbers:
        if "replicas=10" in cell.check.on[0]:
            raise OutOfTime("the time limit was reached")
        return measured(cell)

    monkeypatch.setattr(cells, "numbers", some_alone)
    done = run("figure", "guo-2012/4b", "--seeds", "3")
    assert done.exit_code == 5
    assert "2 points without a draw" in done.stderr
    assert "Not measured in the time: 10, 19" in " ".join(done.stdout.split())


def test_stored() -> None:
    """Tests that what is kept is shown with its version."""
    assert "by optsched 0.2" in " ".join(stdout("figure", "guo-2012/4b", "--stored").split())
