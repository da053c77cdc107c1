"""A report as a text: tables for LaTeX (booktabs) and for GitHub's Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from optsched import printing
from optsched.errors import printable
from optsched.reporting.content import Lines, Part, Report, Table

__all__ = ["FLOAT_ROWS", "ROWS", "latex", "markdown"]

#: So many rows of a table are in Markdown, and in a float of LaTeX, which a page must hold; all are in the CSV.
ROWS, FLOAT_ROWS = 60, 40


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
            yield printing.render(_cut(part, ROWS), form="markdown").rstrip("\n")
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
    yield f"\\caption{{{printing.escaped(caption, 'latex')}}}"
    yield f"\\label{{tab:{table.key}}}" if table.key.isascii() and table.key.replace("-", "").isalnum() else "%"
    yield "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%"
    yield printing.render(_cut(table, FLOAT_ROWS), form="latex").rstrip("\n") + "}"
    yield "\\end{table}"
    if table.note:
        yield f"% {printable(table.note)}"


def _cut(table: Table, most: int) -> printing.Table:
    rows = [[cell.shown for cell in row] for row in table.rows[:most]]
    return printing.Table(table.columns, rows, table.numbers)


def _left(table: Table, most: int) -> str:
    return f"The first {most} of {len(table.rows)} rows; all are in the CSV." if len(table.rows) > most else ""


def _escaped(text: str) -> str:
    return printing.escaped(text, "markdown")
