"""Reports: their sections and provenance, what is said at once, and their forms."""

import base64
import csv
import hashlib
import io
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from report_records import FRONTIER, Study, pair, record, written

from optsched.core.errors import InputError, UsageError
from optsched.measuring.printing import Cell, Table, counts, share
from optsched.showing import write_report
from optsched.showing.reports import (
    FLOAT_ROWS,
    PAGE_ROWS,
    ROWS,
    Lines,
    Picture,
    Report,
    Section,
    built,
    latex,
    markdown,
    page,
    tidy,
)
from optsched.showing.sources import read

TABLE = Table(
    ("heuristic", "≤ 5 %"), [["my_dl|x", share(0.5)]], frozenset({"≤ 5 %"}), "gaps-a_b", "Gaps in a_b", "A #note."
)
LONG = Table(("n",), [counts(number) for number in range(ROWS + 1)], frozenset({"n"}), "long", "Long")
PAGE_ONLY = Table(("n",), ["x"], key="runs", title="All runs", everywhere=False)
EMPTY = Table(("n",), [], key="none", title="None")
LINES, COMMAND = Lines(("one\ntwo",)), Lines(("optsched gap ```",), command=True)
PICTURE = Picture("p", "P", "told", "long", "c", bytes)
REPORT = Report(
    "Gaps & more",
    "One run.",
    (
        Section("a", "First_one", (TABLE, "It is *so*.", LINES, COMMAND)),
        Section("b", "Second", (LONG, PAGE_ONLY, EMPTY, PICTURE)),
        Section("c", "Page only", (PAGE_ONLY,)),
    ),
)


def of(*parts: Any) -> Report:
    """A report of one section."""
    return Report("R", "S.", (Section("x", "X", parts),))


def test_markdown() -> None:
    """Tests headings, tables, lists and commands, and that nothing in them is obeyed."""
    text = markdown(REPORT)
    assert text.startswith("# Gaps \\& more\n\nOne run.\n\n## First\\_one\n\n### Gaps in a\\_b\n\n| heuristic |")
    assert "| my\\_dl\\|x | 50 % |\n\nA \\#note.\n\nIt is \\*so\\*.\n\n- one\\\\ntwo\n" in text
    assert "```bash\noptsched gap '''\n```" in text
    assert f"The first {ROWS} of {ROWS + 1} rows; all are in the CSV." in text
    assert "Page only" not in text, "a section without anything is left out"


def test_latex() -> None:
    """Tests that each table is a float with caption and label, and that what LaTeX would obey is escaped."""
    text = latex(REPORT)
    assert text.count("\\begin{table}") == text.count("\\end{table}") == text.count("\\toprule") == 2
    assert "\\caption{Gaps in a\\_b.}" in text
    assert "\\label{tab:long}" in text
    assert "tab:gaps" not in text, "a name that is no label has none"
    assert "my\\_dl\\textbar{}x & 50 \\%" in text
    assert "heuristic & $\\leq$ 5 \\%" in text
    assert f"\\caption{{Long. The first {FLOAT_ROWS} of {ROWS + 1} rows; all are in the CSV.}}" in text
    assert not re.search(r"^[^%\n]*one", text, re.MULTILINE), "texts are comments, or left out"


CELLS = Table(
    ("first", "second", "runs", "gap"),
    [["dl", "a, b", *counts(3), share(0.125)], ["fair", "c", *counts(3), Cell("starved")]],
    frozenset({"runs", "gap"}),
    "gaps",
    "Gaps",
)


def test_tidy() -> None:
    """Tests a row for each cell, with the key of its row (the first column without numbers), in full and as shown."""
    rows = list(csv.DictReader(io.StringIO(tidy(of(CELLS, "text")))))
    assert list(rows[0]) == ["table", "row", "key", "column", "value", "shown"]
    assert [tuple(row.values()) for row in rows] == [
        ("gaps", "1", "dl; a, b", "runs", "3", "3"),
        ("gaps", "1", "dl; a, b", "gap", "0.125", "12.5 %"),
        ("gaps", "2", "fair; c", "runs", "3", "3"),
        ("gaps", "2", "fair; c", "gap", "", "starved"),
    ]
    assert tidy(of(Table(("a", "b"), [["x", "y"]], key="t", title="T"))).splitlines()[1] == "t,1,x,b,y,y"


HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m\u202e"


class Reader(HTMLParser):
    """The elements, ids and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name in ("href", "src", "action")]


@pytest.fixture(scope="module")
def drawn() -> str:
    """A page with pictures, of two heuristics whose names and instances are hostile."""
    rows = [
        {**row, "instance": f"{HOSTILE}{row['instance']}", "heuristic": f"{HOSTILE}{row['heuristic']}"}
        for row in pair([2, 4, None], [3, 2, 5])
    ]
    rows.append(record(problem=HOSTILE, error=HOSTILE, status="failed", notes=[HOSTILE]))
    return page(built(read(Study(rows)))[0])


def test_nothing_is_obeyed(drawn: str) -> None:
    """Tests that names are text: one script, no terminal escapes, nothing that turns the text around."""
    assert Reader(drawn).tags.count("script") == 1
    assert "&lt;script&gt;alert(1)" in drawn
    assert not set("\x1b\u202e") & set(drawn)


def test_needs_nothing_else(drawn: str) -> None:
    """Tests that all links lead into the page or hold their data, and that the policy allows its own script alone."""
    reader = Reader(drawn)
    assert all(link.startswith(("#", "data:")) for link in reader.links)
    assert {link[1:] for link in reader.links if link.startswith("#")} <= set(reader.ids)
    (script,) = re.findall(r"<script>(.*?)</script>\s*</body>", drawn, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in drawn
    assert "default-src 'none'" in drawn
    assert "http://" not in re.sub(r"<svg.*?</svg>", "", drawn, flags=re.DOTALL)


def test_ids_are_distinct(drawn: str) -> None:
    """Tests that no two elements share an id, those of several pictures neither."""
    reader = Reader(drawn)
    assert reader.tags.count("svg") == 3
    assert len(reader.ids) == len(set(reader.ids))
    assert set(re.findall(r"url\(#([^)]+)\)", drawn)) <= set(reader.ids)


def test_tables_are_tables() -> None:
    """Tests captions, heads of rows and columns, and what numbers are sorted by."""
    row = ["a", Cell("50 %", 0.5), Cell("go", "go", True)]
    text = page(of(Table(("name", "gap", "again"), [row], frozenset({"gap"}), "t", "Told")))
    assert '<caption>Told</caption><thead><tr><th scope="col">name</th><th scope="col" class="number">gap</th>' in text
    number = '<th scope="row">a</th><td class="number" data-value="0.5">50 %</td>'
    assert f'{number}<td class="again"><code>go</code></td>' in text
    assert "data-filtered" not in text


def test_long_tables_are_cut_and_carried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a page has so many rows, says how many there are, and carries all of them as CSV, unless too large."""
    rows = [[f"r{number}", *counts(number)] for number in range(PAGE_ROWS + 5)]
    report = of(Table(("name", "n"), rows, frozenset({"n"}), "t", "T"))
    text = page(report)
    assert text.count("<tr>") == PAGE_ROWS + 1, "the head is a row"
    assert f"The first {PAGE_ROWS} of {PAGE_ROWS + 5} rows are shown; all are in the CSV." in text
    (carried,) = re.findall(r'download="t.csv" href="data:text/csv;base64,([^"]+)"', text)
    assert base64.b64decode(carried).decode().splitlines()[-1] == f"r{PAGE_ROWS + 4},{PAGE_ROWS + 4}"
    assert "data-filtered" in text
    monkeypatch.setattr("optsched.showing.reports._CARRIED", 10)
    assert "data:text/csv" not in page(report)


def test_without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the tables are there where nothing can be drawn, and what lines, notes and pictures look like."""
    picture = Picture("p", "P", "told", "t", "c", lambda: None)
    report = of(picture, Lines(("a", "b")), Lines(("c",), command=True), "Text.")
    monkeypatch.setattr("optsched.showing.reports.picture", None)
    text = page(report, pictures=False)
    assert "<ul><li>a</li><li>b</li></ul>" in text
    assert "<code>c</code></pre><p>Text.</p>" in text
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"><metadata/><g id="a"/></svg>'
    monkeypatch.setattr("optsched.showing.reports.picture", lambda figure: svg)
    shown = page(report)
    assert '<svg role="img" aria-label="told"><g id="p-t-a"></g></svg>' in shown
    assert '<figcaption>P: <a href="#t">numbers</a>, <a href="#c">command</a>.</figcaption>' in shown


# What a report has --------------------------------------------------------------------------------------------------


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
