"""Tables of a report as CSV: each as it stands, or all in one tidy table with a row a cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from optsched.printing import to_csv
from optsched.reporting.content import Report, Table

__all__ = ["COLUMNS", "tidy", "wide"]

#: Of the tidy table.
COLUMNS = ("table", "row", "key", "column", "value", "shown")


def wide(table: Table) -> str:
    """A table as it stands; numbers in full, and a word where there is no number."""
    cells = ([cell.shown if cell.value is None else cell.value for cell in row] for row in table.rows)
    return to_csv([dict(zip(table.columns, row, strict=True)) for row in cells], table.columns)


def tidy(report: Report) -> str:
    """A row for each cell of each table.

    `table` is the table's key, `row` its number from 1, `key` what stands in the columns before the first one of
    numbers, joined by `; `, `value` the number in full, or the text, `shown` what the page shows.

    Examples
    --------
    >>> from optsched.reporting.content import Section, share, texts
    >>> table = Table("t", "T", ("name", "gap"), frozenset({"gap"}), [[*texts("dl"), share(0.125)]])
    >>> print(tidy(Report("R", "", (Section("s", "S", (table,)),))), end="")
    table,row,key,column,value,shown
    t,1,dl,gap,0.125,12.5 %
    """
    return to_csv(list(_cells(report.tables)), COLUMNS)


def _cells(tables: Iterable[Table]) -> Iterator[dict[str, Any]]:
    for table in tables:
        numbers = [place for place, name in enumerate(table.columns) if name in table.numbers]
        heads = numbers[0] if numbers else 1
        for number, row in enumerate(table.rows, 1):
            key = "; ".join(cell.shown for cell in row[:heads])
            for name, cell in list(zip(table.columns, row, strict=True))[heads:]:
                yield dict(zip(COLUMNS, (table.key, number, key, name, cell.value, cell.shown), strict=True))
