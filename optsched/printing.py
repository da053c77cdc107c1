"""What people read: tables, CSV, JSON, and progress on a terminal. What is in them is for others to compute.

Numbers are exact until here; tables round them to a few digits, CSV and JSON write rationals as doubles.
"""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TextIO

from optsched.errors import printable
from optsched.results import Limit, Number

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import ProgressColumn

    from optsched.gaps import GapReport
    from optsched.problems.base import TaskProblem

__all__ = [
    "Lines",
    "Progress",
    "Table",
    "escaped",
    "gap_columns",
    "gap_lines",
    "gap_table",
    "interval",
    "number",
    "percent",
    "progress",
    "render",
    "spread",
    "to_csv",
    "to_json",
    "value",
]

#: Columns wider than this may wrap on a terminal.
_LONG = 45


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts: names of the columns (those of numbers are marked), and the rows."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[str] = frozenset()


def render(table: Table, terminal: bool = False, form: str = "table") -> str:
    """A table as text: with rich's colours and rules for a terminal, else aligned columns and nothing more.

    `form` may be `markdown` or `latex` instead of `table`: then it is for a text, and not for a terminal.

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
    if terminal and form == "table":
        return _with_rich(table, rows)
    widths = [max(len(cell) for cell in column) for column in zip(table.columns, *rows, strict=True)]
    lines = Lines(table.columns, widths, table.numbers).in_form(form)
    return lines.head() + "".join(map(lines.line, rows)) + lines.foot()


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a table whose rows come one by one: names of the columns, their widths, which are of numbers.

    A cell that is wider than its column moves the next ones by as little as it must.

    Examples
    --------
    >>> lines = Lines(("name", "value", "note"), (4, 5, 4), frozenset({"value"}))
    >>> print(lines.head() + lines.line(["lsap", "7", ""]) + lines.line(["transmission", "12", "long"]), end="")
    name  value  note
    ----  -----  ----
    lsap      7
    transmission  12  long
    """

    columns: Sequence[str]
    widths: Sequence[int]
    numbers: frozenset[str] = frozenset()

    def head(self, terminal: bool = False) -> str:
        """The names, and a rule; on a terminal the names are bold, and the rule is a line."""
        names, rule = self.line(self.columns), self.line(["-" * width for width in self.widths])
        return f"\x1b[1m{names[:-1]}\x1b[0m\n{rule.replace('-', '─')}" if terminal else names + rule

    def line(self, cells: Sequence[str]) -> str:
        """A row."""
        text, start = "", 0
        for name, width, cell in zip(self.columns, self.widths, map(printable, cells), strict=True):
            at = start + width - len(cell) if name in self.numbers else start
            text = text.ljust(max(at, len(text) + 2 * bool(start))) + cell
            start += width + 2
        return text.rstrip() + "\n"

    def foot(self) -> str:
        """What stands after the last row."""
        return ""

    def in_form(self, form: str) -> Lines:
        """The same columns as `table`, `markdown` or `latex`."""
        return {"table": Lines, "markdown": _Markdown, "latex": _Latex}[form](self.columns, self.widths, self.numbers)


#: How LaTeX and Markdown write what they would otherwise obey.
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
    r"""A text in which LaTeX (`latex`) or GitHub's Markdown (`markdown`) obeys nothing.

    >>> print(escaped("5 % of a_b", "latex"), escaped("a_b", "markdown"))
    5 \% of a\_b a\_b
    """
    return printable(text).translate({"latex": _LATEX, "markdown": _MARKDOWN}[form])


class _Markdown(Lines):
    """A table of GitHub's Markdown."""

    __slots__ = ()

    def head(self, terminal: bool = False) -> str:
        rule = "|".join("--:" if name in self.numbers else "---" for name in self.columns)
        return f"{self.line(self.columns)}|{rule}|\n"

    def line(self, cells: Sequence[str]) -> str:
        return f"| {' | '.join(escaped(cell, 'markdown') for cell in cells)} |\n"


class _Latex(Lines):
    """A table of LaTeX's package booktabs."""

    __slots__ = ()

    def head(self, terminal: bool = False) -> str:
        places = "".join("r" if name in self.numbers else "l" for name in self.columns)
        return f"\\begin{{tabular}}{{{places}}}\n\\toprule\n{self.line(self.columns)}\\midrule\n"

    def line(self, cells: Sequence[str]) -> str:
        return f"{' & '.join(escaped(cell, 'latex') for cell in cells)} \\\\\n"

    def foot(self) -> str:
        return "\\bottomrule\n\\end{tabular}\n"


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


def to_csv(records: Sequence[Mapping[str, Any]], names: Sequence[str] | None = None, header: bool = True) -> str:
    """Records as CSV: what is unknown is empty, lists and objects are JSON text.

    Parameters
    ----------
    records
        What is told.
    names
        The columns; by default every field of a record. A field that is none of them is an error.
    header
        Whether the names come first.

    Examples
    --------
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


def gap_table(reports: Sequence[tuple[str, GapReport]], repeated: bool = False) -> Table:
    """One row for each instance, problem, heuristic, in order of appearance.

    Parameters
    ----------
    reports
        Label of the heuristic and report of each run.
    repeated
        Whether there may be several seeds: then how many, the mean gap with its 95 % confidence interval, and the
        worst. Later components count only those seeds whose earlier ones are at the reference.
    """
    groups: dict[tuple[Any, ...], list[GapReport]] = {}
    for label, report in reports:
        key = (report.problem.instance.name, report.problem.name, label)
        groups.setdefault(key, []).append(report)
    rows = []
    for (instance, problem, label), group in groups.items():
        references = list(dict.fromkeys(report.reference.value for report in group))
        first = group[0].reference
        reference = value(first.value) if len(references) == 1 else _mean_value(references)
        kinds = list(dict.fromkeys(report.reference.kind or "unknown" for report in group))
        cells = [instance, problem, label]
        cells += [_mean_value([report.objective for report in group]), reference, "/".join(kinds)]
        cells += [str(first.certificate or "-"), *_gaps(group, repeated), _note(group)]
        rows.append(cells)
    return Table(gap_columns(repeated), rows, _NUMBERS)


_COLUMNS = ("instance", "problem", "heuristic", "objective", "reference", "kind", "proof")
_MEAN = "mean gap ±95 %"
_NUMBERS = frozenset({"objective", "reference", "gap", "seeds", _MEAN, "worst gap"})

#: Width of what is not known before it is there, with one component and with two. A longer one moves the rest a little.
_WIDTHS = {
    "objective": (9, 17),
    "reference": (9, 17),
    "gap": (8, 13),
    _MEAN: (14, 20),
    "worst gap": (9, 14),
}


def gap_columns(repeated: bool) -> tuple[str, ...]:
    """The columns of `gap_table`."""
    gaps = ("seeds", _MEAN, "worst gap") if repeated else ("gap",)
    return (*_COLUMNS, *gaps, "note")


def gap_lines(work: Iterable[tuple[TaskProblem[Any], Iterable[str]]], repeated: bool = False) -> Lines:
    """The lines of `gap_table` before there is a row: what is to be done tells how wide names are.

    `work`: each problem, with the labels of the heuristics that are to run on it.
    """
    columns = gap_columns(repeated)
    widths = {name: [len(name)] for name in columns}
    several = False
    for problem, labels in ((problem, list(labels)) for problem, labels in work):
        if not labels:
            continue
        several |= len(problem.components) > 1
        widths["instance"].append(len(printable(problem.instance.name)))
        widths["problem"].append(len(problem.name))
        widths["heuristic"] += (len(printable(label)) for label in labels)
        widths["proof"].append(len(problem.proof))
    widths["kind"].append(len("optimum"))
    for name in _WIDTHS.keys() & widths.keys():
        widths[name].append(_WIDTHS[name][several])
    return Lines(columns, [max(widths[name]) for name in columns], _NUMBERS)


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
    """The cells that tell the gap: one, or how many seeds, mean with interval, and worst."""
    known = [report for report in group if report.absolute_gap is not None and report.relative_gap is not None]
    seeds = [str(len({report.seed for report in group}))] if repeated else []
    if not known:
        return [*seeds, "-", "-"] if repeated else ["-"]
    cells: list[list[str]] = [[], []]
    for position in range(len(group[0].problem.components)):
        pairs = [(report.absolute_gap[position], report.relative_gap[position]) for report in known]  # type: ignore[index]
        told = [(absolute, relative) for absolute, relative in pairs if absolute is not None]
        # Beside a reference of 0 no gap is a percentage: then the row has the differences themselves.
        relative_to = all(report.reference.value[position] != 0 for report in known)  # type: ignore[index]
        show: Callable[[Any], str] = percent if relative_to else _difference
        values = [float(relative if relative_to else absolute) for absolute, relative in told]  # type: ignore[arg-type]
        limits = interval(values)
        half = (limits[1] - limits[0]) / 2 if limits else 0
        cells[0].append(spread(show(statistics.fmean(values)), half) if values else "-")
        cells[1].append(show(max(values)) if values else "-")
    joined = [", ".join(cell) for cell in cells]
    return [*seeds, *joined] if repeated else joined[:1]


def spread(shown: str, half: float) -> str:
    """A mean as it is shown, with half the width of its interval, of which the unit is the same.

    >>> spread("28.33 %", 0.0941), spread("+2.5", 0.377), spread("0", 0)
    ('28.33 ±9.41 %', '+2.5 ±0.377', '0')
    """
    number, percents, _ = shown.partition(" %")
    return number + (f" ±{(100 if percents else 1) * half:.3g}" if half else "") + percents


def _difference(gap: float) -> str:
    return f"{gap:+.4g}" if gap else "0"


def _unstarted(report: GapReport) -> str:
    """How many tasks a run over time left waiting for ever; empty of a run in one snapshot."""
    if report.run.schedule is None:
        return ""
    from optsched.brief import counted

    return f": {report.waiting} of {counted(len(report.problem.tasks), 'task')} never started"


def _note(group: Sequence[GapReport]) -> str:
    """What is odd about a row: errors, starvation, violations, what was out of time, and in how many of its runs.

    Of a policy over time, also how long tasks were assumed to take, and when slots to be offered.
    """
    notes: dict[str, int] = {}
    for report in group:
        if report.run.out_of_time is not None:
            note = f"out of time after {report.run.out_of_time:g} s"
        elif report.error is not None:
            note = "error: " + _shortened(report.error.splitlines()[0])
        elif report.run.starved:
            note = "starved" + _unstarted(report)
        elif not report.feasible:
            all_are = "" if report.reference.infeasible is None else ", as all placements are"
            note = f"infeasible{all_are}: " + _shortened("; ".join(map(str, report.violations[:2])))
        elif report.reference.cheap is not None:
            note = f"beside the cheap bound {report.reference.cheap.name}"
        elif report.reference.kind is None and report.reference.solution.limit is not Limit.TIME:
            note = "reference unknown"
        elif len(group) == 1 and (nearer := _nearer(report)):
            note = nearer
        else:
            continue
        notes[note] = notes.get(note, 0) + 1
    told = list(notes) if len(group) == 1 else [f"{times} of {len(group)} {note}" for note, times in notes.items()]
    late = [report.reference for report in group if report.reference.solution.limit is Limit.TIME]
    if late:
        from optsched.routes.contained import told_end

        limit = late[0].profile.time_limit if told_end(late[0].solution) is None else None
        told.append("reference out of time" + (f" after {limit:g} s" if limit is not None else ""))
    assumed = dict.fromkeys(report.run.assumed for report in group if report.run.assumed)
    return "; ".join([*told, *assumed])


def _nearer(report: GapReport) -> str:
    """How many tasks are on a node with their data, in a rack with it and remote, where a gap is."""
    held, best = report.locality, report.reference.locality
    racks = len(report.problem.instance.cluster.rack_ids)
    if held is None or best is None or held == best or not racks or not any(report.deciding or ()):
        return ""
    several = sum(any(counts.values()) for counts in best.values()) > 1
    told = []
    for kind, counts in held.items():
        if counts != best[kind]:
            mine, others = ("/".join(str(number) for number in each.values()) for each in (counts, best[kind]))
            told.append(f"{f'{kind}s ' if several else ''}{mine} {'/'.join(counts)}, optimum {others}")
    return "; ".join(told)


def _shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


class Progress:
    """Told of what is done next; this one shows nothing."""

    def __call__(self, text: str) -> None:
        """Begin the next step."""

    def within(self, share: float) -> None:
        """So much of the present step is done, from 0 to 1."""

    def aside(self) -> AbstractContextManager[None]:
        """Out of the way of what is printed meanwhile."""
        return nullcontext()


@contextmanager
def progress(stream: TextIO, total: int | None = None) -> Iterator[Progress]:
    """Show on a terminal, and only there, what goes on.

    Parameters
    ----------
    stream
        Where; nothing is written unless it is a terminal.
    total
        How many steps there are; None for one of unknown length.

    Yields
    ------
    Progress
        To be called with what is done next, once a step.
    """
    if not stream.isatty():
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    counted = [BarColumn(), MofNCompleteColumn()] if total is not None else []
    columns = [SpinnerColumn(), TextColumn("{task.description}", markup=False), *counted, TimeElapsedColumn()]
    if total is not None:
        columns.append(_time_left())
    with RichProgress(*columns, console=Console(file=stream), transient=True) as bar:
        yield _Bar(bar, total)


def _time_left() -> ProgressColumn:
    """A column with the time that is left, if the steps to come take as long as those that are done."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class TimeLeft(ProgressColumn):
        max_refresh = 0.5

        def render(self, task: Task) -> Text:
            if not task.completed or task.total is None or task.elapsed is None:
                return Text("")
            left = task.elapsed * (task.total - task.completed) / task.completed
            return Text(f"about {max(1, round(left))} s left" if left < 120 else f"about {round(left / 60)} min left")

    return TimeLeft()


class _Bar(Progress):
    """Shows the step on a bar of rich."""

    def __init__(self, bar: RichProgress, total: int | None) -> None:
        self._bar, self._task = bar, bar.add_task("", total=total)
        self._done = -1

    def __call__(self, text: str) -> None:
        self._done += 1
        self._bar.update(self._task, description=printable(text), completed=self._done)

    def within(self, share: float) -> None:
        self._bar.update(self._task, completed=max(0, self._done) + min(max(share, 0.0), 1.0))

    @contextmanager
    def aside(self) -> Iterator[None]:
        self._bar.stop()  # which wipes it away
        try:
            yield
        finally:
            self._bar.start()
