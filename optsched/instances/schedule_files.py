"""Schedule files (`optsched-schedule/1`): on which node each task of an instance runs, and from when on.

A schedule by itself, without a problem and without a claim, as a simulator or a cluster's log tells it. Starts are
whole microseconds on the clock of the instance. Whether it is feasible is for a problem to say.
"""

from __future__ import annotations

import os
from typing import Any

from msgspec import Struct

from optsched.errors import Fault, expect
from optsched.instance import Instance
from optsched.instances.documents.claim_archive import Apart
from optsched.instances.documents.claims import Text, file_content, read_document
from optsched.instances.documents.decisions import decided, schedule_of
from optsched.instances.documents.writing import write_whole
from optsched.instances.files import content
from optsched.schedule import Schedule

__all__ = [
    "SCHEDULE",
    "parse_schedule",
    "read_schedule",
    "schedule_content",
    "schedule_document",
    "write_schedule",
]

#: The value of `format` that this module reads and writes.
SCHEDULE = "optsched-schedule/1"


class _Document(Struct, forbid_unknown_fields=True):
    instance_sha256: Text
    schedule: Any


def schedule_document(schedule: Schedule, instance: Instance, apart: Apart | None = None) -> dict[str, Any]:
    """A schedule as its file holds it: node and start of every task by ids, null of one that does not run.

    Parameters
    ----------
    schedule
        Of the tasks of `instance`.
    instance
        Which gives the ids.
    apart
        Of an archive: takes what is long, of which the document has null.

    Raises
    ------
    UsageError
        If it has another number of tasks than the instance, or a node that this lacks.

    Examples
    --------
    >>> from optsched.instance import Cluster, Workload
    >>> instance = Instance(Cluster(["n1"]), Workload(["t1", "t2"]))
    >>> schedule_document(Schedule.of([(0, 1_500_000), None]), instance)["schedule"]
    {'t1': {'node': 'n1', 'start': 1500000}, 't2': None}
    """
    expect(schedule, Schedule, "a schedule file holds a schedule", "a solution's is solution.decision")
    expect(instance, Instance, "a schedule file names the ids of an instance")
    return {
        "format": SCHEDULE,
        "instance_sha256": instance.sha256,
        "schedule": decided(schedule, instance, apart, "schedule"),
    }


def schedule_content(schedule: Schedule, instance: Instance, path: str | os.PathLike[str] = "") -> bytes:
    """What a schedule file of that name holds: an archive where it ends in `.npz`, else JSON text."""
    return file_content(path, instance, lambda apart: schedule_document(schedule, instance, apart))


def write_schedule(schedule: Schedule, instance: Instance, path: str | os.PathLike[str]) -> None:
    """Write a schedule file: the whole file or none.

    Parameters
    ----------
    schedule, instance
        As for `schedule_document`.
    path
        The file; one that exists is replaced.

    Raises
    ------
    InputError
        If it cannot be written there.
    UsageError
        If the schedule is not of the instance.
    """
    expect(path, (str, os.PathLike), "write_schedule takes a path")
    write_whole(path, schedule_content(schedule, instance, path))


def read_schedule(path: str | os.PathLike[str], instance: Instance) -> Schedule:
    """Read a schedule file.

    Parameters
    ----------
    path
        The file.
    instance
        What it is of.

    Raises
    ------
    InputError
        If the file is missing, unreadable, wrong, or of another instance; lists every fault with its place.
    """
    expect(path, (str, os.PathLike), "read_schedule takes a path")
    expect(instance, Instance, "read_schedule takes an instance")
    return parse_schedule(content(path), instance, os.fspath(path))


def parse_schedule(content: Any, instance: Instance, source: str = "") -> Schedule:
    """What `read_schedule` reads, from the bytes of a file or the document in it; `source` is its name, for messages.

    Raises
    ------
    InputError
        If it is wrong; lists every fault with its place.
    """
    return read_document(
        content, SCHEDULE, _Document, "schedule", source, lambda document, faults: _schedule(document, instance, faults)
    )


def _schedule(document: _Document, instance: Instance, faults: list[Fault]) -> Schedule:
    """The schedule that a document of the right form stands for; what is wrong with it is added to `faults`."""
    if document.instance_sha256 != instance.sha256:
        ours, theirs = instance.sha256[:12], document.instance_sha256[:12]
        told = f"is of {theirs}, and {instance.name or 'the instance'} is {ours}: give the instance it is of"
        faults.append(Fault("instance_sha256", told))
        return Schedule.empty(len(instance.workload))
    return schedule_of(document.schedule, instance, faults)
