"""Files of tables that say what to measure (TOML): their form, and what instances, heuristics and problems they name.

The files of checks and of sweeps are made of these.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from optsched.core.errors import Fault, InputError, UsageError, described, nearest, printable
from optsched.measuring.studies.choices import Choice, Family, Group, chosen, groups_of, seeds_of
from optsched.problems import problem_class
from optsched.solvers.profiles import load_profile

__all__ = [
    "MEASURED",
    "TRUTH",
    "Looking",
    "Rule",
    "formed",
    "is_above_zero",
    "is_figure",
    "is_number",
    "is_text",
    "is_texts",
    "is_truth",
    "listed",
    "read_toml",
]

Found = TypeVar("Found")


@dataclass(frozen=True)
class Rule:
    """What the value of a key must be.

    Attributes
    ----------
    told
        That, in words.
    holds
        Whether a value has that form.
    check
        Raises UsageError or InputError for what is wrong with one of that form.
    """

    told: str
    holds: Callable[[Any], bool]
    check: Callable[[Any], object] = lambda value: None


def is_text(value: Any) -> bool:
    """Whether it is a text that is not empty."""
    return isinstance(value, str) and value != ""


def is_texts(value: Any) -> bool:
    """Whether it is a text, or a list of texts."""
    return is_text(value) or (isinstance(value, list) and value != [] and all(map(is_text, value)))


def is_truth(value: Any) -> bool:
    """Whether it is true or false."""
    return isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether it is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _is_families(value: Any) -> bool:
    tables = listed(value)
    return tables != [] and all(isinstance(table, Mapping) and is_text(table.get("name")) for table in tables)


def is_figure(value: Any) -> bool:
    """Whether it is a number, or a text that may be one."""
    return is_number(value) or is_text(value)


def is_above_zero(value: Any) -> bool:
    """Whether it is a finite number above 0."""
    return is_number(value) and 0 < value < math.inf


TRUTH = Rule("true or false", is_truth)

#: For each key that says what is measured: what it must be.
MEASURED: dict[str, Rule] = {
    "heuristic": Rule('a text such as "package.module:function", or a list of them', is_texts),
    "problem": Rule('a name such as "lsap", or a list of names', is_texts),
    "instances": Rule("a name, file, folder or pattern, or a list of them", is_texts),
    "family": Rule(
        'a table with a name, such as {name = "lsap", seeds = "0-29", nodes = 20}, or a list of them',
        _is_families,
    ),
    "seeds": Rule(
        'how many, a list of seeds, or a text such as "0-29"',
        lambda value: not isinstance(value, bool | float),
        seeds_of,
    ),
    "parameters": Rule("a table", lambda value: isinstance(value, Mapping)),
    "profile": Rule("the name of a profile, or a file", is_text, load_profile),
    "time_limit": Rule("a number of seconds, at least 0", lambda value: is_number(value) and 0 <= value < math.inf),
}


def read_toml(path: str | Path) -> tuple[str, Mapping[str, Any]]:
    """The text of a file and the document that it is.

    Raises
    ------
    InputError
        If it cannot be read or is no TOML.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except OSError as error:
        raise InputError([Fault("", f"cannot be read ({error.strerror}): check the path")], str(path)) from error
    except ValueError as error:
        raise InputError([Fault("", f"is not TOML: {error}")], str(path)) from error
    except RecursionError:
        raise InputError([Fault("", "is nested too deep; such a file is two levels deep")], str(path)) from None


def formed(table: Mapping[str, Any], rules: Mapping[str, Rule], before: str, faults: list[Fault]) -> dict[str, Any]:
    """The values of a table that have the right form; the others are among the faults.

    `before` stands before the key in the place of a fault.
    """
    found = {}
    for key, value in table.items():
        if key not in rules:
            faults.append(Fault(f"{before}{printable(key)}", f"there is no such key; {nearest(key, list(rules))}"))
        elif rules[key].holds(value):
            found[key] = value
        else:
            found |= _sound_entries(key, value, rules[key], before, faults)
    return found


def _sound_entries(key: str, value: Any, rule: Rule, before: str, faults: list[Fault]) -> dict[str, Any]:
    """What is left of a value of a wrong form: a list of entries, with None for those of a wrong one."""
    told = rule.told
    sound = [entry if rule.holds([entry]) else None for entry in value] if isinstance(value, list) else []
    if not any(entry is not None for entry in sound):
        faults.append(Fault(f"{before}{key}", f"expected {told}, got {_shown(value)}"))
        return {}
    for row, entry in enumerate(sound):
        if entry is None:
            faults.append(Fault(f"{before}{key}[{row}]", f"expected {told}, got {_shown(value[row])}"))
    return {key: sound}


def _known(value: Any) -> Any:
    """A value less the entries that have a wrong form."""
    return [entry for entry in value if entry is not None] if isinstance(value, list) else value


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value in ("", []):
        return "an empty text" if value == "" else "an empty list"
    if isinstance(value, Mapping):
        return "a table"
    return str(value) if isinstance(value, int | float) else described(value)


def listed(value: Any) -> list[Any]:
    """A list as it is, and anything else as one of it."""
    return value if isinstance(value, list) else [value]


@dataclass
class Looking:
    """Looks at what the values of a table stand for; what is wrong is noted at its place.

    Attributes
    ----------
    values
        The values that have the right form.
    places
        Where each stands, for faults.
    faults
        What is wrong so far.
    """

    values: Mapping[str, Any]
    places: Mapping[str, str]
    faults: list[Fault] = field(default_factory=list)

    def one(self, place: str, looked_at: Callable[[Any], Found], value: Any) -> list[Found]:
        """What a value stands for; nothing where it is wrong."""
        try:
            return [looked_at(value)]
        except (UsageError, InputError) as error:
            self.faults.extend(Fault(place, line) for line in str(error).split("\n"))
            return []

    def each(self, key: str, looked_at: Callable[[Any], Found]) -> Iterator[Found]:
        """What the value of a key, or each entry of its list, stands for."""
        value, place = self.values.get(key, []), self.places[key]
        for row, part in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if part is not None:
                yield from self.one(place if row is None else f"{place}[{row}]", looked_at, part)

    def choices(self) -> list[Choice]:
        """The heuristics."""
        return list(self.each("heuristic", chosen))

    def problems(self) -> list[str]:
        """The names of the problems."""
        return list(self.each("problem", lambda name: problem_class(name).name))

    def groups(self) -> list[Group]:
        """The instances, those of families last."""
        found = [group for drawn in self.each("family", lambda table: groups_of(_family(table))) for group in drawn]
        if "instances" not in self.values:
            return found
        return [
            *next(iter(self.one(self.places["instances"], groups_of, _known(self.values["instances"]))), []),
            *found,
        ]

    def sound(self, rules: Mapping[str, Rule]) -> dict[str, Any]:
        """The values less those that the check of their key finds wrong."""
        return {
            key: known
            for key, value in self.values.items()
            for known in [_known(value)]
            if self.one(self.places[key], rules[key].check, known)
        }


def _family(table: Mapping[str, Any]) -> Family:
    """Generated instances from `{name, seeds, parameters...}`."""
    drawn_with = {
        key: ",".join(map(str, value)) if isinstance(value, list) else value
        for key, value in table.items()
        if key not in ("name", "seeds")
    }
    return Family(table["name"], table.get("seeds", 10), drawn_with)
