"""Files of ordered vectors of utilities (`optsched-leximin/1`): the placement, and a certificate of each entry.

Reading checks the form of a file and of its placement. Whether its claims are true is for `optsched.certificates`.
"""

from __future__ import annotations

import os
from typing import Any

from msgspec import Struct

from optsched.decimals import spelled
from optsched.errors import Fault, UsageError, expect
from optsched.fronts import Leximin
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
from optsched.instances.documents.decisions import decided, placement_of
from optsched.instances.documents.writing import write_whole
from optsched.instances.files import content
from optsched.placement import Placement
from optsched.results import Limit

__all__ = ["LEXIMIN", "leximin_content", "leximin_document", "parse_leximin", "read_leximin", "write_leximin"]

#: The value of `format` that this module reads and writes.
LEXIMIN = "optsched-leximin/1"


class _Document(Struct, forbid_unknown_fields=True):
    problem: Text
    parameters: dict[str, Any]
    instance_sha256: Text
    utilities: Any
    certificates: list[CertificateDocument | None]
    limit: LimitName | None
    placement: Any
    versions: dict[str, Any]


def leximin_document(leximin: Leximin, instance: Instance, apart: Apart | None = None) -> dict[str, Any]:
    """An ordered vector of utilities as its file holds it: numbers as in solution files, the placement in ids.

    Parameters
    ----------
    leximin
        Of a problem on `instance`.
    instance
        Which gives the ids.
    apart
        Of an archive: takes what is long, of which the document has null.

    Raises
    ------
    UsageError
        If it is of another instance.

    Examples
    --------
    >>> import optsched
    >>> from optsched.searches.utility_leximin import leximin
    >>> problem = optsched.problem("utility", "papers/ras-endless-swap")
    >>> leximin_document(leximin(problem), problem.instance)["utilities"]
    ['-1/2', 0]
    """
    expect(leximin, Leximin, "a leximin file holds an ordered vector of utilities")
    expect(instance, Instance, "a leximin file names the ids of an instance")
    if leximin.instance_sha256 != instance.sha256:
        raise UsageError(f"the vector is of another instance than {instance.name or 'this'}: give the one it is of")
    return {
        "format": LEXIMIN,
        "problem": leximin.problem,
        "parameters": dict(leximin.parameters),
        "instance_sha256": leximin.instance_sha256,
        "utilities": [spelled(utility) for utility in leximin.utilities],
        "certificates": [
            None if certificate is None else certificate_document(certificate, apart, f"certificates[{row}]")
            for row, certificate in enumerate(leximin.certificates)
        ],
        "limit": None if leximin.limit is None else str(leximin.limit),
        "placement": decided(leximin.placement, instance, apart, "placement"),
        "versions": versions(),
    }


def leximin_content(leximin: Leximin, instance: Instance, path: str | os.PathLike[str] = "") -> bytes:
    """What a leximin file of that name holds: an archive where it ends in `.npz`, else JSON text."""
    return file_content(path, instance, lambda apart: leximin_document(leximin, instance, apart))


def write_leximin(leximin: Leximin, instance: Instance, path: str | os.PathLike[str]) -> None:
    """Write a leximin file: the whole file or none.

    Parameters
    ----------
    leximin, instance
        As for `leximin_document`.
    path
        The file; one that exists is replaced.

    Raises
    ------
    InputError
        If it cannot be written there.
    """
    expect(path, (str, os.PathLike), "write_leximin takes a path")
    write_whole(path, leximin_content(leximin, instance, path))


def read_leximin(path: str | os.PathLike[str], instance: Instance) -> Leximin:
    """Read a leximin file.

    Parameters
    ----------
    path
        The file.
    instance
        What it should be of. One of another instance (by its digest) is read without the placement, which means nothing
        here; `optsched.certify` tells of it.

    Raises
    ------
    InputError
        If the file is missing, unreadable or wrong; lists every fault with its place.
    """
    expect(path, (str, os.PathLike), "read_leximin takes a path")
    expect(instance, Instance, "read_leximin takes an instance")
    return parse_leximin(content(path), instance, os.fspath(path))


def parse_leximin(content: Any, instance: Instance, source: str = "") -> Leximin:
    """What `read_leximin` reads, from the bytes of a file or the document in it; `source` is its name, for messages.

    Raises
    ------
    InputError
        If it is wrong; lists every fault with its place.
    """
    return read_document(
        content, LEXIMIN, _Document, "leximin", source, lambda document, faults: _leximin(document, instance, faults)
    )


def _leximin(document: _Document, instance: Instance, faults: list[Fault]) -> Leximin:
    """The vector that a document of the right form stands for; what is wrong with it is added to `faults`."""
    utilities = numbers_of(document.utilities, "utilities", faults, each="job")
    ours = instance if document.instance_sha256 == instance.sha256 else None
    certificates = [
        None if entry is None else certificate_of(entry, f"certificates[{row}]", ours, faults)
        for row, entry in enumerate(document.certificates)
    ]
    if isinstance(document.utilities, list) and len(certificates) != len(utilities):
        told = f"expected {len(utilities)}, one an entry of utilities (null where there is none), got"
        faults.append(Fault("certificates", f"{told} {len(certificates)}"))
    placement = Placement.of([]) if ours is None else placement_of(document.placement, ours, faults)
    return Leximin(
        document.problem,
        document.parameters,
        document.instance_sha256,
        placement,
        utilities,
        tuple(certificates),
        None if document.limit is None else Limit(document.limit),
    )
