r"""Readers of Hadoop Rumen's two file formats: a trace as typed records, a topology as the rack of each host.

A trace is a concatenation of JSON objects, one a job (neither an array nor a line each); a topology is one nested
object. Both are foreign formats: only what an import needs is read, whatever else they hold is ignored. What becomes of
the records is `optsched.instances.rumen`'s business. Decided here:

* backslashes of host names escaped for a regular expression are dropped: `194\.6` is host `194.6`;
* -1 is "unknown" wherever a time or a number of bytes is expected.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from optsched.errors import Fault, InputError

__all__ = ["Attempt", "Job", "Location", "Task", "TaskKind", "Trace", "read_topology", "read_trace"]

#: The largest time or number of bytes that a double, and so an instance, holds exactly.
LARGEST = 2**53

#: Most bytes of text that are read, which also bounds what a small compressed file may unpack to.
LARGEST_TEXT = 2**31

#: How a successful attempt is called before and since Hadoop 2.
SUCCESSFUL = ("SUCCESS", "SUCCEEDED")

TaskKind = Literal["map", "reduce", "other"]
_KINDS: tuple[tuple[str, TaskKind], ...] = (("mapTasks", "map"), ("reduceTasks", "reduce"), ("otherTasks", "other"))


@dataclass(frozen=True, slots=True)
class Location:
    """A host and the rack it stands in, None where only the bare host name was recorded."""

    host: str
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a task: times in ms since the epoch, bytes as counted, None for what is unknown."""

    successful: bool
    location: Location | None
    start: int | None
    finish: int | None
    hdfs_bytes_read: int | None
    map_output_bytes: int | None
    reduce_shuffle_bytes: int | None

    @property
    def interval(self) -> tuple[int, int] | None:
        """Start and finish in ms, None unless both are known and in this order."""
        if self.start is None or self.finish is None or self.finish < self.start:
            return None
        return self.start, self.finish


@dataclass(frozen=True, slots=True)
class Task:
    """A map, a reduce, or another (setup and cleanup) task, as recorded: replicas may repeat."""

    id: str
    kind: TaskKind
    input_bytes: int | None
    replicas: tuple[Location, ...]
    attempts: tuple[Attempt, ...]

    @property
    def success(self) -> Attempt | None:
        """The last successful attempt of which the host is known."""
        for attempt in reversed(self.attempts):
            if attempt.successful and attempt.location is not None:
                return attempt
        return None


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a trace: times in ms since the epoch, None where unknown."""

    id: str
    user: str | None
    submit: int | None
    finish: int | None
    tasks: tuple[Task, ...]

    @property
    def maps(self) -> tuple[Task, ...]:
        """The map tasks, in the order of the trace."""
        return tuple(task for task in self.tasks if task.kind == "map")


@dataclass(frozen=True, slots=True)
class Trace:
    """The complete jobs of a trace, and in `notes` what its reader met on the way."""

    source: str
    jobs: tuple[Job, ...]
    notes: tuple[str, ...] = ()


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Read a Rumen trace: a concatenation of JSON objects, one a job, plain or gzipped.

    Only the fields that an instance needs are read; others, and what they hold, are ignored. A log that was cut
    before its end gives its complete jobs and a note; a job that is recorded again alike is kept once, with a note.

    Raises
    ------
    InputError
        The file is missing, no text, malformed, holds no complete job, or a field that is read has a wrong type or
        value. All faults are listed, each with its place (`job 3 (job_7).mapTasks[7].attempts[0].startTime`).
    """
    source = Path(path).name
    text, notes = _read_text(path)
    faults: list[Fault] = []
    jobs: dict[str, tuple[int, Job]] = {}
    for number, value in enumerate(_objects(text, "job", faults, notes), start=1):
        job = _job(value, number, faults)
        if job is None:
            continue
        first, same = jobs.setdefault(job.id, (number, job))
        if first == number:
            continue
        if job == same:
            notes.append(f"{job.id}: recorded again as job {number}, the same in all that is read; kept once")
        else:
            faults.append(Fault(_place(number, job.id), f"has the id of job {first} but not its content"))
    faults.extend(_repeated_tasks(jobs.values()))
    if not jobs and not faults:
        why = "the file was cut before its end" if notes else "a Rumen trace is JSON objects, one after the other"
        faults.append(Fault("", f"there is no complete job in it; {why}"))
    if faults:
        raise InputError(faults, str(path))
    return Trace(source, tuple(job for _, job in jobs.values()), tuple(notes))


def read_topology(path: str | os.PathLike[str]) -> dict[str, str | None]:
    """Read a Rumen topology (nested `{name, children}`: root, rack, host) as a mapping of host to rack.

    A record without `children` is a host; one with an empty list is a rack without hosts. Between root and host there
    may be no rack (the host's is None) or several levels, whose names are joined by `/`.

    Raises
    ------
    InputError
        The file is missing, no text, malformed, no topology, without hosts, or names a host twice.
    """
    text, notes = _read_text(path)
    faults: list[Fault] = []
    roots = list(_objects(text, "object", faults, notes))
    if notes:
        faults.append(Fault("", "the file was cut before its end"))
    elif not faults and len(roots) != 1:
        faults.append(Fault("", f"a topology is one JSON object, not {len(roots)}"))
    racks: dict[str, str | None] = {}
    places: dict[str, str] = {}
    # A stack, not recursion: the file decides how deep the levels go. Names of the levels above leave out the root's.
    pending: list[tuple[_Record, tuple[str, ...]]] = [] if faults else [(_Record(roots[0], "", faults), ())]
    while pending:
        record, above = pending.pop()
        name = record.name("name", required=bool(record.place))
        if record.value.get("children") is not None:
            inside = (*above, _unescaped(name or "")) if record.place else ()
            pending.extend((child, inside) for child in reversed(record.records("children")))
        elif record.place and name is not None:
            host = _unescaped(name)
            if not host:
                record.fault("name", "names no host")
            elif host in racks:
                record.fault("name", f'host "{host}" stands at {places[host]} already, and a host has one rack')
            else:
                racks[host] = "/".join(filter(None, above)) or None
                places[host] = record.place
    if not racks and not faults:
        faults.append(Fault("", "a topology without hosts; it is nested {name, children}: root, rack, host"))
    if faults:
        raise InputError(faults, str(path))
    return racks


def _read_text(path: str | os.PathLike[str]) -> tuple[str, list[str]]:
    """The text of a plain or gzipped file (told apart by content), and a note where its compressed data are cut."""
    notes = []
    chunks = io.BytesIO()
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            stream = gzip.GzipFile(fileobj=file) if packed else file
            try:
                while chunk := stream.read1(1 << 20):
                    chunks.write(chunk)
                    if chunks.tell() > LARGEST_TEXT:
                        limit = f"unpacks to more than {LARGEST_TEXT >> 20} MiB; split it into smaller files"
                        raise InputError([Fault("", limit)], str(path))
            except EOFError:
                notes.append("the compressed data were cut before their end; what comes before is read")
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError([Fault("", f"the compressed data are damaged ({error})")], str(path)) from None
    except OSError as error:
        raise InputError([Fault("", f"cannot be read ({error.strerror or error})")], str(path)) from None
    data = chunks.getvalue()
    try:
        return data.decode("utf-8-sig"), notes
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return data[: error.start].decode("utf-8-sig"), notes
        raise InputError([Fault(f"byte {error.start}", f"is no UTF-8 text ({error.reason})")], str(path)) from None


class _Repeating(dict[str, Any]):
    """A JSON object that names a key twice; it is reported when something is read from it."""

    repeated: tuple[str, ...] = ()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) == len(pairs):
        return record
    repeating = _Repeating(record)
    repeating.repeated = tuple(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
    return repeating


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
_SPACE = re.compile(r"[ \t\r\n]*")
#: What may stand at the end of a log that was cut within a literal or a number.
_CUT_WORD = re.compile(r"|t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\.|[eE][+-]?")


def _objects(text: str, noun: str, faults: list[Fault], notes: list[str]) -> Iterator[Any]:
    """The JSON values of a text, one after the other, up to its end, to where it was cut, or to a syntax fault."""
    place, number = _SPACE.match(text).end(), 0  # type: ignore[union-attr]
    while place < len(text):
        number += 1
        try:
            value, place = _DECODER.raw_decode(text, place)
        except json.JSONDecodeError as error:
            if _is_cut(error, text):
                notes.append(f"the file ends within {noun} {number}; the complete ones before it are kept")
            else:
                where = f"line {error.lineno}, column {error.colno}"
                faults.append(Fault(f"{noun} {number}", f"malformed JSON at {where}: {error.msg}"))
            return
        except RecursionError:
            faults.append(Fault(f"{noun} {number}", "is nested too deeply for a Rumen file"))
            return
        except ValueError as error:
            faults.append(Fault(f"{noun} {number}", f"holds a number that cannot be read ({error})"))
            return
        yield value
        place = _SPACE.match(text, place).end()  # type: ignore[union-attr]


def _is_cut(error: json.JSONDecodeError, text: str) -> bool:
    """Whether more text could have mended a syntax fault: then the log was cut, and is not malformed."""
    if error.msg.startswith("Unterminated string"):
        return True
    if error.msg.startswith("Invalid \\u"):
        return len(text) - error.pos < 6
    rest = text[error.pos : error.pos + 16]
    return _CUT_WORD.fullmatch(rest.strip()) is not None and error.pos + len(rest) == len(text)


def _shown(value: Any) -> str:
    """A JSON value as a message shows it: in its own notation, shortened."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _unescaped(name: str) -> str:
    r"""A host or rack name without the backslashes of a regular expression, and without slashes at its ends.

    >>> _unescaped(r"194\.6\.129\.64")
    '194.6.129.64'
    """
    if "\\" in name:  # seldom: a plain name costs no search
        name = re.sub(r"\\(.)", r"\1", name)
    return name.strip("/")


class _Record:
    """A JSON object and its place; a field of a wrong type or value becomes a fault and counts as unknown."""

    __slots__ = ("faults", "is_object", "place", "value")

    def __init__(self, value: Any, place: str, faults: list[Fault]) -> None:
        self.place, self.faults, self.is_object = place, faults, isinstance(value, dict)
        self.value: dict[str, Any] = value if isinstance(value, dict) else {}
        if not self.is_object:
            faults.append(Fault(place, f"must be an object, not {_shown(value)}"))
        elif isinstance(value, _Repeating):
            for key in value.repeated:
                self.fault(key, "is named twice in one object")

    def at(self, key: str) -> str:
        """The place of a field."""
        return f"{self.place}.{key}" if self.place else key

    def fault(self, key: str, message: str) -> None:
        """Note what is wrong with a field."""
        self.faults.append(Fault(self.at(key), message))

    def name(self, key: str, required: bool = False) -> str | None:
        """A printable string that is not empty; None where absent or null."""
        value = self.value.get(key)
        if value is None:
            if required and self.is_object:
                self.fault(key, "is missing")
            return None
        return self._name(value, key)

    def _name(self, value: Any, key: str) -> str | None:
        if not isinstance(value, str):
            self.fault(key, f"must be a string, not {_shown(value)}")
        elif not value or not value.isprintable():
            self.fault(key, f"must be a non-empty string of printable characters, not {_shown(value)}")
        else:
            return value
        return None

    def host(self, key: str) -> Location | None:
        """A host by its path (`/rack/host`, or the bare host)."""
        path = self.name(key)
        return None if path is None else self._located(path.strip("/").split("/"), key)

    def layers(self, key: str) -> Location | None:
        """A host by its layers (`["rack", "host"]`), with more racks or none before the host."""
        before = len(self.faults)
        names = [self._name(value, f"{key}[{index}]") for index, value in enumerate(self.items(key))]
        if not self.is_object or len(self.faults) > before:
            return None
        return self._located([name for name in names if name is not None], key)

    def _located(self, path: Sequence[str], key: str) -> Location | None:
        *racks, host = [_unescaped(name) for name in path] or [""]
        if not host:
            self.fault(key, "names no host")
            return None
        return Location(host, "/".join(filter(None, racks)) or None)

    def amount(self, key: str) -> int | None:
        """A time or a number of bytes; None where absent, null or -1."""
        value = self.value.get(key)
        if value is None or value == -1:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            self.fault(key, f"must be a whole number, not {_shown(value)}")
        elif value < 0:
            self.fault(key, f"{_shown(value)} is negative; only -1 stands for unknown")
        elif value > LARGEST:
            self.fault(key, f"{_shown(value)} is past 2^53")
        else:
            return value
        return None

    def items(self, key: str) -> list[Any]:
        """A list; empty where absent or null."""
        value = self.value.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self.fault(key, f"must be a list, not {_shown(value)}")
            return []
        return value

    def records(self, key: str) -> list[_Record]:
        """A list of objects; empty where absent or null."""
        place = self.at(key)
        return [_Record(value, f"{place}[{index}]", self.faults) for index, value in enumerate(self.items(key))]


def _place(number: int, job: str | None) -> str:
    return f"job {number}" if job is None else f"job {number} ({job})"


def _job(value: Any, number: int, faults: list[Fault]) -> Job | None:
    """One job; None without an id, when nothing could refer to it."""
    if isinstance(value, list):
        faults.append(Fault(_place(number, None), "is a list; a Rumen trace is JSON objects, one after the other"))
        return None
    named = value.get("jobID") if isinstance(value, dict) else None
    usable = isinstance(named, str) and re.fullmatch(r"[\w.-]{1,100}", named, re.ASCII) is not None
    record = _Record(value, _place(number, named if usable else None), faults)
    job = record.name("jobID", required=True)
    if job is not None and not usable:
        record.fault("jobID", f"{_shown(job)} must be up to 100 letters, digits, _, - and .: it becomes a file name")
    tasks = [_task(task, kind) for key, kind in _KINDS for task in record.records(key)]
    user, submit, finish = record.name("user"), record.amount("submitTime"), record.amount("finishTime")
    if job is None:
        return None
    return Job(job, user, submit, finish, tuple(task for task in tasks if task is not None))


def _task(record: _Record, kind: TaskKind) -> Task | None:
    task = record.name("taskID", required=True)
    replicas = [place.layers("layers") for place in record.records("preferredLocations")]
    attempts = [_attempt(attempt) for attempt in record.records("attempts")]
    input_bytes = record.amount("inputBytes")
    if task is None:
        return None
    return Task(task, kind, input_bytes, tuple(place for place in replicas if place is not None), tuple(attempts))


def _attempt(record: _Record) -> Attempt:
    location = record.host("hostName")
    if (location is None or location.rack is None) and record.value.get("location") is not None:
        location = _Record(record.value["location"], record.at("location"), record.faults).layers("layers") or location
    return Attempt(
        successful=record.name("result") in SUCCESSFUL,
        location=location,
        start=record.amount("startTime"),
        finish=record.amount("finishTime"),
        hdfs_bytes_read=record.amount("hdfsBytesRead"),
        map_output_bytes=record.amount("mapOutputBytes"),
        reduce_shuffle_bytes=record.amount("reduceShuffleBytes"),
    )


def _repeated_tasks(jobs: Iterable[tuple[int, Job]]) -> Iterator[Fault]:
    """Ids that two tasks share, which an instance cannot hold."""
    owner: dict[str, str] = {}
    for number, job in jobs:
        for task in job.tasks:
            if task.kind == "other":
                continue
            if task.id in owner:
                yield Fault(_place(number, job.id), f'task "{task.id}" is recorded in {owner[task.id]} already')
            owner.setdefault(task.id, job.id)
