"""Measured figures: statistics over draws, as a table, a frame and JSON; measured again, or kept in files.

A cell is one draw at one point on the axis. Cells are measured in processes, and kept in a file as they arrive.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np

from optsched.core.deadline import check as check_deadline
from optsched.core.deadline import deadline
from optsched.core.errors import Fault, InputError, OutOfTime, UsageError
from optsched.core.resources import code_version, folder
from optsched.measuring.judging.expressions import evaluated
from optsched.measuring.judging.findings import Check, read_lines, write_lines
from optsched.measuring.printing import Cell, Table
from optsched.measuring.reproducing.figure_definition import FigureDefinition

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["QUANTILES", "Entry", "Reproduction", "Values", "keep", "kept"]

#: The shares of the values at which a distribution is measured, in percent.
QUANTILES = (0, 10, 25, 50, 75, 90, 100)

#: Resamples of a bootstrap interval.
_RESAMPLES = 1000


class Values(msgspec.Struct, frozen=True):
    """A number over draws.

    Attributes
    ----------
    mean, low, high
        The mean, and its 95 % interval by the bootstrap (percentiles, 1,000 resamples, one seed).
    median, least, most
        The median and both ends.
    draws
        The number of draws.
    """

    mean: float
    low: float
    high: float
    median: float
    least: float
    most: float
    draws: int

    @classmethod
    def of(cls, values: Any) -> Values:
        """Build it from an array of one number per draw.

        >>> values = Values.of(np.array([1.0, 2.0, 6.0]))
        >>> values.mean, values.median, values.low >= 1, values.high <= 6
        (3.0, 2.0, True, True)
        """
        found = np.asarray(values, dtype=float)
        rng = np.random.default_rng(0)
        means = [found[rng.integers(0, len(found), len(found))].mean() for _ in range(_RESAMPLES)]
        low, high = np.percentile(means, (2.5, 97.5))
        numbers = (found.mean(), low, high, np.median(found), found.min(), found.max())
        mean, low, high, median, least, most = (float(f"{number:.7g}") for number in numbers)
        return cls(mean, low, high, median, least, most, len(found))

    def __str__(self) -> str:
        """The mean, and the interval if there is one."""
        if self.low == self.high:
            return f"{self.mean:.4g}"
        return f"{self.mean:.4g} [{self.low:.4g}, {self.high:.4g}]"


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A point of a figure: its instances, series and value of the axis, and the result there.

    `across` is the other number of a point of a scatter plot.
    """

    on: str
    series: str
    x: int | float | str
    value: Values
    across: Values | None = None

    @property
    def label(self) -> str:
        """The label of the line."""
        return ", ".join(filter(None, (self.on, self.series)))


@dataclass(frozen=True)
class Reproduction:
    """A measured figure.

    Attributes
    ----------
    figure
        The description.
    effort
        `quick` or `full`.
    draws
        The number of draws of a point; until all are measured, that of the most measured point.
    entries
        The points.
    version
        The code that measured them.
    seconds
        The time it took; None for a kept result.
    date
        The day (UTC) of a kept result.
    """

    figure: FigureDefinition
    effort: str
    draws: int
    entries: tuple[Entry, ...]
    version: str
    seconds: float | None = None
    date: str = ""

    def labels(self) -> list[str]:
        """The lines, in the order of the description."""
        return list(self.lines())

    def lines(self) -> dict[str, list[Entry]]:
        """The points of each line by its label."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.label, []).append(entry)
        return found

    def missing(self) -> list[str]:
        """The points without a draw, because time ran out."""
        there = {place for entry in self.entries for place in ((entry.on, entry.x), (entry.on, ""))}
        places = [place for place in self.figure.points(self.effort) if place not in there]
        return [", ".join(str(part) for part in place if part != "") for place in places]

    def published(self, entry: Entry) -> float | None:
        """The paper's own number at a point."""
        own = self.figure.published.get(entry.label, self.figure.published.get(entry.series, {}))
        return own.get(str(entry.x))

    def table(self) -> Table:
        """A row for each value on the axis, and a column for each line; for a scatter plot a row for each point."""
        if self.figure.kind == "scatter":
            return self._points()
        columns: dict[str, dict[Any, Cell]] = {}
        for label, own in self.lines().items():
            columns[label] = {entry.x: Cell(str(entry.value), entry.value.mean) for entry in own}
            papers = {entry.x: number for entry in own if (number := self.published(entry)) is not None}
            if papers:
                columns[f"{label}: paper"] = {x: Cell(f"{number:g}", number) for x, number in papers.items()}
        values = list(dict.fromkeys(entry.x for entry in self.entries))
        first = "of the values, %" if self.figure.kind == "cdf" else self.figure.x.name
        rows = [[Cell(str(x), x), *(cells.get(x, Cell("")) for cells in columns.values())] for x in values]
        of_numbers = frozenset([*columns, *[first] * all(not isinstance(x, str) for x in values)])
        return Table((first, *columns), rows, of_numbers)

    def _points(self) -> Table:
        varied = [self.figure.x.name] if len({entry.x for entry in self.entries}) > 1 else []
        header = ("series", *varied, self.figure.across, self.figure.y)
        rows = [
            [entry.label, *[Cell(str(entry.x), entry.x)] * len(varied)]
            + [Cell(str(part), part.mean) for part in (entry.across, entry.value) if part is not None]
            for entry in self.entries
        ]
        return Table(header, rows, frozenset(header[1:]))

    def frame(self) -> pd.DataFrame:
        """A row for each point, with all statistics and the paper's own number (pandas)."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """The same as dictionaries."""
        found = []
        for entry in self.entries:
            across = {} if entry.across is None else msgspec.structs.asdict(entry.across)
            values = msgspec.structs.asdict(entry.value) | {f"across_{key}": value for key, value in across.items()}
            row = {"on": entry.on, "series": entry.series, "x": entry.x, **values, "paper": self.published(entry)}
            found.append(row)
        return found

    def caption(self) -> str:
        """What a reader must know: place, draws, the interval, the region."""
        figure = self.figure
        least = min((entry.value.draws for entry in self.entries), default=self.draws)
        counts = f"{self.draws}" if least == self.draws else f"{least} to {self.draws}"
        over = f"means of {counts} draws" if self.draws > 1 else "one draw"
        interval = ", with the 95 % interval of the mean (bootstrap)" * (self.draws > 1)
        missing = f"Not measured in the time: {', '.join(self.missing())}" if self.missing() else ""
        measured = f"Measured {self.date} by optsched {self.version}" if self.date else ""
        end = ". ".join(filter(None, (figure.caption.rstrip("."), missing, measured)))
        what = f"{figure.y[:1].upper()}{figure.y[1:]}"
        return f"{figure.paper}, {figure.place}: {figure.title}. {what}: {over}{interval}. {end}".strip()

    def record(self) -> dict[str, Any]:
        """The figure and its points, in JSON's types."""
        return {
            "figure": self.figure.id,
            "effort": self.effort,
            "draws": self.draws,
            "version": self.version,
            "date": self.date,
            "caption": self.caption(),
            "points": self.rows(),
        }


# Measuring a figure, cell by cell -------------------------------------------------------------------------------------


#: After how many draws of each point the means are shown while more are measured.
ROUNDS = tuple(digit * 10**power for power in range(5) for digit in (1, 2, 5))

#: The expressions of each series, each with a number, or with one for each quantile of a distribution.
Numbers: TypeAlias = dict[str, list[list[float]]]


class Draw(msgspec.Struct, frozen=True):
    """One draw at one point: what is measured, and on what."""

    check: Check
    series: dict[str, tuple[str, ...]]
    seed: int
    distribution: bool
    version: str

    @property
    def key(self) -> str:
        """A digest of everything that determines the numbers."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:24]


@lru_cache(maxsize=4)  # the next point uses the same one if only its measures differ
def _asked(*about: Any) -> Callable[[str], Any]:
    from optsched.measuring.judging.judges import asked  # reading results does not need it

    return asked(*about)


def numbers(cell: Draw) -> Numbers:
    """The numbers of a cell."""
    check = cell.check
    asks = [_asked(check.judge, text, check.problem, check.service, cell.seed) for text in check.on]
    each = {name: [ask(text) for ask in asks] for name, text in check.measure.items()}
    if len(asks) == 1:
        known = {name: value for name, (value,) in each.items()}
    else:  # the results on several instances form one row
        known = {name: np.concatenate(list(map(np.ravel, values))) for name, values in each.items()}

    def found(text: str) -> list[float]:
        values = np.asarray(evaluated(text, known), dtype=float).ravel()
        if cell.distribution:  # the least value that is not exceeded by this percentage of all
            values = np.percentile(values, QUANTILES, method="inverted_cdf")
        return values.tolist()

    return {name: list(map(found, texts)) for name, texts in cell.series.items()}


def measured(
    figure: FigureDefinition,
    effort: str,
    draws: int,
    jobs: int,
    store: str | None,
    time_limit: float | None,
    notify: Callable[[str], object] | None,
    partial: Callable[[Reproduction], object] | None,
) -> Reproduction:
    """Measure a figure, for `PaperFigure.reproduce`."""
    begin, version, points = time.perf_counter(), code_version(), figure.points(effort)
    planned = [  # the first draw of every point, then the second
        (point, Draw(check, figure.series, seed, figure.kind == "cdf", version))
        for seed in range(draws)
        for point, check in points.items()
    ]
    shown_at = {len(points) * rounds for rounds in ROUNDS if rounds < draws}
    with closing(_opened(store)) as kept:
        known: dict[str, Numbers] = {key: json.loads(found) for key, found in kept.execute("SELECT * FROM cells")}
        waiting = [cell for _, cell in planned if cell.key not in known]

        def measured_yet() -> Reproduction:
            values: dict[tuple[str, str, Any], list[list[list[float]]]] = {}
            for (label, value), cell in planned:
                for name, parts in known.get(cell.key, {}).items():
                    values.setdefault((label, name, value), []).append(parts)
            entries = tuple(
                entry for point, found in values.items() for entry in _entries(figure, effort, point, found)
            )
            most = max((entry.value.draws for entry in entries), default=0)
            return Reproduction(figure, effort, most, entries, version, time.perf_counter() - begin)

        try:
            for done, (cell, found) in enumerate(_done(waiting, jobs, time_limit, notify), 1):
                known[cell.key] = found
                kept.execute("INSERT OR REPLACE INTO cells VALUES (?, ?)", (cell.key, json.dumps(found)))
                if partial is not None and len(planned) - len(waiting) + done in shown_at:
                    partial(measured_yet())
        except (OutOfTime, KeyboardInterrupt) as error:
            if not any(cell.key in known for _, cell in planned):
                raise OutOfTime("no point was measured within the time; give more seconds") from error
        return measured_yet()


def _entries(
    figure: FigureDefinition, effort: str, point: tuple[str, str, Any], found: list[list[list[float]]]
) -> Iterator[Entry]:
    """The entries of a series at a point, from its numbers in each draw."""
    label, name, value = point
    columns = [np.array(column) for column in zip(*found, strict=True)]  # of each expression: draws x quantiles
    if figure.kind == "cdf" or figure.along:
        places = QUANTILES if figure.kind == "cdf" else figure.values(effort)
        for place, column in zip(places, columns[0].T, strict=True):
            yield Entry(label, name, place, Values.of(column))
    else:
        first, *second = (Values.of(column[:, 0]) for column in columns)
        yield Entry(label, name, value, first, *second)


def _done(
    waiting: list[Draw], jobs: int, time_limit: float | None, notify: Callable[[str], object] | None
) -> Iterator[tuple[Draw, Numbers]]:
    """Each cell with its numbers, as they arrive."""
    by_key = {cell.key: cell for cell in waiting}

    def announced() -> Iterator[tuple[str, Draw]]:
        for key, cell in by_key.items():
            check_deadline()
            if notify is not None:
                notify(f"{cell.check.on[0]} seed {cell.seed}")
            yield key, cell

    with deadline(time_limit):
        if jobs == 1:
            yield from ((cell, numbers(cell)) for _, cell in announced())
            return
        from optsched.core.processes import Limits, LocalExecutor

        with LocalExecutor(jobs, Limits(time_limit)) as executor:
            for key, outcome in executor.map(numbers, announced()):
                if outcome.done:
                    yield by_key[key], outcome.value
                else:
                    check_deadline()
                    raise UsageError(f"{by_key[key].check.on[0]} seed {by_key[key].seed}: {outcome.message}")


def _opened(store: str | None) -> sqlite3.Connection:
    """A file (SQLite) of the numbers of each cell; without one, memory."""
    try:
        database = sqlite3.connect(store or ":memory:", isolation_level=None)
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if names - {"cells"}:
            raise sqlite3.DatabaseError("it is a database of something else")
        database.execute("CREATE TABLE IF NOT EXISTS cells (key TEXT PRIMARY KEY, numbers TEXT NOT NULL)")
        database.execute("SELECT key, numbers FROM cells LIMIT 1")
    except sqlite3.Error as error:
        wrong = f"cannot be used to keep draws ({error}); name a new file, or one that optsched figure wrote"
        raise InputError([Fault("", wrong)], store or "") from None
    return database


# What is kept ---------------------------------------------------------------------------------------------------------


class _Kept(msgspec.Struct):
    effort: str
    draws: int
    version: str
    date: str
    entries: tuple[Entry, ...]


def _read(path: Path) -> dict[str, dict[str, _Kept]]:
    return read_lines(path, _Kept, "measured figures")


def kept(figure: FigureDefinition, effort: str) -> Reproduction:
    """The kept result of a figure, for `PaperFigure.stored`."""
    found = _read(folder("instances") / "figures" / f"{figure.id.partition('/')[0]}.json").get(figure.id, {})
    if effort not in found:
        again = f"optsched figure {figure.id} --effort {effort}"
        raise UsageError(f"{figure.id}: no {effort} measurement is kept; {again} measures it")
    one = found[effort]
    return Reproduction(figure, effort, one.draws, one.entries, one.version, None, one.date)


def keep(reproductions: Sequence[Reproduction], to: str | os.PathLike[str] | None = None) -> None:
    """Add measurements to the kept results: in the clone of the project, or in a folder of files of the same form."""
    day = datetime.now(UTC).date().isoformat()
    for paper in dict.fromkeys(one.figure.id.partition("/")[0] for one in reproductions):
        path = Path(to or folder("instances") / "figures") / f"{paper}.json"
        content = _read(path)
        for one in reproductions:
            if one.figure.id.startswith(f"{paper}/"):
                entry = _Kept(one.effort, one.draws, one.version, day, one.entries)
                content[one.figure.id] = content.get(one.figure.id, {}) | {one.effort: entry}
        write_lines(path, content)
