"""Solution files (`optsched-solution/1`): what was decided and what proves it, exact and in the instance's ids.

Reading checks the form of a file and of its placement. Whether its claims are true is for `optsched.certificates`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from msgspec import UNSET, Struct

from optsched.decimals import spelled
from optsched.errors import Fault, UsageError, expect
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
from optsched.instances.documents.decisions import decided, flow_of, placement_of, schedule_of
from optsched.instances.documents.writing import write_whole
from optsched.instances.files import content
from optsched.network import FlowNetwork
from optsched.placement import NetworkFlow, Placement
from optsched.results import Decision, Limit, Solution, Termination
from optsched.schedule import Schedule

__all__ = [
    "SOLUTION",
    "parse_solution",
    "read_solution",
    "solution_content",
    "solution_document",
    "versions",
    "write_solution",
]

#: The value of `format` that this module reads and writes.
SOLUTION = "optsched-solution/1"


class _Document(Struct, forbid_unknown_fields=True):
    problem: Text
    parameters: dict[str, Any]
    instance_sha256: Text
    objective: Any
    bound: Any
    termination: Literal["OPTIMAL", "INFEASIBLE", "FEASIBLE", "NO_SOLUTION", "ERROR"]
    limit: LimitName | None
    certificates: list[CertificateDocument]
    solver: dict[str, Any]
    versions: dict[str, Any]
    placement: Any = UNSET
    schedule: Any = UNSET
    flow: Any = UNSET


#: What a file may tell of an instance and of a network, and the form of each.
_OF_INSTANCE, _OF_NETWORK = (Placement.noun, Schedule.noun), (NetworkFlow.noun,)
_FORMS = {
    Placement.noun: "{task: node or null}",
    Schedule.noun: "{task: {node, start} or null}",
    NetworkFlow.noun: "{arc: units}",
}


def solution_document(
    solution: Solution, instance: Instance | FlowNetwork, apart: Apart | None = None
) -> dict[str, Any]:
    """A solution as the solution file holds it: integers as integers, other rationals as `"p/q"`, decision in ids.

    Of an instance it has a `placement`, or a `schedule` (node and start of each task, whole microseconds) where one was
    decided; of a flow network a `flow`: units by the id of the arc.

    Parameters
    ----------
    solution
        Of a problem on `instance`.
    instance
        The instance or flow network, which gives the ids.
    apart
        Of an archive: takes what is long, of which the document has null.

    Raises
    ------
    UsageError
        If it holds a decision on another instance, whose ids this one does not give.

    Examples
    --------
    >>> from optsched.instance import Cluster, Workload
    >>> from fractions import Fraction
    >>> instance = Instance(Cluster(["a"]), Workload(["t1", "t2"]))
    >>> solution = Solution("lsap", {}, instance.sha256, Placement.of([None, 0]), (Fraction(1, 2),), (None,),
    ...                     Termination.FEASIBLE, Limit.GAP, (), "by hand", 0.0, 0.0, {}, "")
    >>> document = solution_document(solution, instance)
    >>> document["placement"], document["objective"], document["bound"]
    ({'t1': None, 't2': 'a'}, ['1/2'], [None])
    """
    expect(solution, Solution, "a solution file holds a solution", "solve first: optsched.solve(problem)")
    expect(instance, (Instance, FlowNetwork), "a solution file names the ids of an instance or a flow network")
    decision = solution.decision
    if decision is not None and solution.instance_sha256 != instance.sha256:
        raise UsageError(f"the solution is of another instance than {instance.name or 'this'}: give the one it is of")
    nouns = _OF_INSTANCE if isinstance(instance, Instance) else _OF_NETWORK
    noun, held = nouns[0], None
    if decision is not None and decision.noun in nouns:
        noun = decision.noun
        held = decided(decision, instance, apart, noun)
    return {
        "format": SOLUTION,
        "problem": solution.problem,
        "parameters": dict(solution.parameters),
        "instance_sha256": solution.instance_sha256,
        noun: held,
        "objective": None if solution.objective is None else [spelled(value) for value in solution.objective],
        "bound": [spelled(value) for value in solution.bound],
        "termination": str(solution.termination),
        "limit": None if solution.limit is None else str(solution.limit),
        "certificates": [
            certificate_document(certificate, apart, f"certificates[{row}]")
            for row, certificate in enumerate(solution.certificates)
        ],
        "solver": {
            "route": solution.route,
            "build_seconds": solution.build_seconds,
            "solve_seconds": solution.solve_seconds,
            "raw_status": solution.raw_status,
            "engine": dict(solution.solver),
        },
        "versions": versions(),
    }


def write_solution(solution: Solution, instance: Instance | FlowNetwork, path: str | os.PathLike[str]) -> None:
    """Write a solution file: the whole file or none.

    Parameters
    ----------
    solution, instance
        As for `solution_document`.
    path
        The file; one that exists is replaced.

    Raises
    ------
    InputError
        If it cannot be written there.
    """
    expect(path, (str, os.PathLike), "write_solution takes a path")
    write_whole(path, solution_content(solution, instance, path))


def solution_content(solution: Solution, instance: Instance | FlowNetwork, path: str | os.PathLike[str] = "") -> bytes:
    """What a solution file of that name holds: an archive where it ends in `.npz`, else JSON text."""
    return file_content(path, instance, lambda apart: solution_document(solution, instance, apart))


def read_solution(path: str | os.PathLike[str], instance: Instance | FlowNetwork) -> Solution:
    """Read a solution file.

    Parameters
    ----------
    path
        The file.
    instance
        What it should be a solution of. One of another instance (by its digest) is read without the placement or flow,
        which means nothing here; `optsched.certify` tells of it.

    Raises
    ------
    InputError
        If the file is missing, unreadable or wrong; lists every fault with its place.
    """
    expect(path, (str, os.PathLike), "read_solution takes a path")
    expect(instance, (Instance, FlowNetwork), "read_solution takes an instance or a flow network")
    return parse_solution(content(path), instance, os.fspath(path))


def parse_solution(content: Any, instance: Instance | FlowNetwork, source: str = "") -> Solution:
    """What `read_solution` reads, from the bytes of a file or the document in it; `source` is its name, for messages.

    Raises
    ------
    InputError
        If it is wrong; lists every fault with its place.
    """
    return read_document(
        content, SOLUTION, _Document, "solution", source, lambda document, faults: _solution(document, instance, faults)
    )


def _solution(document: _Document, instance: Instance | FlowNetwork, faults: list[Fault]) -> Solution:
    """The solution that a document of the right form stands for; what is wrong with it is added to `faults`."""
    ours = instance if document.instance_sha256 == instance.sha256 else None
    bound = numbers_of(document.bound, "bound", faults, unknown=True)
    objective = None if document.objective is None else numbers_of(document.objective, "objective", faults)
    certificates = [
        certificate_of(entry, f"certificates[{row}]", ours, faults) for row, entry in enumerate(document.certificates)
    ]
    decision = _decision(document, instance, faults)
    told = document.solver
    return Solution(
        problem=document.problem,
        parameters=document.parameters,
        instance_sha256=document.instance_sha256,
        decision=decision,
        objective=objective,
        bound=bound,
        termination=Termination(document.termination),
        limit=None if document.limit is None else Limit(document.limit),
        certificates=tuple(certificates),
        route=str(told.get("route", "")),
        build_seconds=_seconds(told.get("build_seconds")),
        solve_seconds=_seconds(told.get("solve_seconds")),
        solver=told.get("engine", {}) if isinstance(told.get("engine", {}), Mapping) else {},
        raw_status=str(told.get("raw_status", "")),
    )


def _seconds(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _decision(document: _Document, instance: Instance | FlowNetwork, faults: list[Fault]) -> Decision | None:
    """What was decided, of which a file has exactly one; None where it is null, or of another instance."""
    given = [name for name in _FORMS if getattr(document, name) is not UNSET]
    if len(given) != 1:
        told = "give exactly one of placement and schedule (an instance's) and flow (a network's)"
        faults.append(Fault("placement", told))
        return None
    (noun,) = given
    value, ours = getattr(document, noun), document.instance_sha256 == instance.sha256
    if value is None:
        return None
    if not isinstance(value, Mapping | np.ndarray):
        faults.append(Fault(noun, f"expected an object {_FORMS[noun]}, or null"))
        return None
    if not ours:
        return None
    if isinstance(instance, Instance) and noun in _OF_INSTANCE:
        read = placement_of if noun == Placement.noun else schedule_of
        return read(value, instance, faults)
    if isinstance(instance, FlowNetwork) and noun in _OF_NETWORK:
        return flow_of(value, instance, faults)
    told = (
        "an instance: it has a placement or a schedule"
        if isinstance(instance, Instance)
        else "a flow network: it has a flow"
    )
    faults.append(Fault(noun, f"the solution is of {told}"))
    return None
