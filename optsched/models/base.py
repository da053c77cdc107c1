"""Base of all models: the interface of modules, size limits, names, decoding and starts."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

import numpy as np
import pulp
import pyomo.environ as pyo

from optsched.core.decimals import decimal
from optsched.core.errors import TooLarge, UsageError, described, expect
from optsched.core.instance import Ints
from optsched.core.placement import NONE, NetworkFlow, Placement, Schedule
from optsched.models.own_rows import TOLERANCE, Shared, members_of, refuse_outside, refuse_unkept, remember
from optsched.problems.base import AnyProblem, Problem, expect_problem, expect_recorded, stated

#: The most variables of a literal model: building and solving them takes about 5 GB.
MAX_VARIABLES = 2_000_000

#: Measured memory of building and solving, per coefficient of objective and constraints (PuLP 3.3, HiGHS 1.15).
_BYTES_A_TERM = 850


@dataclass(frozen=True, slots=True)
class ModelSize:
    """The size of a model; the terms are those of the objective and the constraints."""

    variables: int
    constraints: int
    terms: int

    @property
    def megabytes(self) -> int:
        """Approximate memory for building and solving it."""
        return round(self.terms * _BYTES_A_TERM / 2**20)


# What a module has ---------------------------------------------------------------------------------------------------


class ModelModule(Protocol):
    """What a module of models has; mypy checks every module against it in `optsched.models`.

    A module whose objective is not in the unit of its component also has `OBJECTIVE_UNITS`: how many units of the first
    program's objective, and of the second's, are one of the component's. If that pair differs between problems, it has
    `objective_units(problem)` instead. If a literal model keeps a constraint only by costs when tasks are left out, and
    not by rows, the module names it in `KEPT_BY_COSTS`.
    """

    def build_pyomo(self, problem: Any) -> Any:
        """Build the compact model, linear, in Pyomo; the table at the head of its module lists its components.

        Shipped modules take `per_pair`: True gives each task a variable for each node that it may use, so that a
        constraint of your own can name any task and node. It is `place[task, node]`, binary; `run[task, node]` for the
        reduces of `transmission`; `extra[arc]`, whole, for `min-cost-flow`. Use it for your own constraints: the
        default model counts equal tasks together, and leaves out what no optimum needs. TooLarge with more than
        `MAX_VARIABLES` pairs.

        UsageError if another problem is given, or one that is infeasible for a plain reason.
        """

    def build_pulp(self, problem: Any, *, max_variables: int = MAX_VARIABLES) -> Any:
        """Build the literal model, as the paper writes it, in PuLP; the head of its module names its parts.

        TooLarge if it has more than `max_variables`. UsageError as for `build_pyomo`.
        """

    def literal_size(self, problem: Any) -> ModelSize:
        """The size of `build_pulp`'s model, without building it."""

    def compact_size(self, problem: Any) -> ModelSize:
        """An upper limit on the size of `build_pyomo`'s model, without building it."""

    def decode(self, model: Any, problem: Any, /) -> Placement | NetworkFlow | Schedule:
        """Decode a solved model of either kind (see `decoder`)."""

    def start_values(self, model: Any, problem: Any, decision: Any, /) -> Mapping[Any, float]:
        """A decision as a start for `solve_pyomo` or `solve_pulp` (see `optsched.models.base.starter`).

        The model is one of the problem, which may have further constraints. If the decision lacks tasks that must be
        placed, the start is partial: it has only the nonzero variables, and HiGHS completes it if it can. HiGHS ignores
        a start that is infeasible, or beyond the model's limit.

        It has the values of the variables that the decision determines: a ComponentMap of those of a Pyomo model,
        except fixed ones, or a mapping by the names of those of a PuLP model. The others follow. A linear program takes
        them without gain. Empty if the model leaves the decision out, since there is a better one. UsageError if model
        or decision belong to another problem or instance.
        """


class LimitedModelModule(ModelModule, Protocol):
    """A module whose models have a second program: the rest of the objective within a `limit`; None: the first one."""

    def build_pyomo(self, problem: Any, limit: Any = None) -> Any:
        """Build the compact model, at a limit the second one."""

    def build_pulp(self, problem: Any, limit: Any = None, *, max_variables: int = MAX_VARIABLES) -> Any:
        """Build the literal model, at a limit the second one."""


Function = TypeVar("Function", bound=Callable[..., Any])
Key = TypeVar("Key", bound=tuple[Any, ...])


def of_problem(kind: type[AnyProblem], feasible: bool = False) -> Callable[[Function], Function]:
    """A decorator for functions of one kind of problem: another argument raises UsageError.

    `feasible`: so does a problem with a plain reason why nothing is feasible.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def checked(problem: Any, *arguments: Any, **named: Any) -> Any:
            expect_problem(problem, function.__name__, kind)
            expect_recorded(problem, "models", f"{function.__name__} knows")
            reason = stated(problem, "plainly_infeasible", None) if feasible else None
            if reason is not None:
                raise UsageError(f"{reason}: there is no {problem.decided.noun} to model")
            return function(problem, *arguments, **named)

        return cast(Function, checked)

    return decorate


def model_of(
    kind: type[AnyProblem], pruned: bool = False, shared: Shared = members_of
) -> Callable[[Function], Function]:
    """A decorator for builders of models of one kind of problem (`of_problem`) that may be feasible.

    `remember` records on each model which rows and bounds the builder gave it. `pruned`: a model that is not per pair
    leaves out what no optimum needs. `shared` says which variables stand for several tasks or nodes. `aggregate=False`,
    an older name of `per_pair=True`, is accepted with a warning.
    """

    def decorate(function: Function) -> Function:
        @of_problem(kind, feasible=True)
        @functools.wraps(function)
        def built(problem: Any, *arguments: Any, **named: Any) -> Any:
            if "aggregate" in named:
                message = f"{function.__name__}: aggregate is deprecated; use per_pair=True in place of aggregate=False"
                warnings.warn(message, DeprecationWarning, stacklevel=3)
                named["per_pair"] = not named.pop("aggregate")
            per_pair = bool(named.get("per_pair"))
            if per_pair and isinstance(problem, Problem):
                pairs = len(problem.tasks) * len(problem.instance.cluster)
                if pairs > MAX_VARIABLES:
                    raise TooLarge(
                        f"{problem.place}: a model with per_pair=True would have {pairs:,} pairs of a task and a node; "
                        f"at most {MAX_VARIABLES:,} are made: build it without per_pair, or take fewer tasks"
                    )
            model = function(problem, *arguments, **named)
            if isinstance(model, pyo.ConcreteModel | pulp.LpProblem):
                remember(model, per_pair, pruned, shared)
            return model

        return cast(Function, built)

    return decorate


def refuse_too_large(problem: AnyProblem, size: ModelSize, max_variables: int, instead: str) -> None:
    """Raise TooLarge if a literal model would have more than `max_variables`; `instead` is what to do."""
    if size.variables > max_variables:
        raise TooLarge(
            f"{problem.instance.name}: the literal {problem.name} model would have {size.variables:,} variables and "
            f"{size.constraints:,} constraints and take about {size.megabytes:,} MB; use {instead}, which has the same "
            f"optimum, or allow it by max_variables={size.variables}"
        )


def whole_limit(limit: Any, unit: str) -> int:
    """A limit that must be a whole number, 0 or more, of a unit (plural); UsageError if it is not."""
    if isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 0:
        raise UsageError(f"limit={limit!r}: give a whole number of {unit}, 0 or more")
    return int(limit)


def rational_limit(limit: Any, what: str) -> Fraction:
    """A limit that may be any finite number, as the decimal that is written; UsageError if it is not."""
    is_number = isinstance(limit, int | float | Fraction | np.number) and not isinstance(limit, bool)
    if not is_number or not math.isfinite(limit):
        raise UsageError(f"limit={limit!r}: give {what}, a finite number")
    return decimal(limit)


# Building ------------------------------------------------------------------------------------------------------------


def ids(problem: Problem, nodes: Ints | None = None) -> tuple[list[str], list[str]]:
    """Ids of the tasks to place, and of the nodes (indices); None: of all."""
    every = problem.instance.cluster.node_ids
    return problem.task_ids.tolist(), (every if nodes is None else every[nodes]).tolist()


def grouped(keys: Iterable[Key], *by: int) -> dict[Any, list[Key]]:
    """Keys by one of their entries, or by the tuple of several.

    >>> grouped([("t", "a"), ("t", "b"), ("u", "a")], 1)
    {'a': [('t', 'a'), ('u', 'a')], 'b': [('t', 'b')]}
    """
    groups: dict[Any, list[Key]] = {}
    of = itemgetter(*by)
    for key in keys:
        groups.setdefault(of(key), []).append(key)
    return groups


def add_pairs(
    model: Any, word: str, rows: Sequence[str], columns: Sequence[str], category: str = "Integer"
) -> list[list[Any]]:
    """Add to a PuLP model a variable `word.row.column`, from 0 to 1, for each pair of names; a list a row."""
    return [[model.add_variable(f"{word}.{row}.{column}", 0, 1, category) for column in columns] for row in rows]


def by_ids(rows: Sequence[str], columns: Sequence[str], table: Iterable[Iterable[Any]]) -> dict[tuple[str, str], Any]:
    """A table by the ids of row and column.

    >>> by_ids(["t"], ["a", "b"], [["x", "y"]])
    {('t', 'a'): 'x', ('t', 'b'): 'y'}
    """
    return {
        (row, column): variable
        for row, line in zip(rows, table, strict=True)
        for column, variable in zip(columns, line, strict=True)
    }


def priced(table: Iterable[Iterable[Any]], costs: Iterable[Iterable[float]]) -> list[tuple[Any, float]]:
    """The variables of a table with their costs, in the form of `linear`.

    >>> priced([["x", "y"]], [[1.0, 2.0]])
    [('x', 1.0), ('y', 2.0)]
    """
    return [pair for line, prices in zip(table, costs, strict=True) for pair in zip(line, prices, strict=True)]


def linear(terms: Iterable[tuple[Any, float]], constant: float = 0.0) -> Any:
    """The PuLP expression of variables with coefficients, each variable once: PuLP 3 and 4 build it by other names."""
    made = getattr(pulp.LpAffineExpression, "from_list", pulp.LpAffineExpression)
    return made(list(terms), constant=constant)


# Decoding ------------------------------------------------------------------------------------------------------------

Posed = TypeVar("Posed", bound=AnyProblem)
Decided = TypeVar("Decided", Placement, NetworkFlow, Schedule)


def decoder(
    kind: type[Posed],
    compact: Callable[[Any, Posed], Decided],
    literal: Callable[[Any, Posed], Decided],
    started: Callable[[Any, Posed, Decided], Iterable[tuple[Any, float]]] | None = None,
) -> Callable[[Any, Posed], Decided]:
    """Make the `decode` of a module from two functions that read its Pyomo and its PuLP model.

    `started` expresses a decision in a model of either kind, as for `starter`. With it, `decode` checks the decision
    against what the user added to the model.
    """

    def decode(model: Any, problem: Posed) -> Decided:
        """The decision of a solved model of either kind; it is no worse than the model's objective.

        It satisfies every constraint that was added to the model, or is refused.

        Parameters
        ----------
        model
            As `build_pyomo` or `build_pulp` made it, or with further constraints, and solved.
        problem
            The problem from which it was made.

        Raises
        ------
        UsageError
            If the model is of another problem, has no solution, or one that is not whole or not within the bounds of
            the variables; if a user's constraint does not hold for the decision, or is on a variable that stands for
            several tasks.
        """
        expect_problem(problem, "decode", kind)
        with _read("decode", model, kind):
            refuse_outside(model)
            decision = (literal if isinstance(model, pulp.LpProblem) else compact)(model, problem)
            if started is not None:
                refuse_unkept(model, lambda model: started(model, problem, decision))
        return decision

    return decode


@contextmanager
def _read(what: str, model: Any, kind: type[Posed]) -> Iterator[None]:
    """Let a function called `what` read a model. UsageError if it is none, or lacks something that is read."""
    due = f"{what} takes a model of {kind.name}, as build_pyomo or build_pulp made it"
    if not isinstance(model, pulp.LpProblem | pyo.ConcreteModel):
        raise UsageError(f"{due}, not {described(model)}")
    try:
        yield
    except (AttributeError, KeyError) as error:  # what it looks for is not in the model
        raise UsageError(f"{due}; this one lacks {error}") from error


def is_whole(value: float) -> bool:
    """Whether a solver's value counts as a whole number."""
    return abs(value - round(value)) <= TOLERANCE


def value_of(variable: Any) -> float:
    """The value of a Pyomo or PuLP variable; UsageError if it has none: there is no solution."""
    value: float | None = variable.varValue if hasattr(variable, "varValue") else variable.value
    if value is None or value != value:  # PuLP 4 cannot be given None: NaN
        mend = "solve the model before decoding it; a model without a solution cannot be decoded"
        raise UsageError(f"{variable.name} has no value: {mend}")
    return float(value)


def int_of(variable: Any) -> int:
    """The whole number of a Pyomo or PuLP variable; UsageError if it has no value, or one that is not whole."""
    value = value_of(variable)
    if not is_whole(value):
        raise UsageError(
            f"{variable.name} = {value} is no whole number: solve to a vertex (simplex, or crossover after interior "
            "point), or declare the variables integer where a constraint was added"
        )
    return round(value)


def chosen(variables: Mapping[tuple[str, str], Any]) -> dict[str, str]:
    """The place of each task that has one, from binaries by (task, place)."""
    return {task: place for (task, place), variable in variables.items() if int_of(variable)}


def placed_at(problem: Problem, host: Mapping[str, str]) -> Placement:
    """The placement of tasks on nodes, by their ids. Tasks that are not named stay unplaced.

    UsageError if a task or node is not in the problem: the model was built from another instance.
    """
    index = problem.instance.node_index
    tasks = problem.instance.workload.task_ids.tolist()
    foreign = next((("task", task) for task in host.keys() - set(tasks)), None)
    foreign = foreign or next((("node", node) for node in host.values() if node not in index), None)
    if foreign is not None:
        what, name = foreign
        mend = "decode it with the problem that it was built from"
        raise UsageError(f'the model is of another instance: "{name}" is no {what} of this one; {mend}')
    return Placement.of(index[host[task]] if task in host else None for task in tasks)


def decode_binaries(model: Any, problem: Problem) -> Placement:
    """The placement of a solved PuLP model whose attribute `place` has a variable for each (task id, node id)."""
    return placed_at(problem, chosen(model.place))


# Starts ---------------------------------------------------------------------------------------------------------------
# A decision as a start for a model: values of the variables that it determines, which HiGHS completes.
# `optsched.solvers.algebraic` passes it on.


#: Variables of a model with their values for a decision.
Entries = Iterable[tuple[Any, float]]


def starter(
    kind: type[Posed], compact: Callable[[Any, Posed, Any], Entries], literal: Callable[[Any, Posed, Any], Entries]
) -> Callable[[Any, Posed, Any], Mapping[Any, float]]:
    """Make the `start_values` of a module from two functions that express a decision in its models."""

    def start_values(model: Any, problem: Posed, decision: Any) -> Mapping[Any, float]:
        """A decision as a start for `solve_pyomo` or `solve_pulp`; see `ModelModule.start_values`."""
        expect_problem(problem, "start_values", kind)
        noun = problem.decided.noun
        expect(decision, problem.decided, f"start_values takes a {noun} of {kind.name}", "solve or run a heuristic")
        wrong = problem.violations(decision)
        strange = next((entry for entry in wrong if entry.constraint in ("length", "known-node")), None)
        if strange is not None:
            raise UsageError(f"start_values: the {noun} is of another instance than the problem ({strange})")
        named = isinstance(model, pulp.LpProblem)
        with _read("start_values", model, kind):
            entries = list((literal if named else compact)(model, problem, decision))
        if wrong:
            entries = [(variable, value) for variable, value in entries if value]
        if named:
            return {variable.name: float(value) for variable, value in entries}
        start: Mapping[Any, float] = pyo.ComponentMap(
            (variable, float(value)) for variable, value in entries if not variable.fixed
        )
        return start

    return start_values


def host_of(problem: Problem, placement: Placement) -> dict[str, str]:
    """The node of each task to place that has one, by their ids."""
    names = problem.instance.cluster.node_ids.tolist()
    tasks = problem.task_ids.tolist()
    nodes = problem.nodes_of(placement).tolist()
    return {task: names[node] for task, node in zip(tasks, nodes, strict=True) if node != NONE}


def binaries(variables: Mapping[tuple[str, str], Any], host: Mapping[str, str]) -> Iterator[tuple[Any, float]]:
    """Binaries by (task, place): 1 where the task is.

    >>> list(binaries({("t", "a"): "x", ("t", "b"): "y"}, {"t": "b"}))
    [('x', 0), ('y', 1)]
    """
    return ((variable, int(host.get(task) == place)) for (task, place), variable in variables.items())


def started_binaries(model: Any, problem: Problem, placement: Placement) -> Entries:
    """A placement in a PuLP model whose attribute `place` has a variable for each (task id, node id)."""
    return binaries(model.place, host_of(problem, placement))


class Way(NamedTuple):
    """How a model expresses a decision: `decode` reads it from a solved one, `started` gives its variables' values."""

    decode: Callable[[Any, Any], Any]
    started: Callable[[Any, Any, Any], Entries]


#: A PuLP model whose attribute `place` has a variable for each (task id, node id).
BINARIES = Way(decode_binaries, started_binaries)


class Translation(NamedTuple, Generic[Posed]):
    """The two functions of a module between models and decisions: see `decoder` and `starter`."""

    decode: Callable[[Any, Posed], Any]
    start_values: Callable[[Any, Posed, Any], Mapping[Any, float]]


def said_by(kind: type[Posed], compact: Way, literal: Way) -> Translation[Posed]:
    """Make the `decode` and `start_values` of a module from the ways of its Pyomo and its PuLP model."""

    def started(model: Any, problem: Posed, decision: Any) -> Entries:
        return (literal if isinstance(model, pulp.LpProblem) else compact).started(model, problem, decision)

    return Translation(
        decode=decoder(kind, compact.decode, literal.decode, started),
        start_values=starter(kind, compact.started, literal.started),
    )
