"""Checks problems of other packages: if a method raises or returns something wrong, the error names the package.

A class outside this package is wrapped when it is made (`BaseProblem` does so). Each of its methods below then returns
something valid, or raises `ProblemFailed`. Faults of the input, wrong usage and limits pass unchanged.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from optsched.core.decimals import MOST_DIGITS, is_short
from optsched.core.errors import Fault, OptschedError, ProblemFailed, described
from optsched.core.instance import KINDS
from optsched.core.outside import raised
from optsched.core.registry import package_of
from optsched.core.results import Bound, Violation

#: Converts a method's answer for callers, given the problem or its class, the answer and the arguments; raises
#: `WrongAnswer` for a wrong answer.
Read = Callable[..., Any]

#: The most characters of an answer in a message; a longer one is only described.
_SHOWN = 99


def is_shipped(problem: Any) -> bool:
    """Whether a problem, or a class of problems, is of this package."""
    return (problem if isinstance(problem, type) else type(problem)).__module__.startswith("optsched.")


def path_of(problem: Any) -> str:
    """A class of problems, or that of a problem, as its record names it."""
    kind = problem if isinstance(problem, type) else type(problem)
    return f"{kind.__module__}:{kind.__qualname__}"


def contradiction(problem: Any, error: OptschedError) -> OptschedError:
    """The error of a bug, where two parts of a problem disagree; of a class of another package, the bug is its own."""
    if is_shipped(problem):
        return error
    parts = f"the definition of {path_of(problem)} and its program, models or routes disagree"
    return ProblemFailed(f"{error}; {parts}: mend one of them")


def _value(problem: Any, answer: Any, *_: Any) -> Any:
    names = [component.name for component in problem.components]
    exact = isinstance(answer, tuple) and all(isinstance(entry, int | Fraction) for entry in answer)
    if not exact or len(answer) != len(names):
        raise answered(answer, f"a tuple of an int or Fraction for each of {', '.join(names)}")
    if not all(map(is_short, answer)):
        raise WrongAnswer(f"answered a number that is too long; give numbers of up to {MOST_DIGITS:,} digits")
    return answer


def _entries(kind: type[Any], shape: Callable[[list[Any]], Any]) -> Read:
    def read(problem: Any, answer: Any, *_: Any) -> Any:
        wanted = f"{kind.__name__}s"
        if not isinstance(answer, Iterable):
            raise answered(answer, wanted)
        entries = list(answer)
        for entry in entries:
            if not isinstance(entry, kind):
                raise answered(entry, wanted)
        return shape(entries)

    return read


def _text(problem: Any, answer: Any, *_: Any) -> Any:
    if not isinstance(answer, str | None):
        raise answered(answer, "a text, or None")
    return answer


def _number(problem: Any, answer: Any, *_: Any) -> Any:
    if answer is not None and (isinstance(answer, bool) or not isinstance(answer, int | Fraction) or answer <= 0):
        raise answered(answer, "an int or Fraction above 0, or None")
    return answer


def _offered(problem: Any, answer: Any, *_: Any) -> Any:
    shape = (len(problem.instance.cluster),)
    slots: Iterable[tuple[Any, Any]] = answer.items() if isinstance(answer, Mapping) else [(None, None)]
    if not all(kind in KINDS and np.shape(free) == shape for kind, free in slots):
        raise answered(answer, 'the idle slots of each node by kind of task, such as {"map": slots}')
    return answer


def _due(problem: Any, answer: Any, *_: Any) -> Any:
    if not isinstance(answer, int | np.integer):
        raise answered(answer, "a number of tasks")
    return answer


def _bounds(problem: Any, answer: Any, *_: Any) -> Any:
    bounds = _entries(Bound, tuple)(problem, answer)
    names = [component.name for component in problem.components]
    for bound in bounds:
        if bound.component not in (None, *names):
            raise answered(bound, f"a Bound of {' or '.join(names)}, or of None: of something else")
    return bounds


#: The methods of every problem.
METHODS: dict[str, Read] = {
    "missing": _entries(Fault, iter),
    "prepare": lambda problem, answer, *_: None,
    "offered": _offered,
    "due": _due,
    "first_step": _number,
    "plainly_infeasible": _text,
    "remark": _text,
    "objective": _value,
    "violations": _entries(Violation, list),
    "constraint_violations": _entries(Violation, iter),
    "cheap_bounds": _bounds,
}


class WrongAnswer(Exception):
    """What is wrong with the answer of a method, and the mend: the message is `its METHOD ...`."""


def answered(answer: Any, wanted: str) -> WrongAnswer:
    """The error of an answer of another kind."""
    text = repr(answer)
    shown = described(answer) if text.startswith("<") or len(text) > _SHOWN else text
    return WrongAnswer(f"answered {shown}; give {wanted}")


def hold(kind: type[Any], methods: Mapping[str, Read] = METHODS) -> None:
    """Wrap each of these methods that a class of another package defines itself."""
    for name, read in {} if is_shipped(kind) else methods.items():
        own = vars(kind).get(name)
        if isinstance(own, property):
            setattr(kind, name, property(_guarded(own.fget, name, read), doc=own.__doc__))
        elif isinstance(own, classmethod):
            setattr(kind, name, classmethod(_guarded(own.__func__, name, read)))
        elif callable(own):
            setattr(kind, name, _guarded(own, name, read))


def _guarded(method: Any, name: str, read: Read) -> Any:
    @functools.wraps(method)
    def guarded(owner: Any, *arguments: Any, **named: Any) -> Any:
        outer = getattr(owner if isinstance(owner, type) else type(owner), name, None)
        if callable(outer) and getattr(outer, "__func__", outer) is not guarded:  # asked by `super()`: not the answer
            return method(owner, *arguments, **named)
        try:
            return read(owner, method(owner, *arguments, **named), *arguments, *named.values())
        except (OptschedError, MemoryError):
            raise
        except (Exception, SystemExit) as error:
            fault, cause = (str(error), None) if isinstance(error, WrongAnswer) else (f"raised {raised(error)}", error)
            kind: Any = owner if isinstance(owner, type) else type(owner)
            package = package_of(kind)
            posed_on: Any = arguments[0] if arguments and kind is owner else getattr(owner, "instance", None)
            where = f"{posed_on.name}: " if getattr(posed_on, "name", "") else ""
            raise ProblemFailed(
                f'{where}the problem "{kind.name}"{f" of {package}" if package else ""} ({path_of(kind)}): its {name} '
                f"{fault}; mend it{f', or uninstall {package}' if package else ''}"
            ) from cause

    return guarded
