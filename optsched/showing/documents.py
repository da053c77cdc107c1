"""Reports as documents: sections with texts, tables and pictures, and the forms in which they are written.

These are tables for LaTeX (booktabs) and for GitHub's Markdown, one CSV, and one page of HTML that needs no other file.
"""

from __future__ import annotations

import base64
import hashlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

from optsched.core.errors import printable
from optsched.measuring.printing import Cell, Table, escaped, in_full, render, to_csv
from optsched.showing.figures import picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Rows of a table in Markdown, and in a float of LaTeX, which a page must hold; all are in the CSV.
ROWS, FLOAT_ROWS = 60, 40


#: Of the tidy table.
COLUMNS = ("table", "row", "key", "column", "value", "shown")


@dataclass(frozen=True)
class Picture:
    """A picture, drawn by `draw` when a page needs it.

    `sort` is its kind; `alt` says what it shows to readers who do not see it. `table` and `command` are the keys of the
    table that has its numbers, and of the lines that give it again.
    """

    sort: str
    title: str
    alt: str
    table: str
    command: str
    draw: Callable[[], Figure] = field(repr=False)

    @property
    def key(self) -> str:
        """What links lead to."""
        return f"{self.sort}-{self.table}"


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
    """A report: a title, what it is of, its sections, and what came out, a sentence a problem."""

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
        blocks.append("\n".join(f"- {_escaped(finding)}" for finding in report.findings))
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
        *(f"% {printable(comment)}" for comment in (f"{report.title}: {report.summary}", *report.findings)),
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


# The page ------------------------------------------------------------------------------------------------------------
#
# It reads without its script, which lets tables be sorted and filtered. All that the records hold is text: the tree of
# elements escapes it, and the page forbids every other script and every load.

#: Rows of a table on the page; all are in the CSV.
PAGE_ROWS = 400

#: Rows from which on a table has a field that filters it.
_FILTERED = 6

#: The most points across at which a picture is shrunk until a phone shows all of it; wider ones are scrolled.
_NARROW = 360

#: The most bytes of a table that is taken along as CSV.
_CARRIED = 30_000_000


def page(report: Report, pictures: bool = True) -> str:
    """The page. Without `pictures`, for which matplotlib is needed, their tables are there.

    >>> text = page(Report("Gaps of <mine>", "None.", (Section("a", "First", ("All & sundry.",)),)))
    >>> "<h1>Gaps of &lt;mine&gt;</h1>" in text, "All &amp; sundry." in text
    (True, True)
    """
    folder = files("optsched.showing")
    style, script = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    head = _e(
        "head",
        {},
        _e("meta", {"charset": "utf-8"}),
        _e("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        _e("meta", {"http-equiv": "Content-Security-Policy", "content": policy}),
        _e("meta", {"name": "color-scheme", "content": "light dark"}),
        _e("link", {"rel": "icon", "href": "data:,"}),
        _e("title", {}, report.title),
        _e("style", {}, style),
    )
    links = [_e("li", {}, _e("a", {"href": f"#{_id(one.key)}"}, one.title)) for one in report.sections]
    head_parts = [_e("h1", {}, report.title), _e("p", {}, report.summary)]
    if report.findings:
        head_parts.append(_e("ul", {"class": "findings"}, *(_e("li", {}, finding) for finding in report.findings)))
    sections = []
    for one in report.sections:
        parts = [_part(part) for part in one.parts if pictures or not isinstance(part, Picture)]
        heading = _e("h2", {"id": _id(one.key)}, one.title)
        sections.append(_e("section", {"aria-labelledby": _id(one.key)}, heading, *parts))
    body = _e(
        "body",
        {},
        _e("a", {"class": "skip", "href": "#content"}, "Skip to the content"),
        _e("header", {}, *head_parts),
        _e("nav", {"aria-label": "Contents"}, _e("ul", {}, *links)),
        _e("main", {"id": "content"}, *sections),
    )
    script_element = _e("script", {})
    script_element.text = script
    body.append(script_element)
    root = _e("html", {"lang": "en"}, head, body)
    root.find("head/style").text = style  # type: ignore[union-attr]
    return f"<!DOCTYPE html>\n{ET.tostring(root, encoding='unicode', method='html')}\n"


def _e(tag: str, attributes: dict[str, str], *children: ET.Element | str) -> ET.Element:
    """An element; what a browser would not show of a text is spelled out."""
    element = ET.Element(tag, {name: printable(value) for name, value in attributes.items()})
    last: ET.Element | None = None
    for child in children:
        if isinstance(child, ET.Element):
            element.append(child)
            last = child
        elif last is None:
            element.text = (element.text or "") + printable(child)
        else:
            last.tail = (last.tail or "") + printable(child)
    return element


def _id(key: str) -> str:
    """A key as an id: what is no letter or digit is spelled by its number, so that ids stay distinct.

    >>> _id("gaps-lsap"), _id("a b")
    ('gaps-lsap', 'a_32_b')
    """
    return re.sub(r"[^A-Za-z0-9-]", lambda match: f"_{ord(match[0])}_", key)


def _part(part: Part) -> ET.Element:
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, Picture):
        return _pictured(part)
    if isinstance(part, Lines):
        if part.command:
            code = _e("code", {})
            code.text = "\n".join(map(printable, part.lines))
            key = {"id": _id(part.key)} if part.key else {}
            return _e("pre", {"tabindex": "0", "role": "group", "aria-label": "Commands", **key}, code)
        return _e("ul", {}, *(_e("li", {}, line) for line in part.lines))
    return _e("p", {}, part)


# Tables -----------------------------------------------------------------------------------------------------------


def _table(table: Table) -> ET.Element:
    key = _id(table.key)
    first = zip(table.columns, table.rows[0], strict=True) if table.rows else ()
    commands = {name for name, cell in first if _is_command(cell)}
    sorts = {**dict.fromkeys(table.numbers, "number"), **dict.fromkeys(commands, "again")}
    heads = [
        _e("th", {"scope": "col", **({"class": sorts[name]} if name in sorts else {})}, name) for name in table.columns
    ]
    rows = [_row(table, row) for row in table.rows[:PAGE_ROWS]]
    left = len(table.rows) - len(rows)
    caption = _e("caption", {}, table.title)
    drawn = _e("table", {}, caption, _e("thead", {}, _e("tr", {}, *heads)), _e("tbody", {}, *rows))
    if len(rows) >= _FILTERED:
        drawn.set("data-filtered", "")
    wrapped = _e("div", {"class": "wide", "tabindex": "0", "role": "group", "aria-label": table.title}, drawn)
    parts: list[ET.Element] = [wrapped]
    left_text = f"The first {len(rows)} of {len(table.rows)} rows are shown; all are in the CSV. " if left else ""
    if left_text or table.note:
        parts.append(_e("p", {"class": "note"}, left_text + table.note))
    carried = _carried(table)
    if carried is not None:
        parts.append(carried)
    return _e("div", {"class": "table", "id": key}, *parts)


def _row(table: Table, row: Iterable[str]) -> ET.Element:
    cells = []
    for position, (name, cell) in enumerate(zip(table.columns, row, strict=True)):
        number = name in table.numbers
        command = _is_command(cell)
        attributes = {"class": "number"} if number else {"class": "again"} if command else {}
        if number:
            value = in_full(cell)
            attributes["data-value"] = "" if value is None or isinstance(value, str) else repr(value)
        content = _e("code", {}, cell) if command else cell
        cells.append(_e("td", attributes, content) if position else _e("th", {"scope": "row", **attributes}, content))
    return _e("tr", {}, *cells)


def _is_command(cell: str) -> bool:
    return isinstance(cell, Cell) and cell.again


def _carried(table: Table) -> ET.Element | None:
    """A link that saves the whole table, which the page carries with it."""
    content = render(table, form="csv").encode("utf-8", "backslashreplace")
    if not table.rows or len(content) > _CARRIED:
        return None
    data = base64.b64encode(content).decode()
    link = _e("a", {"download": f"{_id(table.key)}.csv", "href": f"data:text/csv;base64,{data}"}, "Save as CSV")
    link.set("aria-label", printable(f"Save as CSV: {table.title}"))
    return _e("p", {"class": "save"}, link)


# Pictures ---------------------------------------------------------------------------------------------------------


def _pictured(part: Picture) -> ET.Element:
    svg = _inlined(picture(part.draw()), _id(part.key))
    svg.set("role", "img")
    svg.set("aria-label", printable(part.alt))
    links = [
        _e("a", {"href": f"#{_id(key)}"}, text) for key, text in ((part.table, "numbers"), (part.command, "command"))
    ]
    wide = _e("div", {"class": "wide", "tabindex": "0", "role": "group", "aria-label": part.title}, svg)
    caption = _e("figcaption", {}, f"{part.title}: ", links[0], ", ", links[1], ".")
    fits = float((svg.get("viewBox") or "0 0 inf 0").split()[2]) <= _NARROW
    return _e("figure", {"id": _id(part.key), **({"class": "narrow"} if fits else {})}, wide, caption)


def _inlined(content: bytes, prefix: str) -> ET.Element:
    """An SVG as an element of HTML: without namespaces, and with ids that no other picture has."""
    root = ET.fromstring(content)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for name, value in list(element.attrib.items()):
            del element.attrib[name]
            local = name.rpartition("}")[2]
            if local == "id":
                value = f"{prefix}-{value}"
            elif local == "href" and value.startswith("#"):
                value = f"#{prefix}-{value[1:]}"
            else:
                value = re.sub(r"url\(#", f"url(#{prefix}-", value)
            element.attrib[local] = value
    for metadata in root.findall("metadata"):
        root.remove(metadata)
    return root
