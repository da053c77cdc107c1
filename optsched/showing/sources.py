"""Reads the sources of a report (JSON files, stores of sweeps) into runs, each once."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from optsched.core import kinds
from optsched.core.brief import as_argument
from optsched.core.errors import Fault, InputError, UsageError, described, expect_known
from optsched.core.resources import code_version
from optsched.core.results import Proof, Value
from optsched.measuring.printing import canonical
from optsched.measuring.records import Record, Run
from optsched.measuring.studies.choices import raise_all

#: The beginning of a file of SQLite.
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

    @property
    def values(self) -> list[Value]:
        """The values of the points, as exact as JSON has them."""
        return [tuple(map(Fraction, point.objective)) for point in self.points]


@dataclass(frozen=True)
class Source:
    """The source of entries, as it was given: `records` (JSON), `store` (of a sweep) or `study` (in memory).

    `sha256` is of the bytes of a file; empty for a store, or if there is no file. `runs`, `cells` and `frontiers` are
    the numbers of its entries, `unfinished` the runs of a store that have not ended. For a store, `command` is the
    command of its last sweep, and `computed_with` the versions and the machine.
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
    """The contents of the sources, in their order."""

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
    """Read all sources: paths of JSON files or stores (the last sweep is read), `-` for JSON on stdin, or objects with
    `records()`, such as the `GapReports` of a study or a `Sweep`.

    InputError lists the faults of all that cannot be read, are something else, or hold nothing; UsageError if there is
    no source, or one is of another kind.
    """
    read_so_far: list[tuple[Source, list[Record | FrontierRecord]]] = []
    errors: list[InputError] = []
    for given in dict.fromkeys(_named(sources)):
        try:
            read_so_far.append(_read(given))
        except InputError as error:
            errors.append(error)
    raise_all(errors)
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


def _read(origin: Any) -> tuple[Source, list[Record | FrontierRecord]]:
    if isinstance(origin, str):
        content = _bytes(origin)
        if content is not None:
            name = "stdin" if origin == "-" else origin
            try:
                return _of_json(content, name, "records")
            except InputError:
                made = "optsched gap --format json writes one"
                begins_as, own = kinds.kind_of(content), (kinds.RECORDS, kinds.POINTS)
                other = kinds.other_kind(begins_as, "a file of gap records", own, name, made)
                if other is None:
                    raise
                raise InputError([other], name) from None
        from optsched.measuring.sweeping.store import load_sweep

        source, entries = _read(load_sweep(origin))
        command, computed_with = _measured(origin)
        return replace(source, command=command, computed_with=computed_with), entries
    stored = isinstance(getattr(origin, "path", None), str)
    name, kind = (origin.path, "store") if stored else (repr(origin).strip("<>"), "study")
    documents = [{"version": code_version(), **record} for record in origin.records()]
    unfinished = origin.planned - len(documents) if stored else 0
    if not documents:
        message = f"holds no finished run ({unfinished} planned)" if unfinished else "holds no records"
        raise InputError([Fault("", message)], name)
    encoded = msgspec.json.encode(
        documents, enc_hook=lambda held: dict(held) if isinstance(held, Mapping) else str(held)
    )
    source, entries = _of_json(encoded, name, kind)
    return replace(source, unfinished=unfinished), entries


def _measured(path: str) -> tuple[str, str]:
    """The command of a store's last sweep, and the versions and machine that computed it."""
    from optsched.measuring.sweeping.store import Store

    with Store(path) as store:
        (row,) = store.rows("SELECT command, versions, machine FROM sweeps ORDER BY id DESC LIMIT 1")
    program, _, rest = row["command"].partition(" ")
    command = f"optsched {rest}" if Path(program).name in ("__main__.py", "optsched") else row["command"]
    versions, machine = (msgspec.json.decode(row[name]) for name in ("versions", "machine"))
    parts = [f"{name} {version}" for name, version in versions.items()]
    parts += [f"{name} {machine[name]}" for name in ("system", "cores") if name in machine]
    return command, ", ".join(parts)


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
        message = f"is no JSON and no store of a sweep ({error})"
        if Path(name).suffix == ".csv":
            message += "; records are read as JSON (--format json)"
        if Path(name).suffix == ".partial":
            message += "; an interrupted command left it: close its list, or run it again"
        raise InputError([Fault("", message)], name) from None
    several = isinstance(document, list)
    documents = document if several else [document]
    if not documents:
        raise InputError([Fault("", "holds no records")], name)
    entries: list[Record | FrontierRecord] = []
    faults: list[Fault] = []
    for number, part in enumerate(documents):
        try:
            entries.append(parsed(part, f"[{number}]" if several else ""))
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults, name)
    sha256 = hashlib.sha256(content).hexdigest() if kind == "records" else ""
    cells = [entry.ran_in is not None for entry in entries if isinstance(entry, Record)]
    return Source(name, kind, sha256, cells.count(False), cells.count(True), len(entries) - len(cells)), entries


# Entries ----------------------------------------------------------------------------------------------------------

#: Fields that distinguish records of gaps from anything else.
_TELLING = {"heuristic", "problem", "instance", "relative_gap"}


#: Fields of a record with an entry for each component.
_LISTS = ("sense", "objective", "reference", "absolute_gap", "relative_gap", "components")


def parsed(document: Any, place: str) -> Record | FrontierRecord:
    """An entry of a source; InputError with its place if it is none."""

    def wrong(message: str, within: str = "") -> InputError:
        return InputError([Fault(f"{place}{within}".lstrip("."), message)])

    if not isinstance(document, Mapping):
        raise wrong("is no record: expected an object, as optsched gap --format json writes it")
    frontier = "points" in document and "components" in document
    if not frontier and not document.keys() >= _TELLING:
        form = document.get("format")
        known = kinds.kind_of(json.dumps({"format": form}).encode()) if isinstance(form, str) else None
        if known is not None:
            raise wrong(f"is {known.name}: give what optsched gap --format json writes")
        fields = ", ".join(sorted(map(str, document))[:4])
        raise wrong(f"is no record of a gap, matrix or frontier (it has {fields or 'no field'})")
    try:
        if frontier:
            return msgspec.convert(document, FrontierRecord)
        record = Record.of(document)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at `$")
        missing = re.match(r"Object missing required field `(\w+)`", message)
        if missing:
            message = f"lacks the field {missing[1]}: write it with optsched gap, matrix or frontier --format json"
        raise wrong(message[0].lower() + message[1:], where.rstrip("`")) from None
    sizes = {name: len(record.of_each(name)) for name in _LISTS if getattr(record, name) not in (None, [])}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise wrong(f"its lists must have an entry a component each, not {counts}")
    return record


# Runs ------------------------------------------------------------------------------------------------------------


def entries_of(records: Iterable[Record]) -> tuple[list[Run], list[str]]:
    """The runs, each once, and remarks on them.

    A problem is split by the parameters that differ on one instance, a heuristic by those that differ in one cell:
    there they are compared. Parameters that come with the instances split nothing. If a run is recorded twice, the last
    record counts.
    """
    distinct: dict[tuple[str, ...], Record] = {}
    repeated = changed = 0
    for record in records:
        key = (*_problem(record), record.heuristic, canonical(record.heuristic_parameters), str(record.seed))
        if key in distinct:
            repeated += 1
            changed += _result(distinct.pop(key)) != _result(record)
        distinct[key] = record
    notes = []
    if repeated:
        also = f", {changed} of them with another result: the last counts" if changed else ""
        notes.append(f"{repeated} runs are recorded more than once and count once{also}")
    kept = list(distinct.values())
    problems = _labels(kept, "problem", "parameters", lambda record: (*_posed_on(record), record.problem))
    heuristics = _labels(
        kept,
        "heuristic",
        "heuristic_parameters",
        lambda record: (*_problem(record), str(record.seed), record.heuristic),
    )
    found = [
        Run(record, str(_problem(record)), heuristics(record), problems(record), _instance(record)) for record in kept
    ]
    return found, notes


def chosen(entries: Sequence[Run], problems: Sequence[str], heuristics: Sequence[str]) -> list[Run]:
    """The entries of some problems and heuristics, by their names or labels; without names all.

    UsageError for a name that none of them has.
    """
    for kind, names in (("problem", problems), ("heuristic", heuristics)):
        known = list(
            dict.fromkeys(name for entry in entries for name in (getattr(entry, kind), getattr(entry.record, kind)))
        )
        for name in names:
            expect_known(name, known, f'no record is of {kind} "{name}"')
    return [
        entry
        for entry in entries
        if (not problems or {entry.problem, entry.record.problem} & set(problems))
        and (not heuristics or {entry.heuristic, entry.record.heuristic} & set(heuristics))
    ]


def _posed_on(record: Record) -> tuple[str, str, str]:
    """The instance, and its wave: two may share a name."""
    return record.instance, record.instance_sha256, "" if record.wave is UNSET else str(record.wave)


def _problem(record: Record) -> tuple[str, ...]:
    """The problem on which runs are compared."""
    return *_posed_on(record), record.problem, canonical(record.parameters)


def _instance(record: Record) -> str:
    name = record.instance or "instance"
    if record.wave is UNSET:
        return name
    return f"{name}, all waves" if record.wave is None else f"{name}, wave {record.wave}"


def _result(record: Record) -> tuple[Any, ...]:
    return record.objective, record.reference, record.feasible, record.status


def _labels(
    records: Sequence[Record], name: str, parameters: str, cell: Callable[[Record], tuple[str, ...]]
) -> Callable[[Record], str]:
    """The label of each: its name, with the parameters that differ in one cell."""
    cells: dict[tuple[str, ...], dict[str, Mapping[str, Any]]] = {}
    for record in records:
        given = getattr(record, parameters)
        cells.setdefault(cell(record), {})[canonical(given)] = given
    differing: dict[str, dict[str, None]] = {}
    for key, sets in cells.items():
        known = list(sets.values())
        keys = dict.fromkeys(key for given in known for key in given)
        differing.setdefault(key[-1], {}).update(
            dict.fromkeys(one for one in keys if len({canonical(given.get(one)) for given in known}) > 1)
        )

    def label(record: Record) -> str:
        given = getattr(record, parameters)
        parts = [f"{key}={as_argument(given[key], ':')}" for key in differing[cell(record)[-1]] if key in given]
        return ",".join([getattr(record, name), *parts])

    return label
