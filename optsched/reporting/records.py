"""What the sources of a report hold: records of gaps, cells of a matrix, frontiers; each as its JSON is written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from optsched.errors import Fault
from optsched.results import Proof, Value

__all__ = ["FrontierRecord", "Point", "Record", "parsed"]

#: A number a component; one number alone where there is one component.
Entries: TypeAlias = float | list[float | None] | None

#: What became of a run (`GapReport.status`), and of one that was contained in a process of its own.
Status: TypeAlias = Literal["done", "infeasible", "starved", "failed", "out-of-time", "out-of-memory", "crashed"]


class Record(Struct, frozen=True, kw_only=True):
    """A run, as `optsched gap --format json` writes it; with `ran_in` a cell of `optsched matrix`.

    Fields that older versions did not write have defaults. What a report has no use for is passed over.
    """

    version: str
    instance: str
    problem: str
    parameters: dict[str, Any]
    heuristic: str
    heuristic_parameters: dict[str, Any] = {}
    seed: int
    sense: str | list[str] = "min"
    feasible: bool
    violations: list[dict[str, Any]] = []
    objective: Entries
    reference: Entries
    reference_kind: Literal["optimum", "bound"] | None
    absolute_gap: Entries
    relative_gap: Entries
    certificate: str | None = None
    termination: str | None = None
    limit: str | None = None
    error: str | None = None
    build_seconds: float | None = None
    solve_seconds: float | None = None
    heuristic_seconds: float | None = None
    waiting: int | None = None
    status: Status | None = None
    components: list[str] = []
    instance_sha256: str = ""
    source: str = ""
    profile: str = "exact"
    time_limit: float | UnsetType | None = UNSET
    wave: int | UnsetType | None = UNSET
    ran_in: str | None = None
    reason: str | None = None
    notes: list[str] = []


class Point(Struct, frozen=True):
    """A point of a frontier."""

    objective: tuple[float, float]
    certificate: Proof


class FrontierRecord(Struct, frozen=True, kw_only=True):
    """A frontier, as `optsched frontier --format json` writes it."""

    version: str
    instance: str
    problem: str
    parameters: dict[str, Any]
    components: tuple[str, str]
    points: list[Point]
    complete: bool
    limit: str | None = None

    @property
    def values(self) -> list[Value]:
        """The values of the points, as exact as JSON has them."""
        return [tuple(map(Fraction, point.objective)) for point in self.points]


#: What other files of this program are, by what they say of themselves, and what to give instead.
_OTHERS = {
    "optsched/1": "is an instance: measure it first (optsched gap FILE --format json --output RECORDS.json)",
    "optsched-network/1": "is a flow network, for which there are no heuristics, so no gaps",
    "optsched-solution/1": "is a solution: measure a heuristic (optsched gap --format json)",
    "optsched-baseline/1": "is a baseline, which has no references: record the gaps again (optsched gap --format json)",
    "optsched-optima/1": "lists optima of the library: measure heuristics (optsched gap --format json)",
}

#: Fields by which records of gaps are told from what is something else.
_TELLING = {"heuristic", "problem", "instance", "relative_gap"}


def parsed(document: Any, place: str) -> Record | FrontierRecord | list[Fault]:
    """An entry of a source, or what is wrong with it.

    Examples
    --------
    >>> parsed({"format": "optsched/1"}, "")[0].message[:14]
    'is an instance'
    """
    if not isinstance(document, Mapping):
        return [Fault(place, "is no record: expected an object, as optsched gap --format json writes it")]
    if "points" in document and "components" in document:
        points: FrontierRecord | list[Fault] = _converted(document, FrontierRecord, place)
        return points
    if document.keys() >= _TELLING:
        found = _converted(document, Record, place)
        return found if isinstance(found, list) else _uniform(found, place)
    known = document.get("format")
    if isinstance(known, str) and known in _OTHERS:
        return [Fault(place, _OTHERS[known])]
    if "chains" in document:
        told = "explains a gap: give what optsched gap --format json writes"
    else:
        fields = ", ".join(sorted(map(str, document))[:4])
        told = f"is no record of a gap, matrix or frontier (it has {fields or 'no field'})"
    return [Fault(place, told)]


def _converted(document: Mapping[str, Any], kind: type[Any], place: str) -> Any:
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        told, _, where = str(error).partition(" - at `$")
        missing = re.match(r"Object missing required field `(\w+)`", told)
        if missing:
            told = f"lacks the field {missing[1]}: write it with optsched gap, matrix or frontier --format json"
        return [Fault(f"{place}{where.rstrip('`')}".lstrip("."), told[0].lower() + told[1:])]


def _uniform(record: Record, place: str) -> Record | list[Fault]:
    """The record, unless its lists are not of one length: an entry a component."""
    several: dict[str, Sequence[Any]] = {}
    names = ("sense", "objective", "reference", "absolute_gap", "relative_gap", "components")
    for name in names:
        value = getattr(record, name)
        if value is not None and value != []:
            several[name] = value if isinstance(value, list) else [value]
    sizes = {name: len(value) for name, value in several.items()}
    if len(set(sizes.values())) == 1:
        return record
    told = ", ".join(f"{name} {size}" for name, size in sizes.items())
    return [Fault(place, f"its lists must have an entry a component each, not {told}")]
