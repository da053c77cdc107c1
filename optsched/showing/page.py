"""A report as one page of HTML that needs nothing else: no network, no file beside it.

It reads without its script, which lets tables be sorted and filtered. Whatever the records hold is text: the tree of
elements escapes it, and the page forbids every other script and every load.
"""

from __future__ import annotations

import base64
import hashlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from importlib.resources import files

from optsched.core.errors import printable
from optsched.measuring.printing import Cell, Table, in_full, render
from optsched.showing.documents import Lines, Part, Picture, Report, Section

__all__ = ["ROWS", "page"]

#: So many rows of a table are on the page; all are in the CSV.
ROWS = 400

#: From so many rows on a table has a field that filters it.
_FILTERED = 6

#: A picture of so many points across is shrunk until a phone shows all of it; wider ones are scrolled.
_NARROW = 360

#: A table is taken along as CSV up to so many bytes.
_CARRIED = 30_000_000


def page(report: Report, pictures: bool = True) -> str:
    """The page.

    Parameters
    ----------
    report
        What is told.
    pictures
        Whether they are drawn, for which matplotlib is needed; their tables are there in any case.

    Examples
    --------
    >>> from optsched.showing.documents import Section
    >>> text = page(Report("Gaps of <mine>", "None.", (Section("a", "First", ("All & sundry.",)),)))
    >>> "<h1>Gaps of &lt;mine&gt;</h1>" in text, "All &amp; sundry." in text
    (True, True)
    """
    style, script = (_shipped(name) for name in ("page.css", "page.js"))
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
        head_parts.append(_e("ul", {"class": "findings"}, *(_e("li", {}, told) for told in report.findings)))
    body = _e(
        "body",
        {},
        _e("a", {"class": "skip", "href": "#content"}, "Skip to the content"),
        _e("header", {}, *head_parts),
        _e("nav", {"aria-label": "Contents"}, _e("ul", {}, *links)),
        _e("main", {"id": "content"}, *(_section(one, pictures) for one in report.sections)),
    )
    script_element = _e("script", {})
    script_element.text = script
    body.append(script_element)
    root = _e("html", {"lang": "en"}, head, body)
    root.find("head/style").text = style  # type: ignore[union-attr]
    return f"<!DOCTYPE html>\n{ET.tostring(root, encoding='unicode', method='html')}\n"


def _shipped(name: str) -> str:
    return files("optsched.showing").joinpath(name).read_text(encoding="utf-8")


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
    return re.sub(r"[^A-Za-z0-9-]", lambda found: f"_{ord(found[0])}_", key)


def _section(section: Section, pictures: bool) -> ET.Element:
    key = _id(section.key)
    parts = [_part(part) for part in section.parts if pictures or not isinstance(part, Picture)]
    return _e("section", {"aria-labelledby": key}, _e("h2", {"id": key}, section.title), *parts)


def _part(part: Part) -> ET.Element:
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, Picture):
        return _picture(part)
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
    rows = [_row(table, row) for row in table.rows[:ROWS]]
    left = len(table.rows) - len(rows)
    caption = _e("caption", {}, table.title)
    drawn = _e("table", {}, caption, _e("thead", {}, _e("tr", {}, *heads)), _e("tbody", {}, *rows))
    if len(rows) >= _FILTERED:
        drawn.set("data-filtered", "")
    wrapped = _e("div", {"class": "wide", "tabindex": "0", "role": "group", "aria-label": table.title}, drawn)
    parts: list[ET.Element] = [wrapped]
    told = f"The first {len(rows)} of {len(table.rows)} rows are shown; all are in the CSV. " if left else ""
    if told or table.note:
        parts.append(_e("p", {"class": "note"}, told + table.note))
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


def _picture(picture: Picture) -> ET.Element:
    svg = _inlined(picture.draw(), _id(picture.key))
    svg.set("role", "img")
    svg.set("aria-label", printable(picture.told))
    links = [
        _e("a", {"href": f"#{_id(key)}"}, text)
        for key, text in ((picture.table, "numbers"), (picture.command, "command"))
    ]
    wide = _e("div", {"class": "wide", "tabindex": "0", "role": "group", "aria-label": picture.title}, svg)
    caption = _e("figcaption", {}, f"{picture.title}: ", links[0], ", ", links[1], ".")
    fits = float((svg.get("viewBox") or "0 0 inf 0").split()[2]) <= _NARROW
    return _e("figure", {"id": _id(picture.key), **({"class": "narrow"} if fits else {})}, wide, caption)


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
