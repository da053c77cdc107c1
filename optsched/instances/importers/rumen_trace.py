r"""Readers of Hadoop Rumen's two file formats: a trace as typed records, a topology as the rack of each host.

A trace is a concatenation of JSON objects, one a job (neither an array nor a line each); a topology is one nested
object. Both are foreign formats: only what an import needs is read, whatever else they hold is ignored. What becomes of
the records is `optsched.instances.importers.rumen`'s business. Decided here:

* backslashes of host names escaped for a regular expression are dropped: `194\.6` is host `194.6`;
* -1 is "unknown" wherever a time or a number of bytes is expected.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from optsched.core.errors import Fault, InputError
from optsched.instances.importers.foreign import JsonObject, Location, json_objects, read_text, shown, unescaped

__all__ = ["Attempt", "Job", "Location", "Task", "TaskKind", "Trace", "read_topology", "read_trace"]

#: How a successful attempt is called before and since Hadoop 2.
SUCCESSFUL = ("SUCCESS", "SUCCEEDED")

TaskKind = Literal["map", "reduce", "other"]
_KINDS: tuple[tuple[str, TaskKind], ...] = (("mapTasks", "map"), ("reduceTasks", "reduce"), ("otherTasks", "other"))


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
    text, notes = read_text(path)
    faults: list[Fault] = []
    jobs: dict[str, tuple[int, Job]] = {}
    for number, value in enumerate(json_objects(text, "job", faults, notes), start=1):
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
    text, notes = read_text(path)
    faults: list[Fault] = []
    roots = list(json_objects(text, "object", faults, notes))
    if notes:
        faults.append(Fault("", "the file was cut before its end"))
    elif not faults and len(roots) != 1:
        faults.append(Fault("", f"a topology is one JSON object, not {len(roots)}"))
    racks: dict[str, str | None] = {}
    places: dict[str, str] = {}
    # A stack, not recursion: the file decides how deep the levels go. Names of the levels above leave out the root's.
    pending: list[tuple[JsonObject, tuple[str, ...]]] = [] if faults else [(JsonObject(roots[0], "", faults), ())]
    while pending:
        record, above = pending.pop()
        name = record.name("name", required=bool(record.place))
        if record.value.get("children") is not None:
            inside = (*above, unescaped(name or "")) if record.place else ()
            pending.extend((child, inside) for child in reversed(record.records("children")))
        elif record.place and name is not None:
            host = unescaped(name)
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


def _place(number: int, job: str | None) -> str:
    return f"job {number}" if job is None else f"job {number} ({job})"


def _job(value: Any, number: int, faults: list[Fault]) -> Job | None:
    """One job; None without an id, when nothing could refer to it."""
    if isinstance(value, list):
        faults.append(Fault(_place(number, None), "is a list; a Rumen trace is JSON objects, one after the other"))
        return None
    named = value.get("jobID") if isinstance(value, dict) else None
    usable = isinstance(named, str) and re.fullmatch(r"[\w.-]{1,100}", named, re.ASCII) is not None
    record = JsonObject(value, _place(number, named if usable else None), faults)
    job = record.name("jobID", required=True)
    if job is not None and not usable:
        record.fault("jobID", f"{shown(job)} must be up to 100 letters, digits, _, - and .: it becomes a file name")
    tasks = [_task(task, kind) for key, kind in _KINDS for task in record.records(key)]
    user, submit, finish = record.name("user"), record.amount("submitTime"), record.amount("finishTime")
    if job is None:
        return None
    return Job(job, user, submit, finish, tuple(task for task in tasks if task is not None))


def _task(record: JsonObject, kind: TaskKind) -> Task | None:
    task = record.name("taskID", required=True)
    replicas = [place.layers("layers") for place in record.records("preferredLocations")]
    attempts = [_attempt(attempt) for attempt in record.records("attempts")]
    input_bytes = record.amount("inputBytes")
    if task is None:
        return None
    return Task(task, kind, input_bytes, tuple(place for place in replicas if place is not None), tuple(attempts))


def _attempt(record: JsonObject) -> Attempt:
    location = record.host("hostName")
    if (location is None or location.rack is None) and record.value.get("location") is not None:
        named = JsonObject(record.value["location"], record.at("location"), record.faults)
        location = named.layers("layers") or location
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
