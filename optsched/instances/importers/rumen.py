r"""Importer of Hadoop Rumen traces, recorded from a job tracker's log: documents of the instance format.

A document is a plain dict; the instance reader checks and reads it.

A trace is a concatenation of JSON objects, one for each job (neither an array nor a line each); a topology is one
nested object. Both are foreign formats: the importer reads only what an import needs. Rumen records the output of each
map and the input of each reduce, but not between which pairs: a shuffle is made only on request. What the files leave
open is decided here, and labelled in each document:

* backslashes of host names escaped for a regular expression are dropped: `194\.6` is host `194.6`;
* -1 is "unknown" wherever a time or a number of bytes is expected;
* a megabyte is 10^6 bytes, a second 1000 of Rumen's milliseconds, and time 0 the first submit of the chosen jobs;
* a task ran where the last of its successful attempts ran (earlier ones were lost and repeated);
* the cluster is every host of the topology and of the whole trace, for any choice of jobs.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Meta
from msgspec import field as stored

from optsched.core.brief import counted
from optsched.core.errors import Fault, InputError, UsageError, nearest
from optsched.instances.families.base import ASSUMED, proportional_shuffle
from optsched.instances.importers import IMPORTERS, Imported
from optsched.instances.importers.foreign import (
    BYTES_PER_MB,
    Amount,
    Foreign,
    ForeignFile,
    Host,
    Location,
    Name,
    located,
    located_at,
    most_at_once,
    parse_slots,
    stem,
    timed,
    unescaped,
)

# -- what the importer makes -----------------------------------------------------------------------------------------

#: Locality costs of a node-local, rack-local and off-rack task: Hadoop's own three levels.
LEVELS = (0, 1, 2)

#: Hops on a node, in a rack and beyond it, if distances are requested: through no, one and two levels of switches.
HOPS = {"node": 0, "rack": 2, "off_rack": 4}


def import_rumen(
    trace: str | os.PathLike[str],
    topology: str | os.PathLike[str] | None = None,
    jobs: Sequence[str] = (),
    slots: str | int = "observed",
    name: str | None = None,
    split: bool = False,
    shuffle: str = "none",
    maps: str = "waiting",
    unsuccessful: str = "keep",
) -> Imported:
    """Make instance documents of a Rumen trace: a snapshot in which all tasks of the chosen jobs wait.

    `trace` and `topology` are files, plain or gzipped; without a topology the trace names the racks and hosts. `jobs`
    are ids; none means all that have maps. `name` is by default that of the file, and of the job if one was named; with
    `split`, a document for each job, it comes before the job id. Names made from file and job (letters, digits, `_`,
    `-`, `.`) are valid file names.

    `slots` `"observed"`: each node has exactly the slots that the chosen jobs' successful attempts used there, a quota
    over the jobs' life. Tasks that never succeeded (so used none) are left out. `"inferred"`: every node has the
    largest number of attempts of the whole trace that ran at once on any node, a lower estimate if nodes are configured
    alike. A number: that many, for maps and for reduces, on every node.

    `shuffle` `"proportional"`: a reduce fetched from the maps of its job in proportion to their output, and nodes are
    `HOPS` apart; both are assumed, and labelled so. Reduces have no entries if the trace lacks their input. `maps`
    `"finished"`: the maps have run where the trace says, and the reduces wait; a map without a record of its run waits
    too. `unsuccessful` `"leave-out"`: tasks that never succeeded are left out, with every value of `slots`. They have
    no duration, so no run can take its times from the trace (`--service recorded`).

    InputError if a file is missing, unreadable or faulty, a host is in two racks, or the chosen jobs have nothing to
    place. UsageError for a job id that is not in the trace, or an option with another value.
    """
    IMPORTERS["rumen"].check(locals())
    per_node = parse_slots(slots, "observed", "inferred")
    log = read_trace(trace)
    racks = None if topology is None else read_topology(topology)
    failed = "observed" if per_node == "observed" else unsuccessful
    chosen, notes = _choose(log, jobs, failed)
    hosts, label, odd = _cluster(log, racks)
    source = f"Rumen trace {log.source}" + ("" if topology is None else f" with topology {Path(topology).name}")
    importer = _Importer(log, source, hosts, label, per_node, shuffle, maps, failed)
    title = stem(log.source, "trace|json|gz", "rumen") if name is None else name
    documents = []
    for part in [(job,) for job in chosen] if split else [tuple(chosen)]:
        of_one_job = split or (len(jobs) == 1 and name is None)
        document, part_notes = importer.document(part, f"{title}-{part[0].id}" if of_one_job else title)
        documents.append(document)
        notes.extend(part_notes)
    return Imported(tuple(documents), (*log.notes, *odd, *notes))


#: Why tasks that never succeeded are left out, for a task and for a job without any other: by option.
_LEFT_OUT = {
    "observed": ("since no observed slot was theirs", "so it observed no slots"),
    "leave-out": ("as asked", "and these are left out"),
}


def _choose(trace: Trace, names: Sequence[str], failed: str) -> tuple[list[Job], list[str]]:
    """The jobs to import, in the order of the trace, and a note on each that has nothing to place."""
    known = {job.id: job for job in trace.jobs}
    wanted = set(names) or set(known)
    unknown = sorted(wanted - set(known))
    if unknown:
        lines = (f'no job "{name}" in {trace.source}; {nearest(name, list(known))}' for name in unknown)
        raise UsageError(*lines)
    chosen, notes = [], []
    for job in trace.jobs:
        if job.id not in wanted:
            continue
        if not job.maps:
            notes.append(f"{job.id}: has no maps; skipped")
        elif failed in _LEFT_OUT and all(task.success is None for task in job.maps):
            notes.append(f"{job.id}: none of its {len(job.maps)} maps succeeded, {_LEFT_OUT[failed][1]}; skipped")
        else:
            chosen.append(job)
    if not chosen:
        reasons = [note.removesuffix("; skipped") for note in notes]
        raise InputError([Fault("", f"nothing to place: {reason}") for reason in reasons], trace.source)
    return chosen, notes


def _natural(name: str | None) -> tuple[bool, list[tuple[int, str]], str]:
    """Key that sorts `n2` before `n10`, and no name last."""
    parts = re.findall(r"0*([0-9]+)|([^0-9]+)", name or "")
    return name is None, [(len(digits), digits) if digits else (0, letters) for digits, letters in parts], name or ""


def _cluster(trace: Trace, topology: dict[str, str | None] | None) -> tuple[dict[str, str | None], str, list[str]]:
    """All hosts of the topology and of the whole trace with their racks, in natural order of rack and name; the label
    of the racks; and oddities. For a rack the topology has precedence over the trace.
    """
    racks = dict(topology or {})
    other: dict[str, str] = {}
    locations: list[Location] = []
    for task in (task for job in trace.jobs for task in job.tasks):
        locations += [*task.replicas, *(attempt.location for attempt in task.attempts if attempt.location is not None)]
    for location in dict.fromkeys(locations):
        rack = racks.setdefault(location.host, location.rack)
        if rack is None:
            racks[location.host] = location.rack
        elif location.rack not in (None, rack):
            other.setdefault(location.host, location.rack or "")
    given = topology or {}
    contradictions = [
        Fault(f'host "{host}"', f'is in rack "{racks[host]}" and in rack "{rack}"; a topology file can say which')
        for host, rack in other.items()
        if given.get(host) is None
    ]
    if contradictions:
        raise InputError(contradictions, trace.source)
    notes = []
    if other:
        host, rack = next(iter(other.items()))
        notes.append(
            f"{counted(len(other), 'host')} in another rack than in the topology file, which is believed"
            f' ("{host}": "{rack}")'
        )
    lost = sum(rack is None for rack in racks.values())
    if lost:
        notes.append(f"{counted(lost, 'host')} of {len(racks)} in no known rack, so off-rack from all others")
    label = "from the trace's own locations, there being no topology file"
    if topology is not None:
        label = "from the topology file; of hosts that it does not name, from the trace"
    if lost:
        label += f"; unknown for {lost} of {counted(len(racks), 'node')}"
    ordered = sorted(racks.items(), key=lambda item: (_natural(item[1]), _natural(item[0])))
    return dict(ordered), label, notes


#: How often each oddity occurred in one job, by kind of task ("" for the job itself).
Oddities = Counter[tuple[str, str]]


@dataclass(frozen=True)
class _Importer:
    """Makes documents of some jobs of one trace, and computes once what they share."""

    trace: Trace
    source: str
    racks: dict[str, str | None]
    rack_label: str
    slots: str | int
    shuffle: str
    maps: str
    failed: str

    @cached_property
    def per_node(self) -> dict[str, int]:
        """Slots of each kind of every node; empty if they are the observed ones."""
        if isinstance(self.slots, int):
            return {"map": self.slots, "reduce": self.slots}
        if self.slots == "observed":
            return {}
        tasks = (task for job in self.trace.jobs for task in job.tasks)
        most = most_at_once((task.kind, one.location, one.start, one.finish) for task in tasks for one in task.attempts)
        # A tracker has at least one slot of a kind, even if the trace shows none in use.
        return {kind: max(1, most.get(kind, 0)) for kind in ("map", "reduce")}

    def document(self, jobs: Sequence[Job], name: str) -> tuple[dict[str, Any], list[str]]:
        """One document of the given jobs, and the notes on its oddities."""
        origin = min((job.submit for job in jobs if job.submit is not None), default=None)
        records: list[dict[str, Any]] = []
        tasks: list[dict[str, Any]] = []
        notes: list[str] = []
        read = 0
        for job in jobs:
            oddities = Oddities()
            records.append(_job_record(job, origin, oddities))
            for task, record in self._tasks(job, origin, oddities):
                tasks.append(record)
                read += task.kind == "map" and task.input_bytes is None and "size" in record
            for (kind, what), times in oddities.items():  # `job_7: 3 of 20 maps name no replica; off-rack everywhere`
                of = f"{times} of {counted(sum(task.kind == kind for task in job.tasks), kind)} " if kind else ""
                notes.append(f"{job.id}: {of}{what}")
        placed = {"map": Counter[str](), "reduce": Counter[str]()}
        for record in tasks:
            placed[record["kind"]][record.get("observed", "")] += 1
        counts = {kind: sum(of_kind.values()) for kind, of_kind in placed.items()}
        users = dict.fromkeys(job.user for job in jobs if job.user is not None)
        nodes = self._nodes(placed)
        document: dict[str, Any] = {
            "format": "optsched/1",
            "name": name,
            "description": f"{counted(counts['map'], 'map')} and {counted(counts['reduce'], 'reduce')} of "
            f"{counted(len(jobs), 'job')} that Hadoop ran on a cluster of {counted(len(self.racks), 'node')}, "
            + ("as if all of them were waiting at once." if self.maps == "waiting" else "as if only reduces waited."),
            "source": f"{self.source}; {'job' if len(jobs) == 1 else 'jobs'} {', '.join(job.id for job in jobs)}",
            "labels": self._labels(counts, read, set().union(*nodes, *records, *tasks)),
            "parameters": {"lsap": {"levels": list(LEVELS)}},
            "nodes": nodes,
            "groups": [{"id": user} for user in users],
            "jobs": records,
            "tasks": tasks,
        }
        if not users:
            del document["groups"]
        if self.shuffle == "proportional":
            document |= {"shuffle": _shuffle(jobs, {task["id"] for task in tasks}), "topology": {"hops": HOPS}}
            document["labels"] |= {
                "shuffle": f"{ASSUMED}; no entries for reduces for which the trace does not say what they fetched",
                "topology": "assumed: hops 0 on a node, 2 in a rack, 4 beyond it",
            }
        if notes:
            document["labels"]["notes"] = "; ".join(notes)
        return document, notes

    def _tasks(self, job: Job, origin: int | None, oddities: Oddities) -> Iterator[tuple[Task, dict[str, Any]]]:
        """The imported maps and reduces of a job, with their records."""
        for task in job.tasks:
            if task.kind == "other":
                continue
            if task.success is None and self.failed in _LEFT_OUT:
                oddities[task.kind, f"never succeeded: left out, {_LEFT_OUT[self.failed][0]}"] += 1
                continue
            record = _task_record(job, task, origin, oddities)
            if self.maps == "finished" and task.kind == "map" and "observed" in record:
                record |= {"state": "finished", "node": record["observed"]}
            yield task, record

    def _nodes(self, placed: dict[str, Counter[str]]) -> list[dict[str, Any]]:
        nodes = []
        for host, rack in self.racks.items():
            per_node = self.per_node or {kind: counts[host] for kind, counts in placed.items()}
            node: dict[str, Any] = {"id": host} if rack is None else {"id": host, "rack": rack}
            for field, kind in (("slots", "map"), ("reduce_slots", "reduce")):
                node[field] = node[f"idle_{field}"] = per_node[kind]
            nodes.append(node)
        return nodes

    def _labels(self, counts: dict[str, int], read: int, fields: set[str]) -> dict[str, str]:
        """What is inferred or chosen, for each occurring field."""
        if self.slots == "observed":
            slots = (
                "observed: as many on each node as {kind}s of these jobs succeeded there; a quota over the life of the "
                "jobs, not slots that were free at once"
            )
        elif self.slots == "inferred":
            slots = (
                "inferred: on every node the largest number of {kind} attempts of the whole trace that ran at once on "
                "any one node, at least 1; a lower estimate, which takes all nodes to be configured alike"
            )
        else:
            slots = f"given: {self.slots} on every node, none of it recorded"
        labels = {
            "state": "inferred: all tasks of these jobs wait at once, though Hadoop met them one after the other"
            if self.maps == "waiting"
            else "inferred: all maps have run where the trace says and all reduces wait; Hadoop starts some before",
            "rack": self.rack_label,
            "slots": slots.format(kind="map"),
            "reduce_slots": slots.format(kind="reduce"),
            "size": f"MB of 10^6 bytes; where it is not recorded ({read} of {counted(counts['map'], 'map')}), what "
            "the successful attempt read from HDFS (a map) or fetched (a reduce)",
            "observed": "the node of the task's last successful attempt",
            "start": "of the observed attempt, in s since the first submit of these jobs",
            "duration": "of the observed attempt, wherever it ran: a placement elsewhere might take another time",
            "filter_ratio": "output over input bytes of those successful maps that record both",
        }
        return {field: label for field, label in labels.items() if field == "state" or field in fields}


def _task_record(job: Job, task: Task, origin: int | None, oddities: Oddities) -> dict[str, Any]:
    record: dict[str, Any] = {"id": task.id, "job": job.id, "kind": task.kind}

    def odd(what: str) -> None:
        oddities[task.kind, what] += 1

    if task.kind == "map":
        hosts = list(dict.fromkeys(location.host for location in task.replicas))
        if hosts:
            record["replicas"] = hosts
        else:
            odd("name no replica; off-rack everywhere")
        if len(hosts) < len(task.replicas):
            odd("name a replica twice; kept once")
    success = task.success
    size = _size(task)
    if size is None:
        odd("have no known size")
    else:
        record["size"] = size / BYTES_PER_MB
    if success is None or success.location is None:
        odd("never succeeded; kept without an observed node")
        return record
    record["observed"] = success.location.host
    when, what = timed(success.start, success.finish, job.submit, origin)
    for each in what:
        odd(each)
    return record | when


def _size(task: Task) -> int | None:
    """Input of a task in bytes: as recorded, else the input that its successful attempt read (a map) or fetched."""
    if task.input_bytes is not None:
        return task.input_bytes
    if task.success is None:
        return None
    return task.success.hdfs_bytes_read if task.kind == "map" else task.success.reduce_shuffle_bytes


def _shuffle(jobs: Sequence[Job], taken: set[str]) -> list[dict[str, Any]]:
    """Entries between those maps and reduces of each job that are in the document (`taken`)."""
    entries: list[dict[str, Any]] = []
    for job in jobs:
        kept = [task for task in job.tasks if task.id in taken]
        maps = [task for task in kept if task.kind == "map"]
        fetched = [(task.id, size) for task in kept if task.kind == "reduce" and (size := _size(task)) is not None]
        output = [task.success.map_output_bytes or 0 if task.success else 0 for task in maps]
        found = proportional_shuffle(
            np.zeros(len(maps), dtype=np.int64),
            np.array(output, dtype=np.float64),
            np.zeros(len(fetched), dtype=np.int64),
            np.array([size / BYTES_PER_MB for _, size in fetched], dtype=np.float64),
        )
        names = [*(task.id for task in maps), *(name for name, _ in fetched)]
        entries.extend(
            {"map": names[sender], "reduce": names[receiver], "size": size}
            for sender, receiver, size in zip(
                found.map.tolist(), found.reduce.tolist(), found.size.tolist(), strict=True
            )
        )
    return entries


def _job_record(job: Job, origin: int | None, oddities: Oddities) -> dict[str, Any]:
    record: dict[str, Any] = {"id": job.id}
    if job.user is not None:
        record["group"] = job.user
    if job.submit is not None and origin is not None:
        record["arrival"] = (job.submit - origin) / 1000
    else:
        oddities["", "has no submit time; arrival left out"] += 1
    if job.finish is None:
        oddities["", "has no finish time: its log was cut before its end, and later tasks may be missing"] += 1
    read = written = 0
    for task in job.maps:
        size, success = _size(task), task.success
        if size is not None and success is not None and success.map_output_bytes is not None:
            read, written = read + size, written + success.map_output_bytes
    if read:
        record["filter_ratio"] = written / read
    return record


# -- the two file formats -------------------------------------------------------------------------------------------

#: The names of a successful attempt before and since Hadoop 2.
SUCCESSFUL = ("SUCCESS", "SUCCEEDED")

TaskKind = Literal["map", "reduce", "other"]


class _Layers(Foreign):
    layers: Annotated[list[Host], Meta(min_length=1)]


class Attempt(Foreign, rename="camel"):
    """One attempt of a task: times in ms since the epoch, bytes as counted, None if unknown."""

    result: Name | None = None
    host_name: Host | None = None
    named: _Layers | None = stored(default=None, name="location")
    start: Amount | None = stored(default=None, name="startTime")
    finish: Amount | None = stored(default=None, name="finishTime")
    hdfs_bytes_read: Amount | None = None
    map_output_bytes: Amount | None = None
    reduce_shuffle_bytes: Amount | None = None

    @property
    def location(self) -> Location | None:
        """The host: by its path, unless that is bare and the attempt names its layers, too."""
        bare = None if self.host_name is None else located_at(self.host_name)
        if self.named is not None and (bare is None or bare.rack is None):
            return located(self.named.layers)
        return bare


class Task(Foreign):
    """A task, as recorded: replicas may repeat."""

    kind: ClassVar[TaskKind] = "other"

    id: Name = stored(name="taskID")
    input_bytes: Amount | None = stored(default=None, name="inputBytes")
    preferred: list[_Layers] = stored(default_factory=list, name="preferredLocations")
    attempts: list[Attempt] = stored(default_factory=list)

    @property
    def replicas(self) -> list[Location]:
        """The hosts that hold its block."""
        return [located(place.layers) for place in self.preferred]

    @property
    def success(self) -> Attempt | None:
        """The last successful attempt whose host is known."""
        for attempt in reversed(self.attempts):
            if attempt.result in SUCCESSFUL and attempt.location is not None:
                return attempt
        return None


class _Map(Task):
    kind = "map"


class _Reduce(Task):
    kind = "reduce"


#: The id of a job becomes the name of a file.
_JobId = Annotated[
    str, Meta(min_length=1, max_length=100, pattern=r"^[\w.-]+\Z", description="letters, digits, _, - and . only")
]


class Job(Foreign):
    """One job of a trace: times in ms since the epoch, None if unknown."""

    id: _JobId = stored(name="jobID")
    user: Name | None = None
    submit: Amount | None = stored(default=None, name="submitTime")
    finish: Amount | None = stored(default=None, name="finishTime")
    maps: list[_Map] = stored(default_factory=list, name="mapTasks")
    reduces: list[_Reduce] = stored(default_factory=list, name="reduceTasks")
    others: list[Task] = stored(default_factory=list, name="otherTasks")

    @property
    def tasks(self) -> list[Task]:
        """Maps, reduces, then set-up and cleanup, each in the order of the trace."""
        return [*self.maps, *self.reduces, *self.others]


@dataclass(frozen=True, slots=True)
class Trace:
    """The complete jobs of a trace, with the reader's `notes`."""

    source: str
    jobs: tuple[Job, ...]
    notes: tuple[str, ...] = ()


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Read a Rumen trace: a concatenation of JSON objects, one for each job, plain or gzipped.

    Only the fields that an instance needs are read; others, and their contents, are ignored. If a log was cut before
    its end, its complete jobs are read, with a note. A job that is recorded twice alike is kept once, with a note.
    InputError lists all faults, each with its place (`job 3 (job_7).mapTasks[7].attempts[0].startTime`).
    """
    file = ForeignFile(path)
    faults, jobs = file.faults, dict[str, tuple[int, Job]]()
    for number, value in enumerate(file.objects("job"), start=1):
        before = len(faults)
        if isinstance(value, list):
            file.fault(f"job {number}", "is a list; a Rumen trace is JSON objects, one after the other")
            continue
        job = file.record(value, Job, _place(number, value.get("jobID") if isinstance(value, dict) else None))
        if len(faults) > before:
            continue
        first, same = jobs.setdefault(job.id, (number, job))
        if first == number:
            continue
        if job == same:
            again = f"{job.id}: recorded again as job {number}, the same in all that is read; kept once"
            file.notes.append(again)
        else:
            file.fault(_place(number, job.id), f"has the id of job {first} but not its content")
    owner: dict[str, str] = {}
    for number, job in jobs.values():
        for task in (*job.maps, *job.reduces):
            if task.id in owner:  # an instance cannot hold it twice
                file.fault(_place(number, job.id), f'task "{task.id}" is recorded in {owner[task.id]} already')
            owner.setdefault(task.id, job.id)
    why = "the file was cut before its end" if file.notes else "a Rumen trace is JSON objects, one after the other"
    file.end(jobs, f"there is no complete job in it; {why}")
    return Trace(Path(path).name, tuple(job for _, job in jobs.values()), tuple(file.notes))


class _Named(Foreign):
    """A host, or a level above hosts."""

    name: Host
    children: list[_Named] | None = None


class _Root(Foreign):
    """The level above all; its name has no meaning."""

    children: list[_Named] | None = None


def read_topology(path: str | os.PathLike[str]) -> dict[str, str | None]:
    """Read a Rumen topology (nested `{name, children}`: root, rack, host) as a mapping of host to rack.

    A record without `children` is a host; one with an empty list is a rack without hosts. Between root and host there
    may be no rack (the host's is None) or several levels, whose names are joined by `/`. InputError if it is no
    topology, has no hosts, or names a host twice.
    """
    file = ForeignFile(path)
    roots = list(file.objects("object"))
    if file.notes:
        file.fault("", "the file was cut before its end")
    elif not file.faults and len(roots) != 1:
        file.fault("", f"a topology is one JSON object, not {len(roots)}")
    root = None if file.faults else file.record(roots[0], _Root, "")
    racks: dict[str, str | None] = {}
    places: dict[str, str] = {}
    pending: list[tuple[_Named | _Root, str, tuple[str, ...]]] = [] if root is None or file.faults else [(root, "", ())]
    while pending:
        record, place, above = pending.pop()
        host = unescaped(record.name) if isinstance(record, _Named) else ""
        if record.children is not None:
            inside, before = ((*above, host), f"{place}.") if place else ((), "")
            below = [(child, f"{before}children[{row}]", inside) for row, child in enumerate(record.children)]
            pending.extend(reversed(below))
        elif host in racks:
            file.fault(f"{place}.name", f'host "{host}" stands at {places[host]} already, and a host has one rack')
        elif place:
            racks[host] = "/".join(filter(None, above)) or None
            places[host] = place
    file.end(racks, "a topology without hosts; it is nested {name, children}: root, rack, host")
    return racks


def _place(number: int, job: Any) -> str:
    usable = isinstance(job, str) and len(job) <= 100 and job.isprintable()
    return f"job {number} ({job})" if usable else f"job {number}"
