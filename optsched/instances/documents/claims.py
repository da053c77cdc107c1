"""What files of claims share (solutions, frontiers, ordered vectors): certificates, placements, numbers, versions."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from optsched import __version__
from optsched.by_id import plain
from optsched.errors import Fault, InputError
from optsched.instance import Instance
from optsched.instance_faults import key_in_place
from optsched.instances.documents.diagnosis import Diagnosis, decode
from optsched.instances.documents.rationals import read_number, spelled
from optsched.placement import NONE, Placement
from optsched.results import Certificate, Proof

__all__ = [
    "CertificateDocument",
    "LimitName",
    "Text",
    "certificate_document",
    "certificate_of",
    "document_text",
    "numbers_of",
    "placement_of",
    "read_document",
    "versions",
]

#: Packages whose versions stand in a file of claims.
_PACKAGES = ("numpy", "scipy", "networkx", "highspy", "pyomo", "pulp")

#: Data of certificates, and all else that is free in form, is nested at most so deep: cases within cases take two each.
_DEEPEST = 256

T = TypeVar("T")

Text = Annotated[str, Meta(min_length=1)]

#: What cut a search short (`optsched.results.Limit`).
LimitName = Literal["TIME", "NODES", "MEMORY", "GAP", "INTERRUPTED"]


class CertificateDocument(Struct, forbid_unknown_fields=True):
    """A certificate as a file holds it."""

    component: Text
    kind: Literal["dual", "combinatorial", "enumeration", "solver"]
    claim: Any
    data: dict[str, Any] = {}


def certificate_document(certificate: Certificate) -> dict[str, Any]:
    """A certificate as a file holds it.

    >>> certificate_document(Certificate("work", Proof.SOLVER, 3))
    {'component': 'work', 'kind': 'solver', 'claim': 3, 'data': {}}
    """
    return {
        "component": certificate.component,
        "kind": str(certificate.kind),
        "claim": spelled(certificate.claim),
        "data": plain(certificate.data),
    }


def certificate_of(entry: CertificateDocument, place: str, faults: list[Fault]) -> Certificate:
    """The certificate that a file holds; what is wrong with it is added to `faults`."""
    claim = read_number(entry.claim, f"{place}.claim", faults)
    return Certificate(entry.component, Proof(entry.kind), claim, entry.data)


def numbers_of(
    value: Any, place: str, faults: list[Fault], unknown: bool = False, each: str = "component"
) -> tuple[Any, ...]:
    """The numbers of a list; what is wrong with them is added to `faults`.

    Parameters
    ----------
    unknown
        Whether an entry may be null, which is None.
    each
        Of what the list has one entry each, for the message.
    """
    if not isinstance(value, list):
        faults.append(Fault(place, f"expected a list, one entry a {each}"))
        return ()
    entries = enumerate(value)
    return tuple(
        None if unknown and entry is None else read_number(entry, f"{place}[{row}]", faults) for row, entry in entries
    )


def placement_of(value: Any, instance: Instance, faults: list[Fault], at: str = "placement") -> Placement:
    """The placement that an object {task: node or null} at a place tells; its faults are added to `faults`."""
    if not isinstance(value, Mapping):
        faults.append(Fault(at, "expected an object {task: node or null}"))
        return Placement.of([])
    if list(value) == instance.workload.task_ids.tolist() and set(map(type, value.values())) <= {str, NoneType}:
        numbers: dict[str | None, int] = {None: NONE}
        numbers.update(instance.node_index)
        found = [numbers.get(node) for node in value.values()]
        if None not in found:  # as we write it; what is wrong is told below
            return Placement.of(found)
    nodes = [NONE] * len(instance.workload)
    for task, node in value.items():
        place = f"{at}.{key_in_place(task)}"
        if task not in instance.task_index:
            faults.append(Fault(place, f'the instance has no task "{task}"'))
        elif node is None:
            continue
        elif not isinstance(node, str) or node not in instance.node_index:
            faults.append(Fault(place, f"the instance has no node {node!r}"))
        else:
            nodes[instance.task_index[task]] = instance.node_index[node]
    if len(value) < len(nodes):
        missing = [task for task in instance.workload.task_ids.tolist() if task not in value]
        faults.extend(Fault(f"{at}.{key_in_place(task)}", "is missing; null is nowhere") for task in missing)
    return Placement.of(nodes)


def read_document(
    text: bytes, form: str, kind: type[Struct], noun: str, source: str, make: Callable[[Any, list[Fault]], T]
) -> T:
    """What the document of a file of a format stands for.

    Parameters
    ----------
    make
        Makes it of a document of the right form, and adds to the faults what is wrong with it.

    Raises
    ------
    InputError
        If the file is of another format, no JSON, or wrong; lists every fault with its place.
    """
    value = decode(text, source)
    if not isinstance(value, Mapping) or value.get("format") != form:
        raise InputError([Fault("format", f'is no {noun} file: it must begin {{"format": "{form}", ...}}')], source)
    diagnosis = Diagnosis(_DEEPEST)
    document, faults = diagnosis.record(value, kind), diagnosis.faults
    if not faults:
        made = make(document, faults)
    if faults:
        raise InputError(faults, source)
    return made


def document_text(document: Mapping[str, Any]) -> bytes:
    """A document as the text of a file."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def versions() -> dict[str, str]:
    """The versions of Python, this package and what it computes with, as files of claims have them."""
    found = {"optsched": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # a solution needs not every solver
            continue
    return found
