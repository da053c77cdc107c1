"""The file of a sweep (TOML): what is measured, where to and within which limits.

What is measured stands at the top, or in several tables `[[part]]`, whose runs are one sweep; what stands above them
holds for all that do not say otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from optsched.core.errors import Fault, InputError, UsageError
from optsched.core.instance import Instance
from optsched.measuring.studies.plan_files import MEASURED, Looking, Rule, formed, is_above_zero, is_text, read_toml
from optsched.measuring.sweeping.plans import Plan, planned
from optsched.solvers.profiles import AnyProfile

__all__ = ["SweepFile"]


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _tables(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and all(isinstance(row, Mapping) for row in value))


#: What is measured, of each part.
_PART: dict[str, Rule] = {
    **{key: rule for key, rule in MEASURED.items() if key != "time_limit"},
    "parameters": Rule("a table such as {levels = [0, 1, 2]}, or a list of them, each of which is tried", _tables),
}

#: Where to, how and within which limits.
_WHOLE: dict[str, Rule] = {
    "store": Rule('the path of a file, such as "sweep.sqlite"', is_text),
    "time_limit": Rule(
        MEASURED["time_limit"].told + ', or "none"',
        lambda value: value == "none" or MEASURED["time_limit"].holds(value),
    ),
    "run_limit": Rule("a number of seconds above 0", is_above_zero),
    "memory_limit": Rule("a whole number of MiB", _whole),
    "jobs": Rule("a whole number of processes", _whole),
    "dask": Rule("the address of a scheduler, such as tcp://host:8786", is_text),
}


class SweepFile:
    """A file of a sweep. Its relative paths and modules are looked for from the current folder.

    Parameters
    ----------
    path
        The file, as it is called in messages.

    Attributes
    ----------
    options
        What it says of the whole: `store`, `time_limit`, `run_limit`, `memory_limit`, `jobs`, `dask`.

    Raises
    ------
    InputError
        If it cannot be read, is no TOML, or has a key or value that there is not; lists every fault.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        _, document = read_toml(path)
        faults: list[Fault] = []
        shared = {key: value for key, value in document.items() if key != "part"}
        known = {**_PART, **_WHOLE, "part": Rule("a list of tables", lambda value: False)}
        values = formed(shared, known, "", faults)
        self.options = {key: values.pop(key) for key in _WHOLE if key in values}
        tables = document.get("part", [{}])
        if not isinstance(tables, list) or not tables or not all(isinstance(table, Mapping) for table in tables):
            faults.append(Fault("part", "is no list of tables: begin each part with [[part]]"))
            tables = []
        #: Of each part the values, where each of them stands, and where the part does.
        self._parts: list[tuple[dict[str, Any], dict[str, str], str]] = []
        for number, table in enumerate(tables):
            place = f"part[{number}]."
            own = formed(table, _PART, place, faults)
            places = {key: f"{place}{key}" if key in table else key for key in _PART}
            if not {"instances", "family"} & ({*shared, *table}):
                inside = place if "part" in document else ""
                faults.append(
                    Fault(f"{inside}instances", f"is missing: give {MEASURED['instances'].told}, or a family")
                )
            self._parts.append(({**values, **own}, places, place.rstrip(".") if "part" in document else ""))
        if faults:
            raise InputError(faults, self.path)

    def planned(
        self,
        refused: Callable[[Instance, str, InputError], None] = lambda instance, name, error: None,
        limited: Callable[[str | None], AnyProfile] = lambda name: name or "exact",
    ) -> Plan:
        """The runs of all parts.

        Parameters
        ----------
        refused
            As for `optsched.measuring.sweeping.plans.planned`.
        limited
            The profile, with its time limit, by the name that a part gives it, if any.

        Raises
        ------
        InputError
            With all that is wrong with what the file names.
        """
        faults: list[Fault] = []
        plan = Plan(())
        for values, places, place in self._parts:
            before = len(faults)
            looking = Looking(values, places, faults)
            choices, problems, groups = looking.choices(), looking.problems(), looking.groups()
            sound = looking.sound(_PART)
            if len(faults) == before:
                parameters, profile = sound.get("parameters", {}), limited(sound.get("profile"))
                seeds = sound.get("seeds", 1)
                try:
                    found = planned(
                        groups, problems, choices, seeds, parameters=parameters, profile=profile, refused=refused
                    )
                except (UsageError, InputError) as error:
                    faults += [Fault(place, line) for line in str(error).split("\n")]
                else:
                    plan += found
        if faults:
            raise InputError(dict.fromkeys(faults), self.path)
        return plan
