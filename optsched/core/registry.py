"""Every problem that optsched knows, with one record each: where its definition, models, routes and proofs are.

Only here does the program learn of a problem. A record names the parts as text (`package.module:name`). Each part is
imported on first use, so that one problem never loads another problem's engines.

A problem is looked up by its own class, never by a base class: the searches and proofs of a base class do not know what
a subclass changes. A class without a record is judged by its own `objective` and `violations`, and solved by the
`program` that it defines itself, or else by trying every placement.

Other packages add records by entry points of the group `optsched.problems`; these come after the shipped ones. Their
fields and classes are checked when they are listed, their other parts on first use. Such a record may name a shipped
part only if the part fits its class (`optsched.core.foreign_records`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from optsched.core.errors import UsageError, described, nearest
from optsched.core.foreign_records import BY_PROGRAM, altered, fault_of, fault_of_fields, fault_of_parts
from optsched.core.outside import Listed
from optsched.core.problem_record import KnownOptimum, ProgramLimit, Record, Scaling, imported
from optsched.core.shipped_problems import SHIPPED, UNLISTED

__all__ = [
    "GROUP",
    "SHIPPED",
    "KnownOptimum",
    "ProgramLimit",
    "Record",
    "Scaling",
    "altered",
    "fault_of",
    "package_of",
    "record",
    "record_of",
    "records",
]

#: Entry points of this group are records of problems.
GROUP = "optsched.problems"

_BY_NAME = {entry.name: entry for entry in SHIPPED}
_BY_CLASS = {entry.problem: entry for entry in (*SHIPPED, *UNLISTED)}


class _Records(Listed[Record]):
    """Records by their names. A package's record is checked with all parts when `whole` first asks for it."""

    def __init__(self) -> None:
        super().__init__(GROUP, Record, _BY_NAME, _BY_NAME.__getitem__, fault_of_fields)
        self._completed: dict[str, Record] = {}

    def completed(self, record: Record) -> Record:
        """The record with the parts that follow from its class; UsageError if it names a part that does not exist."""
        if record.name in _BY_NAME:
            return record
        if record.name not in self._completed:
            wrong = fault_of_parts(record)
            if wrong is not None:
                _, package = self._read[0][record.name]
                which = f'the record of the problem "{record.name}" ({record.problem})'
                raise UsageError(f"{which} {wrong}; mend it, or uninstall {package}")
            self._completed[record.name] = _by_program(record, imported(record.problem))
        return self._completed[record.name]


@cache
def records() -> _Records:
    """Every listed problem's record by its name, the shipped ones first.

    Installed packages are read for the first name that is not shipped, or for the whole list. The mapping then raises
    UsageError, with the package, if something is no record, a name is taken, or a field, class or module is wrong.
    """
    return _Records()


def record(name: str) -> Record:
    """The record of the problem called `name`; UsageError with the nearest name if there is none.

    >>> record("latency").problem
    'optsched.problems.latency:Latency'
    """
    if not isinstance(name, str):
        posing = isinstance(name, type) and hasattr(name, "objective")
        mend = f"pose it by {name.__name__}(instance)" if posing else nearest(name, list(records()))
        raise UsageError(f"a problem is named by a text, not by {described(name)}; {mend}")
    if name not in records():
        known = [part.strip() for part in name.split(",")]
        mend = "give --problem once for each (Python: a list)" if len(known) > 1 and known[0] in records() else ""
        raise UsageError(f'there is no problem "{name}"; {mend or nearest(name, list(records()))}')
    return records().completed(records()[name])


def record_of(kind: type[Any]) -> Record:
    """The record of a class of problems; for a class that is not registered, a record of only the class.

    A package whose record cannot be read counts as not installed: the class is not its own. UsageError if another
    package's record names a part that does not exist.

    >>> from optsched.problems.lsap import Lsap
    >>> class Mine(Lsap):
    ...     pass
    >>> record_of(Lsap).routes, record_of(Mine).routes
    ('optsched.routes.assignment', None)
    """
    own = f"{kind.__module__}:{kind.__qualname__}"
    if own in _BY_CLASS:
        return _BY_CLASS[own]
    brought = _brought(kind)
    found = Record(name=kind.name, problem=own) if brought is None else records().completed(brought[0])
    return _by_program(found, kind)


def _by_program(record: Record, kind: type[Any]) -> Record:
    """A record with the parts that follow from the class's own program, if it names none."""
    if "program" not in vars(kind) or not issubclass(kind, imported("optsched.problems.programs:Programmed")):
        return record
    if record.routes is not None:
        return record
    first, *others = kind.components
    parts = BY_PROGRAM | ({"limit": ProgramLimit(f"the {first.name}", None)} if others else {})
    return replace(record, **{name: part for name, part in parts.items() if not getattr(record, name)})


def package_of(kind: type[Any]) -> str | None:
    """The installed package that adds a class of problems; None: no package does."""
    brought = _brought(kind)
    return None if brought is None else brought[1]


def _brought(kind: type[Any]) -> tuple[Record, str] | None:
    """Another package's record that names this class, and the package."""
    found = None if kind.name in _BY_NAME else records().readable(kind.name)
    return found if found is not None and found[0].problem == f"{kind.__module__}:{kind.__qualname__}" else None
