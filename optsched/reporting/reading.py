"""The one reader of what reports are made of: files of JSON, and the stores of sweeps."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from optsched import __version__
from optsched.errors import Fault, InputError, UsageError, described
from optsched.reporting.records import FrontierRecord, Record, parsed

__all__ = ["Found", "Source", "read"]

#: How a file of SQLite begins.
_SQLITE = b"SQLite format 3\x00"

#: Columns of a store that stand in for a record that a run has none of, as one whose process was killed.
_PLAIN = ("instance", "problem", "heuristic", "seed", "status")


@dataclass(frozen=True)
class Source:
    """Where entries came from.

    Attributes
    ----------
    name
        As it was given.
    kind
        `records` (JSON), `store` (of a sweep) or `study` (in memory).
    sha256
        Of the bytes of a file; empty for what is no file, or a store.
    runs, cells, frontiers
        How many it holds.
    unfinished
        Runs of a store that have not ended.
    """

    name: str
    kind: str
    sha256: str
    runs: int
    cells: int
    frontiers: int
    unfinished: int = 0


@dataclass(frozen=True)
class Found:
    """What the sources hold, in their order."""

    sources: tuple[Source, ...]
    runs: tuple[Record, ...]
    cells: tuple[Record, ...]
    frontiers: tuple[FrontierRecord, ...]

    @property
    def versions(self) -> list[str]:
        """The version of the program that wrote each entry."""
        records = [record.version for record in (*self.runs, *self.cells)]
        return [*records, *(frontier.version for frontier in self.frontiers)]


def read(sources: Iterable[Any]) -> Found:
    """Read all sources.

    Parameters
    ----------
    sources
        Paths of JSON files or stores, `-` for JSON on stdin, or what has `records()`, as the `GapReports` of a study.

    Raises
    ------
    InputError
        For what cannot be read, is something else, or holds nothing; lists the faults of all sources.
    UsageError
        If there is no source, or one is of another kind.

    Examples
    --------
    >>> import optsched
    >>> found = read([optsched.study("papers/guo-fig2", "lsap", "dl")])
    >>> found.runs[0].objective, found.sources[0].kind
    (1.0, 'study')
    """
    read_so_far: list[tuple[Source, list[Record | FrontierRecord]]] = []
    faults: list[Fault] = []
    for given in dict.fromkeys(_named(sources)):
        try:
            read_so_far.append(_read(given))
        except InputError as error:
            faults += [Fault(error.source, str(fault)) for fault in error.faults]
    if faults:
        raise InputError(faults)
    entries = [entry for _, held in read_so_far for entry in held]
    records = [entry for entry in entries if isinstance(entry, Record)]
    return Found(
        tuple(source for source, _ in read_so_far),
        tuple(record for record in records if record.ran_in is None),
        tuple(record for record in records if record.ran_in is not None),
        tuple(entry for entry in entries if isinstance(entry, FrontierRecord)),
    )


def _named(sources: Iterable[Any]) -> list[Any]:
    single = isinstance(sources, str | os.PathLike) or hasattr(sources, "records")
    given = [sources] if single else list(sources)
    if not given:
        raise UsageError("a report is of records: give a file of optsched gap --format json, or a sweep's store")
    for entry in given:
        if not (isinstance(entry, str | os.PathLike) or hasattr(entry, "records")):
            raise UsageError(f"a source of a report is a path, or the reports of a study, not {described(entry)}")
    return [os.fspath(entry) if isinstance(entry, os.PathLike) else entry for entry in given]


def _read(given: Any) -> tuple[Source, list[Record | FrontierRecord]]:
    if not isinstance(given, str):
        documents = [{"version": __version__, **record} for record in given.records()]
        encoded = msgspec.json.encode(documents, enc_hook=_mapping)
        return _of_json(encoded, repr(given).strip("<>"), "study")
    content = _bytes(given)
    if content is None:
        return _store(given)
    return _of_json(content, "stdin" if given == "-" else given, "records")


def _mapping(value: Any) -> Any:
    """What a record in memory holds that JSON does not."""
    return dict(value) if isinstance(value, Mapping) else str(value)


def _bytes(path: str) -> bytes | None:
    """The content of a file; None for a store."""
    try:
        if path == "-":
            return sys.stdin.buffer.read()
        with open(path, "rb") as file:
            head = file.read(len(_SQLITE))
            return None if head == _SQLITE else head + file.read()
    except (OSError, ValueError) as error:
        raise InputError([Fault("", f"cannot be read: {getattr(error, 'strerror', None) or error}")], path) from None


def _of_json(content: bytes, name: str, kind: str) -> tuple[Source, list[Record | FrontierRecord]]:
    if not content.strip():
        raise InputError([Fault("", "is empty: it holds no records")], name)
    try:
        document = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        told = f"is no JSON and no store of a sweep: {str(error)[:1].lower()}{str(error)[1:]}"
        if Path(name).suffix == ".csv":
            told += "; records are read as JSON (--format json)"
        if Path(name).suffix == ".partial":
            told += "; an interrupted command left it: close its list, or run it again"
        raise InputError([Fault("", told)], name) from None
    several = isinstance(document, list)
    documents = document if several else [document]
    if not documents:
        raise InputError([Fault("", "holds no records")], name)
    entries: list[Record | FrontierRecord] = []
    faults: list[Fault] = []
    for number, part in enumerate(documents):
        found = parsed(part, f"[{number}]" if several else "")
        if isinstance(found, list):
            faults += found
        else:
            entries.append(found)
    if faults:
        raise InputError(faults, name)
    return _source(name, kind, entries, hashlib.sha256(content).hexdigest() if kind == "records" else ""), entries


def _source(
    name: str, kind: str, entries: Sequence[Record | FrontierRecord], sha256: str, unfinished: int = 0
) -> Source:
    counts = Counter(
        "frontier" if isinstance(entry, FrontierRecord) else "run" if entry.ran_in is None else "cell"
        for entry in entries
    )
    return Source(name, kind, sha256, counts["run"], counts["cell"], counts["frontier"], unfinished)


# Stores -----------------------------------------------------------------------------------------------------------


def _store(path: str) -> tuple[Source, list[Record | FrontierRecord]]:
    entries: list[Record | FrontierRecord] = []
    faults: list[Fault] = []
    unfinished = 0
    for number, row in enumerate(_rows(path)):
        place = f"runs[{number}]"
        if row.get("record") is None and row.get("status") in (None, "planned", "running"):
            unfinished += 1
            continue
        try:
            document = _document(row)
        except (msgspec.DecodeError, UnicodeDecodeError, TypeError) as error:
            faults.append(Fault(f"{place}.record", f"is no JSON: {error}"))
            continue
        found = parsed(document, place)
        if isinstance(found, list):
            faults += found
        else:
            entries.append(found)
    if not entries and not faults:
        told = f"holds no finished run ({unfinished} planned)" if unfinished else "holds no runs"
        faults.append(Fault("", told))
    if faults:
        raise InputError(faults, path)
    return _source(path, "store", entries, "", unfinished), entries


def _rows(path: str) -> Iterator[dict[str, Any]]:
    """The rows of the table `runs`; the store is only read."""
    try:
        with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as store:
            store.row_factory = sqlite3.Row
            columns = {row["name"] for row in store.execute("PRAGMA table_info(runs)")}
            if "record" not in columns:
                told = "is no store of a sweep: it has no table runs with a column record"
                raise InputError([Fault("", told)], path)
            for row in store.execute("SELECT * FROM runs ORDER BY rowid"):
                yield dict(row)
    except sqlite3.Error as error:
        raise InputError([Fault("", f"cannot be read as a store: {error}")], path) from None


def _document(row: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a row; where a process was killed there may be none, and what the columns say is made one."""
    status = row.get("status")
    if row["record"] is not None:
        document: dict[str, Any] = msgspec.json.decode(row["record"])
        return {**document, "status": status} if status in _KILLED else document
    plain = {name: row[name] for name in _PLAIN if row.get(name) is not None}
    message = row.get("message") or row.get("error") or f"the run is {status}"
    return {
        "version": row.get("version") or "",
        "parameters": msgspec.json.decode(row.get("parameters") or "{}"),
        "feasible": False,
        **dict.fromkeys(("objective", "reference", "reference_kind", "absolute_gap", "relative_gap")),
        "error": str(message),
        "heuristic_seconds": row.get("seconds"),
        **plain,
    }


#: What a store says of runs whose process was killed, whatever their record says.
_KILLED = frozenset({"timed-out", "out-of-memory", "crashed"})
