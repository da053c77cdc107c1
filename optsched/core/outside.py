"""Loads what installed packages add by entry points, and reports exceptions of code from other packages.

Problems, heuristics, importers and families of instances each have a group of entry points. An entry point names a
record of its group, or a tuple of records.
"""

from __future__ import annotations

import importlib
import os
import re
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from optsched.core.errors import UsageError, described


class Named(Protocol):
    """Anything with a name on the command line."""

    @property
    def name(self) -> str: ...


Entry = TypeVar("Entry", bound=Named)
Given = TypeVar("Given")
Loaded = TypeVar("Loaded")

#: The folders of this package and of Python's imports; in a traceback their frames are above a user's code.
_PACKAGE = str(Path(__file__).parents[1])
_MACHINERY = (_PACKAGE, str(Path(importlib.__file__).parent), "<frozen importlib")

#: Other characters have a meaning in arguments: `P.K=V`, `H,K=V`, `package.module:function`.
_NAME = re.compile(r"\w[\w-]*")


#: Says what is wrong with a record; None: nothing.
Check = Callable[[Entry], str | None]


def brought(
    group: str, kind: type[Entry], taken: Collection[str], check: Check[Entry] | None = None
) -> tuple[dict[str, tuple[Entry, str]], tuple[UsageError, ...]]:
    """The parts that installed packages add to a group, with their packages, by name; and the faults of packages.

    The order is that of packages and of their entry points. Each entry point names an object of `kind`, or a tuple of
    them. One package's fault does not hide another package's parts. It is a fault if a module cannot be imported, or if
    a record is not of `kind`, has a bad name or one of `taken`, or fails `check`, which may import what the record
    names.
    """
    from importlib.metadata import entry_points  # takes a while to import

    found: dict[str, tuple[Entry, str]] = {}
    faults: list[UsageError] = []
    points = [
        ("a package" if point.dist is None else point.dist.name, point.name, point)
        for point in entry_points(group=group)
    ]
    for package, _, point in sorted(points, key=lambda known: known[:2]):
        origin = f'the entry point "{point.name} = {point.value}" of {package} ({group})'
        try:
            given: Any = _attempt(lambda at: at.load(), point, origin, package)
            for entry in given if isinstance(given, tuple) else (given,):
                if not isinstance(entry, kind):
                    wanted = f"{kind.__module__}.{kind.__qualname__}"
                    raise UsageError(f"{origin} names {described(entry)}; it must name a {wanted}, or a tuple of them")
                name = entry.name
                if not isinstance(name, str) or not _NAME.fullmatch(name):
                    message = f"{origin} is called {name!r}; a name is of letters, digits, - and _; mend that package"
                    raise UsageError(message)
                if name in taken or name in found:
                    message = f'{origin} has the name "{name}", which is taken; rename it, or uninstall the package'
                    raise UsageError(message)
                fault = None if check is None else _attempt(check, entry, origin, package)
                if fault is not None:
                    raise UsageError(f"{origin}: {fault}; mend it, or uninstall {package}")
                found[name] = entry, package
        except UsageError as error:
            faults.append(error)
    return found, tuple(faults)


class Listed(Mapping[str, Entry]):
    """Records by their names: the `shipped` ones, each looked up on demand, then those of installed packages.

    A shipped name is found without looking at the packages. So a broken package matters only if the whole list is
    needed, or a name that is not shipped. `group`, `kind` and `check` are as for `brought`.
    """

    def __init__(
        self,
        group: str,
        kind: type[Entry],
        shipped: Collection[str],
        find: Callable[[str], Entry],
        check: Check[Entry] | None = None,
    ) -> None:
        self._group, self._kind, self._check = group, kind, check
        self._shipped, self._find = shipped, find

    @cached_property
    def _read(self) -> tuple[dict[str, tuple[Entry, str]], tuple[UsageError, ...]]:
        return brought(self._group, self._kind, self._shipped, self._check)

    @property
    def _brought(self) -> Mapping[str, Entry]:
        found, faults = self._read
        if faults:
            raise faults[0]
        return {name: entry for name, (entry, _) in found.items()}

    def readable(self, name: str) -> tuple[Entry, str] | None:
        """A package's record of a name, and the package, despite faults of others; None: nothing readable."""
        return self._read[0].get(name)

    def __getitem__(self, name: str) -> Entry:
        return self._find(name) if name in self._shipped else self._brought[name]

    def __contains__(self, name: object) -> bool:
        return name in self._shipped or name in self._brought

    def __iter__(self) -> Iterator[str]:
        return iter((*self._shipped, *self._brought))

    def __len__(self) -> int:
        return len(self._shipped) + len(self._brought)


def _attempt(load: Callable[[Given], Loaded], argument: Given, origin: str, package: str) -> Loaded:
    """Import modules of a package; UsageError if that raises."""
    try:
        return load(argument)
    except (Exception, SystemExit) as error:
        fault = f"{origin} cannot be loaded: {raised(error)}; mend it, or uninstall {package}"
        raise UsageError(fault) from error


def blamed(error: BaseException) -> str | None:
    """A line that names the installed package whose code an exception passed through; None: no such package.

    Only packages that add something count.
    """
    from importlib.metadata import distributions

    packages = {
        point.module.partition(".")[0]: package.name
        for package in distributions()
        for point in package.entry_points
        if point.group.startswith("optsched.")
    }
    passed = error.__traceback__
    while passed is not None:
        package = packages.get(passed.tb_frame.f_globals.get("__name__", "").partition(".")[0])
        if package is not None:
            return f"{package} raised {raised(error.with_traceback(passed))}; mend it, or uninstall {package}"
        passed = passed.tb_next
    return None


def raised(error: BaseException) -> str:
    """An exception in one line: type, message, and the line of the user's own file that it came from.

    The user's own file is the first one below this package and the import machinery. If a library that this file called
    raised the exception, that place is named as well.
    """
    text = " ".join(traceback.format_exception_only(error)[-1].split())
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) and error.filename:
        return f"{text} ({error.filename}, line {error.lineno})"
    if not frames:
        return text
    users = [frame for frame in frames if not frame.filename.startswith(_MACHINERY)]
    if not users:
        return f"{text} ({frames[-1].filename}, line {frames[-1].lineno})"
    own = [frame for frame in users if frame.filename == users[0].filename][-1]
    place = f"{own.filename}, line {own.lineno}"
    if own is not frames[-1]:
        place += f"; raised in {frames[-1].filename}, line {frames[-1].lineno}"
    return f"{text} ({place})"


def own_traceback(error: BaseException) -> str:
    """The traceback of an exception from the first line of the user's own code on, without its callers."""
    here, frame = f"{_PACKAGE}{os.sep}", error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename.startswith(here):
        frame = frame.tb_next
    return "".join(traceback.format_exception(type(error), error, frame or error.__traceback__))
