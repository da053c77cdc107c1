"""Tables of reports as CSV."""

from __future__ import annotations

import csv
import io

from optsched.reporting.content import Cell, Report, Section, Table, counts, share, texts
from optsched.reporting.tidy import COLUMNS, tidy, wide

TABLE = Table(
    "gaps",
    "Gaps",
    ("first", "second", "runs", "gap"),
    frozenset({"runs", "gap"}),
    [[*texts("dl", "a, b"), *counts(3), share(0.125)], [*texts("fair", "c"), *counts(3), Cell("starved", None)]],
)


def test_tidy() -> None:
    """Tests a row for each cell, with the key of its row, the value in full and what is shown."""
    rows = list(csv.DictReader(io.StringIO(tidy(Report("R", "", (Section("s", "S", (TABLE, "text")),))))))
    assert tuple(rows[0]) == COLUMNS
    assert [tuple(row.values()) for row in rows] == [
        ("gaps", "1", "dl; a, b", "runs", "3", "3"),
        ("gaps", "1", "dl; a, b", "gap", "0.125", "12.5 %"),
        ("gaps", "2", "fair; c", "runs", "3", "3"),
        ("gaps", "2", "fair; c", "gap", "", "starved"),
    ]


def test_wide() -> None:
    """Tests a table as it stands, with numbers in full and a word where there is none."""
    assert wide(TABLE) == 'first,second,runs,gap\ndl,"a, b",3,0.125\nfair,c,3,starved\n'


def test_tables_of_texts() -> None:
    """Tests that the first column is the key of a table without numbers."""
    table = Table("t", "T", ("a", "b"), frozenset(), [texts("x", "y")])
    assert tidy(Report("R", "", (Section("s", "S", (table,)),))).splitlines()[1] == "t,1,x,b,y,y"
