"""The tables of files (TOML) of checks and sweeps: the allowed values of their keys, and their meanings.

`tables_of` reads a document into one `Looking` for each table, and `Looking` finds what its values stand for. Both note
every fault with its place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from optsched.core.brief import as_argument
from optsched.core.errors import Fault, InputError, UsageError, described, nearest, printable
from optsched.measuring.studies.choices import Choice, Family, Group, chosen, groups_of, seeds_of
from optsched.problems import problem_class
from optsched.solvers.profiles import load_profile

Found = TypeVar("Found")

#: Forms of values: a nonempty text, one or several; the same or true or false; a finite number.
Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Texts: TypeAlias = Text | Annotated[list[Text], Meta(min_length=1)]
AboveZero: TypeAlias = Annotated[float, Meta(gt=0, le=sys.float_info.max)]
AtLeastZero: TypeAlias = Annotated[float, Meta(ge=0, le=sys.float_info.max)]


class _Named(msgspec.Struct):
    """A table with a name, among other keys."""

    name: Text


@dataclass(frozen=True)
class Rule:
    """What the value of a key must be.

    `expected` describes it in words, `form` is its type in msgspec. `check` raises UsageError or InputError for a fault
    of a value of that form.
    """

    expected: str
    form: Any
    check: Callable[[Any], object] = lambda value: None

    def holds(self, value: Any) -> bool:
        """Whether a value has the form."""
        with suppress(msgspec.ValidationError):
            msgspec.convert(value, self.form)
            return True
        return False


#: The rule for each key that says what is measured.
MEASURED: dict[str, Rule] = {
    "heuristic": Rule('a text such as "package.module:function", or a list of them', Texts),
    "problem": Rule('a name such as "lsap", or a list of names', Texts),
    "instances": Rule("a name, file, folder or pattern, or a list of them", Texts),
    "family": Rule(
        'a table with a name, such as {name = "lsap", seeds = "0-29", nodes = 20}, or a list of them',
        _Named | Annotated[list[_Named], Meta(min_length=1)],
    ),
    "seeds": Rule('how many, a list of seeds, or a text such as "0-29"', int | str | list[Any], seeds_of),
    "parameters": Rule("a table", dict[str, Any]),
    "profile": Rule("the name of a profile, or a file", Text, load_profile),
    "time_limit": Rule("a number of seconds, at least 0", AtLeastZero),
}


def note_faults(table: Mapping[str, Any], rules: Mapping[str, Rule], before: str, faults: list[Fault]) -> None:
    """Note unknown keys of a table, and values and entries of lists of a wrong form; `before` precedes each key."""
    for key, value in table.items():
        place, rule = f"{before}{printable(key)}", rules.get(key)
        if rule is None:
            faults.append(Fault(place, f"there is no such key; {nearest(key, list(rules))}"))
        elif not rule.holds(value):
            entries = enumerate(value) if isinstance(value, list) else ()
            wrong = [(f"{place}[{row}]", entry) for row, entry in entries if not rule.holds([entry])]
            for where, what in wrong or [(place, value)]:
                faults.append(Fault(where, f"expected {rule.expected}, got {_shown(what)}"))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value in ("", []):
        return "an empty text" if value == "" else "an empty list"
    if isinstance(value, Mapping):
        return "a table"
    return str(value) if isinstance(value, int | float) else described(value)


def listed(value: Any) -> list[Any]:
    """A list unchanged, and anything else as a list of one."""
    return value if isinstance(value, list) else [value]


@dataclass
class Looking:
    """Resolves the values of a table; faults are noted at their places, and what is at fault already is passed over.

    `values` are those in force, those of the keys `own` from the table itself; `place` is that of the table. `missing`:
    whether a required key is missing.
    """

    values: Mapping[str, Any]
    own: Collection[str]
    faults: list[Fault]
    place: str
    missing: bool

    def place_of(self, key: str) -> str:
        """The place of a key's value."""
        return f"{self.place}.{key}" if self.place and key in self.own else key

    def one(self, place: str, looked_at: Callable[[Any], Found], value: Any) -> list[Found]:
        """The object for a value; nothing if it is wrong."""
        try:
            return [looked_at(value)]
        except (UsageError, InputError) as error:
            self.faults.extend(Fault(place, line) for line in error.lines)
            return []

    def entries(self, key: str) -> list[tuple[str, Any]]:
        """The value of a key, or each entry of its list, with its place."""
        place, value, wrong = self.place_of(key), self.values.get(key, []), {fault.place for fault in self.faults}
        if not isinstance(value, list):
            return [] if place in wrong else [(place, value)]
        entries = [(f"{place}[{row}]", entry) for row, entry in enumerate(value)]
        return [entry for entry in entries if not {place, entry[0]} & wrong]

    def each(self, key: str, looked_at: Callable[[Any], Found]) -> list[Found]:
        """The objects for the entries of a key."""
        return [found for place, value in self.entries(key) for found in self.one(place, looked_at, value)]

    def choices(self) -> list[Choice]:
        """The heuristics."""
        return self.each("heuristic", chosen)

    def problems(self) -> list[str]:
        """The names of the problems."""
        return self.each("problem", lambda name: problem_class(name).name)

    def groups(self) -> list[Group]:
        """The instances, those of families last."""
        named = self.one(self.place_of("instances"), groups_of, [value for _, value in self.entries("instances")])
        drawn = self.each("family", lambda table: groups_of(_family(table)))
        return [group for groups in (*named, *drawn) for group in groups]

    def sound(self, rules: Mapping[str, Rule]) -> dict[str, Any]:
        """The values of these keys, without those at fault and those that the check of their key refuses."""
        return {
            key: value
            for key, value in self.values.items()
            if key in rules
            and len(self.entries(key)) == len(listed(value))
            and self.one(self.place_of(key), rules[key].check, value)
        }


def tables_of(
    document: Mapping[str, Any],
    key: str,
    rules: Mapping[str, Rule],
    above: Mapping[str, Rule],
    faults: list[Fault],
    needed: Sequence[str] = (),
) -> tuple[dict[str, Any], list[Looking]]:
    """The values above the tables `[[key]]` of a document, and each table with its values in force.

    Entries of a wrong form, and missing ones, are among the faults. `rules` and `above` define the keys in a table and
    above the tables; the latter hold for all tables that do not override them. `needed` are keys that each table must
    have, or that must be above it; if none are needed, a document without such a table is itself one.
    """
    shared = {name: value for name, value in document.items() if name != key}
    note_faults(shared, {**above, key: Rule("a list of tables", bool)}, "", faults)
    tables = document.get(key, [] if needed else [{}])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        faults.append(Fault(key, f"is no list of tables: begin each {key} with [[{key}]]"))
        return shared, []
    if not tables:
        faults.append(Fault(key, f"is missing: write a table [[{key}]] with heuristic, problem and instances"))
    found = []
    for number, table in enumerate(tables):
        place = f"{key}[{number}]." if key in document else ""
        note_faults(table, rules, place, faults)
        given = {**shared, **table}
        missing = {name: f"is missing: give {rules[name].expected}" for name in needed if name not in given}
        if not {"instances", "family"} & given.keys():
            missing["instances"] = f"is missing: give {rules['instances'].expected}, or a family"
        faults += [Fault(f"{place}{name}", words) for name, words in missing.items()]
        found.append(Looking(given, table, faults, place.rstrip("."), bool(missing)))
    return shared, found


def _family(table: Mapping[str, Any]) -> Family:
    """Generated instances from `{name, seeds, parameters...}`."""
    drawn_with = {
        key: as_argument(value) if isinstance(value, list) else value
        for key, value in table.items()
        if key not in ("name", "seeds")
    }
    return Family(table["name"], table.get("seeds", 10), drawn_with)
