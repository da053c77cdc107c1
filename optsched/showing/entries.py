"""Runs as a report tells them: what they are called, what is recorded twice, and the commands that give them again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import UNSET

from optsched.core.errors import UsageError, nearest
from optsched.measuring.printing import Cell
from optsched.measuring.records import Record, Run
from optsched.showing.reading import FrontierRecord

__all__ = ["again", "argument", "asked", "chosen", "entries_of", "study", "values"]


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


def _spelled(value: Any, comma: str = ":") -> str:
    """A parameter as the command line takes it within a heuristic."""
    if isinstance(value, list):
        return comma.join(_spelled(part, comma) for part in value)
    return value if isinstance(value, str) else json.dumps(value)


# Commands -------------------------------------------------------------------------------------------------------------


#: So many instances are named in a command; of more, how many there are.
_NAMED = 8


def again(record: Record) -> Cell:
    """The command that makes a run again; its instance is a name of the library, a family, or a file of yours.

    Examples
    --------
    >>> import optsched
    >>> from optsched.showing.reading import read
    >>> (record,) = read([optsched.study("papers/guo-fig2", "lsap", "dl")]).runs
    >>> again(record)
    'optsched gap papers/guo-fig2 --problem lsap --heuristic dl --seed 0 --time-limit none'
    """
    before, name = argument(record.instance, record.source)
    command = ["optsched", "gap", name, "--problem", record.problem, *_parameters(record)]
    command += ["--heuristic", _heuristic(record), "--seed", str(record.seed), *_limits(record)]
    shown = before + " ".join(map(shlex.quote, command))
    return Cell(shown, shown, again=True)


def study(records: Sequence[Record]) -> tuple[str, ...]:
    """The lines of a shell that measure all these runs of a problem again, as far as one command can."""
    arguments = list(dict.fromkeys(argument(record.instance, record.source) for record in records))
    parameters = list(dict.fromkeys(tuple(_parameters(record)) for record in records))
    command = ["optsched", "gap", *(name for _, name in arguments[:_NAMED])]
    lines = [before.removesuffix(" && ") for before, _ in arguments[:_NAMED] if before]
    if len(arguments) > _NAMED:
        lines.append(f"# and {len(arguments) - _NAMED} instances more, to be added to the command")
    command += ["--problem", records[0].problem]
    if len(parameters) == 1:
        command += parameters[0]
    else:
        lines.append(
            f"# the parameters of {records[0].problem} differ between the runs; each run's command has its own"
        )
    for name in dict.fromkeys(map(_heuristic, records)):
        command += ["--heuristic", name]
    limits = list(dict.fromkeys(tuple(_limits(record)) for record in records))
    if len(limits) == 1:
        command += limits[0]
    else:
        lines.append("# profiles or limits on time differ between the runs; each run's command has its own")
    seeds = sorted({record.seed for record in records})
    if seeds != [0]:
        command += ["--seed", str(seeds[0]), "--repeats", str(seeds[-1] - seeds[0] + 1)]
    command += ["--format", "json", "--output", "records.json"]
    return (*lines, " ".join(map(shlex.quote, command)))


def asked(found: FrontierRecord) -> str:
    """The command of a frontier."""
    _, name = argument(found.instance, "")
    command = ["optsched", "frontier", name, "--problem", found.problem, *_parameters(found), "--format", "json"]
    return " ".join(map(shlex.quote, command))


def argument(name: str, source: str) -> tuple[str, str]:
    """What must be typed before, and the argument that names an instance."""
    if (known := _shipped().get(name)) is not None:
        return "", known
    file = f"{Path(name or 'instance').name}.json"
    generated = source.removeprefix("generated by ")
    if generated != source:
        return f"{generated} --output {shlex.quote(file)} && ", file
    return "", file


@cache
def _shipped() -> Mapping[str, str]:
    """The library's names by those that records have, which are their last parts."""
    from optsched.instances.library import library

    return {Path(name).name: name for name in library()}


def _parameters(record: Record | FrontierRecord) -> Iterator[str]:
    """Those of the problem that are not its defaults."""
    from optsched.problems import PROBLEMS

    table = {entry.name: entry.default for entry in PROBLEMS[record.problem].parameter_table} if _known(record) else {}
    for name, value in record.parameters.items():
        if name not in table or not _same(value, table[name]):
            yield "--param"
            yield f"{name}={_spelled(value, ',')}"


def _limits(record: Record) -> Iterator[str]:
    """The options that say how hard the reference was tried for; the command line has a limit on time by default."""
    if record.profile != "exact":
        yield from ("--profile", record.profile)
    if record.time_limit is not UNSET:
        yield from ("--time-limit", "none" if record.time_limit is None else f"{record.time_limit:g}")


def _known(record: Record | FrontierRecord) -> bool:
    from optsched.core.registry import SHIPPED

    return record.problem in {entry.name for entry in SHIPPED}


def _heuristic(record: Record) -> str:
    """The heuristic with those parameters that are not its defaults."""
    from optsched.heuristics import HEURISTICS

    entry = None if ":" in record.heuristic else HEURISTICS.get(record.heuristic)
    defaults = {} if entry is None or entry.parameters is None else {one.name: one.default for one in entry.parameters}
    given = [
        f"{name}={_spelled(value, ':')}"
        for name, value in record.heuristic_parameters.items()
        if name not in defaults or not _same(value, defaults[name])
    ]
    return ",".join([record.heuristic, *given])


def _same(value: Any, default: Any) -> bool:
    return json.dumps(value) == json.dumps(default, default=str)
