"""What a report is made of (sections with texts, tables and pictures), and a report as a text: tables for LaTeX
(booktabs) and for GitHub's Markdown, and all cells in one CSV.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from optsched.core.errors import printable
from optsched.measuring.printing import Table, escaped, in_full, render, to_csv

__all__ = [
    "COLUMNS",
    "FLOAT_ROWS",
    "ROWS",
    "Lines",
    "Part",
    "Picture",
    "Report",
    "Section",
    "latex",
    "markdown",
    "tidy",
]

#: So many rows of a table are in Markdown, and in a float of LaTeX, which a page must hold; all are in the CSV.
ROWS, FLOAT_ROWS = 60, 40


#: Of the tidy table.
COLUMNS = ("table", "row", "key", "column", "value", "shown")


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


def markdown(report: Report) -> str:
    """The report as GitHub shows it: headings, texts and tables; pictures are on the page of HTML."""
    blocks = [f"# {_escaped(report.title)}", _escaped(report.summary)]
    if report.findings:
        blocks.append("\n".join(f"- {_escaped(told)}" for told in report.findings))
    for section in report.sections:
        parts = [block for part in section.parts for block in _marked(part)]
        if parts:
            blocks += [f"## {_escaped(section.title)}", *parts]
    return "\n\n".join(blocks) + "\n"


def _marked(part: Part) -> Iterator[str]:
    if isinstance(part, Table):
        if part.everywhere and part.rows:
            yield f"### {_escaped(part.title)}"
            yield render(replace(part, rows=part.rows[:ROWS]), form="markdown").rstrip("\n")
            note = " ".join(filter(None, (_left(part, ROWS), part.note)))
            if note:
                yield _escaped(note)
    elif isinstance(part, Lines):
        if part.command:
            fence = "```"
            yield "\n".join([f"{fence}bash", *(printable(line).replace(fence, "'''") for line in part.lines), fence])
        else:
            yield "\n".join(f"- {_escaped(line)}" for line in part.lines)
    elif isinstance(part, str):
        yield _escaped(part)


def latex(report: Report) -> str:
    r"""The tables as floats with caption and label, for `\input` into a text that loads booktabs."""
    lines = [
        *(f"% {printable(told)}" for told in (f"{report.title}: {report.summary}", *report.findings)),
        "% To be read by \\input in a text with \\usepackage{booktabs,graphicx}; pictures are on the page of HTML.",
    ]
    for number, section in enumerate(report.sections):
        if number:
            lines += ["", "\\clearpage  % so that floats do not pile up"]
        for part in section.parts:
            if isinstance(part, Table) and part.everywhere and part.rows:
                lines += ["", *_float(part)]
            elif isinstance(part, Lines) and part.command:
                lines += ["", *(f"% {printable(line)}" for line in part.lines)]
    return "\n".join(lines) + "\n"


def _float(table: Table) -> Iterator[str]:
    left = _left(table, FLOAT_ROWS)
    caption = f"{table.title}.{' ' + left if left else ''}"
    yield "\\begin{table}[htbp]"
    yield "\\centering\\small"
    yield f"\\caption{{{escaped(caption, 'latex')}}}"
    yield f"\\label{{tab:{table.key}}}" if table.key.isascii() and table.key.replace("-", "").isalnum() else "%"
    yield "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%"
    yield render(replace(table, rows=table.rows[:FLOAT_ROWS]), form="latex").rstrip("\n") + "}"
    yield "\\end{table}"
    if table.note:
        yield f"% {printable(table.note)}"


def _left(table: Table, most: int) -> str:
    return f"The first {most} of {len(table.rows)} rows; all are in the CSV." if len(table.rows) > most else ""


def _escaped(text: str) -> str:
    return escaped(text, "markdown")


def tidy(report: Report) -> str:
    """A row for each cell of each table.

    `table` is the table's key, `row` its number from 1, `key` what stands in the columns before the first one of
    numbers, joined by `; `, `value` the number in full, or the text, `shown` what the page shows.

    Examples
    --------
    >>> from optsched.measuring.printing import share
    >>> table = Table(("name", "gap"), [["dl", share(0.125)]], frozenset({"gap"}), key="t", title="T")
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
            key = "; ".join(row[:heads])
            for name, cell in list(zip(table.columns, row, strict=True))[heads:]:
                yield dict(zip(COLUMNS, (table.key, number, key, name, in_full(cell), cell), strict=True))
