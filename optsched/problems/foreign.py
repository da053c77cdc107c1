"""Checks problems of other packages: if a method raises or returns something wrong, the error names the package.

A class outside this package is wrapped when it is made (`BaseProblem` does so). Each of its methods below then returns
something valid, or raises `ProblemFailed`. Faults of the input, wrong usage and limits pass unchanged.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from optsched.core.decimals import MOST_DIGITS, is_short
from optsched.core.errors import Fault, OptschedError, ProblemFailed
from optsched.core.outside import raised
from optsched.core.registry import package_of
from optsched.core.results import Bound, Violation

#: Converts a method's answer for callers, given the problem or its class; raises `_Wrong` for a wrong answer.
_Read = Callable[[Any, Any], Any]


def _value(problem: Any, answer: Any) -> Any:
    names = [component.name for component in problem.components]
    exact = isinstance(answer, tuple) and all(isinstance(entry, int | Fraction) for entry in answer)
    if not exact or len(answer) != len(names):
        raise _Wrong(answer, f"a tuple of an int or Fraction for each of {', '.join(names)}")
    if not all(map(is_short, answer)):
        raise _Wrong("a number that is too long", f"numbers of up to {MOST_DIGITS:,} digits")
    return answer


def _entries(kind: type[Any], shape: Callable[[list[Any]], Any]) -> _Read:
    def read(problem: Any, answer: Any) -> Any:
        wanted = f"{kind.__name__}s"
        if not isinstance(answer, Iterable):
            raise _Wrong(answer, wanted)
        entries = list(answer)
        for entry in entries:
            if not isinstance(entry, kind):
                raise _Wrong(entry, wanted)
        return shape(entries)

    return read


def _text(problem: Any, answer: Any) -> Any:
    if not isinstance(answer, str | None):
        raise _Wrong(answer, "a text, or None")
    return answer


def _number(problem: Any, answer: Any) -> Any:
    if answer is not None and (isinstance(answer, bool) or not isinstance(answer, int | Fraction) or answer <= 0):
        raise _Wrong(answer, "an int or Fraction above 0, or None")
    return answer


_METHODS: dict[str, _Read] = {
    "missing": _entries(Fault, iter),
    "prepare": lambda problem, answer: None,
    "first_step": _number,
    "plainly_infeasible": _text,
    "remark": _text,
    "objective": _value,
    "violations": _entries(Violation, list),
    "constraint_violations": _entries(Violation, iter),
    "cheap_bounds": _entries(Bound, tuple),
}


class _Wrong(Exception):
    """A wrong answer, and what to return instead."""

    def __init__(self, answer: Any, wanted: str) -> None:
        super().__init__(f"answered {answer!r}; give {wanted}")


def hold(kind: type[Any]) -> None:
    """Wrap each method that a class of another package defines itself."""
    for name, read in _METHODS.items():
        own = vars(kind).get(name)
        if isinstance(own, property):
            setattr(kind, name, property(_guarded(own.fget, name, read), doc=own.__doc__))
        elif isinstance(own, classmethod):
            setattr(kind, name, classmethod(_guarded(own.__func__, name, read)))
        elif own is not None:
            setattr(kind, name, _guarded(own, name, read))


def _guarded(method: Any, name: str, read: _Read) -> Any:
    @functools.wraps(method)
    def guarded(owner: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return read(owner, method(owner, *arguments, **named))
        except (OptschedError, MemoryError):
            raise
        except (Exception, SystemExit) as error:
            fault, cause = (str(error), None) if isinstance(error, _Wrong) else (f"raised {raised(error)}", error)
            kind: Any = owner if isinstance(owner, type) else type(owner)
            package = package_of(kind)
            posed_on: Any = arguments[0] if arguments and kind is owner else getattr(owner, "instance", None)
            where = f"{posed_on.name}: " if getattr(posed_on, "name", "") else ""
            raise ProblemFailed(
                f'{where}the problem "{kind.name}"{f" of {package}" if package else ""} ({kind.__module__}:'
                f"{kind.__qualname__}): its {name} {fault}; mend {'or uninstall that package' if package else 'it'}"
            ) from cause

    return guarded
