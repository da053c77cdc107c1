"""Records of runs, new or read from where they are kept, for tables, frames and summaries."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from optsched.core.brief import brief
from optsched.core.instance import KINDS
from optsched.core.placement import Schedule
from optsched.measuring.gaps import GapReport, differing, frontier_gap_fields
from optsched.measuring.printing import Cell, Table, canonical, figures, share
from optsched.problems import PROBLEMS
from optsched.problems.base import TaskProblem
from optsched.problems.locality_counts import CLASSES

if TYPE_CHECKING:
    import pandas as pd

#: A number for each component; a single number if there is one component.
Entries: TypeAlias = float | list[float | None] | None

#: The outcomes of a run (`GapReport.status`), also of a contained one.
Status: TypeAlias = Literal["done", "infeasible", "starved", "failed", "out-of-time", "out-of-memory", "crashed"]

#: How many tasks of each kind are how near to their data.
Locality: TypeAlias = dict[str, dict[str, int]] | None


class Record(Struct, frozen=True, kw_only=True):
    """A run, as `GapReport.record` and `optsched gap --format json` write it; with `ran_in` a cell of a gap matrix.

    Fields that older versions did not write have defaults; `further` has fields of only some problems and runs.
    """

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
    locality: Locality = None
    reference_locality: Locality = None
    status: Status | None = None
    components: list[str] = []
    instance_sha256: str = ""
    source: str = ""
    profile: str = "exact"
    time_limit: float | UnsetType | None = UNSET
    # The other fields, before or after these or only in some records.
    version: str = ""
    wave: int | UnsetType | None = UNSET
    ran_in: str | None = None
    reason: str | None = None
    notes: list[str] = []
    further: dict[str, Any] = {}

    def __post_init__(self) -> None:
        """Set the status of an older version's run, which did not record starvation."""
        if self.status is None:
            status = "done" if self.feasible else "infeasible"
            if self.error is not None:
                status = "out-of-time" if " was out of time after " in self.error else "failed"
            msgspec.structs.force_setattr(self, "status", status)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Record:
        """The record of a report, or of JSON.

        Raises
        ------
        msgspec.ValidationError
            If a field is missing or has another type.
        """
        further = {name: value for name, value in document.items() if name not in cls.__struct_fields__}
        return msgspec.convert({**renewed(document), "further": further}, cls)

    def of_each(self, name: str) -> list[Any]:
        """The values of a field, one for each component; for one component it is no list."""
        value = getattr(self, name)
        return value if isinstance(value, list) else [value]


def renewed(document: Mapping[str, Any]) -> dict[str, Any]:
    """A record with today's keys: earlier versions called off-rack tasks `remote`.

    >>> renewed({"locality": {"map": {"node": 1, "rack": 0, "remote": 2}}})
    {'locality': {'map': {'node': 1, 'rack': 0, 'off_rack': 2}}}
    """
    known = dict(document)
    for name in ("locality", "reference_locality"):
        if isinstance(counts := known.get(name), Mapping):
            known[name] = counts = dict(counts)
            for kind, levels in counts.items():
                if isinstance(levels, Mapping):
                    counts[kind] = {"off_rack" if level == "remote" else level: n for level, n in levels.items()}
    return known


#: The meaning of `over 0` in all tables and reports.
OVER_ZERO = "over 0: the reference is 0, so the gap is a difference and has no percentage"

#: Outcomes of runs without a relative gap (`Run.outcome`), and their names in tables.
WITHOUT = {
    "infeasible": "infeasible",
    "starved": "starved",
    "failed": "failed",
    "out_of_time": "out of time",
    "out_of_memory": "out of memory",
    "crashed": "crashed",
    "over_zero": "over 0",
    "unknown": "unknown",
}

#: Fields of every record, as `GapReport.record` orders them.
_FIELDS = Record.__struct_fields__[: Record.__struct_fields__.index("version")]


def record_fields(problems: Iterable[TaskProblem[Any]], *, policies: bool, placements: bool = False) -> list[str]:
    """The fields that records of any gaps in these problems may have, in order: the header of a table of them.

    `policies`: whether a policy runs. `placements`: whether they have placements.
    """
    problems = list(problems)
    found = dict.fromkeys(_FIELDS)
    found |= dict.fromkeys(name for problem in problems for name in frontier_gap_fields(problem))
    further = {
        "rounds": policies,
        "idle_slot_time": policies,
        "assumed": any(problem.decided is Schedule for problem in problems),
        "placement": placements,
        "reference_placement": placements,
    }
    return [*found, *(name for name, there in further.items() if there)]


@dataclass(frozen=True)
class Run:
    """A run, and its labels when several are shown together.

    `group` is its group of instances. `heuristic`, `problem` and `instance` are labels, by default the names in the
    record; `ran_in` is the problem in which the heuristic ran: another one in some cells of a gap matrix. A new run has
    its report (`of`); its record has no `further` fields.
    """

    record: Record
    group: str = ""
    heuristic: str = ""
    problem: str = ""
    instance: str = ""
    ran_in: str = ""
    made: GapReport | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Set missing labels to the names in the record."""
        record = self.record
        names = {name: getattr(record, name) for name in ("problem", "instance", "heuristic")}
        for name, known in {**names, "ran_in": record.ran_in or record.problem}.items():
            object.__setattr__(self, name, getattr(self, name) or known)

    @classmethod
    def of(cls, made: GapReport, group: str = "", heuristic: str = "", ran_in: str = "") -> Run:
        """The run of a report."""
        nothing = made.status == "infeasible" and made.decision is None
        reason = f"no-{made.problem.decided.noun}" if nothing else None
        record = Record(**made.record(further=False), reason=reason)
        return cls(record, group, heuristic, ran_in=ran_in, made=made)

    def __repr__(self) -> str:
        elsewhere = f", run in {self.ran_in}" if self.carried else ""
        return brief(f"Run of {self.heuristic} in {self.problem}{elsewhere}: {self.reason or self.made or self.record}")

    @property
    def report(self) -> GapReport:
        """The report, for a new run."""
        assert self.made is not None
        return self.made

    @property
    def further(self) -> Mapping[str, Any]:
        """What only some problems and runs say; the frontier is solved if its gaps are among that."""
        return (self.record if self.made is None else Record.of(self.made.record())).further

    @cached_property
    def reference(self) -> Hashable:
        """A key of the reference: equal for runs on an instance, or on a wave of one, with the same reference."""
        record = self.record
        parameters = canonical(record.parameters)
        return record.instance_sha256, record.instance, record.problem, parameters, str(record.wave)

    @property
    def proof(self) -> str:
        """The kind of proof of the reference if that is an optimum; else `bound` or `unknown`."""
        kind = self.record.reference_kind
        return (self.record.certificate if kind == "optimum" else kind) or "unknown"

    @cached_property
    def outcome(self) -> str:
        """The outcome of the run.

        `optimal` (a proved optimum is met), `above`, `over_zero`, `unknown`, `infeasible`, `starved`, `failed`,
        `out_of_time`, `out_of_memory` or `crashed`.
        """
        if self.status != "done":
            return self.status.replace("-", "_")
        absolutes = self.record.of_each("absolute_gap")
        if absolutes[0] is None:
            return "unknown"
        if self.relative is None:
            return "over_zero"
        met = self.record.reference_kind == "optimum" and not any(absolutes) and None not in absolutes
        return "optimal" if met else "above"

    @property
    def status(self) -> str:
        """How the run ended, as in `GapReport.status`."""
        return str(self.record.status)

    @property
    def components(self) -> list[str]:
        """Names of the components of the objective; their numbers if the record has no names."""
        numbers = range(1, len(self.record.of_each("objective")) + 1)
        return self.record.components or [f"component {number}" for number in numbers]

    @property
    def component(self) -> str:
        """The first component, whose gaps are reported."""
        return self.components[0]

    @property
    def deciding(self) -> tuple[int, Any, Any] | None:
        """The first component that differs, and its gap (`differing`); None if it is unknown."""
        return differing(self.record.of_each("absolute_gap"), self.record.of_each("relative_gap"))

    @property
    def gap(self) -> tuple[Any, Any]:
        """Absolute and relative gap of the first component that differs, infinite over 0; None if unknown."""
        if self.deciding is None:
            return None, None
        _, absolute, relative = self.deciding
        return absolute, math.inf if absolute and relative is None else relative

    @property
    def bounded(self) -> bool:
        """Whether the gap is against a bound, so that the true one may be smaller."""
        return self.deciding is not None and self.record.reference_kind == "bound"

    @property
    def carried(self) -> bool:
        """Whether the heuristic ran in another problem than the one that judges it."""
        return self.ran_in != self.record.problem

    @property
    def reason(self) -> str | None:
        """Why there is no gap, in one word; None if there is one.

        `failed`: the heuristic raised or returned something invalid. `out-of-time`: it did not end in its time.
        `starved`: it left tasks waiting for ever. `unproved`: no reference is known. `no-schedule`, `no-placement`: the
        problem decides when tasks run but the heuristic only where, or the reverse. Else the first constraint of the
        problem that the placement violates.
        """
        record = self.record
        if record.reason is not None:
            return record.reason
        if record.status == "infeasible" and record.violations:
            return str(record.violations[0]["constraint"])
        if record.status != "done":
            return record.status
        return "unproved" if self.deciding is None else None

    def cell(self) -> Cell:
        """The gap in a table of several problems: relative, a difference if the optimum is 0, or the reason.

        It is marked if it is of a later component than the first, if it is against a bound, and if the heuristic ran in
        another problem: `legend` explains the marks.
        """
        found = self.deciding
        marks = (f" ({found[0] + 1})" if found and found[0] else "") + " ~" * self.bounded + " *" * self.carried
        if found is None or found[2] is None:
            return Cell((str(self.reason) if found is None else f"+{figures(found[1])}") + marks)
        relative = share(found[2])
        return Cell(relative + marks, relative.value)

    @property
    def objective(self) -> float | None:
        """The value in the first component."""
        return self._first("objective")

    @property
    def best(self) -> float | None:
        """The reference's value there."""
        return self._first("reference")

    @property
    def absolute(self) -> float | None:
        """The difference."""
        return self._first("absolute_gap")

    @property
    def relative(self) -> float | None:
        """The relative gap; None also over 0."""
        return self._first("relative_gap")

    def _first(self, name: str) -> float | None:
        first: float | None = self.record.of_each(name)[0]
        return first

    @property
    def maximum(self) -> bool:
        """Whether the first component is maximised."""
        return bool(self.record.of_each("sense")[0] == "max")


def legend(runs: Iterable[Run]) -> list[str]:
    """The meaning of the marks in the cells of these runs, a line for each mark that occurs."""
    runs = list(runs)
    entries: dict[str, None] = {}
    for run in runs:
        if run.deciding is not None and (position := run.deciding[0]):
            first, later = " and ".join(run.components[:position]), run.components[position]
            entries[f"({position + 1}) in {run.problem}: gap in {later}, where {first} is at the optimum"] = None
    if any(run.deciding is not None and run.deciding[2] is None for run in runs):
        entries[f"+: {OVER_ZERO}"] = None
    if any(run.bounded for run in runs):
        entries["~: against a bound, because no optimum is proved: the true gap may be smaller"] = None
    if any(run.carried for run in runs):
        entries["*: placed in another problem, which the heuristic serves"] = None
    return list(entries)


def matrix_table(runs: Iterable[Run]) -> Table:
    """A row for each heuristic, a column for each problem, and in each cell the gap; empty if there is no run."""
    by_row: dict[str, dict[str, Cell]] = {}
    problems: dict[str, None] = {}
    for run in runs:
        problems[run.problem] = None
        by_row.setdefault(run.heuristic, {})[run.problem] = run.cell()
    rows = [[name, *(row.get(problem, Cell("")) for problem in problems)] for name, row in by_row.items()]
    return Table(("heuristic", *problems), rows, frozenset(problems))


def frame_of(kept: Iterable[Run]) -> pd.DataFrame:
    """A row for each run, one number per column; `optsched.GapReports.frame` lists them."""
    import pandas as pd

    runs = list(kept)
    known = dict.fromkeys(run.record.problem for run in runs if run.record.problem in PROBLEMS)
    further = list(dict.fromkeys(field for name in known for field in frontier_gap_fields(PROBLEMS[name])))
    columns = max((len(run.record.components) for run in runs), default=1) or 1
    frame = pd.DataFrame([_row(run, columns, further) for run in runs])
    texts = {"group", "instance", "problem", "parameters", "heuristic", "status", "error", "proof", "termination"}
    for name in frame.columns:
        if name not in texts | {"seed", "feasible", "starved"} and not name.startswith("component_"):
            frame[name] = frame[name].astype(float)
    return frame


def _row(run: Run, columns: int, further: Sequence[str]) -> dict[str, Any]:
    record = run.record
    absolute, relative = run.gap
    row: dict[str, Any] = {
        "group": run.group,
        "instance": run.instance,
        "problem": run.problem,
        "parameters": json.dumps(record.parameters, default=str),
        "heuristic": run.heuristic,
        "seed": record.seed,
        "feasible": record.feasible,
        "starved": record.status == "starved",
        "status": record.status,
        "error": record.error,
        "proof": record.certificate,
        "termination": record.termination or ("OPTIMAL" if record.reference_kind == "optimum" else None),
        "gap": relative,
        "absolute_gap": absolute,
    }
    for position in range(columns):
        names = record.components
        row[f"component_{position + 1}"] = names[position] if position < len(names) else None
        for name in ("objective", "reference", "absolute_gap", "relative_gap"):
            values = record.of_each(name)
            row[f"{name}_{position + 1}"] = values[position] if position < len(values) else None
    row["waiting"] = record.waiting
    for whose in ("", "reference_"):
        counts = getattr(record, f"{whose}locality")
        for kind in KINDS:
            for place in CLASSES:
                row[f"{whose}{kind}_{place}"] = None if counts is None else counts.get(kind, {}).get(place)
    beyond = run.further if further else {}
    row |= {name: beyond.get(name) for name in further}
    return row | {name: getattr(record, name) for name in ("build_seconds", "solve_seconds", "heuristic_seconds")}
