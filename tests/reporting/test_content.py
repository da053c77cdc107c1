"""Cells of reports."""

from __future__ import annotations

import pytest

from optsched.reporting.content import Report, Section, Table, counts, figures, seconds, share, texts


@pytest.mark.parametrize(
    ("cell", "shown", "value"),
    [
        (share(0.025137), "2.51 %", 0.025137),
        (share(12.5), "1250 %", 12.5),
        (share(None), "-", None),
        (figures(3.0), "3", 3),
        (figures(1 / 3), "0.333333", 1 / 3),
        (figures(1e300), "1e+300", 1e300),
        (figures(None), "-", None),
        (seconds(0.0012345), "0.00123", 0.0012345),
        (seconds(None), "-", None),
        (*counts(7), "7", 7),
        (*texts("a"), "a", "a"),
    ],
)
def test_cells(cell: object, shown: str, value: object) -> None:
    """Tests what is shown, and the value in full."""
    assert (cell.shown, cell.value) == (shown, value)  # type: ignore[attr-defined]


def test_tables_of_a_report() -> None:
    """Tests that a report knows its tables, in their order."""
    tables = [Table(key, key, ("a",), frozenset(), []) for key in ("one", "two", "three")]
    report = Report("R", "", (Section("x", "X", ("text", tables[0])), Section("y", "Y", (*tables[1:],))))
    assert [table.key for table in report.tables] == ["one", "two", "three"]
