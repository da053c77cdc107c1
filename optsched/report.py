"""What people read: tables, CSV, JSON, and progress on a terminal. What is in them is for others to compute.

Numbers are exact until here; tables round them to a few digits, CSV and JSON write rationals as doubles.
"""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TextIO

from optsched.errors import printable
from optsched.results import Number

if TYPE_CHECKING:
    from optsched.gaps import GapReport

__all__ = ["Table", "gap_table", "interval", "number", "percent", "progress", "render", "to_csv", "to_json", "value"]

#: Columns wider than this may wrap on a terminal.
_LONG = 45


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts: names of the columns (those of numbers are marked), and the rows."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[str] = frozenset()


def render(table: Table, terminal: bool = False) -> str:
    """A table as text: with rich's colours and rules for a terminal, else aligned columns and nothing more.

    Examples
    --------
    >>> print(render(Table(("name", "value"), [("lsap", "7"), ("flow", "12")], frozenset({"value"}))), end="")
    name  value
    ----  -----
    lsap      7
    flow     12
    """
    columns, *rows = ([printable(cell) for cell in row] for row in (table.columns, *table.rows))
    table = Table(tuple(columns), rows, frozenset(map(printable, table.numbers)))
    if terminal:
        return _with_rich(table, rows)
    widths = [max(len(cell) for cell in column) for column in zip(table.columns, *rows, strict=True)]
    lines = [table.columns, ["-" * width for width in widths], *rows]
    right = [name in table.numbers for name in table.columns]
    return "".join(
        "  ".join(
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(line, widths, right, strict=True)
        ).rstrip()
        + "\n"
        for line in lines
    )


def _with_rich(table: Table, rows: Iterable[Sequence[str]]) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    # Folded into a narrow terminal, names and numbers can no longer be read: only long texts may wrap.
    widths = [max(len(cell) for cell in column) for column in zip(table.columns, *rows, strict=True)]
    least = sum(min(width, _LONG) + 2 for width in widths)
    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, width in zip(table.columns, widths, strict=True):
        justify: Literal["left", "right"] = "right" if name in table.numbers else "left"
        drawn.add_column(name, justify=justify, overflow="fold", min_width=min(width, _LONG))
    for row in rows:
        drawn.add_row(*map(Text, row))
    console = Console(force_terminal=True, width=max(Console().width, least))
    with console.capture() as capture:
        console.print(drawn)
    return capture.get()


def to_json(content: Any) -> str:
    """Content as JSON text, a rational as the nearest double."""
    return json.dumps(content, indent=2, allow_nan=False, default=_jsonable) + "\n"


def _jsonable(content: Any) -> Any:
    if isinstance(content, Fraction):
        return float(content)
    if isinstance(content, Mapping):
        return dict(content)
    raise TypeError(f"{content!r} has no form in JSON")


def to_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Records as CSV with a header: what is unknown is empty, lists and objects are JSON text.

    Examples
    --------
    >>> print(to_csv([{"name": "a", "gap": [1, None], "error": None}]), end="")
    name,gap,error
    a,"[1,null]",
    """
    names = list(dict.fromkeys(name for record in records for name in record))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for record in records:
        writer.writerow([_cell(record.get(name)) for name in names])
    return text.getvalue()


def _cell(content: Any) -> Any:
    if content is None or isinstance(content, str):
        return content
    return json.dumps(content, separators=(",", ":"), allow_nan=False, default=_jsonable)


def number(exact: Number | float | None) -> str:
    """A number with up to six digits, an integer with all; `-` where it is unknown.

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


def interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float] | None:
    """Confidence interval of the mean of independent draws, by Student's t; None for fewer than two.

    Examples
    --------
    >>> low, high = interval([1.0, 2.0, 3.0])
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    if len(values) < 2:
        return None
    from scipy.special import stdtrit

    mean = statistics.fmean(values)
    half = float(stdtrit(len(values) - 1, 0.5 + level / 2)) * statistics.stdev(values) / len(values) ** 0.5
    return mean - half, mean + half


def gap_table(reports: Sequence[tuple[str, GapReport]], repeated: bool = False, waves: bool = False) -> Table:
    """One row for each instance, problem, heuristic (and wave), in order of appearance.

    Parameters
    ----------
    reports
        Label of the heuristic and report of each run.
    repeated
        Whether there are several seeds: then mean and worst gap and the 95 % confidence interval of the mean. Later
        components count only those seeds whose earlier ones are at the reference.
    waves
        Whether a column tells the wave.
    """
    columns = ["instance", "problem", "heuristic", "wave", "objective", "reference", "kind", "proof"]
    columns += ["mean gap", "95 % interval", "worst gap", "note"] if repeated else ["gap", "note"]
    groups: dict[tuple[Any, ...], list[GapReport]] = {}
    for label, report in reports:
        key = (report.problem.instance.name, report.problem.name, label, report.wave)
        groups.setdefault(key, []).append(report)
    rows = []
    for (instance, problem, label, wave), group in groups.items():
        references = list(dict.fromkeys(report.reference.value for report in group))
        first = group[0].reference
        reference = value(first.value) if len(references) == 1 else _mean_value(references)
        kinds = list(dict.fromkeys(report.reference.kind or "unknown" for report in group))
        cells = [instance, problem, label, "all" if wave is None else str(wave)]
        cells += [_mean_value([report.objective for report in group]), reference, "/".join(kinds)]
        cells += [str(first.certificate or "-"), *_gaps(group, repeated), _note(group)]
        rows.append(cells)
    if not waves:
        at = columns.index("wave")
        columns.pop(at)
        for row in rows:
            row.pop(at)
    numbers = {"objective", "reference", "gap", "mean gap", "95 % interval", "worst gap", "wave"}
    return Table(tuple(columns), rows, frozenset(numbers))


def _mean_value(values: Sequence[Sequence[Number | None] | None]) -> str:
    """The one value, or the mean of several, entry by entry; what is unknown is left out."""
    known = [entry for entry in values if entry is not None]
    if not known:
        return "-"
    if all(entry == known[0] for entry in known):
        return value(known[0])
    return ", ".join(
        number(statistics.fmean(map(float, column))) if all(part is not None for part in column) else "-"
        for column in zip(*known, strict=True)
    )


def _gaps(group: Sequence[GapReport], repeated: bool) -> list[str]:
    """The cells that tell the gap: one, or mean, interval and worst."""
    known = [report for report in group if report.absolute_gap is not None and report.relative_gap is not None]
    if not known:
        return ["-", "-", "-"] if repeated else ["-"]
    cells: list[list[str]] = [[], [], []]
    for place in range(len(group[0].problem.components)):
        pairs = [(report.absolute_gap[place], report.relative_gap[place]) for report in known]  # type: ignore[index]
        told = [(absolute, relative) for absolute, relative in pairs if absolute is not None]
        # Beside a reference of 0 no gap is a percentage: then the row has the differences themselves.
        relative_to = all(report.reference.value[place] != 0 for report in known)  # type: ignore[index]
        show: Callable[[Any], str] = percent if relative_to else _difference
        values = [float(relative if relative_to else absolute) for absolute, relative in told]  # type: ignore[arg-type]
        limits = interval(values)
        cells[0].append(show(statistics.fmean(values)) if values else "-")
        cells[1].append(f"{show(limits[0])} to {show(limits[1])}" if limits else "-")
        cells[2].append(show(max(values)) if values else "-")
    joined = [", ".join(cell) for cell in cells]
    return joined if repeated else joined[:1]


def _difference(gap: float) -> str:
    return f"{gap:+.4g}" if gap else "0"


def _note(group: Sequence[GapReport]) -> str:
    """What is odd about a row: errors, starvation, violations, and in how many of its runs."""
    notes: dict[str, int] = {}
    for report in group:
        if report.error is not None:
            note = "error: " + _shortened(report.error.splitlines()[0])
        elif report.run.starved:
            note = "starved"
        elif not report.feasible:
            note = "infeasible: " + _shortened("; ".join(map(str, report.violations[:2])))
        elif report.reference.kind is None:
            note = "reference unknown"
        else:
            continue
        notes[note] = notes.get(note, 0) + 1
    if len(group) == 1:
        return "; ".join(notes)
    return "; ".join(f"{times} of {len(group)} {note}" for note, times in notes.items())


def _shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


@contextmanager
def progress(stream: TextIO, total: int | None = None) -> Iterator[Callable[[str], None]]:
    """Show on a terminal, and only there, what goes on.

    Parameters
    ----------
    stream
        Where; nothing is written unless it is a terminal.
    total
        How many steps there are; None for one of unknown length.

    Yields
    ------
    Callable
        To be called with what is done next, once a step.
    """
    if not stream.isatty():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    counted = [BarColumn(), MofNCompleteColumn()] if total is not None else []
    columns = [SpinnerColumn(), TextColumn("{task.description}", markup=False), *counted, TimeElapsedColumn()]
    with Progress(*columns, console=Console(file=stream), transient=True) as bar:
        task = bar.add_task("", total=total)
        begun = False

        def step(text: str) -> None:
            nonlocal begun
            bar.update(task, description=printable(text), advance=1 if begun else 0)
            begun = True

        yield step
