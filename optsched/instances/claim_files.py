"""Files of claims: solutions, frontiers and schedules.

The `format` of a file says which variety it is (`optsched-solution/1`, ...). It is JSON text, or an archive if its name
ends in `.npz`. Numbers are exact: integers as integers, other rationals as `"p/q"`. Decisions and certificates are in
the instance's ids, in an archive by positions.

An archive has the document of the JSON file as `header`, with null in place of each array, which is named after its
place. `placement` has the position of each task's node, -1 for nowhere; `schedule` two rows, these and starts in
microseconds; `flow` the units of each arc; `points[1].moved` two rows, positions of tasks and of nodes. The name of a
certificate's array ends in what its positions count: `certificates[0].data.node_prices.nodes` has two rows, positions
of nodes and prices; `points[0].certificates[0].data.cover.nodes` one, positions.

Reading checks the form of a file and of its decisions. `optsched.certificates` checks whether its claims are true. A
schedule file has the output of a simulator or a cluster's log, without a problem and without a claim.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import UNSET, Meta, Struct

from optsched.core import kinds
from optsched.core.arrays import LARGEST, Bools, ById, Chosen, Ints, Strings, plain
from optsched.core.decimals import spelled
from optsched.core.errors import Fault, InputError, UsageError, expect
from optsched.core.instance import Instance
from optsched.core.instance_faults import key_in_place
from optsched.core.network import FlowNetwork
from optsched.core.placement import NONE, NetworkFlow, Placement, Schedule
from optsched.core.resources import versions
from optsched.core.results import (
    Certificate,
    Decision,
    Frontier,
    FrontierPoint,
    Limit,
    Number,
    Proof,
    Solution,
    Termination,
)
from optsched.instances.documents import storing
from optsched.instances.documents.diagnosis import Diagnosis, decode
from optsched.instances.documents.storing import LARGEST_FILE, content, most_unpacked, write_whole

__all__ = [
    "FRONTIER",
    "SCHEDULE",
    "SOLUTION",
    "claim_content",
    "claim_document",
    "parse_claim",
    "read_claim",
    "read_decision",
    "read_frontier",
    "read_held",
    "read_schedule",
    "read_solution",
    "versions",
    "write_claim",
]

#: The values of `format` that this module reads and writes.
SOLUTION, FRONTIER, SCHEDULE = "optsched-solution/1", "optsched-frontier/1", "optsched-schedule/1"

#: The format of files of ordered vectors of utilities, which development versions wrote and no version reads.
_RETIRED = "optsched-leximin/"

#: The kinds of claims in a file.
Claim: TypeAlias = Solution | Frontier | Schedule

#: The deepest nesting of certificates' data, and of all other free-form values: nested cases take two levels each.
_DEEPEST = 256

#: The most bytes of all placements of a file, 8 a task: a placement that moves nothing is short, but counts in full.
_MOST_BYTES = LARGEST_FILE

T = TypeVar("T")

Text = Annotated[str, Meta(min_length=1)]

#: The bytes with which an archive begins, but never JSON text.
_ARCHIVE = b"PK\x03\x04"

#: The beginnings of the formats of nouns that claims are about.
_NOUNS = ("optsched/", "optsched-network/")

#: The place of an array in a document; for a certificate's array it ends in what its positions count.
_PLACE = re.compile(
    r"placement|schedule|flow|points\[\d{1,9}\]\.(?:placement|moved)|"
    r"(?:(?:points\[\d{1,9}\]\.)?certificates\[\d{1,9}\]|infeasible)\.data\.\w+\.(?P<counted>nodes|tasks|arcs)"
)


class CertificateDocument(Struct, forbid_unknown_fields=True):
    """A certificate in a file."""

    component: Text
    kind: Proof
    claim: Number
    data: dict[str, Any] = {}


@dataclass(frozen=True, eq=False)
class Rows:
    """An array in the data of a certificate: what its positions count (`nodes`, ...), and its numbers."""

    counted: str
    values: npt.NDArray[Any]


def _id_columns(on: Instance | FlowNetwork) -> dict[str, Strings]:
    """The columns of ids to which positions may refer, by what they count."""
    if isinstance(on, FlowNetwork):
        return {"nodes": on.node_ids, "arcs": on.arc_ids}
    return {"nodes": on.cluster.node_ids, "tasks": on.workload.task_ids}


def claim_document(claim: Claim, instance: Instance | FlowNetwork) -> dict[str, Any]:
    """The document of a solution, a frontier or a schedule, as in its file.

    A solution has a `placement`, or a `schedule` (node and start of each task, whole microseconds) if that was decided;
    on a flow network a `flow`, units by the id of the arc. Each point of a frontier except the first has the tasks that
    run elsewhere than at the previous point, which are often few.

    UsageError if a decision is on another instance, whose ids are not those of this one, or if placements take more
    than a gibibyte.

    >>> import optsched
    >>> problem = optsched.problem("latency", "papers/fsy-not-optimal")
    >>> document = claim_document(optsched.frontier(problem), problem.instance)
    >>> [point["objective"] for point in document["points"]], document["complete"]
    ([[3, 9], [4, 7]], True)
    >>> document["points"][1]["moved"]
    {'t7': 's2'}
    """
    return _document(claim, Writing(instance))


def claim_content(claim: Claim, instance: Instance | FlowNetwork, path: str | os.PathLike[str] = "") -> bytes:
    """The content of a claim's file: an archive if the path ends in `.npz`, else JSON text."""
    writing = Writing(instance, {} if os.fspath(path).endswith(".npz") else None)
    return writing.content(_document(claim, writing))


def write_claim(claim: Claim, instance: Instance | FlowNetwork, path: str | os.PathLike[str]) -> None:
    """Write the file of a solution, a frontier or a schedule completely or not at all; an existing file is replaced.

    InputError if the file cannot be written; UsageError as from `claim_document`.
    """
    expect(path, (str, os.PathLike), "write_claim takes a path")
    write_whole(path, claim_content(claim, instance, path))


def read_claim(path: str | os.PathLike[str], instance: Instance | FlowNetwork) -> Solution | Frontier:
    """Read a solution or a frontier of `instance`.

    A claim on another instance (by its digest) is read without its decisions, which have no meaning here;
    `optsched.certify` reports it. InputError if the file is missing, unreadable, of none of these formats, or faulty;
    lists every fault with its place.
    """
    found: Solution | Frontier = _read(path, instance, SOLUTION, FRONTIER)
    return found


def read_held(path: str | os.PathLike[str], instance: Instance | FlowNetwork) -> Solution | Schedule:
    """A solution, or the schedule of a schedule file; raises as `read_claim` does."""
    found: Solution | Schedule = _read(path, instance, SOLUTION, SCHEDULE)
    return found


def read_decision(path: str | os.PathLike[str], instance: Instance | FlowNetwork) -> Decision | None:
    """Read the decision of a solution file or of a schedule file; raises as `read_claim` does.

    None if a solution has no decision, or is on another instance.
    """
    held = read_held(path, instance)
    return held.decision if isinstance(held, Solution) else held


def read_solution(path: str | os.PathLike[str], instance: Instance | FlowNetwork) -> Solution:
    """Read a solution file; arguments and errors as for `read_claim`."""
    found: Solution = _read(path, instance, SOLUTION)
    return found


def read_frontier(path: str | os.PathLike[str], instance: Instance) -> Frontier:
    """Read a frontier file; arguments and errors as for `read_claim`."""
    found: Frontier = _read(path, instance, FRONTIER)
    return found


def read_schedule(path: str | os.PathLike[str], instance: Instance) -> Schedule:
    """Read a schedule file; raises as `read_claim` does, and if it is of another instance."""
    found: Schedule = _read(path, instance, SCHEDULE)
    return found


def _read(path: str | os.PathLike[str], instance: Instance | FlowNetwork, *formats: str) -> Any:
    expect(path, (str, os.PathLike), "a file of claims is read by its path")
    own = [f"a {_VARIETIES[form].called}" for form in formats]
    solved = "optsched solve --output writes a solution"
    made = "optsched simulate --schedule writes one" if formats == (SCHEDULE,) else solved
    with kinds.expected(path, " or ".join(own), own, made):
        return parse_claim(content(path), instance, os.fspath(path), formats)


def parse_claim(
    content: Any,
    instance: Instance | FlowNetwork,
    source: str = "",
    formats: Sequence[str] = (SOLUTION, FRONTIER, SCHEDULE),
) -> Any:
    """Read the bytes of a file, or its document, in one of the `formats`; `source` is its name in messages.

    InputError if it has another format, or is faulty; lists every fault with its place.
    """
    expect(instance, (Instance, FlowNetwork), "a file of claims is of an instance or a flow network")
    value = opened(content, source) if isinstance(content, bytes) else content
    own = value.get("format") if isinstance(value, Mapping) else None
    if str(own).startswith(_RETIRED):
        message = f'"{own}" is an ordered vector of utilities, which optsched no longer reads; solve --problem utility'
        raise InputError([Fault("format", f"{message} has the lowest utility and its proof")], source)
    meant = next((form for form in formats if str(own).startswith(form.removesuffix("1"))), formats[0])
    variety = _VARIETIES[meant]
    if own != meant:
        found = f', and it says "{own[:40]}"' if isinstance(own, str) else ""
        message = f'is no {variety.called} file: it must begin {{"format": "{meant}", ...}}{found}'
        raise InputError([Fault("format", message)], source)
    if meant != SOLUTION and not isinstance(instance, Instance):
        raise InputError([Fault("format", "it is of an instance, and this is a flow network")], source)
    diagnosis = Diagnosis(_DEEPEST)
    document, faults = diagnosis.record(value, variety.document), diagnosis.faults
    known = {fault.place for fault in faults}
    claim = variety.read(document, Reading(instance, document.instance_sha256 == instance.sha256, faults, known))
    if faults:
        raise InputError(faults, source)
    return claim


# -- the varieties -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Variety:
    """A kind of claim: the name of its file, and the conversions between its document and its meaning."""

    called: str
    kind: type[Claim]
    document: type[Struct]
    write: Callable[[Any, Writing], dict[str, Any]]
    read: Callable[[Any, Reading], Any]


def _document(claim: Claim, writing: Writing) -> dict[str, Any]:
    """The document of a claim; in an archive without the separate arrays."""
    expect(claim, (Solution, Frontier, Schedule), "a file of claims holds a solution, a frontier or a schedule")
    on = writing.on
    form, variety = next((form, one) for form, one in _VARIETIES.items() if isinstance(claim, one.kind))
    kinds = (Instance, FlowNetwork) if form == SOLUTION else Instance
    expect(on, kinds, f"a {variety.called} file names the ids of what it is of")
    if isinstance(claim, Schedule):
        return {"format": form, **variety.write(claim, writing)}
    decided = not isinstance(claim, Solution) or claim.decision is not None
    if decided and claim.instance_sha256 != on.sha256:
        message = f"the {claim.noun} is of another instance than {on.name or 'this'}: give the one it is of"
        raise UsageError(message)
    return {
        "format": form,
        "problem": claim.problem,
        "parameters": dict(claim.parameters),
        "instance_sha256": claim.instance_sha256,
        **variety.write(claim, writing),
        "versions": versions(),
    }


class _Claim(Struct, forbid_unknown_fields=True, kw_only=True):
    """The fields of every claim of a problem."""

    problem: Text
    parameters: dict[str, Any]
    instance_sha256: Text
    limit: Limit | None
    versions: dict[str, Any]


class _Solution(_Claim, kw_only=True):
    objective: tuple[Number, ...] | None
    bound: tuple[Number | None, ...]
    termination: Termination
    certificates: list[CertificateDocument]
    solver: dict[str, Any]
    placement: Any = UNSET
    schedule: Any = UNSET
    flow: Any = UNSET


def _write_solution(solution: Solution, writing: Writing) -> dict[str, Any]:
    nouns = _nouns_of(writing.on)
    noun, held = nouns[0], None
    if solution.decision is not None and solution.decision.noun in nouns:
        noun = solution.decision.noun
        held = writing.decision(solution.decision, noun)
    return {
        noun: held,
        "objective": None if solution.objective is None else [spelled(value) for value in solution.objective],
        "bound": [spelled(value) for value in solution.bound],
        "termination": str(solution.termination),
        "limit": None if solution.limit is None else str(solution.limit),
        "certificates": writing.certificates(solution.certificates),
        "solver": {
            "route": solution.route,
            "build_seconds": solution.build_seconds,
            "solve_seconds": solution.solve_seconds,
            "raw_status": solution.raw_status,
            "engine": dict(solution.solver),
        },
    }


def _nouns_of(on: Instance | FlowNetwork) -> tuple[str, ...]:
    """The possible decisions on an instance or a network."""
    return (Placement.noun, Schedule.noun) if isinstance(on, Instance) else (NetworkFlow.noun,)


def _read_solution(document: _Solution, reading: Reading) -> Solution:
    solver, engine = document.solver, document.solver.get("engine")
    seconds = (solver.get("build_seconds"), solver.get("solve_seconds"))
    build, solve = (float(one) if isinstance(one, int | float) and one is not True else 0.0 for one in seconds)
    return Solution(
        problem=document.problem,
        parameters=document.parameters,
        instance_sha256=document.instance_sha256,
        decision=_decision(document, reading),
        objective=document.objective,
        bound=document.bound,
        termination=document.termination,
        limit=document.limit,
        certificates=tuple(reading.certificates(document.certificates)),
        route=str(solver.get("route", "")),
        build_seconds=build,
        solve_seconds=solve,
        solver=engine if isinstance(engine, Mapping) else {},
        raw_status=str(solver.get("raw_status", "")),
    )


def _decision(document: _Solution, reading: Reading) -> Decision | None:
    """The one decision of a file; None if it is null, or on another instance."""
    given = [noun for noun in ("placement", "schedule", "flow") if getattr(document, noun) is not UNSET]
    if len(given) != 1:
        reading.fault("placement", "give exactly one of placement and schedule (an instance's) and flow (a network's)")
        return None
    (noun,) = given
    value = getattr(document, noun)
    if value is None or not reading.same:
        return None
    if noun not in _nouns_of(reading.on):
        of, has = ("a flow network", "a flow")
        if isinstance(reading.on, Instance):
            of, has = "an instance", "a placement or a schedule"
        reading.fault(noun, f"the solution is of {of}: it has {has}")
        return None
    decision: Decision = getattr(reading, noun)(value, noun)
    return decision


class _Point(Struct, forbid_unknown_fields=True):
    objective: tuple[Number, ...]
    certificates: list[CertificateDocument]
    placement: Any = UNSET
    moved: Any = UNSET


class _Frontier(_Claim, kw_only=True):
    components: list[Text]
    points: list[_Point]
    complete: bool
    infeasible: CertificateDocument | None = None


def _write_frontier(frontier: Frontier, writing: Writing) -> dict[str, Any]:
    if too_many := _too_many(len(frontier), writing.on):
        raise UsageError(too_many)
    shown, points, before = frontier.infeasible, [], None
    for row, point in enumerate(frontier):
        place, nodes = f"points[{row}]", point.placement.on(writing.on)
        document: dict[str, Any] = {
            "objective": [spelled(value) for value in point.objective],
            "certificates": writing.certificates(point.certificates, f"{place}.certificates"),
        }
        if before is None:
            document["placement"] = writing.decision(point.placement, f"{place}.placement")
        else:
            document["moved"] = writing.decision(point.placement, f"{place}.moved", np.flatnonzero(before != nodes))
        points.append(document)
        before = nodes
    return {
        "components": list(frontier.components),
        "points": points,
        "complete": frontier.complete,
        "limit": None if frontier.limit is None else str(frontier.limit),
        **({} if shown is None else {"infeasible": writing.certificate(shown, "infeasible")}),
    }


def _too_many(points: int, instance: Any) -> str:
    """The message that a file has too many placements to read; empty if it has not."""
    taken = 8 * points * len(instance.workload)
    text = f"{points} placements of {len(instance.workload)} tasks take {taken} bytes; at most {_MOST_BYTES} are read"
    return text if taken > _MOST_BYTES else ""


def _read_frontier(document: _Frontier, reading: Reading) -> Frontier | None:
    if len(document.components) != 2:
        reading.fault("components", f"expected two names, got {len(document.components)}")
        return None
    if too_many := _too_many(len(document.points), reading.on):
        reading.fault("points", too_many)
        return None
    points: list[FrontierPoint] = []
    for row, point in enumerate(document.points):
        points.append(_read_point(point, f"points[{row}]", points[-1].placement if points else None, reading))
    shown = document.infeasible
    first, second = document.components
    return Frontier(
        document.problem,
        (first, second),
        tuple(points),
        document.complete,
        document.limit,
        document.parameters,
        document.instance_sha256,
        None if shown is None else reading.certificate(shown, "infeasible"),
    )


def _read_point(point: _Point, place: str, before: Placement | None, reading: Reading) -> FrontierPoint:
    """A point, from the previous point's placement; without its own placement if the instance is another one."""
    if len(point.objective) != 2:
        reading.fault(f"{place}.objective", f"expected two numbers, got {len(point.objective)}")
    proofs = reading.certificates(point.certificates, f"{place}.certificates")
    if len(proofs) != 2:
        reading.fault(f"{place}.certificates", f"expected two, one a component, got {len(proofs)}")
    placement = _placement(point, place, before, reading) if reading.same else Placement.of([])
    return FrontierPoint(point.objective, placement, tuple(proofs))  # type: ignore[arg-type]  # else a fault


def _placement(point: _Point, place: str, before: Placement | None, reading: Reading) -> Placement:
    """The placement of a point: given whole, or as the tasks that run elsewhere than at the previous point."""
    if (point.placement is UNSET) == (point.moved is UNSET):
        message = "give the placement, or in its place moved (what runs elsewhere than at the point before)"
        reading.fault(f"{place}.placement", message)
    elif point.moved is UNSET:
        return reading.placement(point.placement, f"{place}.placement")
    elif before is None:
        reading.fault(f"{place}.moved", "there is no point before: give the placement, {task: node or null}")
    else:
        return reading.placement(point.moved, f"{place}.moved", before)
    return Placement.empty(len(reading.on.workload))


class _Schedule(Struct, forbid_unknown_fields=True):
    instance_sha256: Text
    schedule: Any


def _write_schedule(schedule: Schedule, writing: Writing) -> dict[str, Any]:
    return {"instance_sha256": writing.on.sha256, "schedule": writing.decision(schedule, "schedule")}


def _read_schedule(document: _Schedule, reading: Reading) -> Schedule | None:
    if reading.same:
        return reading.schedule(document.schedule, "schedule")
    on, theirs = reading.on, document.instance_sha256[:12]
    message = f"is of {theirs}, and {on.name or 'the instance'} is {on.sha256[:12]}: give the instance it is of"
    reading.fault("instance_sha256", message)
    return None


_VARIETIES = {
    SOLUTION: _Variety("solution", Solution, _Solution, _write_solution, _read_solution),
    FRONTIER: _Variety("frontier", Frontier, _Frontier, _write_frontier, _read_frontier),
    SCHEDULE: _Variety("schedule", Schedule, _Schedule, _write_schedule, _read_schedule),
}


# -- writing -------------------------------------------------------------------------------------------------------


@dataclass
class Writing:
    """The conversion of a claim to a document.

    `on` is the instance or network with the ids. In an archive `arrays` takes long values by their place, and the
    document has null there; without `arrays` everything is in ids.
    """

    on: Instance | FlowNetwork
    arrays: dict[str, Ints] | None = None

    def decision(self, decision: Decision, place: str, tasks: Ints | None = None) -> dict[str, Any] | None:
        """A decision; of a placement only at the positions `tasks`, if these are given."""
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
        """A list of certificates, null if there is none."""
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
        """The content of the document's file: an archive if there are separate arrays, else JSON text."""
        text = msgspec.json.encode(document)
        if self.arrays is not None:
            return storing.pack(text, self.arrays)
        return msgspec.json.format(text, indent=1) + b"\n"


# -- reading -------------------------------------------------------------------------------------------------------


def opened(data: bytes, source: str = "") -> Any:
    """The document in a file of claims of either kind, with arrays in their places, those of certificates as `Rows`.

    InputError if it is neither JSON text nor a valid archive.
    """
    if not data.startswith(_ARCHIVE):
        return decode(data, source)
    try:
        return unpacked(data, most_unpacked(data))
    except InputError as error:
        raise error.with_source(source) from None


def unpacked(data: bytes, largest: int) -> Any:
    """The document of an archive; InputError also if it declares more than `largest` unpacked bytes."""
    arrays = storing.read_arrays(data, largest)
    document = decode(storing.header_text(arrays, "optsched-solution/1"))
    if isinstance(document, Mapping) and str(document.get("format")).startswith(_NOUNS):
        return document  # its arrays have another form; the reader says that it is no file of claims
    faults = [Fault(name, fault) for name, values in arrays.items() if (fault := _placed(document, name, values))]
    if faults:
        raise InputError(faults)
    return document


def _placed(document: Any, name: str, values: npt.NDArray[Any]) -> str:
    """Put an array at the place that its name says; returns what is wrong with that."""
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

    If the document is not of the `same` one, positions and ids have no meaning and are not read. `faults` collects the
    faults, except at places that are `known` to have one.
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
        """The meaning of a certificate's array: a number for each of some ids if it has two rows, else ids.

        ValueError if it is no array of whole numbers, or a position does not exist.
        """
        ids, values = _id_columns(self.on).get(rows.counted), rows.values
        if ids is None:
            raise ValueError(f"there are no {rows.counted} here")
        if not storing.holds_integers(values) or values.ndim == 0 or values.shape[:-1] not in ((), (2,)):
            raise ValueError(f"expected rows of positions and of whole numbers, got {storing.kind_of(values)}")
        return Chosen(ids, values) if values.ndim == 1 else ById(ids, *values)

    def fault(self, place: str, message: str) -> None:
        """Add a fault at a place, unless one is known there."""
        if place not in self.known:
            self.faults.append(Fault(place, message))

    def placement(self, value: Any, at: str, before: Placement | None = None) -> Placement:
        """A placement: an object {task: node or null}, or the position of each task's node.

        With `before` it has only the tasks that run elsewhere; by position these are two rows, tasks and nodes.
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
        """The positions of an object's keys, and the result of `read` for each entry (None for a faulty one).

        A missing key is a fault if `absent` says what to write instead.
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
        """An array of a file as int64; None and a fault if its shape or type is wrong."""
        if storing.holds_integers(values) and values.shape == shape:
            return np.asarray(values, dtype=np.int64)
        self.fault(at, f"expected {wanted}, got {storing.kind_of(values)}")
        return None

    def _known(self, positions: Ints, least: int, count: int, noun: str, at: str) -> Bools:
        """Which positions exist; each other one is a fault."""
        known = (positions >= least) & (positions < count)
        for row in np.flatnonzero(~known).tolist():
            self.fault(f"{at}[{row}]", f"the instance has {count} {noun}s, and none at {positions[row]}")
        return known


def _wrong_start(start: Any) -> str:
    return f"expected a whole number of microseconds, at most 2^53, got {start!r:.40}"
