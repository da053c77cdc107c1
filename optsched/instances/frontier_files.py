"""Frontier files (`optsched-frontier/1`): every point with its placement, value and certificates.

Reading checks the form of a file and of its placements. Whether its claims are true is for `optsched.certificates`.
"""

from __future__ import annotations

import os
from typing import Any

from msgspec import Struct

from optsched.errors import Fault, UsageError, expect
from optsched.fronts import Frontier
from optsched.instance import Instance
from optsched.instances.documents.claims import (
    CertificateDocument,
    LimitName,
    Text,
    certificate_document,
    certificate_of,
    document_text,
    numbers_of,
    placement_of,
    read_document,
    versions,
)
from optsched.instances.documents.rationals import spelled
from optsched.instances.documents.writing import write_whole
from optsched.instances.files import content
from optsched.placement import Placement
from optsched.results import FrontierPoint, Limit

__all__ = [
    "FRONTIER",
    "frontier_document",
    "frontier_text",
    "parse_frontier",
    "read_frontier",
    "write_frontier",
]

#: The value of `format` that this module reads and writes.
FRONTIER = "optsched-frontier/1"


class _Point(Struct, forbid_unknown_fields=True):
    objective: Any
    certificates: list[CertificateDocument]
    placement: Any


class _Document(Struct, forbid_unknown_fields=True):
    problem: Text
    parameters: dict[str, Any]
    instance_sha256: Text
    components: list[Text]
    points: list[_Point]
    complete: bool
    limit: LimitName | None
    versions: dict[str, Any]


def frontier_document(frontier: Frontier, instance: Instance) -> dict[str, Any]:
    """A frontier as its file holds it: numbers as in solution files, placements in ids.

    Parameters
    ----------
    frontier
        Of a problem on `instance`, as `optsched.frontier` gives it.
    instance
        Which gives the ids.

    Raises
    ------
    UsageError
        If it is of another instance, or does not say of which.

    Examples
    --------
    >>> import optsched
    >>> problem = optsched.problem("latency", "papers/fsy-not-optimal")
    >>> document = frontier_document(optsched.frontier(problem), problem.instance)
    >>> [point["objective"] for point in document["points"]], document["complete"]
    ([[3, 9], [4, 7]], True)
    """
    expect(frontier, Frontier, "a frontier file holds a frontier", "find one first: optsched.frontier(problem)")
    expect(instance, Instance, "a frontier file names the ids of an instance")
    if frontier.instance_sha256 != instance.sha256:
        raise UsageError(f"the frontier is of another instance than {instance.name or 'this'}: give the one it is of")
    return {
        "format": FRONTIER,
        "problem": frontier.problem,
        "parameters": dict(frontier.parameters),
        "instance_sha256": frontier.instance_sha256,
        "components": list(frontier.components),
        "points": [
            {
                "objective": [spelled(value) for value in point.objective],
                "certificates": [certificate_document(certificate) for certificate in point.certificates],
                "placement": point.placement.to_dict(instance),
            }
            for point in frontier
        ],
        "complete": frontier.complete,
        "limit": None if frontier.limit is None else str(frontier.limit),
        "versions": versions(),
    }


def frontier_text(frontier: Frontier, instance: Instance) -> bytes:
    """What a frontier file holds."""
    return document_text(frontier_document(frontier, instance))


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
    write_whole(path, frontier_text(frontier, instance))


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


def parse_frontier(text: bytes, instance: Instance, source: str = "") -> Frontier:
    """What `read_frontier` reads, from the text of a file; `source` is its name, for the messages.

    Raises
    ------
    InputError
        If it is wrong; lists every fault with its place.
    """
    return read_document(
        text, FRONTIER, _Document, "frontier", source, lambda document, faults: _frontier(document, instance, faults)
    )


def _frontier(document: _Document, instance: Instance, faults: list[Fault]) -> Frontier:
    """The frontier that a document of the right form stands for; what is wrong with it is added to `faults`."""
    if len(document.components) != 2:
        faults.append(Fault("components", f"expected two names, got {len(document.components)}"))
        return Frontier(document.problem, ("", ""), (), False, None)
    first, second = document.components
    ours = document.instance_sha256 == instance.sha256
    return Frontier(
        document.problem,
        (first, second),
        tuple(_point(point, row, instance if ours else None, faults) for row, point in enumerate(document.points)),
        document.complete,
        None if document.limit is None else Limit(document.limit),
        document.parameters,
        document.instance_sha256,
    )


def _point(point: _Point, row: int, instance: Instance | None, faults: list[Fault]) -> FrontierPoint:
    """A point; without its placement where the instance is another one."""
    place = f"points[{row}]"
    objective = numbers_of(point.objective, f"{place}.objective", faults)
    if isinstance(point.objective, list) and len(objective) != 2:
        faults.append(Fault(f"{place}.objective", f"expected two numbers, got {len(objective)}"))
    proofs = [
        certificate_of(entry, f"{place}.certificates[{at}]", faults) for at, entry in enumerate(point.certificates)
    ]
    if len(proofs) != 2:
        faults.append(Fault(f"{place}.certificates", f"expected two, one a component, got {len(proofs)}"))
    placement = Placement.of([])
    if instance is not None:
        placement = placement_of(point.placement, instance, faults, f"{place}.placement")
    return FrontierPoint(objective, placement, tuple(proofs))  # type: ignore[arg-type]  # of another number is a fault
