"""Reports are written whole or not at all."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from report_records import Study, pair, record, written

from optsched.errors import InputError, UsageError
from optsched.reporting import write_report


def test_every_form(tmp_path: Path) -> None:
    """Tests that one call writes all forms, from a file or from memory, and twice the same bytes."""
    source = written(tmp_path, pair([2, 4], [3, 2]))
    targets = [tmp_path / f"report{suffix}" for suffix in (".html", ".tex", ".md", ".CSV")]
    assert write_report(source, targets) == []
    starts = [target.read_text(encoding="utf-8")[:12] for target in targets]
    assert starts == ["<!DOCTYPE ht", "% Gaps to th", "# Gaps to th", "table,row,ke"]
    before = [target.read_bytes() for target in targets]
    write_report(source, targets)
    assert [target.read_bytes() for target in targets] == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["records.json", *(path.name for path in targets)]
    )


@pytest.mark.parametrize(
    ("to", "told"),
    [
        (["a.html", "a.pdf"], 'a.pdf: no form of a report ends in ".pdf"; the name must end in .html, .tex, .csv, .md'),
        (["a"], "a: no form of a report has no ending; the name must end in .html, .tex, .csv, .md"),
        (["a.md", "a.md"], "a.md: is given twice"),
        ([], "a report is written to a file: --to FILE.html"),
    ],
)
def test_wrong_targets(to: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a wrong ending is told before anything is read or written."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        write_report("there-is-none.json", to)
    assert str(caught.value) == told
    assert not list(tmp_path.iterdir())


def test_nothing_is_half_written(tmp_path: Path) -> None:
    """Tests that a target that cannot be written, or a source that cannot be read, leaves all files as they were."""
    old = tmp_path / "old.md"
    old.write_text("old")
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        write_report(Study([record()]), [old, tmp_path / "no" / "new.html"])
    with pytest.raises(InputError, match="cannot be read"):
        write_report(tmp_path / "none.json", [old, tmp_path / "new.html"])
    assert [path.name for path in tmp_path.iterdir()] == ["old.md"]
    assert old.read_text() == "old"


def test_a_full_disk(tmp_path: Path) -> None:
    """Tests that where one file cannot be written to its end, no other is there either, and no part of one."""
    (tmp_path / "full.md").symlink_to("/dev/full")
    with pytest.raises(InputError, match="No space left on device"):
        write_report(Study([record()]), [tmp_path / "whole.csv", tmp_path / "full.md"])
    assert [path.name for path in tmp_path.iterdir()] == ["full.md"]


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a page without pictures is written where matplotlib is missing, and that it is said."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    told = write_report(Study([record()]), tmp_path / "report.html")
    assert told == ['the page has no pictures, for which matplotlib is needed: pip install "optsched[plots]"']
    assert "<svg" not in (tmp_path / "report.html").read_text()
    assert write_report(Study([record()]), tmp_path / "report.md") == []
