"""Tables on a page of so many characters: a terminal, or a file and a pipe, where 80 are taken.

What is the same in all rows goes into a heading; what is left shortens, is left out or is folded until it fits.
"""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from optsched.errors import printable
from optsched.printing import Lines, Table, gap_lines, gap_table, value

if TYPE_CHECKING:
    from optsched.gaps import GapReport
    from optsched.problems.base import TaskProblem

__all__ = ["Fitted", "GapPage", "elided", "fitted", "folded", "page_width"]

#: Names are cut to so many characters before a column is left out, and to so few where none is left to go; those of
#: instances, whose ends tell them apart, to more.
_SHORT, _SHORTEST, _TELLING = 12, 8, 28

#: A last column of text with less room than that is put below its row.
_ROOM = 24

#: Columns of gaps that are left out where there is no room, the first one first.
_SHED = ("proof", "reference", "objective", "worst gap")


def page_width(file: bool = False) -> int:
    """How many characters a line may have: of the terminal, 80 where there is none; COLUMNS goes before both.

    `file` is where a file is written, and no terminal counts.
    """
    if not file:
        return shutil.get_terminal_size().columns
    told = os.environ.get("COLUMNS", "")
    return int(told) if told.isdecimal() and int(told) else 80


def elided(text: str, most: int) -> str:
    """A name in so many characters, its end kept as well as its beginning.

    >>> elided("lsap-n24-slots2-t40-racks4-seed1", 20), elided("lsap", 20)
    ('lsap-n24-...s4-seed1', 'lsap')
    """
    if len(text) <= most:
        return text
    kept = max(most - 3, 2)
    return f"{text[: kept - kept // 2]}...{text[len(text) - kept // 2 :]}"


def folded(text: str, most: int, indent: str = "") -> str:
    """A text in lines of so many characters, 20 at least, each but the first indented.

    >>> print(folded("more words than that, by far", 20, "  "), end="")
    more words than
      that, by far
    """
    return textwrap.fill(text, max(most, 20), subsequent_indent=indent, break_on_hyphens=False) + "\n"


class Fitted:
    """The lines of a table that fit a page; the last column is text that is folded, below the row if need be.

    Parameters
    ----------
    lines
        The columns, as wide as they are to be.
    most
        Characters of a line.
    shed
        Columns that may be left out, the first one first.
    reserved
        Characters that the last column is to have.
    short
        Names are cut to so many characters before a column is left out.

    Examples
    --------
    >>> lines = Fitted(Lines(("name", "value", "note"), (20, 5, 4), frozenset({"value"})), 30)
    >>> print(lines.head() + lines.line(["an instance with a name", "7", "a note that is longer"]), end="")
    name                  value
    --------------------  -----
    an instan...h a name      7
      a note that is longer
    """

    def __init__(
        self, lines: Lines, most: int, shed: Sequence[str] = (), reserved: int = 0, short: int = _SHORT
    ) -> None:
        self._most = most
        self._kept = list(range(len(lines.columns) - 1))
        widths, left_out = list(lines.widths), list(shed)
        texts = [at for at in self._kept if lines.columns[at] not in lines.numbers]

        def taken() -> int:
            return sum(widths[at] + 2 for at in self._kept) - 2 + (reserved + 2 if reserved else 0)

        while (over := taken() - most) > 0:
            widest = max((at for at in texts if at in self._kept), key=widths.__getitem__, default=None)
            going = next((at for name in left_out for at in self._kept if lines.columns[at] == name), None)
            least = short if going is not None else _SHORTEST
            if widest is not None and widths[widest] > least:
                widths[widest] = max(least, widths[widest] - over)
            elif going is not None:
                self._kept.remove(going)
            elif reserved:
                reserved = 0
            else:
                break
        self._texts = set(texts)
        room = most - (sum(widths[at] + 2 for at in self._kept))
        self._room = room if room >= (reserved or _ROOM) else 0
        shown = [*self._kept, *[len(lines.columns) - 1] * bool(self._room)]
        if self._room:
            widths[-1] = min(widths[-1], self._room)
        self._lines = Lines([lines.columns[at] for at in shown], [widths[at] for at in shown], lines.numbers)

    @property
    def columns(self) -> Sequence[str]:
        """Those that are not left out."""
        return self._lines.columns

    def head(self, terminal: bool = False) -> str:
        """The names, and a rule."""
        return self._lines.head(terminal)

    def line(self, cells: Sequence[str]) -> str:
        """A row, of all columns of the table."""
        cells = [printable(cell) for cell in cells]
        widths = dict(zip(self._kept, self._lines.widths, strict=False))
        shown = [elided(cells[at], widths[at]) if at in self._texts else cells[at] for at in self._kept]
        text = cells[-1]
        if not self._room:
            return self._lines.line(shown) + (textwrap.indent(folded(text, self._most - 2), "  ") if text else "")
        first, *more = textwrap.wrap(text, self._room, break_on_hyphens=False) or [""]
        return self._lines.line([*shown, first]) + "".join(
            self._lines.line([*[""] * len(shown), another]) for another in more
        )


def fitted(table: Table, most: int, shed: Sequence[str] = (), terminal: bool = False, keyed: str | None = None) -> str:
    """A whole table that fits a page.

    Parameters
    ----------
    table
        Its last column is left out where it is empty in all rows.
    most, shed
        As for `Fitted`.
    terminal
        Whether the head is drawn.
    keyed
        A column of names that become numbers where there is no room for them, with a line below that says whose.

    Examples
    --------
    >>> rows = [["dl", "far too long for that", ""], ["rand", "far too long for that", ""], ["fifo", "here", ""]]
    >>> print(fitted(Table(("heuristic", "on", "note"), rows), 24, keyed="on"), end="")
    heuristic  on
    ---------  --
    dl          1
    rand        1
    fifo        2
    on 1: far too long for that, 2: here
    """
    columns, *rows = ([printable(cell) for cell in row] for row in (table.columns, *table.rows))
    numbers, key = set(table.numbers), ""
    told = any(row[-1] for row in rows)
    if not told:
        columns[-1] = ""

    def widths() -> list[int]:
        return [max(map(len, column)) for column in zip(columns, *rows, strict=True)]

    if keyed is not None and sum(width + 2 for width in widths()[: None if told else -1]) - 2 > most:
        at = columns.index(keyed)
        names = list(dict.fromkeys(row[at] for row in rows if row[at]))
        rows = [[*row[:at], str(names.index(row[at]) + 1) if row[at] else "", *row[at + 1 :]] for row in rows]
        numbers.add(keyed)
        entries = ", ".join(f"{number}:\0{name}" for number, name in enumerate(names, 1))
        key = folded(f"{keyed}\0{entries}", most, "  ").replace("\0", " ") if names else ""
    lines = Fitted(Lines(columns, widths(), frozenset(numbers)), most, shed, min(widths()[-1], _ROOM) if told else 0)
    return lines.head(terminal) + "".join(map(lines.line, rows)) + (key if keyed in lines.columns else "")


class GapPage:
    """The rows of gaps as they come: under a heading for each instance and problem, or in one table by instance.

    Parameters
    ----------
    work
        Each problem, with the labels of the heuristics that are to run on it, in the order in which they come.
    repeated
        As for `gap_table`.
    most
        Characters of a line.
    terminal
        Whether heads are drawn.
    """

    def __init__(
        self,
        work: Iterable[tuple[TaskProblem[Any], Sequence[str]]],
        repeated: bool = False,
        most: int = 80,
        terminal: bool = False,
    ) -> None:
        self._work = [(problem, labels) for problem, labels in work if labels]
        self._repeated, self._most, self._terminal = repeated, most, terminal
        #: Whether there are several instances and one heuristic each, of which a section each would be all heads.
        self._by_instance = len(self._work) > 1 and all(len(labels) == 1 for _, labels in self._work)
        self._on: tuple[str, str] | None = None
        self._lines = Fitted(Lines(("note",), (4,)), most)
        self._columns: list[str] = []

    def rows(self, reports: Sequence[tuple[str, GapReport]], note: str = "") -> str:
        """The rows of one heuristic on one problem, below the head of their section where they are its first."""
        first = reports[0][1]
        on = ("", "") if self._by_instance else (first.problem.instance.name, first.problem.name)
        before = ""
        if on != self._on:
            before = "\n" * (self._on is not None) + self._section(first)
            self._on = on
        told = gap_table(reports, self._repeated)
        lines = []
        for row in told.rows:
            cells = dict(zip(told.columns, row, strict=True))
            if cells["kind"] == "bound":
                cells["reference"] = f"bound {cells['reference']}"
            cells["note"] = "; ".join(filter(None, [note, cells["note"]]))
            lines.append(self._lines.line([cells[name] for name in self._columns]))
        return before + "".join(lines)

    def _section(self, first: GapReport) -> str:
        """The heading of a section and the head of its table, which `rows` fills from now on."""
        if self._by_instance:
            names = {
                "heuristic": {label for _, labels in self._work for label in labels},
                "problem": {problem.name for problem, _ in self._work},
                "instance": {problem.instance.name for problem, _ in self._work},
            }
            away = {name for name, held in names.items() if len(held) == 1}
            words = {"heuristic": "", "problem": "in ", "instance": "on "}
            told = " ".join(words[name] + min(names[name]) for name in names if name in away)
            work, heading = self._work, told.removeprefix("in ").removeprefix("on ")
        else:
            problem, reference = first.problem, first.reference
            here = (problem.instance.name, problem.name)
            work = [entry for entry in self._work if (entry[0].instance.name, entry[0].name) == here]
            away = {"instance", "problem", "reference", "proof"}
            parts = ", ".join(part.name for part in problem.components)
            told = f"{reference.kind} {value(reference.value)} ({parts}), proof: {reference.certificate or '-'}"
            if reference.kind is None:
                why = reference.infeasible
                told = "no reference is known" if why is None else f"nothing is feasible: {why}"
            heading = f"{', '.join(here)}: {told}"
        lines = gap_lines(work, self._repeated)
        self._columns = [name for name in lines.columns if name not in away | {"kind"}]
        widths = [width for name, width in zip(lines.columns, lines.widths, strict=True) if name in self._columns]
        short = _TELLING if self._by_instance else _SHORT
        self._lines = Fitted(Lines(self._columns, widths, lines.numbers), self._most, _SHED, short=short)
        before = folded(printable(heading), self._most, "  ") if heading else ""
        return before + self._lines.head(self._terminal)
