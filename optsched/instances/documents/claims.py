"""What files of claims share (solutions, frontiers): certificates, numbers, versions, two kinds."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from optsched.by_id import plain
from optsched.decimals import spelled
from optsched.errors import Fault, InputError
from optsched.fingerprint import code_version, commit
from optsched.instance import Instance
from optsched.instances.documents.claim_archive import BEGIN, Apart, Rows, rows_in, unpacked
from optsched.instances.documents.diagnosis import Diagnosis, decode
from optsched.instances.documents.rationals import read_number
from optsched.instances.files import most_unpacked
from optsched.network import FlowNetwork
from optsched.results import Certificate, Proof

__all__ = [
    "CertificateDocument",
    "LimitName",
    "Text",
    "certificate_document",
    "certificate_of",
    "file_content",
    "numbers_of",
    "opened",
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


def certificate_document(certificate: Certificate, apart: Apart | None = None, place: str = "") -> dict[str, Any]:
    """A certificate as a file holds it; at its place in an archive, where `apart` takes what is long.

    >>> certificate_document(Certificate("work", Proof.SOLVER, 3))
    {'component': 'work', 'kind': 'solver', 'claim': 3, 'data': {}}
    """
    return {
        "component": certificate.component,
        "kind": str(certificate.kind),
        "claim": spelled(certificate.claim),
        "data": plain(certificate.data) if apart is None else apart.data(certificate.data, f"{place}.data"),
    }


def certificate_of(
    entry: CertificateDocument, place: str, of: Instance | FlowNetwork | None, faults: list[Fault]
) -> Certificate:
    """The certificate that a file holds; what is wrong with it is added to `faults`.

    Parameters
    ----------
    of
        What positions in arrays are of; None where it is something else, and they mean nothing.
    """
    claim = read_number(entry.claim, f"{place}.claim", faults)
    data = entry.data
    for key, value in entry.data.items():
        if isinstance(value, Rows):
            try:
                data = {**data, key: () if of is None else rows_in(value, of)}
            except ValueError as error:
                faults.append(Fault(f"{place}.data.{key}.{value.counted}", str(error)))
    return Certificate(entry.component, Proof(entry.kind), claim, data)


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


def opened(data: bytes, source: str = "") -> Any:
    """The document in a file of claims, of either kind.

    Raises
    ------
    InputError
        If it is neither JSON text nor a sound archive.
    """
    if not data.startswith(BEGIN):
        return decode(data, source)
    try:
        return unpacked(data, most_unpacked(data))
    except InputError as error:
        raise error.with_source(source) from None


def read_document(
    value: Any, form: str, kind: type[Struct], noun: str, source: str, make: Callable[[Any, list[Fault]], T]
) -> T:
    """What the document of a file of a format stands for.

    Parameters
    ----------
    value
        What the file holds, or what was found when it was `opened`.
    make
        Makes it of a document of the right form, and adds to the faults what is wrong with it.

    Raises
    ------
    InputError
        If the file is of another format, no JSON, or wrong; lists every fault with its place.
    """
    value = opened(value, source) if isinstance(value, bytes) else value
    if not isinstance(value, Mapping) or value.get("format") != form:
        own = value.get("format") if isinstance(value, Mapping) else None
        said = f', and it says "{own[:40]}"' if isinstance(own, str) else ""
        told = f'is no {noun} file: it must begin {{"format": "{form}", ...}}{said}'
        raise InputError([Fault("format", told)], source)
    diagnosis = Diagnosis(_DEEPEST)
    document, faults = diagnosis.record(value, kind), diagnosis.faults
    if not faults:
        made = make(document, faults)
    if faults:
        raise InputError(faults, source)
    return made


def file_content(
    path: str | os.PathLike[str], of: Instance | FlowNetwork, document: Callable[[Apart | None], dict[str, Any]]
) -> bytes:
    """What a file of claims holds: an archive where its name ends in `.npz`, else JSON text.

    Parameters
    ----------
    of
        What the claim is of.
    document
        Makes the document, in an archive without what it sets apart.
    """
    if os.fspath(path).endswith(".npz"):
        apart = Apart(of)
        return apart.packed(document(apart))
    return msgspec.json.format(msgspec.json.encode(document(None)), indent=1) + b"\n"


def versions(packages: Sequence[str] = _PACKAGES) -> dict[str, str]:
    """The versions of this package (and the commit of a clone), Python and packages, as files of claims have them."""
    found = {"optsched": code_version()}
    known = commit()
    if known:
        found["commit"] = known
    found["python"] = platform.python_version()
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # a solution needs not every solver
            continue
    return found
