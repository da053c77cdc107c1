"""What a report is made of, whatever it is written as: sections with texts, tables of cells, and pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = [
    "Cell",
    "Lines",
    "Part",
    "Picture",
    "Report",
    "Section",
    "Table",
    "counts",
    "figures",
    "seconds",
    "share",
    "texts",
]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: what is shown, and what it is sorted by and written to CSV as (None: nothing is known).

    `again`: the text is a command.
    """

    shown: str
    value: float | int | str | None
    again: bool = False


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    key
        By which it is found: in links, labels and CSV.
    title
        What it is.
    columns
        Names; the first is the head of each row.
    numbers
        Those that hold numbers.
    rows
        A cell a column.
    note
        What must be known to read it: what is counted, over how many.
    everywhere
        Whether it is also for papers (LaTeX, Markdown); else only for the page and CSV.
    """

    key: str
    title: str
    columns: tuple[str, ...]
    numbers: frozenset[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    everywhere: bool = True


@dataclass(frozen=True)
class Picture:
    """A picture, drawn when a page needs it.

    Attributes
    ----------
    key, title
        As of a table.
    told
        What it shows, for whoever does not see it.
    table, command
        Keys of the table that has its numbers, and of the lines that give it again.
    draw
        Gives the bytes of an SVG.
    """

    key: str
    title: str
    told: str
    table: str
    command: str
    draw: Callable[[], bytes] = field(repr=False)


@dataclass(frozen=True)
class Lines:
    """Lines of a list, or with `command` those of a shell; `key` is what links lead to."""

    lines: tuple[str, ...]
    command: bool = False
    key: str = ""


Part: TypeAlias = str | Lines | Table | Picture


@dataclass(frozen=True)
class Section:
    """A part of a report with a heading; `key` is what links lead to."""

    key: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Report:
    """A report.

    Attributes
    ----------
    title
        Of the whole.
    summary
        What it is of, in a sentence or two.
    sections
        In their order.
    findings
        What came out, a sentence a problem.
    """

    title: str
    summary: str
    sections: tuple[Section, ...]
    findings: tuple[str, ...] = ()

    @property
    def tables(self) -> list[Table]:
        """All of them."""
        return [part for section in self.sections for part in section.parts if isinstance(part, Table)]


# Cells ------------------------------------------------------------------------------------------------------------


def texts(*shown: str) -> list[Cell]:
    """Cells of texts."""
    return [Cell(text, text) for text in shown]


def counts(*numbers: int) -> list[Cell]:
    """Cells of whole numbers."""
    return [Cell(str(number), number) for number in numbers]


def share(value: float | None) -> Cell:
    """A share in per cent with three digits.

    >>> share(0.025137).shown, share(None).shown, share(0).shown
    ('2.51 %', '-', '0 %')
    """
    if value is None:
        return Cell("-", None)
    return Cell(f"{100 * value:.0f} %" if abs(value) >= 1 else f"{100 * value:.3g} %", float(value))


def seconds(value: float | None) -> Cell:
    """Seconds with three digits."""
    return Cell("-", None) if value is None else Cell(f"{value:.3g}", float(value))


def figures(value: float | None) -> Cell:
    """A value of an objective with six digits, a whole one with all."""
    if value is None:
        return Cell("-", None)
    whole = float(value).is_integer() and abs(value) < 2**53
    return Cell(str(int(value)) if whole else f"{value:.6g}", int(value) if whole else float(value))
