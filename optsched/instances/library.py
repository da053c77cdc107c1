"""The shipped instance library: its instances, their files, and their optima.

The index is `optima.json` in the top-level folder `instances`. `files` reads an instance; the tests and the command of
each entry prove an optimum again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from optsched.core.brief import brief
from optsched.core.errors import Fault, InputError, expect
from optsched.core.resources import folder as data_folder
from optsched.core.results import Number
from optsched.instances.documents.diagnosis import Diagnosis, decode
from optsched.instances.documents.storing import content

__all__ = ["INDEX", "NETWORK", "OPTIMA", "SCALE", "Entry", "ProvedOptimum", "fitting", "library"]

#: Name of the index file, and the value of its `format`.
INDEX, OPTIMA = "optima.json", "optsched-optima/1"

#: Tag of instances at the papers' scale, which a quick run leaves out.
SCALE = "scale"

#: Tag of flow networks.
NETWORK = "network"


class ProvedOptimum(Struct, forbid_unknown_fields=True, frozen=True):
    """A proved optimum of a problem with `parameters`.

    `value` has one exact number for each component, `frontier` every Pareto-optimal value (empty if the problem has no
    frontier), `certificate` the weakest kind of proof, `reproduce` the command, `proved` the date and versions.
    """

    value: tuple[Number, ...]
    certificate: str
    parameters: dict[str, Any] = {}
    frontier: tuple[tuple[Number, ...], ...] = ()
    reproduce: str = ""
    proved: str = ""


class _Entry(Struct, forbid_unknown_fields=True):
    file: str
    tags: tuple[str, ...] = ()
    source: str = ""
    optima: dict[str, ProvedOptimum] = {}


class _Index(Struct, forbid_unknown_fields=True):
    instances: dict[str, _Entry]


@dataclass(frozen=True, slots=True)
class Entry:
    """An instance of the library: its name (`papers/guo-fig2`), file, tags, source, and optima by problem."""

    name: str
    path: Path
    tags: tuple[str, ...]
    source: str
    optima: Mapping[str, ProvedOptimum]

    def __repr__(self) -> str:
        return brief(f"Entry {self.name}: optima of {', '.join(self.optima) or 'no problem'}")


def library(folder: str | os.PathLike[str] | None = None) -> Mapping[str, Entry]:
    """Every instance of the library in `folder` (by default the shipped one) by its name, in the order of the index.

    InputError, with the place of every fault, if the index is missing or wrong.

    >>> library()["papers/guo-fig2"].optima["lsap"].value
    (0,)
    """
    expect(folder, (str, os.PathLike, type(None)), "library takes a folder")
    index = (data_folder("instances") if folder is None else Path(folder)) / INDEX
    return _read(index, index.stat().st_mtime_ns if index.exists() else 0)


@lru_cache(maxsize=1)
def _read(index: Path, changed: int) -> Mapping[str, Entry]:
    """The library of an index, read once until it is `changed`, since names are looked up one by one."""
    folder, value = index.parent, decode(content(index), str(index))
    if not isinstance(value, Mapping) or value.get("format") != OPTIMA:
        raise InputError([Fault("format", f'must be "{OPTIMA}"')], str(index))
    diagnosis = Diagnosis()
    document = diagnosis.record(value, _Index)
    if diagnosis.faults:
        raise InputError(diagnosis.faults, str(index))
    entries = {
        name: Entry(name, folder / entry.file, entry.tags, entry.source, MappingProxyType(entry.optima))
        for name, entry in document.instances.items()
    }
    return MappingProxyType(entries)


def fitting(pattern: str) -> list[Entry]:
    """The shipped instances whose name, or its part after the folder, matches a pattern; in the order of the index.

    Tables print only the last part, so it is a name, too, if it belongs to one instance.

    >>> [entry.name for entry in fitting("examples/weights-*")]
    ['examples/weights-decimal', 'examples/weights-whole']
    >>> [entry.name for entry in fitting("guo-fig2")]
    ['papers/guo-fig2']
    """
    return [
        entry
        for name, entry in library().items()
        if fnmatchcase(name, pattern) or fnmatchcase(name.rsplit("/", 1)[-1], pattern)
    ]
