"""Files of claims: solutions, frontiers and schedules.

A file says by its `format` which variety it is (`optsched-solution/1`, ...). It is JSON text, or an archive where its
name ends in `.npz`; `documents.claims` says how decisions and certificates stand in either. Numbers are exact:
integers as integers, other rationals as `"p/q"`. Decisions are in the instance's ids.

Reading checks the form of a file and of its decisions. Whether its claims are true is for `optsched.certificates`. A
schedule file holds what a simulator or a cluster's log tells, without a problem and without a claim.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from msgspec import UNSET, Struct

from optsched.core import kinds
from optsched.core.decimals import spelled
from optsched.core.errors import Fault, InputError, UsageError, expect
from optsched.core.instance import Instance
from optsched.core.network import FlowNetwork
from optsched.core.placement import NetworkFlow, Placement, Schedule
from optsched.core.resources import versions
from optsched.core.results import Decision, Frontier, FrontierPoint, Limit, Number, Solution, Termination
from optsched.instances.documents.claims import CertificateDocument, Reading, Text, Writing, opened
from optsched.instances.documents.diagnosis import Diagnosis
from optsched.instances.documents.storing import write_whole
from optsched.instances.files import LARGEST_FILE, content

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

#: Data of certificates, and all else that is free in form, is nested at most so deep: cases within cases take two each.
_DEEPEST = 256

#: The most bytes of all placements of a file, 8 a task: one that moves nothing is short, and yet counts in full.
_MOST_BYTES = LARGEST_FILE


def claim_document(claim: Claim, instance: Instance | FlowNetwork) -> dict[str, Any]:
    """A solution, a frontier or a schedule as its file holds it.

    A solution has a `placement`, or a `schedule` (node and start of each task, whole microseconds) where one was
    decided; of a flow network a `flow`, units by the id of the arc. A frontier has, of each point but the first, the
    tasks that run elsewhere than at the point before, which are often few.

    UsageError if it holds a decision on another instance, whose ids this one does not give; or placements that take
    more than a gibibyte.

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
    """What a file of that name holds of a claim: an archive where it ends in `.npz`, else JSON text."""
    writing = Writing(instance, {} if os.fspath(path).endswith(".npz") else None)
    return writing.content(_document(claim, writing))


def write_claim(claim: Claim, instance: Instance | FlowNetwork, path: str | os.PathLike[str]) -> None:
    """Write the file of a solution, a frontier or a schedule: the whole file or none; one that exists is replaced.

    InputError if it cannot be written there; UsageError as by `claim_document`.
    """
    expect(path, (str, os.PathLike), "write_claim takes a path")
    write_whole(path, claim_content(claim, instance, path))


def read_claim(path: str | os.PathLike[str], instance: Instance | FlowNetwork) -> Solution | Frontier:
    """Read a solution or a frontier of `instance`.

    A claim of another instance (by its digest) is read without its decisions, which mean nothing here;
    `optsched.certify` tells of it. InputError if the file is missing, unreadable, of none of these formats, or wrong;
    lists every fault with its place.
    """
    found: Solution | Frontier = _read(path, instance, SOLUTION, FRONTIER)
    return found


def read_held(path: str | os.PathLike[str], instance: Instance | FlowNetwork) -> Solution | Schedule:
    """A solution, or the schedule of a schedule file; raises as `read_claim` does."""
    found: Solution | Schedule = _read(path, instance, SOLUTION, SCHEDULE)
    return found


def read_decision(path: str | os.PathLike[str], instance: Instance | FlowNetwork) -> Decision | None:
    """Read what was decided: of a solution file, or of a schedule file; raises as `read_claim` does.

    None where a solution holds no decision, or is of another instance.
    """
    held = read_held(path, instance)
    return held.decision if isinstance(held, Solution) else held


def read_solution(path: str | os.PathLike[str], instance: Instance | FlowNetwork) -> Solution:
    """Read a solution file; takes and raises what `read_claim` does."""
    found: Solution = _read(path, instance, SOLUTION)
    return found


def read_frontier(path: str | os.PathLike[str], instance: Instance) -> Frontier:
    """Read a frontier file; takes and raises what `read_claim` does."""
    found: Frontier = _read(path, instance, FRONTIER)
    return found


def read_schedule(path: str | os.PathLike[str], instance: Instance) -> Schedule:
    """Read a schedule file; raises as `read_claim` does, and where it is of another instance."""
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
    """Read the bytes of a file, or the document in it, which has one of the `formats`; `source` names it in messages.

    InputError if it is of another format, or wrong; lists every fault with its place.
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
    """A kind of claim: what its file is called, and how its document and what it stands for are made of each other."""

    called: str
    kind: type[Claim]
    document: type[Struct]
    write: Callable[[Any, Writing], dict[str, Any]]
    read: Callable[[Any, Reading], Any]


def _document(claim: Claim, writing: Writing) -> dict[str, Any]:
    """The document of a claim, in an archive without what stands apart."""
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
    """What may be decided on an instance or a network."""
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
    """The one decision of a file; None where it is null, or of another instance."""
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
    """The message that a file has too many placements to read; empty where it has not."""
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
    """A point, given the placement of the one before; without its own where the instance is another one."""
    if len(point.objective) != 2:
        reading.fault(f"{place}.objective", f"expected two numbers, got {len(point.objective)}")
    proofs = reading.certificates(point.certificates, f"{place}.certificates")
    if len(proofs) != 2:
        reading.fault(f"{place}.certificates", f"expected two, one a component, got {len(proofs)}")
    placement = _placement(point, place, before, reading) if reading.same else Placement.of([])
    return FrontierPoint(point.objective, placement, tuple(proofs))  # type: ignore[arg-type]  # else a fault


def _placement(point: _Point, place: str, before: Placement | None, reading: Reading) -> Placement:
    """The placement of a point: given whole, or as what runs elsewhere than at the point before."""
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
