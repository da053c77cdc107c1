"""`optsched report`: from records to a page, and one line for each thing that is wrong."""

from __future__ import annotations

from pathlib import Path

import command_line
import pytest
from report_records import record, written


def test_from_records_to_a_report(tmp_path: Path) -> None:
    """Tests that what `gap --format json` writes makes a report, and that nothing is said where nothing is odd."""
    records, page, table = (str(tmp_path / name) for name in ("records.json", "report.html", "report.csv"))
    words = ["gap", "papers/guo-table2", "--problem", "fair-lsap", "--heuristic", "dl", "--heuristic", "fair"]
    assert command_line.run(*words, "--output", records).exit_code == 0
    done = command_line.run("report", records, "--to", page, "--to", table, "--title", "Mine", "--heuristic", "dl")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    text = Path(page).read_text(encoding="utf-8")
    assert "<h1>Mine</h1>" in text
    assert "1 run of 1 heuristic in 1 problem on 1 instance." in text
    assert "gaps-fair-lsap,1,dl,mean,0.125,12.5 %" in Path(table).read_text(encoding="utf-8").replace(
        "0.12499999463558199", "0.125"
    )


def test_notes_go_to_stderr(tmp_path: Path) -> None:
    """Tests that several versions are told in one line."""
    source = written(tmp_path, [record(), record(instance="b", version="0.0.1")])
    done = command_line.run("report", source, "--to", str(tmp_path / "a.md"))
    assert done.exit_code == 0
    assert done.stderr.startswith("optsched: note: the records are of several versions of optsched: 1 of 0.0.1, ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "words", "code", "told"),
    [
        ("[]", ["--to", "a.md"], 3, "records.json: holds no records"),
        ('{"format": "optsched/1"}', ["--to", "a.md"], 3, "is an instance: measure it first"),
        ("[", ["--to", "a.md"], 3, "is no JSON"),
        (None, ["--to", "a.xyz"], 2, 'no form of a report ends in ".xyz"'),
        (None, ["--to", "no/a.md"], 3, "no/a.md: cannot be written"),
        (None, ["--to", "a.md", "--problem", "flw"], 2, 'no record is of problem "flw"'),
        (None, [], 2, "Missing option '--to'"),
    ],
)
def test_what_is_wrong_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None, words: list[str], code: int, told: str
) -> None:
    """Tests exit code and message, and that nothing is written."""
    source = written(tmp_path, [record()] if content is None else content)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    done = command_line.run("report", source, *words)
    assert done.exit_code == code
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(Path().iterdir())
