"""Reports on recorded gaps: sections with texts, tables and pictures, and the forms in which they are written.

The forms are tables for LaTeX (booktabs) and for GitHub's Markdown, one CSV, and one page of HTML that needs no other
file. If something is wrong, nothing is written, and each file is complete or absent.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shlex
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from optsched.core.brief import counted
from optsched.core.errors import UsageError, printable
from optsched.core.resources import code_version
from optsched.instances.documents.storing import GrowingFile
from optsched.measuring.printing import Cell, Table, counts, escaped, in_full, percent, render, to_csv
from optsched.measuring.records import Run, frame_of
from optsched.measuring.studies.commands import of_frontier, of_study
from optsched.measuring.studies.tables import ProblemSummary, summaries
from optsched.showing import tables
from optsched.showing.figures import picture, require
from optsched.showing.gaps import box_plot, distribution, performance_profile
from optsched.showing.sources import Found, FrontierRecord, chosen, entries_of, read
from optsched.showing.trade_offs import frontier_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Rows of a table in Markdown, and in a float of LaTeX, which must fit a page; all are in the CSV.
ROWS, FLOAT_ROWS = 60, 40


#: Of the tidy table.
COLUMNS = ("table", "row", "key", "column", "value", "shown")


@dataclass(frozen=True)
class Picture:
    """A picture, drawn by `draw` when a page needs it.

    `sort` is its kind; `alt` is the text for screen readers. `table` and `command` are the keys of the table that has
    its numbers, and of the lines that give it again.
    """

    sort: str
    title: str
    alt: str
    table: str
    command: str
    draw: Callable[[], Figure] = field(repr=False)

    @property
    def key(self) -> str:
        """The target of links."""
        return f"{self.sort}-{self.table}"


@dataclass(frozen=True)
class Lines:
    """Lines of a list, or with `command` those of a shell; `key` is the target of links."""

    lines: tuple[str, ...]
    command: bool = False
    key: str = ""


Part: TypeAlias = str | Lines | Table | Picture


@dataclass(frozen=True)
class Section:
    """A part of a report with a heading; `key` is the target of links."""

    key: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Report:
    """A report: a title, its subject, its sections, and the results, a sentence for each problem."""

    title: str
    summary: str
    sections: tuple[Section, ...]
    findings: tuple[str, ...] = ()

    @property
    def tables(self) -> list[Table]:
        """All of them."""
        return [part for section in self.sections for part in section.parts if isinstance(part, Table)]


def markdown(report: Report) -> str:
    """The report as GitHub shows it: headings, texts and tables; pictures are only on the page of HTML."""
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

    `table` is the table's key, `row` its number from 1, `key` the content of the columns before the first one of
    numbers, joined by `; `, `value` the number in full, or the text, `shown` the text on the page.

    >>> from optsched.measuring.printing import share
    >>> table = Table(("name", "gap"), [["dl", share(0.125)]], frozenset({"gap"}), key="t", title="T")
    >>> print(tidy(Report("R", "", (Section("s", "S", (table,)),))), end="")
    table,row,key,column,value,shown
    t,1,dl,gap,0.125,12.5 %
    """
    cells = []
    for table in report.tables:
        heads = next((place for place, name in enumerate(table.columns) if name in table.numbers), 1)
        for number, row in enumerate(table.rows, 1):
            key = "; ".join(row[:heads])
            for name, cell in list(zip(table.columns, row, strict=True))[heads:]:
                cells.append(dict(zip(COLUMNS, (table.key, number, key, name, in_full(cell), cell), strict=True)))
    return to_csv(cells, COLUMNS)


# The page ------------------------------------------------------------------------------------------------------------
#
# It works without its script, which lets tables be sorted and filtered. Everything in the records is text: the tree of
# elements escapes it, and the page forbids every other script and every load.

#: Rows of a table on the page; all are in the CSV.
PAGE_ROWS = 400

#: From this number of rows on, a table has a field that filters it.
_FILTERED = 6

#: The most points across at which a picture shrinks until a phone shows all of it; wider ones are scrolled.
_NARROW = 360

#: The most bytes of a table that the page contains as CSV.
_CARRIED = 30_000_000


def page(report: Report, pictures: bool = True) -> str:
    """The page. Without `pictures`, which need matplotlib, their tables are there.

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
    """An element; characters that a browser would not show are spelled out."""
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
    """A key as an id: a character that is no letter or digit is spelled by its number, so that ids stay distinct.

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
    """A link that saves the whole table, which the page contains."""
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


# The contents of a report -------------------------------------------------------------------------------------------

#: The most notes of records that are listed one by one.
_NOTES = 200


def built(
    material: Found, problems: Sequence[str] = (), heuristics: Sequence[str] = (), title: str | None = None
) -> tuple[Report, list[str]]:
    """The report on the sources, and what its reader should know at once.

    UsageError if no record is of a chosen problem or heuristic.
    """
    entries, notes = entries_of(material.runs)
    cells = [record for record in material.cells if not problems or record.problem in problems]
    frontiers = [record for record in material.frontiers if not problems or record.problem in problems]
    names = {name for entry in entries for name in (entry.problem, entry.record.problem)}
    if entries and not (problems and (cells or frontiers) and not names & set(problems)):
        entries = chosen(entries, problems, heuristics)
    if not (entries or cells or frontiers):
        raise UsageError(f"no record is of {', '.join((*problems, *heuristics))}")
    versions = Counter(material.versions)
    if len(versions) > 1:
        each = ", ".join(f"{count} of {version or 'an unknown one'}" for version, count in sorted(versions.items()))
        notes.append(f"the records are of several versions of optsched: {each}; figures may differ for that alone")
    unfinished = sum(source.unfinished for source in material.sources)
    if unfinished:
        notes.append(f"{counted(unfinished, 'run')} of the sources {'is' if unfinished == 1 else 'are'} not finished")
    parts = summaries(entries)
    by_problem: dict[str, list[Run]] = {}
    for entry in entries:
        by_problem.setdefault(entry.problem, []).append(entry)
    again = _command(material, heuristics)
    sections: list[Section] = []
    if parts:
        sections.append(Section("all", "All problems", (tables.overview(parts), tables.proofs(parts))))
    sections += [_problem(part, by_problem[part.problem], again) for part in parts]
    if cells:
        sections.append(Section("matrices", "Gap matrices", tuple(tables.matrices(cells))))
    if frontiers:
        points = (_frontier(number, record, entries) for number, record in enumerate(frontiers, 1))
        asked = [of_frontier(record.instance, record.problem, record.parameters) for record in frontiers]
        own = Lines((again(problems, "report.html"), *asked), command=True, key="commands-frontiers")
        sections.append(Section("frontiers", "Frontiers", (*chain.from_iterable(points), own)))
    if entries:
        failed = tables.failures(entries)
        lines: tuple[Part, ...] = (failed,) if failed.rows else ("Every run has a feasible placement.",)
        sections.append(Section("failed", "Failures", lines))
        sections.append(Section("each", "Runs", (tables.all_runs(entries),)))
    sections.append(_provenance(material, entries, notes, again(problems, "report.html")))
    heading = title or "Gaps to the proved optimum"
    findings = tuple(filter(None, map(_finding, parts)))
    return Report(heading, _summary(entries, len(cells), len(frontiers)), tuple(sections), findings), notes


def _summary(entries: Sequence[Run], cells: int, frontiers: int) -> str:
    """The summary of the report."""
    parts = []
    if entries:
        heuristics = counted(len({entry.heuristic for entry in entries}), "heuristic")
        problems = counted(len({entry.problem for entry in entries}), "problem")
        distinct = {(entry.record.instance, entry.record.instance_sha256) for entry in entries}
        where = f"{problems} on {counted(len(distinct), 'instance')}"
        failed = sum(entry.status != "done" for entry in entries)
        parts.append(f"{counted(len(entries), 'run')} of {heuristics} in {where}")
        if failed:
            parts.append(f"{failed} of the runs without a feasible placement")
    if cells:
        parts.append(f"{counted(cells, 'cell')} of gap matrices")
    if frontiers:
        parts.append(counted(frontiers, "frontier"))
    return f"{'; '.join(parts)}."


def _finding(part: ProblemSummary) -> str:
    """The heuristics with the smallest and the largest mean gap in a problem, among those on most instances."""
    most = max((row.counted for row in part.rows), default=0)
    means = {row.heuristic: row.mean for row in part.rows if row.counted == most and row.mean is not None}
    if not means:
        return ""
    over = f"over {counted(most, 'instance')}"
    best, worst = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    if means[best] == means[worst]:
        who = f"{best} has" if len(means) == 1 else f"all {len(means)} heuristics have"
        return f"{part.problem}: {who} a mean gap of {percent(means[best])} {over}."
    finding = f"{best} has the smallest mean gap, {percent(means[best])} {over}"
    return f"{part.problem}: {finding}; {worst} has the largest, {percent(means[worst])}."


def _command(material: Found, heuristics: Sequence[str]) -> Callable[[Sequence[str], str], str]:
    """What makes the command that gives a part of the report."""
    names = [source.name if source.kind != "study" else "RECORDS.json" for source in material.sources]

    def command(problems: Sequence[str], to: str) -> str:
        words = ["optsched", "report", *names]
        for option, given in (("--problem", problems), ("--heuristic", heuristics)):
            for name in given:
                words += [option, name]
        return shlex.join([*words, "--to", to])

    return command


# A problem --------------------------------------------------------------------------------------------------------


def _problem(part: ProblemSummary, entries: Sequence[Run], again: Callable[[Sequence[str], str], str]) -> Section:
    name, frame, command = part.problem, frame_of(entries), f"commands-{part.problem}"
    gaps, spread, profile = tables.gaps(part), tables.distribution(entries), tables.profile(entries)
    compared = tables.comparisons(entries)
    known = any(row.counted for row in part.rows)
    parts: list[Part] = [gaps]
    if known:
        medians = ", ".join(f"{row[0]} {row[5]}" for row in gaps.rows)
        text = f"Box plot of the relative gaps in {name}, a row for each heuristic. Medians over instances: {medians}."
        parts.append(Picture("box", f"Gaps in {name}", text, gaps.key, command, partial(box_plot, frame)))
        at_zero = ", ".join(f"{row[0]} {row[2]}" for row in spread.rows)
        text = f"For each gap the share of a heuristic's runs in {name} that do not exceed it. At 0: {at_zero}."
        title = f"Distribution of gaps in {name}"
        parts.append(Picture("curve", title, text, spread.key, command, partial(distribution, frame)))
    parts.append(spread)
    if known and len(part.rows) > 1:
        best = ", ".join(f"{row[0]} {row[2]}" for row in profile.rows)
        text = f"For each factor the share of a heuristic's runs in {name} within it. Runs that none beats: {best}."
        title = f"Performance profile in {name}"
        parts.append(Picture("factors", title, text, profile.key, command, partial(performance_profile, frame)))
    parts += [profile, *([compared] if compared is not None else []), tables.times(entries), tables.instances(entries)]
    parts.append("This part of the report alone, and what measures its runs again (rebuilt from the records):")
    lines = of_study([entry.record for entry in entries])
    own = again([entries[0].record.problem], f"{entries[0].record.problem}.html")
    parts.append(Lines((own, *lines), command=True, key=command))
    return Section(f"problem-{name}", name, tuple(parts))


def _frontier(number: int, record: FrontierRecord, entries: Sequence[Run]) -> tuple[Part, ...]:
    """The picture of a frontier with the values of heuristics, and its table."""
    table = tables.frontier(number, record, entries)
    draw = partial(frontier_picture, record, tables.reached(record, entries), record.instance)
    points = "; ".join(", ".join(row[1:3]) for row in table.rows[: len(record.points)][:20])
    text = f"{table.title}: a staircase of points ({', '.join(record.components)}): {points}. Heuristics are drawn in."
    return Picture("stairs", table.title, text, table.key, "commands-frontiers", draw), table


# Provenance -------------------------------------------------------------------------------------------------------


def _provenance(material: Found, entries: Sequence[Run], remarks: Sequence[str], command: str) -> Section:
    rows = [
        [
            source.name,
            source.kind,
            source.sha256 or "-",
            *counts(source.runs, source.cells, source.frontiers, source.unfinished),
        ]
        for source in material.sources
    ]
    columns: tuple[str, ...] = ("source", "kind", "SHA-256", "runs", "cells", "frontiers", "unfinished")
    sources = Table(columns, rows, frozenset(columns[3:]), "sources", "Sources", everywhere=False)
    versions = sorted({*material.versions} - {""})
    of = f"The records are of optsched {', '.join(versions)}. " if versions else ""
    parts: list[Part] = [f"{of}The report was written by optsched {code_version()}, with this command:"]
    parts += [Lines((command,), command=True), sources]
    for source in material.sources:
        if source.command:
            parts.append(f"The runs of {source.name} were measured with {source.computed_with}, by this command:")
            parts.append(Lines((source.command,), command=True))
    if remarks:
        parts.append(Lines(tuple(f"{line[0].upper()}{line[1:]}." for line in remarks)))
    notes = Counter(note for entry in entries for note in dict.fromkeys(entry.record.notes))
    if notes:
        rows = [[note, *counts(count)] for note, count in notes.most_common(_NOTES)]
        left = f" {len(notes) - _NOTES} more are in the records." if len(notes) > _NOTES else ""
        caption = f"What the records say was assumed, inferred or left out, and of how many runs.{left}"
        parts.append(
            Table(("note", "runs"), rows, frozenset({"runs"}), "notes", "Notes and assumptions", caption, False)
        )
    return Section("provenance", "Provenance", tuple(parts))


# Files ----------------------------------------------------------------------------------------------------------------


#: The forms of a report, by the ending of the file.
FORMS: Mapping[str, Callable[[Report], str]] = {
    ".html": page,
    ".tex": latex,
    ".csv": tidy,
    ".md": markdown,
}


def write_report(
    sources: Any,
    to: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    problems: Sequence[str] = (),
    heuristics: Sequence[str] = (),
    title: str | None = None,
) -> list[str]:
    """Write a report on recorded gaps.

    Parameters
    ----------
    sources
        One or several: paths of JSON records (`optsched gap --format json`, also of `matrix` and `frontier`), stores of
        sweeps, or `GapReports`.
    to
        One or several files; their endings say how: `.html` (one page with pictures that needs no other file), `.tex`,
        `.md` (tables), `.csv` (a row a cell).
    problems, heuristics
        Only these; by default all.
    title
        Heading of the report.

    Returns
    -------
    list of str
        What the reader should know at once: runs that are recorded twice, several versions, missing pictures.

    Raises
    ------
    UsageError
        If an ending is no form of a report, there is no source, or a problem or heuristic has no record.
    InputError
        If a source cannot be read or is something else, or a file cannot be written. Nothing is written then.

    Examples
    --------
    >>> import tempfile, optsched
    >>> found = optsched.study("papers/guo-table2", "fair-lsap", ["dl", "lsap-fair-sched"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     notes = write_report(found, f"{folder}/gaps.md")
    ...     text = Path(folder, "gaps.md").read_text()
    >>> notes, text.splitlines()[2]
    ([], '2 runs of 2 heuristics in 1 problem on 1 instance.')
    """
    targets = [os.fspath(to)] if isinstance(to, str | os.PathLike) else [os.fspath(one) for one in to]
    check_forms(targets)
    files = [GrowingFile(path) for path in targets]
    done = 0
    try:
        report, notes = built(read(sources), problems, heuristics, title)
        contents, missing = [], []
        for path in targets:
            form = FORMS[Path(path).suffix.lower()]
            if form is page:
                try:
                    require()
                except UsageError:
                    form = partial(page, pictures=False)
                    why = 'for which matplotlib is needed: pip install "optsched[plots]"'
                    missing.append(f"the page has no pictures, {why}")
            contents.append(form(report).encode("utf-8", "backslashreplace"))
        for file, content in zip(files, contents, strict=True):
            file.write(content)
        for file in files:
            file.finish()
            done += 1
    finally:
        for file in files[done:]:
            part = file.abandon()
            if part is not None and part.name.endswith(".partial"):
                part.unlink(missing_ok=True)
    return [*notes, *missing]


def check_forms(targets: Sequence[str]) -> None:
    """UsageError if the ending of a file is no form of a report, or a file is given twice."""
    if not targets:
        raise UsageError("a report is written to a file: --to FILE.html")
    lines = []
    for path in targets:
        suffix = Path(path).suffix.lower()
        if suffix not in FORMS:
            ends = f'ends in "{suffix}"' if suffix else "has no ending"
            lines.append(f"{path}: no form of a report {ends}; the name must end in {', '.join(FORMS)}")
    lines += [f"{path}: is given twice" for path in dict.fromkeys(targets) if targets.count(path) > 1]
    if lines:
        raise UsageError(*lines)
