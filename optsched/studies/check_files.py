"""The file of checks (TOML): a table `[[check]]` for each, whose keys are the arguments of `Check.of`.

What stands above the tables holds for all checks that do not say otherwise.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from optsched.errors import Fault, InputError, UsageError, described, nearest, printable
from optsched.gaps import ratio
from optsched.problems import problem_class
from optsched.solvers.profiles import load_profile
from optsched.studies.checks import Check, Planned, kinds_of
from optsched.studies.choices import Family, chosen, groups_of, seeds_of
from optsched.studies.limits import GapLimit

__all__ = ["CheckFile", "NamedCheck"]

Found = TypeVar("Found")


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _texts(value: Any) -> bool:
    return _text(value) or (isinstance(value, list) and value != [] and all(map(_text, value)))


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _tables(value: Any) -> bool:
    tables = value if isinstance(value, list) else [value]
    return tables != [] and all(isinstance(table, Mapping) and _text(table.get("name")) for table in tables)


#: For each key: what it must be, in words, and whether a value is that.
_RULES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "name": ("a text", _text),
    "heuristic": ('a text such as "package.module:function", or a list of them', _texts),
    "problem": ('a name such as "lsap", or a list of names', _texts),
    "instances": ("a name, file, folder or pattern, or a list of them", _texts),
    "family": ('a table such as {name = "lsap", seeds = "0-29", nodes = 20}, or a list of them', _tables),
    "max_gap": ('a share such as 0.05 or "5%"', lambda value: _number(value) or _text(value)),
    "max_absolute": ("a number", lambda value: _number(value) or _text(value)),
    "over": ('"worst", "mean", "median" or a quantile such as 0.9', lambda value: _number(value) or _text(value)),
    "component": ("the name of a component", _text),
    "frontier": ("true or false", _truth),
    "feasible": ("true or false", _truth),
    "baseline": ("the path of a file, true or false", lambda value: _truth(value) or _text(value)),
    "certify": ('true, false, or a list such as ["solver"]', lambda value: _truth(value) or _texts(value)),
    "seeds": ('how many, a list of seeds, or a text such as "0-29"', lambda value: not isinstance(value, bool | float)),
    "parameters": ("a table", lambda value: isinstance(value, Mapping)),
    "profile": ("the name of a profile, or a file", _text),
    "time_limit": ("a number of seconds, at least 0", lambda value: _number(value) and 0 <= value < math.inf),
}

#: What every check must say.
_NEEDED = ("heuristic", "problem")


@dataclass(frozen=True)
class NamedCheck:
    """A check of a file.

    Attributes
    ----------
    name
        That no other check of the file has.
    line
        Of the file, where it begins; None where that is not known.
    planned
        What is to be run.
    """

    name: str
    line: int | None
    planned: Planned


@dataclass(frozen=True)
class _Entry:
    """A table of the file: its name, the values that have the right form, and of each the place where it stands."""

    name: str
    line: int | None
    place: str
    values: Mapping[str, Any]
    places: Mapping[str, str]


class CheckFile:
    """A file of checks. Its relative paths and modules are looked for from the current folder.

    Parameters
    ----------
    path
        The file, as it is called in messages.

    Raises
    ------
    InputError
        If it cannot be read or is no TOML.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        try:
            self._text = Path(path).read_text(encoding="utf-8")
            self._document: Mapping[str, Any] = tomllib.loads(self._text)
        except OSError as error:
            raise InputError([Fault("", f"cannot be read ({error.strerror}): check the path")], self.path) from error
        except ValueError as error:
            raise InputError([Fault("", f"is not TOML: {error}")], self.path) from error
        except RecursionError:
            raise InputError([Fault("", "is nested too deep; a check is two levels deep")], self.path) from None

    def planned(self, only: Iterable[str] = (), record: bool = False) -> list[NamedCheck]:
        """The checks of these names, or all.

        Parameters
        ----------
        only
            Names.
        record
            Whether their runs are to be recorded as baselines, and not compared with them.

        Raises
        ------
        UsageError
            If there is no check of such a name.
        InputError
            With all that is wrong with the file and with what it names.
        """
        faults: list[Fault] = []
        entries = _entries(self._document, self._text, faults)
        names = [entry.name for entry in entries]
        for name in only:
            if name not in names:
                raise UsageError(f'{self.path} has no check "{name}"; {nearest(name, names)}')
        wanted = set(only) or set(names)
        found = []
        for entry in entries:
            if entry.name in wanted:
                planned = _planned(entry, record, faults)
                if planned is not None:
                    found.append(NamedCheck(entry.name, entry.line, planned))
        if faults:
            raise InputError(dict.fromkeys(faults), self.path)
        return found


def _entries(document: Mapping[str, Any], text: str, faults: list[Fault]) -> list[_Entry]:
    """The tables, each with the values that hold for it; whatever has a wrong form is among the faults."""
    shared = {key: value for key, value in document.items() if key != "check"}
    defaults = _formed(shared, [*(key for key in _RULES if key != "name"), "check"], "", faults)
    tables = document.get("check", [])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        faults.append(Fault("check", "is no list of tables: begin each check with [[check]]"))
        return []
    if not tables:
        faults.append(Fault("check", "is missing: write a table [[check]] with heuristic, problem and instances"))
    heads = re.finditer(r"^[ \t]*(\[\[\s*check\s*\]\])", text, re.MULTILINE)
    lines = [text.count("\n", 0, head.start(1)) + 1 for head in heads]
    found: list[_Entry] = []
    for number, table in enumerate(tables):
        place = f"check[{number}]"
        own = _formed(table, list(_RULES), f"{place}.", faults)
        values = {**defaults, **own}
        given = {*shared, *table}
        missing = [key for key in _NEEDED if key not in given]
        if not {"instances", "family"} & given:
            missing.append("instances")
        faults += [Fault(f"{place}.{key}", f"is missing: give {_RULES[key][0]}") for key in missing]
        name = values.get("name") or f"{_joined(values.get('heuristic'))} in {_joined(values.get('problem'))}"
        same = next((entry.place for entry in found if entry.name == name), None)
        if same is not None and not missing:
            faults.append(Fault(f"{place}.name", f'{same} is called "{name}", too: give each a name of its own'))
        places = {key: f"{place}.{key}" if key in table else key for key in _RULES}
        line = lines[number] if len(lines) == len(tables) else None
        found.append(_Entry(name, line, place, values, places))
    return found


def _formed(table: Mapping[str, Any], keys: Sequence[str], before: str, faults: list[Fault]) -> dict[str, Any]:
    """The values of a table that have the right form."""
    found = {}
    for key, value in table.items():
        if key not in keys:
            faults.append(Fault(f"{before}{printable(key)}", f"there is no such key; {nearest(key, keys)}"))
        elif not _RULES[key][1](value):
            faults.append(Fault(f"{before}{key}", f"expected {_RULES[key][0]}, got {_shown(value)}"))
        else:
            found[key] = value
    return found


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value in ("", []):
        return "an empty text" if value == "" else "an empty list"
    return str(value) if isinstance(value, int | float) else described(value)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _joined(value: Any) -> str:
    return ", ".join(map(str, _listed(value)))


def _planned(entry: _Entry, record: bool, faults: list[Fault]) -> Planned | None:
    """What a check is to run; None where something is wrong, which is among the faults then."""
    values = dict(entry.values)

    def look(place: str, looked_at: Callable[[Any], Found], value: Any) -> list[Found]:
        """What a value stands for; nothing where it is wrong, which is noted at its place."""
        try:
            return [looked_at(value)]
        except (UsageError, InputError) as error:
            faults.extend(Fault(place, line) for line in str(error).split("\n"))
            return []

    def each(key: str, looked_at: Callable[[Any], Found]) -> list[Found]:
        """What a value, or each entry of a list, stands for."""
        value, place = values.pop(key, []), entry.places[key]
        listed = enumerate(value) if isinstance(value, list) else [(None, value)]
        return [
            found
            for row, part in listed
            for found in look(place if row is None else f"{place}[{row}]", looked_at, part)
        ]

    choices, problems = each("heuristic", chosen), each("problem", lambda name: problem_class(name).name)
    groups = [group for found in each("family", lambda table: groups_of(_family(table))) for group in found]
    if "instances" in values:
        instances = values.pop("instances")
        groups = [*next(iter(look(entry.places["instances"], groups_of, instances)), []), *groups]
    for key, looked_at in _LOOKED_AT.items():
        if key in values and not look(entry.places[key], looked_at, values[key]):
            del values[key]
    if not (choices and problems and groups):
        return None
    if values.get("baseline") is True:
        stem = re.sub(r"[^\w.-]+", "-", entry.name).strip("-.")
        values["baseline"] = f"gaps/{stem or 'check'}.json"
    values.pop("name", None)

    def made(given: dict[str, Any]) -> Planned:
        return Check.of(choices, groups, problems, **given).planned(record, RECORDER)

    return next(iter(look(entry.place, made, values)), None)


#: What to do where there is no baseline.
RECORDER = "optsched check --update records it"

#: What is wrong with these values is told at their place, and not only of the whole check.
_LOOKED_AT: dict[str, Callable[[Any], Any]] = {
    "max_gap": lambda value: ratio(value, "a share"),
    "max_absolute": lambda value: ratio(value, "a difference"),
    "over": lambda value: GapLimit.of(max_gap=0, over=value),
    "certify": kinds_of,
    "seeds": seeds_of,
    "profile": load_profile,
}


def _family(table: Mapping[str, Any]) -> Family:
    """Generated instances from `{name, seeds, parameters...}`."""
    drawn_with = {
        key: ",".join(map(str, value)) if isinstance(value, list) else value
        for key, value in table.items()
        if key not in ("name", "seeds")
    }
    return Family(table["name"], table.get("seeds", 10), drawn_with)
