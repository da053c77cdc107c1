"""Measuring a figure: a cell for each point on the axis and each draw, in processes, kept in a file as they come."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np

from optsched.core.deadline import check as check_deadline
from optsched.core.deadline import deadline
from optsched.core.errors import Fault, InputError, OutOfTime, UsageError
from optsched.core.resources import code_version
from optsched.measuring.judging.expressions import evaluated
from optsched.measuring.judging.findings import Check
from optsched.measuring.judging.judges import ASKED, drawn
from optsched.measuring.reproducing.results import QUANTILES, Entry, Reproduction, Values
from optsched.processes import Limits, LocalExecutor

if TYPE_CHECKING:
    from optsched.measuring.reproducing import PaperFigure

__all__ = ["measured"]

#: The most draws of a point.
MOST_DRAWS = 100_000

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


@lru_cache(maxsize=4)
def _asked(judge: str, on: str, problem: str, service: str, seed: int) -> Callable[[str], Any]:
    """What answers the measures of a draw. The next point asks the same one if only its measures differ."""
    check = Check("", judge=judge, on=(on,), problem=problem, service=service)
    return ASKED[judge](check, drawn(on, seed), seed)


def numbers(cell: Cell) -> Numbers:
    """The numbers of a cell."""
    check = cell.check
    asked = [_asked(check.judge, text, check.problem, check.service, cell.seed) for text in check.on]
    known = {name: _pooled([ask(text) for ask in asked]) for name, text in check.measure.items()}
    found = {
        name: [np.asarray(evaluated(text, known), dtype=float).ravel() for text in texts]
        for name, texts in cell.series.items()
    }
    if cell.distribution:
        # The least value that this per cent of all do not exceed.
        found = {
            name: [np.percentile(values, QUANTILES, method="inverted_cdf") for values in parts]
            for name, parts in found.items()
        }
    return {name: [values.tolist() for values in parts] for name, parts in found.items()}


def _pooled(values: list[Any]) -> Any:
    """What was measured on one instance as it is; on several, in one row."""
    return values[0] if len(values) == 1 else np.concatenate([np.ravel(value) for value in values])


def cells_of(figure: PaperFigure, effort: str, draws: int) -> Iterator[tuple[str, Any, Cell]]:
    """The cells, each with its label and its value on the axis: the first draw of every point, then the second."""
    version = code_version()
    for seed in range(draws):
        for label, texts in figure.instances(effort).items():
            for value in figure.values(effort) if not figure.along else ("",):

                def filled(written: str, value: Any = value) -> str:
                    return written.replace("{x}", str(value))

                check = Check(
                    says="",
                    judge=figure.judge,
                    on=tuple(filled(text) for text in ([texts] if isinstance(texts, str) else texts)),
                    problem=filled(figure.problem),
                    measure={name: filled(measure) for name, measure in figure.measure.items()},
                    service=filled(figure.service),
                )
                yield label, value, Cell(check, figure.series, seed, figure.kind == "cdf", version)


def measured(
    figure: PaperFigure,
    effort: str,
    seeds: int | None,
    jobs: int,
    store: str | None,
    time_limit: float | None,
    notify: Callable[[str], object] | None,
    partial: Callable[[Reproduction], object] | None,
) -> Reproduction:
    """Measure a figure, for `PaperFigure.reproduce`."""
    if seeds is not None and not 1 <= seeds <= MOST_DRAWS:
        raise UsageError(f"seeds {seeds!r}: give how many draws, from 1 to {MOST_DRAWS}")
    draws = seeds or (figure.full if effort == "full" else 0) or figure.draws
    begin = time.perf_counter()
    planned = list(cells_of(figure, effort, draws))
    shown_at = {len(planned) // draws * rounds for rounds in ROUNDS if rounds < draws}
    with closing(_opened(store)) as kept:
        known: dict[str, Numbers] = {key: json.loads(found) for key, found in kept.execute("SELECT * FROM cells")}
        waiting = [cell for _, _, cell in planned if cell.key not in known]

        def measured_yet() -> Reproduction:
            entries = tuple(_entries(figure, effort, planned, known))
            most = max((entry.value.draws for entry in entries), default=0)
            return Reproduction(figure, effort, most, entries, code_version(), time.perf_counter() - begin)

        try:
            for done, (cell, found) in enumerate(_done(waiting, jobs, time_limit, notify), 1):
                known[cell.key] = found
                kept.execute("INSERT OR REPLACE INTO cells VALUES (?, ?)", (cell.key, json.dumps(found)))
                if partial is not None and len(planned) - len(waiting) + done in shown_at:
                    partial(measured_yet())
        except (OutOfTime, KeyboardInterrupt) as error:
            if not any(cell.key in known for _, _, cell in planned):
                raise OutOfTime("no point was measured within the time; give more seconds") from error
        return measured_yet()


def _entries(
    figure: PaperFigure, effort: str, planned: list[tuple[str, Any, Cell]], known: Mapping[str, Numbers]
) -> Iterator[Entry]:
    values: dict[tuple[str, str, Any], list[list[list[float]]]] = {}
    for label, value, cell in planned:
        for name, parts in known.get(cell.key, {}).items():
            values.setdefault((label, name, value), []).append(parts)
    for (label, name, value), found in values.items():
        columns = [np.array(column) for column in zip(*found, strict=True)]  # of each expression: draws x quantiles
        if figure.kind == "cdf" or figure.along:
            places = QUANTILES if figure.kind == "cdf" else figure.values(effort)
            for place, column in zip(places, columns[0].T, strict=True):
                yield Entry(label, name, place, Values.of(column))
        else:
            first, *second = (Values.of(column[:, 0]) for column in columns)
            yield Entry(label, name, value, first, second[0] if second else None)


def _done(
    waiting: list[Cell], jobs: int, time_limit: float | None, notify: Callable[[str], object] | None
) -> Iterator[tuple[Cell, Numbers]]:
    """Each cell with its numbers, as they come."""
    by_key = {cell.key: cell for cell in waiting}

    def told() -> Iterator[tuple[str, Cell]]:
        for key, cell in by_key.items():
            check_deadline()
            if notify is not None:
                notify(f"{cell.check.on[0]} seed {cell.seed}")
            yield key, cell

    with deadline(time_limit):
        if jobs == 1:
            yield from ((cell, numbers(cell)) for _, cell in told())
            return
        with LocalExecutor(jobs, Limits(time_limit)) as executor:
            for key, outcome in executor.map(numbers, told()):
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
