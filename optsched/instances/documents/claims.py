"""Reads and writes decisions and certificates: by ids in JSON, by positions in `.npz` archives.

An archive has the document of the JSON file as `header`, with null where an array stands, which is named after its
place. `placement` holds the position of each task's node, -1 for nowhere; `schedule` two rows, these and starts in
microseconds; `flow` the units of each arc; `points[1].moved` two rows, positions of tasks and of nodes. In a
certificate the name ends in what positions count: `certificates[0].data.node_prices.nodes` has two rows, positions of
nodes and prices; `points[0].certificates[0].data.cover.nodes` one, positions.

What is wrong with a file is added to a list of faults, each with its place. Which files there are is for `claim_files`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

from optsched.core.arrays import LARGEST, Bools, ById, Chosen, Ints, Strings, plain
from optsched.core.decimals import spelled
from optsched.core.errors import Fault, InputError
from optsched.core.instance import Instance
from optsched.core.instance_faults import key_in_place
from optsched.core.network import FlowNetwork
from optsched.core.placement import NONE, NetworkFlow, Placement, Schedule
from optsched.core.results import Certificate, Decision, Number, Proof
from optsched.instances.documents import storing
from optsched.instances.documents.diagnosis import decode
from optsched.instances.documents.storing import most_unpacked

T = TypeVar("T")

Text = Annotated[str, Meta(min_length=1)]

#: The bytes with which an archive begins, and no JSON text.
_ARCHIVE = b"PK\x03\x04"

#: How formats of what claims are of begin.
_NOUNS = ("optsched/", "optsched-network/")

#: The place of an array in a document; that of a certificate's says last what its positions count.
_PLACE = re.compile(
    r"placement|schedule|flow|points\[\d{1,9}\]\.(?:placement|moved)|"
    r"(?:(?:points\[\d{1,9}\]\.)?certificates\[\d{1,9}\]|infeasible)\.data\.\w+\.(?P<counted>nodes|tasks|arcs)"
)


class CertificateDocument(Struct, forbid_unknown_fields=True):
    """A certificate as a file holds it."""

    component: Text
    kind: Proof
    claim: Number
    data: dict[str, Any] = {}


@dataclass(frozen=True, eq=False)
class Rows:
    """An array that stands in the data of a certificate: what its positions count (`nodes`, ...), and its numbers."""

    counted: str
    values: npt.NDArray[Any]


def _id_columns(on: Instance | FlowNetwork) -> dict[str, Strings]:
    """The columns of ids that positions may be in, by what they are of."""
    if isinstance(on, FlowNetwork):
        return {"nodes": on.node_ids, "arcs": on.arc_ids}
    return {"nodes": on.cluster.node_ids, "tasks": on.workload.task_ids}


# -- writing -------------------------------------------------------------------------------------------------------


@dataclass
class Writing:
    """A claim on its way into a document.

    `on` is what it is of, whose ids are written. `arrays`, in an archive, take what is long by its place, where the
    document has null; without them everything is in ids.
    """

    on: Instance | FlowNetwork
    arrays: dict[str, Ints] | None = None

    def decision(self, decision: Decision, place: str, tasks: Ints | None = None) -> dict[str, Any] | None:
        """A decision; of a placement only at the positions `tasks`, where these are given."""
        if self.arrays is None:
            return decision.to_dict(self.on, tasks) if isinstance(decision, Placement) else decision.to_dict(self.on)
        values = decision.on(self.on)
        values = np.array([values, decision.starts]) if isinstance(decision, Schedule) else values
        self.arrays[place] = values if tasks is None else np.array([tasks, values[tasks]])
        return None

    def certificate(self, certificate: Certificate, place: str) -> dict[str, Any]:
        """A certificate."""
        return {
            "component": certificate.component,
            "kind": str(certificate.kind),
            "claim": spelled(certificate.claim),
            "data": {key: self._datum(value, f"{place}.data.{key}") for key, value in certificate.data.items()},
        }

    def certificates(
        self, entries: Iterable[Certificate | None], place: str = "certificates"
    ) -> list[dict[str, Any] | None]:
        """A list of certificates, null where there is none."""
        return [None if one is None else self.certificate(one, f"{place}[{row}]") for row, one in enumerate(entries)]

    def _datum(self, value: Any, place: str) -> Any:
        counted = None
        if self.arrays is not None and isinstance(value, ById | Chosen):
            counted = next((name for name, ids in _id_columns(self.on).items() if value.ids is ids), None)
        if self.arrays is None or counted is None:
            return plain(value)
        rows = [value.positions, value.numbers] if isinstance(value, ById) else value.positions
        self.arrays[f"{place}.{counted}"] = np.array(rows, dtype=np.int64)
        return None

    def content(self, document: Mapping[str, Any]) -> bytes:
        """What a file of the document holds: an archive where arrays stand apart, else JSON text."""
        text = msgspec.json.encode(document)
        if self.arrays is not None:
            return storing.pack(text, self.arrays)
        return msgspec.json.format(text, indent=1) + b"\n"


# -- reading -------------------------------------------------------------------------------------------------------


def opened(data: bytes, source: str = "") -> Any:
    """The document in a file of claims, of either kind; arrays in their places, those of certificates as `Rows`.

    InputError if it is neither JSON text nor a sound archive.
    """
    if not data.startswith(_ARCHIVE):
        return decode(data, source)
    try:
        return unpacked(data, most_unpacked(data))
    except InputError as error:
        raise error.with_source(source) from None


def unpacked(data: bytes, largest: int) -> Any:
    """The document of an archive; InputError also where it says that it unpacks to more than `largest` bytes."""
    arrays = storing.read_arrays(data, largest)
    document = decode(storing.header_text(arrays, "optsched-solution/1"))
    if isinstance(document, Mapping) and str(document.get("format")).startswith(_NOUNS):
        return document  # whose arrays are of another form; the reader says that it is no file of claims
    faults = [Fault(name, fault) for name, values in arrays.items() if (fault := _placed(document, name, values))]
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


@dataclass
class Reading:
    """Reads a document of claims on an instance or a network (`on`).

    Where the document is not of the `same` one, positions and ids mean nothing, and are not read. `faults` takes what
    is wrong, but nothing at places that are `known` to have a fault.
    """

    on: Any
    same: bool
    faults: list[Fault]
    known: Collection[str] = ()

    def certificate(self, entry: CertificateDocument, place: str) -> Certificate:
        """The certificate of a document."""
        data = entry.data
        for key, value in entry.data.items():
            if isinstance(value, Rows):
                try:
                    data = {**data, key: self.rows(value) if self.same else ()}
                except ValueError as error:
                    self.fault(f"{place}.data.{key}.{value.counted}", str(error))
        return Certificate(entry.component, entry.kind, entry.claim, data)

    def certificates(self, entries: Iterable[CertificateDocument], place: str = "certificates") -> list[Certificate]:
        """The certificates of a list."""
        return [self.certificate(entry, f"{place}[{row}]") for row, entry in enumerate(entries)]

    def rows(self, rows: Rows) -> ById | Chosen:
        """The meaning of a certificate's array: a number for each of some ids where it has two rows, else ids.

        ValueError if it is no array of whole numbers, or there is nothing at a position.
        """
        ids, values = _id_columns(self.on).get(rows.counted), rows.values
        if ids is None:
            raise ValueError(f"there are no {rows.counted} here")
        if not storing.holds_integers(values) or values.ndim == 0 or values.shape[:-1] not in ((), (2,)):
            raise ValueError(f"expected rows of positions and of whole numbers, got {storing.kind_of(values)}")
        return Chosen(ids, values) if values.ndim == 1 else ById(ids, *values)

    def fault(self, place: str, message: str) -> None:
        """Add what is wrong at a place, unless something is known to be."""
        if place not in self.known:
            self.faults.append(Fault(place, message))

    def placement(self, value: Any, at: str, before: Placement | None = None) -> Placement:
        """A placement: an object {task: node or null}, or the position of each task's node.

        Given the placement `before`, it has only what runs elsewhere; by position these are two rows, tasks and nodes.
        """
        tasks = len(self.on.workload)
        placement = Placement.empty(tasks) if before is None else before
        if isinstance(value, np.ndarray):
            if before is not None:
                return self._moved(value, at, before)
            wanted = f"positions of nodes, one for each of {tasks} tasks (-1: nowhere)"
            nodes = self._numbers(value, (tasks,), at, wanted)
            if nodes is None:
                return placement
            self._known(nodes, NONE, len(self.on.cluster), "node", at)
            return Placement(nodes)
        if not isinstance(value, Mapping):
            self.fault(at, "expected an object {task: node or null}")
            return placement
        absent = "null is nowhere" if before is None else ""
        return placement.with_tasks(*self._by_id(value, self.on.task_index, "task", self._node, at, absent))

    def _moved(self, value: npt.NDArray[Any], at: str, before: Placement) -> Placement:
        shape = (2, value.shape[-1] if value.ndim else 0)
        rows = self._numbers(value, shape, at, "two rows, positions of tasks and of their nodes")
        if rows is None:
            return before
        tasks, nodes = rows
        known = self._known(tasks, 0, len(self.on.workload), "task", f"{at}[0]")
        self._known(nodes, NONE, len(self.on.cluster), "node", f"{at}[1]")
        if (np.diff(tasks) <= 0).any():
            self.fault(f"{at}[0]", "positions of tasks must increase")
        return before.with_tasks(tasks[known], nodes[known])

    def schedule(self, value: Any, at: str) -> Schedule:
        """A schedule: an object {task: {node, start} or null}, or two rows, positions and starts."""
        tasks = len(self.on.workload)
        empty = Schedule.empty(tasks)
        if isinstance(value, np.ndarray):
            wanted = f"two rows for {tasks} tasks, positions of nodes (-1: does not run) and starts in microseconds"
            numbers = self._numbers(value, (2, tasks), at, wanted)
            if numbers is None:
                return empty
            nodes, starts = numbers
            self._known(nodes, NONE, len(self.on.cluster), "node", f"{at}[0]")
            late = (nodes != NONE) & ((starts < -LARGEST) | (starts > LARGEST))
            for row in np.flatnonzero(late).tolist():
                self.fault(f"{at}[1][{row}]", _wrong_start(int(starts[row])))
            return empty if late.any() else Schedule(nodes, starts)
        if not isinstance(value, Mapping):
            self.fault(at, "expected an object {task: {node, start} or null}")
            return empty
        rows, found = self._by_id(value, self.on.task_index, "task", self._timed, at, "null does not run")
        return empty.with_tasks(rows, *np.array(found, dtype=np.int64).reshape(len(found), 2).T)

    def flow(self, value: Any, at: str) -> NetworkFlow:
        """A flow: an object {arc: units}, or the units of each arc."""
        sent = np.zeros(self.on.arcs, dtype=np.int64)
        if isinstance(value, np.ndarray):
            wanted = f"whole numbers, the units of each of {len(sent)} arcs"
            units = self._numbers(value, sent.shape, at, wanted)
            return NetworkFlow(sent if units is None else units)
        if not isinstance(value, Mapping):
            self.fault(at, "expected an object {arc: units}")
            return NetworkFlow(sent)
        row_of = {arc: row for row, arc in enumerate(self.on.arc_ids.tolist())}
        rows, found = self._by_id(value, row_of, "arc", self._units, at, "0 is none")
        sent[rows] = found
        return NetworkFlow(sent)

    def _by_id(
        self,
        value: Mapping[str, Any],
        row_of: Mapping[str, int],
        noun: str,
        read: Callable[[Any, str], T | None],
        at: str,
        absent: str,
    ) -> tuple[list[int], list[T]]:
        """The positions of what an object names, and what `read` makes of each entry (None of one with a fault).

        What it does not name is a fault where `absent` says what to write instead.
        """
        rows, found, named = [], [], 0
        called = "network" if isinstance(self.on, FlowNetwork) else "instance"
        for name, entry in value.items():
            place = f"{at}.{key_in_place(name)}"
            if name not in row_of:
                self.fault(place, f'the {called} has no {noun} "{name}"')
                continue
            named += 1
            if (made := read(entry, place)) is not None:
                rows.append(row_of[name])
                found.append(made)
        if absent and named < len(row_of):
            for name in row_of:
                if name not in value:
                    self.fault(f"{at}.{key_in_place(name)}", f"is missing; {absent}")
        return rows, found

    def _node(self, node: Any, place: str, nowhere: int | None = NONE) -> int | None:
        """The position of the node on which a task runs; `nowhere` for null."""
        found: int | None = nowhere if node is None else None
        if isinstance(node, str):
            found = self.on.node_index.get(node)
        if found is None:
            self.fault(place, f"the instance has no node {node!r}")
        return found

    def _timed(self, entry: Any, place: str) -> tuple[int, int] | None:
        """The position of the node, and the start."""
        if entry is None:
            return NONE, 0
        if not isinstance(entry, Mapping):
            self.fault(place, "expected an object {node, start}, the start in microseconds, or null")
            return None
        before = len(self.faults)
        for key in entry:
            if key not in ("node", "start"):
                self.fault(f"{place}.{key_in_place(key)}", "there is no such field; known: node, start")
        for key in ("node", "start"):
            if key not in entry:
                self.fault(f"{place}.{key}", "is missing")
        node = self._node(entry["node"], f"{place}.node", nowhere=None) if "node" in entry else None
        start = entry.get("start", 0)
        if isinstance(start, bool) or not isinstance(start, int) or abs(start) > LARGEST:
            self.fault(f"{place}.start", _wrong_start(start))
        return (node, start) if node is not None and len(self.faults) == before else None

    def _units(self, units: Any, place: str) -> int | None:
        """The units on an arc."""
        if isinstance(units, bool) or not isinstance(units, int) or abs(units) >= 2**63:
            self.fault(place, f"expected a whole number of units, got {units!r:.40}")
            return None
        return units

    def _numbers(self, values: npt.NDArray[Any], shape: tuple[int, ...], at: str, wanted: str) -> Ints | None:
        """An array of a file as int64; None, with a fault, where it is another one."""
        if storing.holds_integers(values) and values.shape == shape:
            return np.asarray(values, dtype=np.int64)
        self.fault(at, f"expected {wanted}, got {storing.kind_of(values)}")
        return None

    def _known(self, positions: Ints, least: int, count: int, noun: str, at: str) -> Bools:
        """Which positions there are; of the others each is a fault."""
        known = (positions >= least) & (positions < count)
        for row in np.flatnonzero(~known).tolist():
            self.fault(f"{at}[{row}]", f"the instance has {count} {noun}s, and none at {positions[row]}")
        return known


def _wrong_start(start: Any) -> str:
    return f"expected a whole number of microseconds, at most 2^53, got {start!r:.40}"
