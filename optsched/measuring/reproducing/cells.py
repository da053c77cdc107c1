"""Measuring a figure: a cell for each point on the axis and each draw, in processes, kept in a file as they come."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec
import numpy as np

from optsched.core.deadline import check as check_deadline
from optsched.core.deadline import deadline
from optsched.core.errors import Fault, InputError, OutOfTime, UsageError
from optsched.core.processes import Limits, LocalExecutor
from optsched.core.resources import code_version
from optsched.measuring.judging.expressions import evaluated
from optsched.measuring.judging.findings import Check
from optsched.measuring.judging.judges import asked
from optsched.measuring.reproducing.figure_definition import FigureDefinition
from optsched.measuring.reproducing.results import QUANTILES, Entry, Reproduction, Values

#: After how many draws of each point the means are shown while more are measured.
ROUNDS = tuple(digit * 10**power for power in range(5) for digit in (1, 2, 5))

#: The expressions of each series, each with a number, or with one for each quantile of a distribution.
Numbers: TypeAlias = dict[str, list[list[float]]]


class Cell(msgspec.Struct, frozen=True):
    """One draw at one point: what is measured, and on what."""

    check: Check
    series: dict[str, tuple[str, ...]]
    seed: int
    distribution: bool
    version: str

    @property
    def key(self) -> str:
        """A digest of all that decides the numbers."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:24]


#: The next point asks the same one if only its measures differ.
_asked = lru_cache(maxsize=4)(asked)


def numbers(cell: Cell) -> Numbers:
    """The numbers of a cell."""
    check = cell.check
    asks = [_asked(check.judge, text, check.problem, check.service, cell.seed) for text in check.on]
    each = {name: [ask(text) for ask in asks] for name, text in check.measure.items()}
    if len(asks) == 1:
        known = {name: value for name, (value,) in each.items()}
    else:  # what was measured on several instances is in one row
        known = {name: np.concatenate(list(map(np.ravel, values))) for name, values in each.items()}

    def found(text: str) -> list[float]:
        values = np.asarray(evaluated(text, known), dtype=float).ravel()
        if cell.distribution:  # the least value that this per cent of all do not exceed
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
        (point, Cell(check, figure.series, seed, figure.kind == "cdf", version))
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
    """The entries of a series at a point, of its numbers in each draw."""
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
    waiting: list[Cell], jobs: int, time_limit: float | None, notify: Callable[[str], object] | None
) -> Iterator[tuple[Cell, Numbers]]:
    """Each cell with its numbers, as they come."""
    by_key = {cell.key: cell for cell in waiting}

    def announced() -> Iterator[tuple[str, Cell]]:
        for key, cell in by_key.items():
            check_deadline()
            if notify is not None:
                notify(f"{cell.check.on[0]} seed {cell.seed}")
            yield key, cell

    with deadline(time_limit):
        if jobs == 1:
            yield from ((cell, numbers(cell)) for _, cell in announced())
            return
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
