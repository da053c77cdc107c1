"""The exception types, each with the exit code that the command line gives for it.

A *fault* is one thing that is wrong with an input: where, what, and how to mend it. An error about input has all of its
faults, never only the first. What stops a solver (a limit, an infeasible problem) is a result, not an exception: each
is a `Solution`.
"""

from __future__ import annotations

import copyreg
import difflib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

__all__ = [
    "BoundViolated",
    "CertificateInvalid",
    "ExitCode",
    "Fault",
    "HeuristicFailed",
    "InputError",
    "MissingField",
    "OptschedError",
    "OutOfTime",
    "ProblemFailed",
    "SolverDisagreement",
    "TooLarge",
    "UsageError",
    "described",
    "expect",
    "expect_known",
    "nearest",
    "printable",
    "unknown_id",
]

#: The most characters shown of a text that was given instead of another kind of argument.
_SHOWN = 60

#: How many faults a message prints before it counts the rest; `InputError.faults` always has all of them.
FAULTS_SHOWN = 100

#: If more faults than this differ only in the number of their record, one line names the first few.
_ALIKE, _NAMED = 20, 3


def printable(text: str) -> str:
    """A text with everything spelled out that a terminal would obey instead of show (control characters, line ends).

    Every message and every table cell passes through here: names come from files, and files from anywhere.

    >>> len(printable("a" + chr(27) + "[31mb"))  # the escape takes four characters now
    10
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class ExitCode(IntEnum):
    """The exit codes of the command line. A command that a signal ends returns 128 plus the signal's number."""

    DONE = 0
    BUG = 1
    USAGE = 2
    INPUT = 3
    #: A limit on a gap or a certificate does not hold, or a heuristic failed.
    FAILED = 4
    #: Nothing was found within the limit.
    NO_SOLUTION = 5
    INFEASIBLE = 6
    INTERRUPTED = 130


class OptschedError(Exception):
    r"""Base of every error that this package raises on purpose; `exit_code` is what the command line returns.

    Each argument is a line of the message, with names escaped for print.

    >>> print(OptschedError("no node " + chr(27) + "[2J", "and no other"))
    no node \x1b[2J
    and no other
    """

    exit_code: int = ExitCode.BUG

    def __str__(self) -> str:
        return "\n".join(printable(str(line)) for line in self.args)

    @property
    def lines(self) -> list[str]:
        """The lines of the message."""
        return str(self).split("\n")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the instance itself: its class may be called with something else than the lines that it keeps."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of an input: the place (`tasks[17].replicas[2]`) and the message, which says how to mend it."""

    place: str
    message: str

    def __str__(self) -> str:
        return printable(f"{self.place}: {self.message}" if self.place else self.message)


class InputError(OptschedError):
    """A wrong input (file, document, arrays); lists every fault.

    Parameters
    ----------
    faults
        All faults found, in the order of their places.
    source
        Name of the file or object, put before each fault.
    """

    exit_code = ExitCode.INPUT

    def __init__(self, faults: Iterable[Fault], source: str = "") -> None:
        self.faults: tuple[Fault, ...] = tuple(faults)
        self.source = source
        super().__init__(str(self))

    def __str__(self) -> str:
        before = printable(f"{self.source}: ") if self.source else ""
        groups = _alike(self.faults)
        lines = [_line(group) for group in groups[:FAULTS_SHOWN]]
        named = tuple(printable(self.source) + mark for mark in ",:/") if self.source else ()
        lines = [line if line.startswith(named) else before + line for line in lines]
        if len(groups) > FAULTS_SHOWN:
            lines.append(f"{before}and {sum(map(len, groups[FAULTS_SHOWN:]))} more faults")
        return "\n".join(lines)

    def with_source(self, source: str) -> InputError:
        """The same error, with the name of the file it came from."""
        return type(self)(self.faults, source)


def _alike(faults: Sequence[Fault]) -> list[list[Fault]]:
    """The faults line by line; if many differ only in the number of their record, one line stands for them."""
    groups: dict[tuple[str, str], list[Fault]] = {}
    keys = [(re.sub(r"\[\d+\]|, line \d+", "[]", fault.place), fault.message) for fault in faults]
    for key, fault in zip(keys, faults, strict=True):
        groups.setdefault(key, []).append(fault)
    lines = []
    for key, fault in zip(keys, faults, strict=True):
        group = groups[key]
        if len(group) <= _ALIKE or "[]" not in key[0]:
            lines.append([fault])
        elif group[0] is fault:
            lines.append(group)
    return lines


def _line(faults: Sequence[Fault]) -> str:
    """One fault, or how many similar ones there are, and the first of them."""
    if len(faults) == 1:
        return str(faults[0])
    places = ", ".join(fault.place for fault in faults[:_NAMED])
    return printable(f"{places} and {len(faults) - _NAMED} more: {faults[0].message}")


class MissingField(InputError):
    """The instance lacks a field that a problem or importer needs; names the record and its field."""


class UsageError(OptschedError):
    """The caller asked for something that does not exist, or for things that exclude each other (exit code 2)."""

    exit_code = ExitCode.USAGE


class TooLarge(UsageError):
    """A model that does not fit into memory; the message says what it would take and which route to use instead."""


class HeuristicFailed(OptschedError):
    """A heuristic raised, or answered nonsense (wrong length, unknown node, None)."""

    exit_code = ExitCode.FAILED


class ProblemFailed(OptschedError):
    """A problem of another package raised, or returned something forbidden; says which package, problem and method."""


class OutOfTime(OptschedError):
    """A deadline (`optsched.core.deadline`) has passed: the code that set it catches this and makes a result of it."""

    exit_code = ExitCode.NO_SOLUTION


class CertificateInvalid(OptschedError):
    """A certificate, or the solution it belongs to, does not prove what it claims."""

    exit_code = ExitCode.FAILED


class SolverDisagreement(OptschedError):
    """A solver's own figure differs from the re-evaluated one: a bug in a formulation or in the solver."""


class BoundViolated(OptschedError):
    """A feasible placement beats a proved bound: a bug in a bound, a certificate or an evaluation."""


def described(value: Any) -> str:
    """A description of a value, for a message about a wrong kind of argument.

    >>> described(None), described("papers/x"), described([1]), described(OSError)
    ('None', 'the text "papers/x"', 'a list', 'the class OSError')
    """
    if value is None:
        return "None"
    if isinstance(value, str):
        return f'the text "{value if len(value) <= _SHOWN else value[:_SHOWN] + "..."}"'
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def expect(value: Any, kinds: type | tuple[type, ...], takes: str, mend: str = "") -> None:
    """Raise UsageError unless an argument is of one of `kinds`; the message says what was given, and the mend.

    >>> expect("x", dict, "save takes an instance", "load one first: optsched.load(path)")
    Traceback (most recent call last):
    optsched.core.errors.UsageError: save takes an instance, not the text "x"; load one first: optsched.load(path)
    """
    if not isinstance(value, kinds):
        raise UsageError(f"{takes}, not {described(value)}" + (f"; {mend}" if mend else ""))


def nearest(name: Any, known: Sequence[str]) -> str:
    """`did you mean "x"?` for the known name that is closest to `name`, else the list of known names.

    >>> nearest("lsapp", ["lsap", "flow"])
    'did you mean "lsap"?'
    """
    close = difflib.get_close_matches(name, known, n=1) if isinstance(name, str) else []
    if close:
        return f'did you mean "{close[0]}"?'
    return "known: " + ", ".join(dict.fromkeys(known)) if known else "none is known"


def expect_known(name: Any, known: Collection[str], otherwise: str) -> None:
    """Raise UsageError unless a name is known; the message is `otherwise`, and the nearest name.

    >>> expect_known("lsapp", ["lsap", "flow"], 'no family "lsapp"')
    Traceback (most recent call last):
    optsched.core.errors.UsageError: no family "lsapp"; did you mean "lsap"?
    """
    if name not in known:
        raise UsageError(f"{otherwise}; {nearest(name, list(known))}")


def unknown_id(kind: str, name: str, ids: Sequence[str], command: str) -> UsageError:
    """The error for an unknown id of a claim or a figure, with the nearest ids or the command that lists all.

    >>> print(unknown_id("figure", "guo-2012/4x", ["guo-2012/4a"], "optsched figure"))
    no figure "guo-2012/4x"; did you mean guo-2012/4a?
    """
    near = difflib.get_close_matches(name, ids, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"{command} lists all"
    return UsageError(f'no {kind} "{name}"; {hint}')
