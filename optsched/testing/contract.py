"""The contract suite's machinery: lists checks, runs them, and reports what is broken.

The checks are in the modules next to this one, by what they are about. Each takes a record and seeds, and tries the
problem on the instances of `cases`; truth is what trying every decision gives, judged by the problem's own `objective`
and `violations`. Any check can be run alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from optsched.certificates import Enumerated, certify
from optsched.core import registry
from optsched.core.registry import Record
from optsched.core.results import Sense, Solution, Termination, Value
from optsched.problems import AnyProblem, Problem
from optsched.problems.schedules import ScheduleProblem
from optsched.routes import solve
from optsched.testing.cases import SEEDS, Case, NoGenerator

__all__ = [
    "CHECKS",
    "Check",
    "ContractBroken",
    "check",
    "check_problem",
    "expect",
    "is_beyond",
    "listed",
    "places",
    "placing",
    "right",
    "solved",
    "times",
    "with_usual",
]


class ContractBroken(AssertionError):
    """A problem does not keep the contract; says which problem, which check, on which instance, and what."""


@dataclass(frozen=True)
class Check:
    """One check: its name, what it says in one line, and which problems it is about."""

    name: str
    says: str
    function: Callable[..., None]
    applies: Callable[[Record], bool]


#: Every check by name, in the order in which they are reported.
CHECKS: dict[str, Check] = {}


def check_problem(name: str | Record, seeds: Sequence[int] = SEEDS) -> None:
    """Run every check that applies to a problem.

    Parameters
    ----------
    name
        A problem of the registry, or its record.
    seeds
        Seeds of the instances: more seeds, more instances.

    Raises
    ------
    ContractBroken
        At the first thing that is broken: an AssertionError that names problem, check and instance.

    Examples
    --------
    >>> check_problem("transmission-maps", seeds=[5])
    """
    record = registry.record(name) if isinstance(name, str) else name
    for entry in CHECKS.values():
        if entry.applies(record):
            entry.function(record, seeds)


def check(applies: Callable[[Record], bool] = lambda record: True) -> Callable[[Callable[..., None]], Any]:
    """Make a function one of `CHECKS`: any error that it raises names the problem and the check.

    A record without a generator breaks the first check, which says so; the others have nothing to try then.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        name = function.__name__.removeprefix("check_").replace("_", "-")

        @functools.wraps(function)
        def checked(record: Record | str, seeds: Sequence[int] = SEEDS) -> None:
            entry = registry.record(record) if isinstance(record, str) else record
            try:
                function(entry, seeds)
            except Exception as error:  # any exception breaks a contract
                plain = isinstance(error, ContractBroken | NoGenerator)
                message = str(error) if plain else f"{type(error).__name__}: {error}"
                raise ContractBroken(f"{entry.name}, {name}: {message}") from error

        def asked(record: Record) -> bool:
            try:
                return applies(record)
            except Exception as error:  # a record that names no problem may raise anything
                raise ContractBroken(f"{record.name}, {name}: {type(error).__name__}: {error}") from error

        CHECKS[name] = Check(name, (function.__doc__ or "").splitlines()[0], checked, asked)
        return checked

    return decorate


def expect(condition: bool, where: str, message: str) -> None:
    """Raise ContractBroken where something does not hold."""
    if not condition:
        raise ContractBroken(f"{where}: {message}")


def places(record: Record) -> bool:
    """Whether the problem places tasks."""
    return issubclass(record.problem_class, Problem)


def times(record: Record) -> bool:
    """Whether the problem decides when tasks run, and where."""
    return issubclass(record.problem_class, ScheduleProblem)


def placing(case: Case) -> Problem:
    """The problem of a case, which places tasks."""
    assert isinstance(case.problem, Problem)
    return case.problem


def listed(value: Sequence[object] | None) -> str:
    """A value as messages tell it."""
    return "nothing" if value is None else ", ".join(map(str, value))


#: What `solved` found, while its case is held.
_SOLVED: WeakKeyDictionary[Case, dict[str | None, Solution]] = WeakKeyDictionary()


def solved(case: Case, route: str | None = None) -> Solution:
    """The solution of a case by a route, or the usual one; solved once, since several checks are about it."""
    found = _SOLVED.setdefault(case, {})
    if route not in found:
        found[route] = solve(case.problem, route=route)
    return found[route]


def with_usual(seeds: Sequence[int]) -> list[int]:
    """The seeds, after those that show what an instance or two may not: for what has to be seen somewhere."""
    return list(dict.fromkeys((*SEEDS, *seeds)))


def right(problem: AnyProblem, solution: Solution, best: Value | None, where: str) -> None:
    """A solution is the optimum, or INFEASIBLE where there is none, and `certify` agrees."""
    if best is None:
        expect(solution.termination is Termination.INFEASIBLE, where, f"{solution.termination}, not INFEASIBLE")
        expect(solution.decision is None and solution.objective is None, where, "INFEASIBLE, with a decision")
    else:
        expect(solution.termination is Termination.OPTIMAL, where, f"{solution.termination}, not OPTIMAL")
        expect(solution.objective == best, where, f"{listed(solution.objective)} is called optimal, {listed(best)} is")
        expect(solution.bound == best, where, f"bound {listed(solution.bound)}, optimum {listed(best)}")
        assert solution.decision is not None
        expect(problem.evaluate(solution.decision) == best, where, "the decision is not worth the objective")
    verdict = certify(problem, solution, enumerated=Enumerated(best))
    expect(verdict.valid, where, f"contradicted: {'; '.join(verdict.contradicted)}")
    expect(verdict.proved, where, f"not proved: {'; '.join(verdict.unproved)}")
    alone = certify(problem, solution)
    checkable = bool(solution.certificates) and all(entry.kind.checkable for entry in solution.certificates)
    expect(alone.proved or not checkable, where, f"its certificates prove nothing: {'; '.join(alone.unproved)}")


def is_beyond(case: Case, position: int, value: Any) -> bool:
    """Whether a claimed bound of the component at a position is more than is true."""
    assert case.best is not None
    least = case.problem.components[position].sense is Sense.MIN
    return bool(value > case.best[position]) if least else bool(value < case.best[position])
