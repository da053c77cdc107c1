"""What all models share: the size of a literal model and its refusal, and reading whole numbers from a solved model."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from optsched.errors import TooLarge, UsageError, described
from optsched.placement import Placement
from optsched.problems.base import AnyProblem, Problem, expect_problem

__all__ = [
    "MAX_VARIABLES",
    "LiteralSize",
    "dealt",
    "decode_binaries",
    "is_whole",
    "of_problem",
    "refuse_too_large",
    "whole",
]

#: Variables of a literal model beyond which it is not built; they take about 5 GB to build and solve.
MAX_VARIABLES = 2_000_000

#: What building and solving took, for each coefficient of objective and constraints (PuLP 3.3, HiGHS 1.15).
_BYTES_A_TERM = 850

#: How far HiGHS may leave a whole number.
_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class LiteralSize:
    """What a literal model would take.

    Attributes
    ----------
    variables, constraints
        How many.
    megabytes
        Memory for building and solving it, about.
    """

    variables: int
    constraints: int
    megabytes: int

    @classmethod
    def of(cls, variables: int, constraints: int, terms: int) -> LiteralSize:
        """With the memory that so many coefficients take."""
        return cls(variables, constraints, round(terms * _BYTES_A_TERM / 2**20))


def refuse_too_large(problem: Problem, size: LiteralSize, max_variables: int, instead: str) -> None:
    """Raise TooLarge where a literal model would have more than `max_variables`; `instead` is the way to take."""
    if size.variables > max_variables:
        raise TooLarge(
            f"{problem.instance.name}: the literal {problem.name} model would have {size.variables:,} variables and "
            f"{size.constraints:,} constraints and take about {size.megabytes:,} MB; use {instead}, which has the same "
            f"optimum, or allow it by max_variables={size.variables}"
        )


Function = TypeVar("Function", bound=Callable[..., Any])


def of_problem(kind: type[AnyProblem]) -> Callable[[Function], Function]:
    """A decorator of what builds or decodes models of one problem: another kind of argument is wrong usage."""

    def decorate(function: Function) -> Function:
        names = list(inspect.signature(function).parameters)
        place = names.index("problem")

        @functools.wraps(function)
        def checked(*given: Any, **named: Any) -> Any:
            if "problem" in named or len(given) > place:
                expect_problem(
                    named.get("problem", given[place] if len(given) > place else None), function.__name__, kind
                )
            model = given[0] if given else named.get("model")
            if names[0] != "model":
                return function(*given, **named)
            built = f"decode takes a model of {kind.name}, as build_pyomo or build_pulp made it"
            if not type(model).__module__.startswith(("pulp", "pyomo")):
                raise UsageError(f"{built}, not {described(model)}")
            try:
                return function(*given, **named)
            except (AttributeError, KeyError) as error:  # what it looks for is not in the model
                raise UsageError(f"{built}; this one lacks {error}") from error

        return cast(Function, checked)

    return decorate


def is_whole(value: float) -> bool:
    """Whether a solver's value stands for a whole number."""
    return abs(value - round(value)) <= _TOLERANCE


def whole(variable: Any) -> int:
    """The whole number that a Pyomo or PuLP variable holds.

    Raises
    ------
    UsageError
        If it holds none: the model was not solved, or its solution is no vertex.
    """
    value: float | None = variable.varValue if hasattr(variable, "varValue") else variable.value
    if value is None:
        raise UsageError(f"{variable.name} has no value: solve the model before decoding it")
    if not is_whole(value):
        raise UsageError(
            f"{variable.name} = {value} is no whole number: solve to a vertex (simplex, or crossover after interior "
            "point), or declare the variables integer where a constraint was added"
        )
    return round(value)


def dealt(model: Any) -> dict[str, str]:
    """Place of each task of a solved Pyomo model that counts members of classes, by id: the members take turns.

    Its `place[c, p]` says how many `members[c]` of the class are at the place.
    """
    waiting = {name: iter(model.members[name]) for name in model.CLASSES}
    return {
        next(waiting[name]): place for (name, place), variable in model.place.items() for _ in range(whole(variable))
    }


def decode_binaries(model: Any, problem: Problem) -> Placement:
    """The placement of a solved PuLP model whose attribute `place` has a variable for each (task id, node id)."""
    host = {task: node for (task, node), variable in model.place.items() if whole(variable)}
    index = problem.instance.node_index
    return Placement.of(
        index[host[task]] if task in host else None for task in problem.instance.workload.task_ids.tolist()
    )
