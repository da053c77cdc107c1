"""Runs as a report tells them: what problems and heuristics are called, what is recorded twice, what came of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from optsched.errors import UsageError, nearest
from optsched.reporting.records import Record
from optsched.studies.records import run_of
from optsched.studies.summing import Run

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Entry", "chosen", "entries_of", "frame", "values"]


@dataclass(frozen=True)
class Entry:
    """A run of a report.

    Attributes
    ----------
    record
        What was read.
    run
        What summing up needs to know of it.
    """

    record: Record = field(repr=False)
    run: Run

    @property
    def problem(self) -> str:
        """What it is called: by its name, with the parameters by which it differs from others, if any."""
        return self.run.problem

    @property
    def heuristic(self) -> str:
        """What it is called, likewise."""
        return self.run.heuristic

    @property
    def instance(self) -> str:
        """Its name, with the wave."""
        return self.run.instance

    @property
    def reference(self) -> Hashable:
        """What is the same for runs that are measured against the same."""
        return self.run.reference

    @property
    def proof(self) -> str:
        """The kind of proof of an optimum; else `bound` or `unknown`."""
        return self.run.proof

    @property
    def outcome(self) -> str:
        """What it came to, as `optsched.studies.summing` counts it."""
        return self.run.outcome

    @property
    def component(self) -> str:
        """The first component, whose gaps are told."""
        return self.run.component

    @property
    def objective(self) -> float | None:
        """The value in the first component."""
        return values(self.record.objective)[0]

    @property
    def best(self) -> float | None:
        """The reference's value there."""
        return values(self.record.reference)[0]

    @property
    def absolute(self) -> float | None:
        """The difference."""
        return values(self.record.absolute_gap)[0]

    @property
    def relative(self) -> float | None:
        """The relative gap; None also beside a reference of 0, where there is a difference."""
        return values(self.record.relative_gap)[0]

    @property
    def maximum(self) -> bool:
        """Whether the first component is to be high."""
        sense = self.record.sense
        return (sense if isinstance(sense, str) else sense[0]) == "max"

    @property
    def status(self) -> str:
        """What became of the run."""
        return _status(self.record)


def values(given: float | Sequence[float | None] | None) -> list[float | None]:
    """One entry a component.

    >>> values(3.0), values(None), values([1.0, None])
    ([3.0], [None], [1.0, None])
    """
    return list(given) if isinstance(given, list) else [given]  # type: ignore[list-item]


def entries_of(records: Iterable[Record]) -> tuple[list[Entry], list[str]]:
    """The runs, each once, and what is to be said of them.

    A problem is parted by those parameters that differ on one instance, a heuristic by those that differ in one cell:
    there they are compared. Parameters that come with the instances part nothing. Of runs that are recorded twice the
    last counts.
    """
    distinct: dict[tuple[str, ...], Record] = {}
    repeated = changed = 0
    for record in records:
        key = _key(record)
        if key in distinct:
            repeated += 1
            changed += _result(distinct.pop(key)) != _result(record)
        distinct[key] = record
    told = []
    if repeated:
        also = f", {changed} of them with another result: the last counts" if changed else ""
        told.append(f"{repeated} runs are recorded more than once and count once{also}")
    kept = list(distinct.values())
    problems = _labels(kept, "problem", "parameters", lambda record: (*_posed_on(record), record.problem))
    heuristics = _labels(
        kept,
        "heuristic",
        "heuristic_parameters",
        lambda record: (
            *_posed_on(record),
            record.problem,
            _text(record.parameters),
            str(record.seed),
            record.heuristic,
        ),
    )
    found = [Entry(record, _run(record, problems(record), heuristics(record))) for record in kept]
    return found, told


def chosen(entries: Sequence[Entry], problems: Sequence[str], heuristics: Sequence[str]) -> list[Entry]:
    """The entries of some problems and heuristics, which are called by their names or labels; without names all.

    Raises
    ------
    UsageError
        For a name that none of them has.
    """
    for kind, names in (("problem", problems), ("heuristic", heuristics)):
        known = list(
            dict.fromkeys(name for entry in entries for name in (getattr(entry, kind), getattr(entry.record, kind)))
        )
        for name in names:
            if name not in known:
                raise UsageError(f'no record is of {kind} "{name}"; {nearest(name, known)}')
    return [
        entry
        for entry in entries
        if (not problems or {entry.problem, entry.record.problem} & set(problems))
        and (not heuristics or {entry.heuristic, entry.record.heuristic} & set(heuristics))
    ]


def frame(entries: Sequence[Entry]) -> pd.DataFrame:
    """A row a run, with the columns of `GapReports.frame` that pictures need."""
    import pandas as pd

    rows = [
        {
            "group": str(entry.reference),
            "instance": entry.instance,
            "problem": entry.problem,
            "heuristic": entry.heuristic,
            "seed": entry.record.seed,
            "feasible": entry.status == "done",
            "starved": entry.status == "starved",
            "error": entry.record.error,
            "status": entry.status,
            "termination": "OPTIMAL" if entry.record.reference_kind == "optimum" else entry.record.termination,
            "component_1": entry.component,
            "objective_1": entry.objective,
            "reference_1": entry.best,
            "absolute_gap_1": entry.absolute,
            "relative_gap_1": entry.relative,
        }
        for entry in entries
    ]
    found = pd.DataFrame(rows)
    numbers = ["objective_1", "reference_1", "absolute_gap_1", "relative_gap_1"]
    found[numbers] = found[numbers].astype(float)
    return found


def _key(record: Record) -> tuple[str, ...]:
    return *_problem(record), record.heuristic, _text(record.heuristic_parameters), str(record.seed)


def _posed_on(record: Record) -> tuple[str, str, str]:
    """Which instance, and which wave of it: two may share a name."""
    return record.instance, record.instance_sha256, "" if record.wave is UNSET else str(record.wave)


def _problem(record: Record) -> tuple[str, ...]:
    """What runs are compared on."""
    return *_posed_on(record), record.problem, _text(record.parameters)


def _run(record: Record, problem: str, heuristic: str) -> Run:
    """The run as summing up has it, whatever the age of its record."""
    known = msgspec.to_builtins(record) | {"status": _status(record)}
    known["components"] = record.components or ["the first component"]
    known["certificate"] = record.certificate or "unknown"
    return replace(run_of(known, heuristic, problem), instance=_instance(record))


def _status(record: Record) -> str:
    """What became of a run; records of older versions do not tell who starved, or was out of time."""
    if record.status is not None:
        return record.status
    if record.error is not None:
        return "out-of-time" if " was out of time after " in record.error else "failed"
    return "done" if record.feasible else "infeasible"


def _instance(record: Record) -> str:
    name = record.instance or "instance"
    if record.wave is UNSET:
        return name
    return f"{name}, all waves" if record.wave is None else f"{name}, wave {record.wave}"


def _result(record: Record) -> tuple[Any, ...]:
    return record.objective, record.reference, record.feasible, record.status


def _text(parameters: Mapping[str, Any]) -> str:
    return json.dumps(parameters, sort_keys=True)


def _labels(
    records: Sequence[Record], name: str, parameters: str, cell: Callable[[Record], tuple[str, ...]]
) -> Callable[[Record], str]:
    """What each is called: its name, with those parameters by which those of one cell differ."""
    cells: dict[tuple[str, ...], dict[str, Mapping[str, Any]]] = {}
    for record in records:
        given = getattr(record, parameters)
        cells.setdefault(cell(record), {})[_text(given)] = given
    differing: dict[str, dict[str, None]] = {}
    for key, sets in cells.items():
        known = list(sets.values())
        keys = dict.fromkeys(key for given in known for key in given)
        differing.setdefault(key[-1], {}).update(
            dict.fromkeys(one for one in keys if len({json.dumps(given.get(one)) for given in known}) > 1)
        )

    def label(record: Record) -> str:
        given = getattr(record, parameters)
        parts = [f"{key}={_spelled(given[key])}" for key in differing[cell(record)[-1]] if key in given]
        return ",".join([getattr(record, name), *parts])

    return label


def _spelled(value: Any) -> str:
    """A parameter as the command line takes it within a heuristic."""
    if isinstance(value, list):
        return ":".join(map(_spelled, value))
    return value if isinstance(value, str) else json.dumps(value)
