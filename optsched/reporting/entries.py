"""Runs as a report tells them: what problems and heuristics are called, what is recorded twice, what came of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from optsched.errors import UsageError, nearest
from optsched.studies.records import Record, Run

if TYPE_CHECKING:
    pass

__all__ = ["chosen", "entries_of", "values"]


def values(given: float | Sequence[float | None] | None) -> list[float | None]:
    """One entry a component.

    >>> values(3.0), values(None), values([1.0, None])
    ([3.0], [None], [1.0, None])
    """
    return list(given) if isinstance(given, list) else [given]  # type: ignore[list-item]


def entries_of(records: Iterable[Record]) -> tuple[list[Run], list[str]]:
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
    found = [
        Run(record, str(_problem(record)), heuristics(record), problems(record), _instance(record)) for record in kept
    ]
    return found, told


def chosen(entries: Sequence[Run], problems: Sequence[str], heuristics: Sequence[str]) -> list[Run]:
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


def _key(record: Record) -> tuple[str, ...]:
    return *_problem(record), record.heuristic, _text(record.heuristic_parameters), str(record.seed)


def _posed_on(record: Record) -> tuple[str, str, str]:
    """Which instance, and which wave of it: two may share a name."""
    return record.instance, record.instance_sha256, "" if record.wave is UNSET else str(record.wave)


def _problem(record: Record) -> tuple[str, ...]:
    """What runs are compared on."""
    return *_posed_on(record), record.problem, _text(record.parameters)


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
