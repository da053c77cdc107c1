"""Reports as LaTeX and Markdown."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from report_records import Study, pair, record

from optsched.measuring.printing import Cell, Table, counts, share
from optsched.showing.building import built
from optsched.showing.documents import (
    FLOAT_ROWS,
    PAGE_ROWS,
    ROWS,
    Lines,
    Picture,
    Report,
    Section,
    latex,
    markdown,
    page,
    tidy,
)
from optsched.showing.sources import read

TABLE = Table(
    ("heuristic", "≤ 5 %"),
    [["my_dl|x", share(0.5)]],
    frozenset({"≤ 5 %"}),
    "gaps-a_b",
    "Gaps in a_b",
    "A #note.",
)
LONG = Table(("n",), [counts(number) for number in range(ROWS + 1)], frozenset({"n"}), "long", "Long")
PAGE_ONLY = Table(("n",), ["x"], key="runs", title="All runs", everywhere=False)
EMPTY = Table(("n",), [], key="none", title="None")
REPORT = Report(
    "Gaps & more",
    "One run.",
    (
        Section(
            "a", "First_one", (TABLE, "It is *so*.", Lines(("one\ntwo",)), Lines(("optsched gap ```",), command=True))
        ),
        Section("b", "Second", (LONG, PAGE_ONLY, EMPTY, Picture("p", "P", "told", "long", "c", bytes))),
        Section("c", "Page only", (PAGE_ONLY,)),
    ),
)


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
    """Tests a row for each cell, with the key of its row, the value in full and what is shown."""
    rows = list(csv.DictReader(io.StringIO(tidy(Report("R", "", (Section("s", "S", (CELLS, "text")),))))))
    assert list(rows[0]) == ["table", "row", "key", "column", "value", "shown"]
    assert [tuple(row.values()) for row in rows] == [
        ("gaps", "1", "dl; a, b", "runs", "3", "3"),
        ("gaps", "1", "dl; a, b", "gap", "0.125", "12.5 %"),
        ("gaps", "2", "fair; c", "runs", "3", "3"),
        ("gaps", "2", "fair; c", "gap", "", "starved"),
    ]


def test_tables_of_texts() -> None:
    """Tests that the first column is the key of a table without numbers."""
    table = Table(("a", "b"), [["x", "y"]], key="t", title="T")
    assert tidy(Report("R", "", (Section("s", "S", (table,)),))).splitlines()[1] == "t,1,x,b,y,y"


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
        for name, value in attrs:
            if name == "id":
                self.ids.append(str(value))
            elif name in ("href", "src", "action"):
                self.links.append(str(value))


def text_of(records: list[dict[str, object]], **options: bool) -> str:
    """The page on these records."""
    return page(built(read(Study(records)))[0], **options)


@pytest.fixture(scope="module")
def drawn() -> str:
    """A page with pictures, of two heuristics whose names and instances are hostile."""
    rows = [
        {**row, "instance": f"{HOSTILE}{row['instance']}", "heuristic": f"{HOSTILE}{row['heuristic']}"}
        for row in pair([2, 4, None], [3, 2, 5])
    ]
    return text_of([*rows, record(problem=HOSTILE, error=HOSTILE, status="failed", notes=[HOSTILE])])


def test_nothing_is_obeyed(drawn: str) -> None:
    """Tests that names are text: one script, no terminal escapes, nothing that turns the text around."""
    reader = Reader(drawn)
    assert reader.tags.count("script") == 1
    assert "&lt;script&gt;alert(1)" in drawn
    assert "\x1b" not in drawn
    assert "\u202e" not in drawn


def test_needs_nothing_else(drawn: str) -> None:
    """Tests that all links lead into the page or hold their data, and that the policy allows its own script alone."""
    reader = Reader(drawn)
    inner = [link for link in reader.links if link.startswith("#")]
    assert all(link.startswith(("#", "data:")) for link in reader.links)
    assert {link[1:] for link in inner} <= set(reader.ids)
    script = re.search(r"<script>(.*?)</script>\s*</body>", drawn, re.DOTALL)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in drawn
    assert "default-src 'none'" in drawn
    assert "http://" not in re.sub(r"<svg.*?</svg>", "", drawn, flags=re.DOTALL)


def test_ids_are_distinct(drawn: str) -> None:
    """Tests that no two elements share an id, those of several pictures neither."""
    reader = Reader(drawn)
    assert reader.tags.count("svg") == 3
    assert len(reader.ids) == len(set(reader.ids))
    for used in re.findall(r"url\(#([^)]+)\)", drawn):
        assert used in reader.ids


def test_tables_are_tables() -> None:
    """Tests captions, heads of rows and columns, and what numbers are sorted by."""
    row = ["a", Cell("50 %", 0.5), Cell("go", "go", True)]
    table = Table(("name", "gap", "again"), [row], frozenset({"gap"}), "t", "Told")
    text = page(Report("R", "S.", (Section("x", "X", (table,)),)))
    assert '<caption>Told</caption><thead><tr><th scope="col">name</th><th scope="col" class="number">gap</th>' in text
    assert (
        '<th scope="row">a</th><td class="number" data-value="0.5">50 %</td><td class="again"><code>go</code></td>'
        in text
    )
    assert "data-filtered" not in text


def test_long_tables_are_cut_and_carried() -> None:
    """Tests that a page has so many rows, says how many there are, and carries all of them as CSV."""
    rows = [[f"r{number}", *counts(number)] for number in range(PAGE_ROWS + 5)]
    text = page(Report("R", "S.", (Section("x", "X", (Table(("name", "n"), rows, frozenset({"n"}), "t", "T"),)),)))
    assert text.count("<tr>") == PAGE_ROWS + 1, "the head is a row"
    assert f"The first {PAGE_ROWS} of {PAGE_ROWS + 5} rows are shown; all are in the CSV." in text
    carried = re.search(r'download="t.csv" href="data:text/csv;base64,([^"]+)"', text)
    assert carried is not None
    assert base64.b64decode(carried[1]).decode().splitlines()[-1] == f"r{PAGE_ROWS + 4},{PAGE_ROWS + 4}"
    assert "data-filtered" in text


def test_huge_tables_are_not_carried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a page does without the link where the table is too large for it."""
    table = Table(("n",), [counts(number) for number in range(9)], frozenset({"n"}), "t", "T")
    report = Report("R", "S.", (Section("x", "X", (table,)),))
    assert "data:text/csv" in page(report)
    monkeypatch.setattr("optsched.showing.documents._CARRIED", 10)
    assert "data:text/csv" not in page(report)


def test_without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the tables are there where nothing can be drawn, and what lines and notes look like."""

    def never() -> Any:
        raise AssertionError("it is not drawn")

    picture = Picture("p", "P", "told", "t", "c", never)
    report = Report("R", "S.", (Section("x", "X", (picture, Lines(("a", "b")), Lines(("c",), command=True), "Text.")),))
    text = page(report, pictures=False)
    assert "<ul><li>a</li><li>b</li></ul>" in text
    assert "<code>c</code></pre><p>Text.</p>" in text
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"><metadata/><g id="a"/></svg>'
    monkeypatch.setattr("optsched.showing.documents.picture", lambda figure: svg)
    drawn: Any = Picture("p", "P", "told", "t", "c", lambda: None)  # type: ignore[arg-type,return-value]
    shown = page(Report("R", "S.", (Section("x", "X", (drawn,)),)))
    assert '<svg role="img" aria-label="told"><g id="p-t-a"></g></svg>' in shown
    assert '<figcaption>P: <a href="#t">numbers</a>, <a href="#c">command</a>.</figcaption>' in shown
