"""Claims as `.npz` archives: the document of the JSON file as `header`, and what is long as arrays beside it.

An array is named after its place in the document, where the header has null. `placement` holds the position of each
task's node, -1 for nowhere; `schedule` two rows, these and starts in microseconds; `flow` the units of each arc;
`points[1].moved` two rows, positions of tasks and of nodes. In a certificate the name ends in what positions count:
`certificates[0].data.node_prices.nodes` has two rows, positions of nodes and prices;
`points[0].certificates[0].data.cover.nodes` one, positions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from optsched.arrays import Ints, Strings
from optsched.by_id import ById, Chosen, plain
from optsched.errors import Fault, InputError
from optsched.instance import Instance
from optsched.instances.documents import archive
from optsched.instances.documents.diagnosis import decode
from optsched.network import FlowNetwork

__all__ = ["BEGIN", "Apart", "Rows", "id_columns", "rows_in", "unpacked"]

#: The bytes with which an archive begins, and no JSON text.
BEGIN = b"PK\x03\x04"

#: How formats of what claims are of begin.
_NOUNS = ("optsched/", "optsched-network/")

#: Where an array may stand; one of a certificate says last what its positions count.
_PLACE = re.compile(
    r"placement|schedule|flow|points\[\d{1,9}\]\.(?:placement|moved)|"
    r"(?:(?:points\[\d{1,9}\]\.)?certificates\[\d{1,9}\]|infeasible)\.data\.\w+\.(?P<counted>nodes|tasks|arcs)"
)


@dataclass(frozen=True, eq=False)
class Rows:
    """An array that stands in the data of a certificate: what its positions count (`nodes`, ...), and its numbers."""

    counted: str
    values: npt.NDArray[Any]


@dataclass
class Apart:
    """What is set apart from a document on its way into an archive.

    Parameters
    ----------
    noun
        What the claim is of, whose columns of ids positions are in.
    """

    noun: Instance | FlowNetwork
    arrays: dict[str, Ints] = field(default_factory=dict)

    def put(self, place: str, values: Ints) -> None:
        """An array for a place, where the document has null."""
        self.arrays[place] = values

    def data(self, data: Mapping[str, Any], place: str) -> dict[str, Any]:
        """The data of a certificate without its arrays."""
        left = {}
        for key, value in data.items():
            name = next((name for name, ids in id_columns(self.noun).items() if _is_of(value, ids)), None)
            if name is None:
                left[key] = plain(value)
            else:
                rows = [value.positions, value.numbers] if isinstance(value, ById) else value.positions
                left[key] = None
                self.put(f"{place}.{key}.{name}", np.array(rows, dtype=np.int64))
        return left

    def packed(self, document: Mapping[str, Any]) -> bytes:
        """The archive of the document and these arrays."""
        return archive.pack(msgspec.json.encode(document), self.arrays)


def _is_of(value: Any, ids: Strings) -> bool:
    return isinstance(value, ById | Chosen) and value.ids is ids


def id_columns(noun: Instance | FlowNetwork) -> dict[str, Strings]:
    """The columns of ids that positions may be in, by what they are of."""
    if isinstance(noun, FlowNetwork):
        return {"nodes": noun.node_ids, "arcs": noun.arc_ids}
    return {"nodes": noun.cluster.node_ids, "tasks": noun.workload.task_ids}


def unpacked(data: bytes, largest: int) -> Any:
    """The document of an archive, with its arrays in their places; those of certificates as `Rows`.

    Raises
    ------
    InputError
        If it is no sound archive, says that it unpacks to more than `largest` bytes, or has arrays where none belong.
    """
    arrays = archive.read_arrays(data, largest)
    document = decode(archive.header_text(arrays, "optsched-solution/1"))
    if isinstance(document, Mapping) and str(document.get("format")).startswith(_NOUNS):
        return document  # whose arrays are of another form; whoever reads it says that it is no file of claims
    faults = [Fault(name, told) for name, values in arrays.items() if (told := _placed(document, name, values))]
    if faults:
        raise InputError(faults)
    return document


def _placed(document: Any, name: str, values: npt.NDArray[Any]) -> str:
    """Put an array where its name says; what is wrong with that."""
    known = _PLACE.fullmatch(name)
    if known is None:
        return (
            "there is no such column; known: placement, schedule, flow, points[0].placement, points[1].moved, and in"
            + (" certificates such as certificates[0].data.node_prices.nodes")
        )
    counted = known["counted"]
    *steps, last = re.findall(r"\w+", name if counted is None else name.removesuffix(f".{counted}"))
    holder = document
    for step in steps:
        if isinstance(holder, list) and step.isdecimal():
            holder = holder[int(step)] if int(step) < len(holder) else None
        else:
            holder = holder.get(step) if isinstance(holder, Mapping) else None
    if not isinstance(holder, dict) or last not in holder or holder[last] is not None:
        return "belongs where the header has null, and it has none there"
    holder[last] = values if counted is None else Rows(counted, values)
    return ""


def rows_in(rows: Rows, noun: Instance | FlowNetwork) -> ById | Chosen:
    """What an array of a certificate stands for: a number for each of some ids where it has two rows, else ids.

    Raises
    ------
    ValueError
        If it is no array of whole numbers, or there is nothing at a position.
    """
    ids, values = id_columns(noun).get(rows.counted), rows.values
    if ids is None:
        raise ValueError(f"there are no {rows.counted} here")
    if not archive.whole(values) or values.ndim == 0 or values.shape[:-1] not in ((), (2,)):
        raise ValueError(f"expected rows of positions and of whole numbers, got {archive.told(values)}")
    return Chosen(ids, values) if values.ndim == 1 else ById(ids, *values)
