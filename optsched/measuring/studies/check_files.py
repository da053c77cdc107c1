"""The file of checks (TOML): a table `[[check]]` for each, whose keys are the arguments of `Check.of`.

What stands above the tables holds for all checks that do not say otherwise.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from optsched.core.errors import Fault, InputError, OptschedError, UsageError, nearest
from optsched.measuring.records import Run
from optsched.measuring.studies.checks import Check, CheckArguments, Planned
from optsched.measuring.studies.choices import Group
from optsched.measuring.studies.plan_files import MEASURED, Looking, Rule, formed, is_text, is_truth, listed, read_toml
from optsched.processes.containing import contained

__all__ = ["CheckFile", "NamedCheck", "runs_of"]


#: For each key: what it must be.
_RULES: dict[str, Rule] = {
    "name": Rule("a text", is_text),
    **{key: MEASURED[key] for key in ("heuristic", "problem", "instances", "family")},
    **{name: hint.__metadata__[0] for name, hint in get_type_hints(CheckArguments, include_extras=True).items()},
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
        self._text, self._document = read_toml(path)

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


def runs_of(asked: tuple[str, bool, str]) -> list[Run] | OptschedError:
    """The runs of one check, for a process of its own in the folder of the file: by its path, `record`, and name."""
    path, record, name = asked
    try:
        with redirect_stdout(sys.stderr):
            (planned,) = (entry.planned for entry in CheckFile(path).planned([name], record))
            with contained(planned.check.contained):
                return list(planned.measure())
    except OptschedError as error:
        return error


def _entries(document: Mapping[str, Any], text: str, faults: list[Fault]) -> list[_Entry]:
    """The tables, each with the values that hold for it; whatever has a wrong form is among the faults."""
    shared = {key: value for key, value in document.items() if key != "check"}
    above = {key: rule for key, rule in _RULES.items() if key != "name"} | {"check": Rule("a list of tables", is_truth)}
    defaults = formed(shared, above, "", faults)
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
        own = formed(table, _RULES, f"{place}.", faults)
        values = {**defaults, **own}
        given = {*shared, *table}
        missing = [key for key in _NEEDED if key not in given]
        if not {"instances", "family"} & given:
            missing.append("instances")
        faults += [Fault(f"{place}.{key}", f"is missing: give {_RULES[key].told}") for key in missing]
        name = values.get("name") or f"{_joined(values.get('heuristic'))} in {_joined(values.get('problem'))}"
        same = next((entry.place for entry in found if entry.name == name), None)
        if same is not None and not missing:
            faults.append(Fault(f"{place}.name", f'{same} is called "{name}", too: give each a name of its own'))
        places = {key: f"{place}.{key}" if key in table else key for key in _RULES}
        line = lines[number] if len(lines) == len(tables) else None
        found.append(_Entry(name, line, place, values, places))
    return found


def _joined(value: Any) -> str:
    return ", ".join(map(str, listed(value)))


def _planned(entry: _Entry, record: bool, faults: list[Fault]) -> Planned | None:
    """What a check is to run; None where something is wrong, which is among the faults then."""
    looking = Looking(entry.values, entry.places, faults)
    choices, problems, groups = looking.choices(), looking.problems(), looking.groups()
    values = looking.sound(_RULES)
    if not (choices and problems):
        return None
    for key in ("heuristic", "problem", "family", "instances"):
        values.pop(key, None)
    if values.get("baseline") is True:
        stem = re.sub(r"[^\w.-]+", "-", entry.name).strip("-.")
        values["baseline"] = f"gaps/{stem or 'check'}.json"
    values.pop("name", None)
    if values.setdefault("run_limit", RUN_LIMIT) == "none":
        values["run_limit"] = None

    def made(given: dict[str, Any]) -> Planned | None:
        check = Check.of(choices, groups or [NO_GROUP], problems, **given)
        return check.planned(record, RECORDER) if groups else None

    return next(iter(looking.one(entry.place, made, values)), None)


#: Stands for instances that are wrong, so that what else is wrong with their check is told too.
NO_GROUP = Group("none", ())


#: Seconds after which a run or a solve is killed, where the file does not say: none may hang a server for ever.
RUN_LIMIT = 600

#: What to do where there is no baseline.
RECORDER = "optsched check --update records it"
