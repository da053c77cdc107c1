"""Importer of the files of Hadoop's Scheduler Load Simulator (SLS): jobs, nodes, and queue weights.

Job and node files are JSON objects one after the other; queue weights are a Fair Scheduler allocation file. For each
container a job names a host, a start and an end. SLS makes such files from Hadoop's logs, so these are where and when
it ran. SLS requests that host from the scheduler. So the host is also assumed to have the container's data, and
labelled so. No sizes are recorded.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal
from xml.etree import ElementTree

from msgspec import Meta, field

from optsched.instances.documents.diagnosis import shown
from optsched.instances.importers import Imported
from optsched.instances.importers.foreign import (
    LARGEST,
    Amount,
    Foreign,
    ForeignFile,
    Host,
    Location,
    Name,
    located_at,
    most_at_once,
    parse_slots,
    stem,
    timed,
)

#: The id of a job, which begins the ids of its tasks, or of a node.
_Short = Annotated[str, Meta(min_length=1, max_length=200)]


class _Container(Foreign, rename="container.{}".format):
    """A task: its kind, the host that SLS requests, its start and end in ms."""

    type: Literal["map", "reduce"]
    host: Host | None = None
    start: Amount | None = field(default=None, name="container.start.ms")
    end: Amount | None = field(default=None, name="container.end.ms")

    @property
    def location(self) -> Location | None:
        """The host that SLS requests."""
        return None if self.host is None else located_at(self.host)


class _Job(Foreign):
    """A job: its arrival in ms, its queue and its containers."""

    id: _Short = field(name="job.id")
    queue: Name | None = field(default=None, name="job.queue.name")
    start: Amount | None = field(default=None, name="job.start.ms")
    containers: list[_Container] = field(default_factory=list, name="job.tasks")


class _Machine(Foreign):
    node: _Short
    memory: Amount | None = field(default=None, name="memory-mb")
    vcores: Amount | None = None


class _Rack(Foreign):
    rack: Name
    nodes: list[_Machine] = field(default_factory=list)


#: The rack and amounts of resources of each node, by its name.
_Hosts = dict[str, dict[str, Any]]


def import_sls(
    jobs: str | os.PathLike[str],
    nodes: str | os.PathLike[str] | None = None,
    queues: str | os.PathLike[str] | None = None,
    slots: str | int = "inferred",
    name: str | None = None,
) -> Imported:
    """Make an instance document of SLS's files, in which all containers of all jobs wait to be placed.

    `jobs` is the job file, plain or gzipped. `nodes` is the node file; without it the nodes are the hosts that the jobs
    name. `queues` is a Fair Scheduler allocation file with the queues' weights; without it all have the same weight.
    `slots` `"inferred"`: on every node the most containers of a kind that ran at once on any node, a lower estimate; a
    number: that many, for maps and for reduces. `name` is by default that of the job file.

    InputError lists every fault of a file with its place; UsageError if `slots` is something else.
    """
    slots = parse_slots(slots, "inferred")
    file = ForeignFile(jobs)
    log, notes = _read_jobs(file), file.notes
    weights = None if queues is None else _read_weights(queues)
    hosts = _hosts(log, file) if nodes is None else _read_nodes(nodes)
    runs = ((one.type, one.location, one.start, one.end) for job in log for one in job.containers)
    per_node = slots if isinstance(slots, int) else max([1, *most_at_once(runs).values()])
    queued = dict.fromkeys(job.queue for job in log if job.queue is not None)
    known = dict.fromkeys(queued, 1.0) if weights is None else weights
    absent = [queue for queue in queued if queue not in known]
    notes += [f"queue {queue} has no weight in the allocation file; it weighs 1" for queue in absent]
    origin = min((job.start for job in log if job.start is not None), default=None)
    records, tasks = _records(log, hosts, origin, notes)
    files = [f"job file {Path(jobs).name}"]
    files += [
        f"{noun} {Path(path).name}" for noun, path in (("node file", nodes), ("queues", queues)) if path is not None
    ]
    document: dict[str, Any] = {
        "format": "optsched/1",
        "name": stem(jobs, "json|gz", "sls") if name is None else name,
        "description": f"{len(tasks)} containers of {len(log)} jobs on {len(hosts)} nodes, as if all waited at once.",
        "source": f"SLS {', '.join(files)}",
        "labels": _labels(slots, weights is not None),
        "nodes": [{"id": host, "slots": per_node, "reduce_slots": per_node, **node} for host, node in hosts.items()],
        "groups": [{"id": queue, "weight": known.get(queue, 1.0)} for queue in queued],
        "jobs": records,
        "tasks": tasks,
    }
    if not queued:
        del document["groups"], document["labels"]["weight"]
    return Imported((document,), tuple(notes))


def _labels(slots: str | int, weighed: bool) -> dict[str, str]:
    """What was recorded, inferred and assumed."""
    inferred = "inferred: on every node the most of a kind that ran at once on any node, a lower estimate"
    return {
        "state": "assumed: all containers wait at once, though jobs started one after the other",
        "replicas": "assumed: SLS asks the scheduler for a container on this host, which is taken to hold its data",
        "slots": inferred if slots == "inferred" else f"given: {slots} on every node, for maps and for reduces",
        "arrival": "the job's start, in s since the first job's",
        "observed": "recorded: the host that a container names, which is where it ran in the log behind the file",
        "start": "recorded, in s since the first job's start",
        "duration": "recorded, wherever it ran",
        "weight": "recorded" if weighed else "assumed: no allocation file was given, so 1 each",
    }


def _records(
    log: list[_Job], hosts: _Hosts, origin: int | None, notes: list[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Records of jobs and of their containers; `origin` is the ms at which the first job starts."""
    records: list[dict[str, Any]] = []
    tasks: list[dict[str, Any]] = []
    for job in log:
        record: dict[str, Any] = {"id": job.id}
        if job.queue is not None:
            record["group"] = job.queue
        if job.start is not None and origin is not None:
            record["arrival"] = (job.start - origin) / 1000
        records.append(record)
        odd: Counter[str] = Counter()
        for number, container in enumerate(job.containers, start=1):
            task: dict[str, Any] = {"id": f"{job.id}_c{number}", "job": job.id, "kind": container.type}
            when, what = timed(container.start, container.end, job.start, origin)
            odd.update(what)
            tasks.append(task | _where(container, hosts, odd) | when)
        notes.extend(f"{job.id}: {times} of {len(job.containers)} containers {what}" for what, times in odd.items())
    return records, tasks


def _where(container: _Container, hosts: _Hosts, odd: Counter[str]) -> dict[str, Any]:
    """The host of a container."""
    where = container.location
    if where is None:
        return {}
    if where.host not in hosts:
        odd[f"on hosts that the node file does not have{'; off-rack everywhere' * (container.type == 'map')}"] += 1
        return {}
    if where.rack not in (None, hosts[where.host].get("rack")):
        odd["name another rack than the node file, whose rack is kept"] += 1
    return ({"replicas": [where.host]} if container.type == "map" else {}) | {"observed": where.host}


def _read_jobs(file: ForeignFile) -> list[_Job]:
    jobs: dict[str, _Job] = {}
    for place, job in file.records("job", _Job):
        if job.id and job.id in jobs:
            file.fault(f"{place}.job.id", f"{shown(job.id)} is the id of another job too")
        jobs[job.id] = job
    file.end(jobs, "there is no complete job in it; an SLS job file is JSON objects, one after the other")
    return list(jobs.values())


def _hosts(log: list[_Job], file: ForeignFile) -> _Hosts:
    """The hosts that the jobs name, with their racks."""
    racks: dict[str, str | None] = {}
    for job in log:
        for number, container in enumerate(job.containers, start=1):
            where = container.location
            if where is None:
                continue
            known = racks.setdefault(where.host, where.rack)
            if known != where.rack:
                message = f'host "{where.host}" is in rack {shown(where.rack)} here, and in {shown(known)} before'
                file.fault(f"{job.id}, container {number}", message)
    file.end(racks, "the jobs name no host, and there is no node file")
    return {host: {} if rack is None else {"rack": rack} for host, rack in racks.items()}


def _read_nodes(path: str | os.PathLike[str]) -> _Hosts:
    file = ForeignFile(path)
    nodes: _Hosts = {}
    for place, rack in file.records("rack", _Rack):
        for row, machine in enumerate(rack.nodes):
            if machine.node and machine.node in nodes:
                message = f"{shown(machine.node)} is the name of another node too"
                file.fault(f"{place}.nodes[{row}].node", message)
            amounts = {"memory-mb": machine.memory, "vcores": machine.vcores}
            capacity = {key: amount for key, amount in amounts.items() if amount is not None}
            nodes[machine.node] = {"rack": rack.rack} | ({"capacity": capacity} if capacity else {})
    file.whole()
    file.end(nodes, "there is no node in it; an SLS node file is {rack, nodes: [{node}]}, one a rack")
    return nodes


def _read_weights(path: str | os.PathLike[str]) -> dict[str, float]:
    """Weight of each queue (1 if it has none), by its last name and by its full one (`root.a.b`)."""
    file = ForeignFile(path)
    file.whole()
    file.end()
    if "<!DOCTYPE" in file.text or "<!ENTITY" in file.text:
        raise file.refused("declares a document type; an allocation file needs none")
    try:
        root = ElementTree.fromstring(file.text)
    except ElementTree.ParseError as error:
        line, column = error.position
        message = f"malformed XML: {error.msg.partition(':')[0]}"
        raise file.refused(message, f"line {line}, column {column + 1}") from None
    if root.tag != "allocations":
        raise file.refused(f"the outermost element is {shown(root.tag)}, not allocations")
    weights: dict[str, float] = {}
    waiting = [(element, "root") for element in reversed(root) if element.tag in ("queue", "pool")]
    while waiting:
        element, above = waiting.pop()
        name = element.get("name", "")
        place = f"{above}.{name}" if name else f"{above}.?"
        if not name or not name.isprintable():
            file.fault(place, "a queue needs a name of printable characters")
            continue
        weight = _weight(element, f"{place}.weight", file)
        for key in dict.fromkeys((name, place.removeprefix("root."), place)):
            if key in weights and key == place:
                file.fault(place, "is given twice")
            weights.setdefault(key, weight)
        waiting.extend((child, place) for child in reversed(element) if child.tag in ("queue", "pool"))
    file.end()
    return weights


def _weight(element: ElementTree.Element, place: str, file: ForeignFile) -> float:
    given = [(child.text or "").strip() for child in element if child.tag == "weight"]
    if len(given) > 1:
        file.fault(place, "is given twice")
    if not given:
        return 1.0
    try:
        weight = float(given[0])
    except ValueError:
        file.fault(place, f"must be a number, not {shown(given[0])}")
        return 1.0
    if not 0 <= weight <= LARGEST:
        file.fault(place, f"must be a finite number, 0 or more, not {shown(given[0])}")
        return 1.0
    return weight
