"""Reports as LaTeX and Markdown."""

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
    monkeypatch.setattr("optsched.showing.documents._CARRIED", 10)
    assert "data:text/csv" not in page(report)


def test_without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the tables are there where nothing can be drawn, and what lines, notes and pictures look like."""
    picture = Picture("p", "P", "told", "t", "c", lambda: None)
    report = of(picture, Lines(("a", "b")), Lines(("c",), command=True), "Text.")
    monkeypatch.setattr("optsched.showing.documents.picture", None)
    text = page(report, pictures=False)
    assert "<ul><li>a</li><li>b</li></ul>" in text
    assert "<code>c</code></pre><p>Text.</p>" in text
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"><metadata/><g id="a"/></svg>'
    monkeypatch.setattr("optsched.showing.documents.picture", lambda figure: svg)
    shown = page(report)
    assert '<svg role="img" aria-label="told"><g id="p-t-a"></g></svg>' in shown
    assert '<figcaption>P: <a href="#t">numbers</a>, <a href="#c">command</a>.</figcaption>' in shown
