"""Prints tables, CSV and JSON; it computes nothing itself.

Numbers are exact up to here; tables round them to a few digits, CSV and JSON write rationals as doubles. The width of a
page is that of the terminal, or 80 characters in a file and a pipe. What does not fit is shortened, left out or folded.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, Self

from optsched.core.errors import printable

if TYPE_CHECKING:
    from optsched.core.results import Number


class Cell(str):
    """A text of a table and its number (None: unknown); with `again` a command.

    >>> Cell("12.5 %", 0.125), Cell("12.5 %", 0.125).value
    ('12.5 %', 0.125)
    """

    value: float | int | str | None
    again: bool

    def __new__(cls, shown: str, value: float | int | str | None = None, again: bool = False) -> Self:
        cell = super().__new__(cls, shown)
        cell.value, cell.again = value, again
        return cell


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts.

    `columns` are names, the first one the head of each row; `rows` have a text or a `Cell` for each; `numbers` are the
    columns of numbers. A report uses the `key` of a table in links, labels and CSV; `title` names it, `note` explains
    it. Unless it is `everywhere`, it is only for the page and CSV, not for papers.
    """

    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[str] = frozenset()
    key: str = ""
    title: str = ""
    note: str = ""
    everywhere: bool = True

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, str | int]], texts: Collection[str], **more: Any) -> Table:
        """A table of rows by column; columns are of numbers except `texts`; whole numbers are counts."""
        cells = [[cell if isinstance(cell, str) else counts(cell)[0] for cell in row.values()] for row in rows]
        columns = tuple(rows[0])
        return cls(columns, cells, frozenset(columns).difference(texts), **more)

    def numbered(self) -> Iterator[dict[str, Any]]:
        """Each row by column: numbers in full, and the text if there is no number."""
        for row in self.rows:
            full = [cell if (known := in_full(cell)) is None else known for cell in row]
            yield dict(zip(self.columns, full, strict=True))


def in_full(cell: str) -> float | int | str | None:
    """The full value of a cell, and a text itself.

    >>> in_full(Cell("12.5 %", 0.125)), in_full("lsap")
    (0.125, 'lsap')
    """
    return cell.value if isinstance(cell, Cell) else cell


def render(table: Table, form: str = "table") -> str:
    """A table as text of aligned columns, at any width (`on_page` fits it to a page).

    `form` may be `markdown`, `latex` (for the package booktabs) or `csv` instead of `table`. CSV has numbers in full.

    >>> print(render(Table(("name", "value"), [("lsap", "7"), ("flow", "12")], frozenset({"value"}))), end="")
    name  value
    ----  -----
    lsap      7
    flow     12
    """
    if form == "csv":
        return to_csv(list(table.numbered()), table.columns)
    if form == "table":
        return _aligned(_Layout(table, dict(enumerate(_widths(table)))), table.rows)
    names, *rows = ([escaped(cell, form) for cell in row] for row in (table.columns, *table.rows))
    numeric = [name in table.numbers for name in table.columns]
    if form == "markdown":
        rule = "|".join("--:" if number else "---" for number in numeric)
        lines = [f"| {' | '.join(row)} |" for row in rows]
        return "\n".join([f"| {' | '.join(names)} |", f"|{rule}|", *lines, ""])
    places = "".join("r" if number else "l" for number in numeric)
    lines = [f"{' & '.join(row)} \\\\" for row in (names, *rows)]
    head = [f"\\begin{{tabular}}{{{places}}}", "\\toprule", lines[0], "\\midrule"]
    return "\n".join([*head, *lines[1:], "\\bottomrule", "\\end{tabular}", ""])


class _Layout:
    """Some columns of a table, by position, with these widths; columns of numbers are aligned right."""

    def __init__(self, table: Table, widths: Mapping[int, int]) -> None:
        self.columns = [table.columns[at] for at in widths]
        self.widths = list(widths.values())
        self._numbers = table.numbers

    def head(self, terminal: bool = False) -> str:
        """The names, and a rule; on a terminal the names are bold, and the rule is a line."""
        names, rule = self.put(self.columns), self.put(["-" * width for width in self.widths])
        return f"\x1b[1m{names[:-1]}\x1b[0m\n{rule.replace('-', '─')}" if terminal else names + rule

    def put(self, cells: Sequence[str]) -> str:
        """The cells of a line. A cell that is wider than its column moves the next ones as little as possible."""
        text, start = "", 0
        for name, width, cell in zip(self.columns, self.widths, map(printable, cells), strict=True):
            at = start + width - len(cell) if name in self._numbers else start
            text = text.ljust(max(at, len(text) + 2 * bool(start))) + cell
            start += width + 2
        return text.rstrip() + "\n"


def _widths(table: Table) -> list[int]:
    """The lengths of the longest cells of each column."""
    cells = [[len(printable(cell)) for cell in row] for row in (table.columns, *table.rows)]
    return [max(column) for column in zip(*cells, strict=True)]


def _aligned(lines: _Layout, rows: Iterable[Sequence[str]], terminal: bool = False) -> str:
    """A whole table: its head and its rows."""
    return lines.head(terminal) + "".join(map(lines.put, rows))


#: Escapes for characters that LaTeX and Markdown would interpret.
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "±": r"$\pm$",
        "≤": r"$\leq$",
        **{character: f"\\{character}" for character in "&%$#_{}"},
    }
)
_MARKDOWN = str.maketrans({character: f"\\{character}" for character in r"\`*_[]<>|~$&#"})


def escaped(text: str, form: str) -> str:
    r"""A text in which LaTeX (`latex`) or GitHub's Markdown (`markdown`) interprets nothing.

    >>> print(escaped("5 % of a_b", "latex"), escaped("a_b", "markdown"))
    5 \% of a\_b a\_b
    """
    return printable(text).translate({"latex": _LATEX, "markdown": _MARKDOWN}[form])


# On a page of limited width ---------------------------------------------------------------------------------------

#: Characters to which names are cut before a column is left out, and then if no column can be left out.
_SHORT, _SHORTEST = 12, 8

#: The least width of a last column of text; with less it goes below its row.
_ROOM = 24


def page_width(file: bool = False) -> int:
    """The number of characters in a line: the terminal's, or 80 without one; COLUMNS takes precedence.

    `file`: a file is written, and no terminal counts.
    """
    columns = os.environ.get("COLUMNS", "")
    asked = int(columns) if columns.isdecimal() else 0
    return (asked or 80) if file else shutil.get_terminal_size().columns


def elided(text: str, most: int) -> str:
    """A name in at most `most` characters, with its end and its beginning.

    >>> elided("lsap-n24-slots2-t40-racks4-seed1", 20), elided("lsap", 20)
    ('lsap-n24-...s4-seed1', 'lsap')
    """
    if len(text) <= most:
        return text
    kept = max(most - 3, 2)
    return f"{text[: kept - kept // 2]}...{text[len(text) - kept // 2 :]}"


def folded(text: str, most: int, indent: str = "") -> str:
    """A text in lines of at most `most` characters, at least 20, each indented except the first.

    >>> print(folded("more words than that, by far", 20, "  "), end="")
    more words than
      that, by far
    """
    return textwrap.fill(text, max(most, 20), subsequent_indent=indent, break_on_hyphens=False) + "\n"


def on_page(table: Table, most: int, terminal: bool = False) -> str:
    """A whole table in lines of `most` characters; nothing is cut or left out.

    Texts are folded. If that is not enough, the table continues below with the other columns; each part begins with the
    first column.

    >>> table = Table(("", "value"), [("nodes", "3"), ("source", "a text that is folded at blanks")])
    >>> print(on_page(table, 30), end="")
            value
    ------  ----------------------
    nodes   3
    source  a text that is folded
            at blanks
    >>> table = Table(("name", "x", "y"), [("lsap", "1234", "12")], frozenset("xy"))
    >>> print(on_page(table, 11), end="")
    name     x
    ----  ----
    lsap  1234
    <BLANKLINE>
    name   y
    ----  --
    lsap  12
    """
    widths, last = _widths(table), len(table.columns) - 1
    least = list(widths)  # a column of text may become as narrow as its longest word, the last one narrower
    for at, name in enumerate(table.columns):
        if name not in table.numbers:
            longest = max((len(word) for row in table.rows for word in printable(row[at]).split()), default=0)
            least[at] = max(len(name), min(longest, _SHORT) if at == last else longest)
    parts: list[list[int]] = [[0]]
    for at in range(1, len(table.columns)):
        if len(parts[-1]) > 1 and _taken(least[other] for other in [*parts[-1], at]) > most:
            parts.append([0])
        parts[-1].append(at)
    blocks = []
    for part in parts:
        lines = _Layout(table, _narrowed({at: widths[at] for at in part}, least, most))
        folds = (_folded_row([printable(row[at]) for at in part], lines.widths) for row in table.rows)
        blocks.append(_aligned(lines, chain.from_iterable(folds), terminal))
    return "\n".join(blocks)


def _taken(widths: Iterable[int]) -> int:
    """The length of a line of columns with these widths."""
    return sum(width + 2 for width in widths) - 2


def _narrowed(widths: Mapping[int, int], least: Sequence[int], most: int) -> dict[int, int]:
    """Widths of columns, by position, that fit a line: repeatedly the widest one that may shrink does."""
    found = dict(widths)
    while (over := _taken(found.values()) - most) > 0:
        loose = [at for at, width in found.items() if width > least[at]]
        if not loose:
            break
        widest = max(loose, key=found.__getitem__)
        found[widest] = max(least[widest], found[widest] - over)
    return found


def _folded_row(cells: Sequence[str], widths: Sequence[int]) -> Iterator[Sequence[str]]:
    """The lines of a row: each cell is folded at blanks to its column's width."""
    folds = [
        textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False) if len(cell) > width else [cell]
        for cell, width in zip(cells, widths, strict=True)
    ]
    return zip_longest(*folds, fillvalue="")


class Fitted(_Layout):
    """The lines of a table that fit a page; the last column is text that is folded, below the row if necessary.

    Rows may come one by one: those of `table` determine the widths of columns, `most` the length of a line. Names are
    cut to `short` characters before the columns of `shed` are left out, the first one first. The last column gets
    `reserved` characters.

    >>> table = Table(("name", "value", "note"), [["an instance with a name", "7", "a note that is longer"]])
    >>> print(Fitted(table, 30).line(table.rows[0]), end="")
    an instance with a name  7
      a note that is longer
    """

    def __init__(
        self, table: Table, most: int, shed: Sequence[str] = (), reserved: int = 0, short: int = _SHORT
    ) -> None:
        *names, _ = table.columns
        *widths, last = _widths(table)
        kept, going = dict(enumerate(widths)), [names.index(name) for name in shed if name in names]
        self._texts = {at for at, name in enumerate(names) if name not in table.numbers}
        free = most - (reserved + 2 if reserved else 0)
        for at in (*going, None):
            shortest = _SHORTEST if at is None else short
            least = [min(width, shortest) if at in self._texts else width for at, width in enumerate(widths)]
            kept = _narrowed(kept, least, free)
            if _taken(kept.values()) <= free:
                break
            if at is not None:
                del kept[at]
        else:
            reserved = 0
        room = most - _taken(kept.values()) - 2
        self._most, self._kept = most, kept
        self._room = room if room >= (reserved or _ROOM) else 0
        super().__init__(table, {**kept, **({len(names): min(last, room)} if self._room else {})})

    def line(self, cells: Sequence[str]) -> str:
        """A row, of all columns of the table."""
        *cells, text = map(printable, cells)
        shown = [elided(cells[at], width) if at in self._texts else cells[at] for at, width in self._kept.items()]
        if not self._room:
            return self.put(shown) + (textwrap.indent(folded(text, self._most - 2), "  ") if text else "")
        first, *more = textwrap.wrap(text, self._room, break_on_hyphens=False) or [""]
        return self.put([*shown, first]) + "".join(self.put([*[""] * len(shown), another]) for another in more)


def fitted(table: Table, most: int, shed: Sequence[str] = (), terminal: bool = False, keyed: str = "") -> str:
    """A whole table that fits a page: `most` and `shed` as for `Fitted`; an empty last column is left out.

    If names in the column `keyed` do not fit, they become numbers, which a line below explains.

    >>> rows = [["dl", "far too long for that", ""], ["rand", "far too long for that", ""], ["fifo", "here", ""]]
    >>> print(fitted(Table(("heuristic", "on", "note"), rows), 24, keyed="on"), end="")
    heuristic  on
    ---------  --
    dl          1
    rand        1
    fifo        2
    on 1: far too long for that, 2: here
    """
    noted, key = any(row[-1] for row in table.rows), ""
    if not noted:
        table = replace(table, columns=(*table.columns[:-1], ""))
    widths = _widths(table)
    if keyed and _taken(widths if noted else widths[:-1]) > most:
        at = table.columns.index(keyed)
        names = list(dict.fromkeys(printable(row[at]) for row in table.rows if row[at]))
        rows = [
            [*row[:at], str(names.index(printable(row[at])) + 1) if row[at] else "", *row[at + 1 :]]
            for row in table.rows
        ]
        table = replace(table, rows=rows, numbers=table.numbers | {keyed})
        entries = ", ".join(f"{number}:\0{name}" for number, name in enumerate(names, 1))
        key = folded(f"{keyed}\0{entries}", most, "  ").replace("\0", " ") if names else ""
    lines = Fitted(table, most, shed, min(widths[-1], _ROOM) if noted else 0)
    return lines.head(terminal) + "".join(map(lines.line, table.rows)) + (key if keyed in lines.columns else "")


@dataclass(frozen=True)
class Page:
    """Where tables are printed: lines of `most` characters in the form `table`, else `markdown` or `latex`.

    On a `terminal` heads are bold.
    """

    form: str = "table"
    most: int = 80
    terminal: bool = False

    def put(self, table: Table, heading: str = "", remarks: Iterable[str] = (), shed: Sequence[str] = ()) -> str:
        """A table below its heading and above remarks; with `shed` it is `fitted`, and names in `on` may be numbers."""
        if self.form != "table":
            text = render(table, self.form)
        elif shed:
            text = fitted(table, self.most, shed, self.terminal, keyed="on")
        else:
            text = on_page(table, self.most, self.terminal)
        head = f"{heading}\n\n" if self.form == "markdown" else self._remark(heading)
        return (head if heading else "") + text + "".join(map(self._remark, remarks))

    def _remark(self, text: str) -> str:
        if self.form == "markdown":
            return f"\n{escaped(text, self.form)}\n"
        return f"% {printable(text)}\n" if self.form == "latex" else folded(printable(text), self.most, "  ")


# CSV and JSON -----------------------------------------------------------------------------------------------------


def to_json(content: Any) -> str:
    """Content as JSON text, a rational as the nearest double."""
    return json.dumps(content, indent=2, allow_nan=False, default=_jsonable) + "\n"


def _jsonable(content: Any) -> Any:
    if isinstance(content, Fraction):
        return float(content)
    if isinstance(content, Mapping):
        return dict(content)
    raise TypeError(f"{content!r} has no form in JSON")


def canonical(value: Any) -> str:
    """A value as JSON that is the same for the same content.

    >>> canonical({"b": (1, 2), "a": 0.5})
    '{"a":0.5,"b":[1,2]}'
    """
    return json.dumps(
        value,
        sort_keys=True,
        separators=(",", ":"),
        default=lambda other: dict(other) if isinstance(other, Mapping) else str(other),
    )


def to_csv(records: Sequence[Mapping[str, Any]], names: Sequence[str] | None = None, header: bool = True) -> str:
    """Records as CSV: unknown values are empty, lists and objects are JSON text.

    `names` are the columns; by default every field of a record. Any other field of a record is an error. `header`:
    whether the names come first.

    >>> print(to_csv([{"name": "a", "gap": [1, None], "error": None}]), end="")
    name,gap,error
    a,"[1,null]",
    """
    if names is None:
        names = list(dict.fromkeys(name for record in records for name in record))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows({name: _cell(content) for name, content in record.items()} for record in records)
    return text.getvalue()


def _cell(content: Any) -> Any:
    if content is None or isinstance(content, str):
        return content
    return json.dumps(content, separators=(",", ":"), allow_nan=False, default=_jsonable)


def number(exact: Number | float | None) -> str:
    """A number with up to six digits, an integer with all; `-` if it is unknown.

    >>> number(1234567), number(Fraction(1, 3)), number(None)
    ('1234567', '0.333333', '-')
    """
    if exact is None:
        return "-"
    return str(exact) if isinstance(exact, int) else f"{float(exact):.6g}"


def value(exact: Sequence[Number | float | None] | None) -> str:
    """Numbers of several components, with commas."""
    return "-" if exact is None else ", ".join(map(number, exact))


def percent(ratio: Number | float | None) -> str:
    """A relative gap in percent.

    >>> percent(Fraction(1, 8)), percent(0)
    ('12.5 %', '0 %')
    """
    return "-" if ratio is None else f"{100 * float(ratio):.4g} %"


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % confidence interval of the mean of independent draws, by Student's t; None for fewer than two.

    >>> low, high = interval([1.0, 2.0, 3.0])
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    import statistics

    half = half_width(values)
    return None if half is None else (statistics.fmean(values) - half, statistics.fmean(values) + half)


def half_width(values: Sequence[float]) -> float | None:
    """Half the width of that interval."""
    if len(values) < 2:
        return None
    import statistics

    from scipy.special import stdtrit

    half: float = float(stdtrit(len(values) - 1, 0.975)) * statistics.stdev(values) / len(values) ** 0.5
    return half


def spread(shown: str, half: float) -> str:
    """A mean in its shown form, with half the width of its interval, in the same unit.

    >>> spread("28.33 %", 0.0941), spread("+2.5", 0.377), spread("0", 0)
    ('28.33 ±9.41 %', '+2.5 ±0.377', '0')
    """
    number, percents, _ = shown.partition(" %")
    half *= 100 if percents else 1
    return number + (f" ±{half:.0f}" if half >= 100 else f" ±{half:.3g}" if half else "") + percents


# Cells ------------------------------------------------------------------------------------------------------------


def counts(*numbers: int) -> list[Cell]:
    """Cells of whole numbers."""
    return [Cell(str(number), number) for number in numbers]


def share(value: Number | float | None) -> Cell:
    """A share in per cent with three digits.

    >>> share(0.025137), share(None), share(0)
    ('2.51 %', '-', '0 %')
    """
    if value is None:
        return Cell("-", None)
    value = float(value)
    return Cell(f"{100 * value:.0f} %" if abs(value) >= 1 else f"{100 * value:.3g} %", value)


def seconds(value: float | None) -> Cell:
    """Seconds with three digits."""
    return Cell("-", None) if value is None else Cell(f"{value:.3g}", float(value))


def figures(value: float | None) -> Cell:
    """A value of an objective with six digits, a whole one with all."""
    if value is None:
        return Cell("-", None)
    integral = float(value).is_integer() and abs(value) < 2**53
    return Cell(str(int(value)) if integral else f"{value:.6g}", int(value) if integral else float(value))
