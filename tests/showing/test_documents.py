"""Reports as LaTeX and Markdown."""

from __future__ import annotations

import csv
import io
import re

from optsched.measuring.printing import Cell, Table, counts, render, share
from optsched.showing.documents import FLOAT_ROWS, ROWS, Lines, Picture, Report, Section, latex, markdown, tidy

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


def test_wide() -> None:
    """Tests a table as it stands, with numbers in full and a word where there is none."""
    assert render(CELLS, form="csv") == 'first,second,runs,gap\ndl,"a, b",3,0.125\nfair,c,3,starved\n'


def test_tables_of_texts() -> None:
    """Tests that the first column is the key of a table without numbers."""
    table = Table(("a", "b"), [["x", "y"]], key="t", title="T")
    assert tidy(Report("R", "", (Section("s", "S", (table,)),))).splitlines()[1] == "t,1,x,b,y,y"


def test_tables_of_a_report() -> None:
    """Tests that a report knows its tables, in their order."""
    tables = [Table(("a",), [], key=key) for key in ("one", "two", "three")]
    report = Report("R", "", (Section("x", "X", ("text", tables[0])), Section("y", "Y", (*tables[1:],))))
    assert [table.key for table in report.tables] == ["one", "two", "three"]
