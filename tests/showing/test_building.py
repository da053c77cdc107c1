"""Reports are built: their sections, what is said at once, provenance."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from report_records import FRONTIER, Study, pair, record, written

from optsched.core.errors import InputError, UsageError
from optsched.showing import write_report
from optsched.showing.building import built
from optsched.showing.documents import Lines, Picture, Report, latex, markdown, page
from optsched.showing.sources import read


def report(records: list[dict[str, Any]], **options: Any) -> tuple[Report, list[str]]:
    """The report on these records, and what is said of it."""
    return built(read(Study(records)), **options)


def parts_of(found: Report, title: str, kind: type = object) -> list[Any]:
    """The parts of this kind in the section of this title."""
    (section,) = (one for one in found.sections if one.title == title)
    return [part for part in section.parts if isinstance(part, kind)]


def test_sections() -> None:
    """Tests that each problem and each sort of source has a section, and failures and provenance always."""
    rows = [*pair([2, 4], [2, None]), record(problem="flow"), record(ran_in="lsap"), FRONTIER]
    found, shown = report(rows)
    measured, rest = ["All problems", "lsap", "flow"], ["Failures", "Runs", "Provenance"]
    assert [one.title for one in found.sections] == [*measured, "Gap matrices", "Frontiers", *rest]
    assert found.summary == (
        "5 runs of 2 heuristics in 2 problems on 2 instances; 1 of the runs without a feasible placement; "
        "1 cell of gap matrices; 1 frontier."
    )
    assert shown == []
    keys = [table.key for table in found.tables]
    assert len(keys) == len(set(keys))
    whole, _ = report([record()], title="Mine")
    assert (parts_of(whole, "Failures"), whole.title) == (["Every run has a feasible placement."], "Mine")


def test_findings() -> None:
    """Tests that the report says first which heuristic is best and worst in each problem, where means compare."""
    found, _ = report([*pair([2, 4], [3, 4]), record(problem="flow")])
    lsap, flow = found.findings
    best = r"lsap: dl has the smallest mean gap, .* % over 2 instances; fair has the largest, .* %\."
    assert re.fullmatch(best, lsap)
    assert re.fullmatch(r"flow: dl has a mean gap of .* % over 1 instance\.", flow)
    text = page(found, pictures=False)
    assert text.index(lsap) < text.index("<main")
    assert f"- {lsap}" in markdown(found)
    assert f"% {flow}" in latex(found)
    assert report([record(None)])[0].findings == (), "no run has a gap"
    alike, _ = report(pair([2, 4], [2, 4]))
    assert alike.findings[0].startswith("lsap: all 2 heuristics have a mean gap of ")


def test_pictures_have_tables() -> None:
    """Tests that each picture says what it shows and names a table of the report, and is an SVG."""
    found, _ = report(pair([2, 4], [3, 4]))
    pictures = parts_of(found, "lsap", Picture)
    assert {picture.table for picture in pictures} <= {table.key for table in found.tables}
    assert {picture.command for picture in pictures} <= {part.key for part in parts_of(found, "lsap", Lines)}
    assert all(re.search(r"dl .*, fair ", picture.alt) for picture in pictures)
    assert len(pictures[0].draw().axes) == 1
    for rows, drawn in ((pair([2, 4], [3, 4]), 3), ([record()], 2), ([record(None)], 0)):
        assert len(parts_of(report(rows)[0], "lsap", Picture)) == drawn, "no one to compare, and nothing to draw"


def test_frontier_or_matrix_alone() -> None:
    """Tests that a source without runs makes a report of what it has."""
    found, _ = report([FRONTIER])
    assert [one.title for one in found.sections] == ["Frontiers", "Provenance"]
    assert found.summary == "1 frontier."
    picture, _, lines = parts_of(found, "Frontiers")
    assert picture.alt.endswith("on a: a staircase of points (x, y): 1, 3. Heuristics are drawn in.")
    assert len(picture.draw().axes) == 1
    assert lines.lines[1] == "optsched frontier a.json --problem latency --format json"
    found, _ = report([record(), FRONTIER], problems=["latency"])
    assert "Frontiers" in [one.title for one in found.sections]
    with pytest.raises(UsageError, match="no record is of lsap"):
        report([FRONTIER], problems=["lsap"])


def test_what_is_said_at_once(tmp_path: Path) -> None:
    """Tests what is said of several versions and of runs that are recorded twice: at once, and in the provenance."""
    first = written(tmp_path, [record(), record(instance="b")])
    second = written(tmp_path, [record(version="0.0.9")], "old.json")
    found, result = built(read([first, second]))
    assert result == [
        "1 runs are recorded more than once and count once",
        "the records are of several versions of optsched: 1 of 0.0.9, 2 of 0.1.0; figures may differ for that alone",
    ]
    command, notes, *_ = parts_of(found, "Provenance", Lines)
    assert command.lines == (f"optsched report {first} {second} --to report.html",)
    assert notes.lines[0] == "1 runs are recorded more than once and count once."
    assert first in [cell for row in found.tables[-1].rows for cell in row]


def test_unfinished_sweeps() -> None:
    """Tests that a store of which runs are missing is reported at once."""

    class Held(Study):
        path, planned = "s.sqlite", 3

    assert built(read(Held([record()])))[1] == ["2 runs of the sources are not finished"]
    assert built(read(Held([record(), record(instance="b")])))[1] == ["1 run of the sources is not finished"]
    assert built(read(Held([record(instance=name) for name in "abc"])))[1] == []


def test_commands_of_a_part() -> None:
    """Tests that a problem's section ends with what gives it again, by the name of the problem."""
    rows = [record(parameters={"levels": levels}) for levels in ([0, 1, 1], [0, 1, 2])]
    found, _ = report(rows, heuristics=["dl"])
    part = parts_of(found, "lsap,levels=0:1:2")[-1]
    assert part.lines[0] == "optsched report RECORDS.json --problem lsap --heuristic dl --to lsap.html"
    found, _ = report(rows, problems=["lsap"])
    whole = parts_of(found, "Provenance")[1]
    assert whole.lines == ("optsched report RECORDS.json --problem lsap --to report.html",)


def test_notes() -> None:
    """Tests that what records assume is reported, with the number of runs."""
    given = ["racks are given"]
    found, _ = report([record(notes=given * 2), record(instance="b", notes=given)])
    (row,) = found.tables[-1].rows
    assert list(row) == [*given, "2"]
    many, _ = report([record(instance=str(number), notes=[f"note {number}"]) for number in range(201)])
    assert len(many.tables[-1].rows) == 200
    assert many.tables[-1].note.endswith("1 more are in the records.")


def test_every_form(tmp_path: Path) -> None:
    """Tests that one call writes all forms, from a file or from memory, and twice the same bytes."""
    source = written(tmp_path, pair([2, 4], [3, 2]))
    targets = [tmp_path / f"report{suffix}" for suffix in (".html", ".tex", ".md", ".CSV")]
    assert write_report(source, targets) == []
    before = [target.read_bytes() for target in targets]
    assert [text[:12] for text in before] == [b"<!DOCTYPE ht", b"% Gaps to th", b"# Gaps to th", b"table,row,ke"]
    write_report(source, targets)
    assert [target.read_bytes() for target in targets] == before
    assert {path.name for path in tmp_path.iterdir()} == {"records.json", *(path.name for path in targets)}


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        (["a.html", "a.pdf"], 'a.pdf: no form of a report ends in ".pdf"; the name must end in .html, .tex, .csv, .md'),
        (["a"], "a: no form of a report has no ending; the name must end in .html, .tex, .csv, .md"),
        (["a.md", "a.md"], "a.md: is given twice"),
        ([], "a report is written to a file: --to FILE.html"),
    ],
)
def test_wrong_targets(to: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a wrong ending is reported before anything is read or written."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        write_report("there-is-none.json", to)
    assert str(caught.value) == expected
    assert not list(tmp_path.iterdir())


def test_nothing_is_half_written(tmp_path: Path) -> None:
    """Tests that what cannot be written, a source that cannot be read, and a full disk leave all files as they were."""
    old, full = tmp_path / "old.md", tmp_path / "full.md"
    old.write_text("old")
    full.symlink_to("/dev/full")
    for source, to, message in (
        (Study([record()]), [old, tmp_path / "no" / "new.html"], "cannot be written: there is no folder"),
        (tmp_path / "none.json", [old, tmp_path / "new.html"], "cannot be read"),
        (Study([record()]), [tmp_path / "whole.csv", full], "No space left on device"),
    ):
        with pytest.raises(InputError, match=message):
            write_report(source, to)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full.md", "old.md"]
    assert old.read_text() == "old"


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a page without pictures is written where matplotlib is missing, and that it is said."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    shown = write_report(Study([record()]), tmp_path / "report.html")
    assert shown == ['the page has no pictures, for which matplotlib is needed: pip install "optsched[plots]"']
    assert "<svg" not in (tmp_path / "report.html").read_text()
    assert write_report(Study([record()]), tmp_path / "report.md") == []
