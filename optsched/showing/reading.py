"""The one reader of what reports are made of: files of JSON, and the stores of sweeps."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from optsched.core.errors import Fault, InputError, UsageError, described
from optsched.core.fingerprint import code_version
from optsched.core.results import Proof, Value
from optsched.measuring.records import Record

__all__ = ["Found", "FrontierRecord", "Source", "parsed", "read"]

Kept = TypeVar("Kept")

#: How a file of SQLite begins.
_SQLITE = b"SQLite format 3\x00"


class Point(Struct, frozen=True):
    """A point of a frontier."""

    objective: tuple[float, float]
    certificate: Proof


class FrontierRecord(Struct, frozen=True, kw_only=True):
    """A frontier, as `optsched frontier --format json` writes it."""

    version: str
    instance: str
    problem: str
    parameters: dict[str, Any]
    components: tuple[str, str]
    points: list[Point]
    complete: bool
    limit: str | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> FrontierRecord:
        """The frontier of a document; msgspec.ValidationError if it is none."""
        return msgspec.convert(document, cls)

    @property
    def values(self) -> list[Value]:
        """The values of the points, as exact as JSON has them."""
        return [tuple(map(Fraction, point.objective)) for point in self.points]


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
    command, computed_with
        Of a store: what was typed for its last sweep, and the versions and the machine that computed it.
    """

    name: str
    kind: str
    sha256: str
    runs: int
    cells: int
    frontiers: int
    unfinished: int = 0
    command: str = ""
    computed_with: str = ""


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
        Paths of JSON files or stores (of which the last sweep is read), `-` for JSON on stdin, or what has `records()`:
        the `GapReports` of a study, a `Sweep`.

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
    if isinstance(given, str):
        content = _bytes(given)
        if content is not None:
            return _of_json(content, "stdin" if given == "-" else given, "records")
        from optsched.measuring.sweeping.results import load_sweep

        source, entries = _read(load_sweep(given))
        command, computed_with = _measured(given)
        return replace(source, command=command, computed_with=computed_with), entries
    stored = isinstance(getattr(given, "path", None), str)
    name, kind = (given.path, "store") if stored else (repr(given).strip("<>"), "study")
    documents = [{"version": code_version(), **record} for record in given.records()]
    unfinished = given.planned - len(documents) if stored else 0
    if not documents:
        told = f"holds no finished run ({unfinished} planned)" if unfinished else "holds no records"
        raise InputError([Fault("", told)], name)
    source, entries = _of_json(msgspec.json.encode(documents, enc_hook=_mapping), name, kind)
    return replace(source, unfinished=unfinished), entries


def _measured(path: str) -> tuple[str, str]:
    """The command of a store's last sweep, and what computed it."""
    from optsched.measuring.sweeping.store import Store

    with Store(path) as store:
        (row,) = store.rows("SELECT command, versions, machine FROM sweeps ORDER BY id DESC LIMIT 1")
    program, _, rest = row["command"].partition(" ")
    command = f"optsched {rest}" if Path(program).name in ("__main__.py", "optsched") else row["command"]
    versions, machine = (msgspec.json.decode(row[name]) for name in ("versions", "machine"))
    parts = [f"{name} {version}" for name, version in versions.items()]
    parts += [f"{name} {machine[name]}" for name in ("system", "cores") if name in machine]
    return command, ", ".join(parts)


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
        told = f"is no JSON and no store of a sweep ({error})"
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


def _source(name: str, kind: str, entries: Sequence[Record | FrontierRecord], sha256: str) -> Source:
    counts = Counter(
        "frontier" if isinstance(entry, FrontierRecord) else "run" if entry.ran_in is None else "cell"
        for entry in entries
    )
    return Source(name, kind, sha256, counts["run"], counts["cell"], counts["frontier"])


# Entries ----------------------------------------------------------------------------------------------------------

#: What other files of this program are, by what they say of themselves, and what to give instead.
_OTHERS = {
    "optsched/1": "is an instance: measure it first (optsched gap FILE --format json --output RECORDS.json)",
    "optsched-network/1": "is a flow network, for which there are no heuristics, so no gaps",
    "optsched-solution/1": "is a solution: measure a heuristic (optsched gap --format json)",
    "optsched-baseline/1": "is a baseline, which has no references: record the gaps again (optsched gap --format json)",
    "optsched-optima/1": "lists optima of the library: measure heuristics (optsched gap --format json)",
}

#: Fields by which records of gaps are told from what is something else.
_TELLING = {"heuristic", "problem", "instance", "relative_gap"}


def parsed(document: Any, place: str) -> Record | FrontierRecord | list[Fault]:
    """An entry of a source, or what is wrong with it.

    Examples
    --------
    >>> parsed({"format": "optsched/1"}, "")[0].message[:14]
    'is an instance'
    """
    if not isinstance(document, Mapping):
        return [Fault(place, "is no record: expected an object, as optsched gap --format json writes it")]
    if "points" in document and "components" in document:
        return _converted(document, FrontierRecord.of, place)
    if document.keys() >= _TELLING:
        found = _converted(document, Record.of, place)
        return found if isinstance(found, list) else _uniform(found, place)
    known = document.get("format")
    if isinstance(known, str) and known in _OTHERS:
        return [Fault(place, _OTHERS[known])]
    if "chains" in document:
        told = "explains a gap: give what optsched gap --format json writes"
    else:
        fields = ", ".join(sorted(map(str, document))[:4])
        told = f"is no record of a gap, matrix or frontier (it has {fields or 'no field'})"
    return [Fault(place, told)]


def _converted(document: Mapping[str, Any], made: Callable[[Any], Kept], place: str) -> Kept | list[Fault]:
    try:
        return made(document)
    except msgspec.ValidationError as error:
        told, _, where = str(error).partition(" - at `$")
        missing = re.match(r"Object missing required field `(\w+)`", told)
        if missing:
            told = f"lacks the field {missing[1]}: write it with optsched gap, matrix or frontier --format json"
        return [Fault(f"{place}{where.rstrip('`')}".lstrip("."), told[0].lower() + told[1:])]


def _uniform(record: Record, place: str) -> Record | list[Fault]:
    """The record, unless its lists are not of one length: an entry a component."""
    several: dict[str, Sequence[Any]] = {}
    names = ("sense", "objective", "reference", "absolute_gap", "relative_gap", "components")
    for name in names:
        value = getattr(record, name)
        if value is not None and value != []:
            several[name] = value if isinstance(value, list) else [value]
    sizes = {name: len(value) for name, value in several.items()}
    if len(set(sizes.values())) == 1:
        return record
    told = ", ".join(f"{name} {size}" for name, size in sizes.items())
    return [Fault(place, f"its lists must have an entry a component each, not {told}")]
