"""Frontier files (`optsched-frontier/1`): every point with its placement, value and certificates.

Reading checks the form of a file and of its placements. Whether its claims are true is for `optsched.certificates`.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from msgspec import UNSET, Struct

from optsched.decimals import spelled
from optsched.errors import Fault, UsageError, expect
from optsched.fronts import Frontier
from optsched.instance import Instance
from optsched.instances.documents.claim_archive import Apart
from optsched.instances.documents.claims import (
    CertificateDocument,
    LimitName,
    Text,
    certificate_document,
    certificate_of,
    file_content,
    numbers_of,
    read_document,
    versions,
)
from optsched.instances.documents.decisions import decided, moved_from, placement_of
from optsched.instances.documents.writing import write_whole
from optsched.instances.files import LARGEST_FILE, content
from optsched.placement import Placement
from optsched.results import FrontierPoint, Limit

__all__ = [
    "FRONTIER",
    "frontier_content",
    "frontier_document",
    "parse_frontier",
    "read_frontier",
    "write_frontier",
]

#: The value of `format` that this module reads and writes.
FRONTIER = "optsched-frontier/1"


#: All placements of a file take at most so many bytes, 8 a task: what moves nothing is short, and yet is one of them.
_MOST_BYTES = LARGEST_FILE


class _Point(Struct, forbid_unknown_fields=True):
    objective: Any
    certificates: list[CertificateDocument]
    placement: Any = UNSET
    moved: Any = UNSET


class _Document(Struct, forbid_unknown_fields=True):
    problem: Text
    parameters: dict[str, Any]
    instance_sha256: Text
    components: list[Text]
    points: list[_Point]
    complete: bool
    limit: LimitName | None
    versions: dict[str, Any]
    infeasible: CertificateDocument | None = None


def frontier_document(frontier: Frontier, instance: Instance, apart: Apart | None = None) -> dict[str, Any]:
    """A frontier as its file holds it: numbers as in solution files, placements in ids.

    Of each point but the first it has the tasks that run elsewhere than at the point before, which are often few.

    Parameters
    ----------
    frontier
        Of a problem on `instance`, as `optsched.frontier` gives it.
    instance
        Which gives the ids.
    apart
        Of an archive: takes what is long, of which the document has null.

    Raises
    ------
    UsageError
        If it is of another instance, does not say of which, or its placements take more than a gibibyte.

    Examples
    --------
    >>> import optsched
    >>> problem = optsched.problem("latency", "papers/fsy-not-optimal")
    >>> document = frontier_document(optsched.frontier(problem), problem.instance)
    >>> [point["objective"] for point in document["points"]], document["complete"]
    ([[3, 9], [4, 7]], True)
    >>> document["points"][1]["moved"]
    {'t7': 's2'}
    """
    expect(frontier, Frontier, "a frontier file holds a frontier", "find one first: optsched.frontier(problem)")
    expect(instance, Instance, "a frontier file names the ids of an instance")
    if frontier.instance_sha256 != instance.sha256:
        raise UsageError(f"the frontier is of another instance than {instance.name or 'this'}: give the one it is of")
    if too_many := _too_many(len(frontier), instance):
        raise UsageError(too_many)
    shown = frontier.infeasible
    return {
        "format": FRONTIER,
        "problem": frontier.problem,
        "parameters": dict(frontier.parameters),
        "instance_sha256": frontier.instance_sha256,
        "components": list(frontier.components),
        "points": [_point_document(frontier, row, instance, apart) for row in range(len(frontier))],
        "complete": frontier.complete,
        "limit": None if frontier.limit is None else str(frontier.limit),
        **({} if shown is None else {"infeasible": certificate_document(shown, apart, "infeasible")}),
        "versions": versions(),
    }


def _point_document(frontier: Frontier, row: int, instance: Instance, apart: Apart | None) -> dict[str, Any]:
    """A point, of an archive without what `apart` takes."""
    point, place = frontier[row], f"points[{row}]"
    document: dict[str, Any] = {
        "objective": [spelled(value) for value in point.objective],
        "certificates": [
            certificate_document(certificate, apart, f"{place}.certificates[{at}]")
            for at, certificate in enumerate(point.certificates)
        ],
    }
    if row == 0:
        return {**document, "placement": decided(point.placement, instance, apart, f"{place}.placement")}
    tasks = np.flatnonzero(frontier[row - 1].placement.on(instance) != point.placement.on(instance))
    return {**document, "moved": decided(point.placement, instance, apart, f"{place}.moved", tasks)}


def _too_many(points: int, instance: Instance) -> str:
    """That so many placements are not read, as words; empty where they are."""
    taken = 8 * points * len(instance.workload)
    told = f"{points} placements of {len(instance.workload)} tasks take {taken} bytes; at most {_MOST_BYTES} are read"
    return told if taken > _MOST_BYTES else ""


def frontier_content(frontier: Frontier, instance: Instance, path: str | os.PathLike[str] = "") -> bytes:
    """What a frontier file of that name holds: an archive where it ends in `.npz`, else JSON text."""
    return file_content(path, instance, lambda apart: frontier_document(frontier, instance, apart))


def write_frontier(frontier: Frontier, instance: Instance, path: str | os.PathLike[str]) -> None:
    """Write a frontier file: the whole file or none.

    Parameters
    ----------
    frontier, instance
        As for `frontier_document`.
    path
        The file; one that exists is replaced.

    Raises
    ------
    InputError
        If it cannot be written there.
    """
    expect(path, (str, os.PathLike), "write_frontier takes a path")
    write_whole(path, frontier_content(frontier, instance, path))


def read_frontier(path: str | os.PathLike[str], instance: Instance) -> Frontier:
    """Read a frontier file.

    Parameters
    ----------
    path
        The file.
    instance
        What it should be a frontier on. Of one on another instance (by its digest) the points are read without their
        placements, which mean nothing here; `optsched.certify` tells of it.

    Raises
    ------
    InputError
        If the file is missing, unreadable or wrong; lists every fault with its place.
    """
    expect(path, (str, os.PathLike), "read_frontier takes a path")
    expect(instance, Instance, "read_frontier takes an instance")
    return parse_frontier(content(path), instance, os.fspath(path))


def parse_frontier(content: Any, instance: Instance, source: str = "") -> Frontier:
    """What `read_frontier` reads, from the bytes of a file or the document in it; `source` is its name, for messages.

    Raises
    ------
    InputError
        If it is wrong; lists every fault with its place.
    """
    return read_document(
        content, FRONTIER, _Document, "frontier", source, lambda document, faults: _frontier(document, instance, faults)
    )


def _frontier(document: _Document, instance: Instance, faults: list[Fault]) -> Frontier:
    """The frontier that a document of the right form stands for; what is wrong with it is added to `faults`."""
    if len(document.components) != 2:
        faults.append(Fault("components", f"expected two names, got {len(document.components)}"))
        return Frontier(document.problem, ("", ""), (), False, None)
    ours = instance if document.instance_sha256 == instance.sha256 else None
    if too_many := _too_many(len(document.points), instance):
        faults.append(Fault("points", too_many))
        return Frontier(document.problem, ("", ""), (), False, None)
    points: list[FrontierPoint] = []
    for row, point in enumerate(document.points):
        before = points[-1].placement if points else None
        points.append(_point(point, f"points[{row}]", before, ours, faults))
    shown = document.infeasible
    first, second = document.components
    return Frontier(
        document.problem,
        (first, second),
        tuple(points),
        document.complete,
        None if document.limit is None else Limit(document.limit),
        document.parameters,
        document.instance_sha256,
        None if shown is None else certificate_of(shown, "infeasible", ours, faults),
    )


def _point(
    point: _Point, place: str, before: Placement | None, ours: Instance | None, faults: list[Fault]
) -> FrontierPoint:
    """A point, given the placement of the one before; without its own where the instance is another one."""
    objective = numbers_of(point.objective, f"{place}.objective", faults)
    if isinstance(point.objective, list) and len(objective) != 2:
        faults.append(Fault(f"{place}.objective", f"expected two numbers, got {len(objective)}"))
    proofs = [
        certificate_of(entry, f"{place}.certificates[{at}]", ours, faults)
        for at, entry in enumerate(point.certificates)
    ]
    if len(proofs) != 2:
        faults.append(Fault(f"{place}.certificates", f"expected two, one a component, got {len(proofs)}"))
    placement = Placement.of([]) if ours is None else _placement(point, place, before, ours, faults)
    return FrontierPoint(objective, placement, tuple(proofs))  # type: ignore[arg-type]  # of another number is a fault


def _placement(
    point: _Point, place: str, before: Placement | None, instance: Instance, faults: list[Fault]
) -> Placement:
    """The placement of a point: given whole, or as what runs elsewhere than at the point before."""
    if (point.placement is UNSET) == (point.moved is UNSET):
        told = "give the placement, or in its place moved (what runs elsewhere than at the point before)"
        faults.append(Fault(f"{place}.placement", told))
    elif point.moved is UNSET:
        return placement_of(point.placement, instance, faults, f"{place}.placement")
    elif before is None:
        faults.append(Fault(f"{place}.moved", "there is no point before: give the placement, {task: node or null}"))
    else:
        return moved_from(before, point.moved, instance, faults, f"{place}.moved")
    return Placement.empty(len(instance.workload))
