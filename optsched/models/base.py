"""Base of all models: the interface of modules, size limits, names, decoding, starts, and a user's own rows.

A compact model counts equal tasks together, and does not name the node of a task that is counted in a rack or anywhere.
So a user's row may hold for the counts and not for the placement. `remember` records what a builder made. Later
additions are rows, fixed variables, tighter bounds, or another objective. `refuse_unknown` refuses before the solve
what a model cannot interpret, and `refuse_unkept` after it what a decision violates.
"""

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
from pyomo.core.expr.visitor import identify_variables

from optsched.core.decimals import decimal
from optsched.core.errors import TooLarge, UsageError, described, expect
from optsched.core.instance import Ints
from optsched.core.placement import NONE, NetworkFlow, Placement, Schedule
from optsched.core.results import Termination
from optsched.problems.base import AnyProblem, Problem, expect_problem, expect_recorded, stated
from optsched.solvers.algebraic import solve_pyomo

#: The most variables of a literal model: building and solving them takes about 5 GB.
MAX_VARIABLES = 2_000_000

#: Measured memory of building and solving, per coefficient of objective and constraints (PuLP 3.3, HiGHS 1.15).
_BYTES_A_TERM = 850

#: HiGHS's tolerance for integers and for rows, as a share of values above 1.
TOLERANCE = 1e-5


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


# A user's own rows ----------------------------------------------------------------------------------------------------

#: The ids that a variable counts together, from a model, the name of a component and an index.
Shared = Callable[[Any, str, tuple[Any, ...]], Sequence[str]]

_MEND = "build the model with per_pair=True, which has a variable for each task and node"


@dataclass(frozen=True, slots=True)
class Made:
    """The names and rows that a builder made from a problem.

    `per_pair`: each task has a variable for each node that it may use. `pruned`: it leaves out decisions that no
    optimum needs, but may need with a further constraint. `rows` and `bounds` are the number of rows of each
    constraint, and the bounds of each variable, by its name; for a PuLP model all by "". `objective` is the expression;
    None for a PuLP model. `shared` says what each variable counts together.
    """

    per_pair: bool
    pruned: bool
    rows: dict[str, int]
    bounds: dict[str, Any]
    objective: Any
    shared: Shared


def _variables(model: Any) -> dict[str, list[Any]]:
    """The entries of each variable, by its name; those of a PuLP model, as they were built, by ""."""
    if isinstance(model, pulp.LpProblem):
        return {"": model._entries}
    return {each.name: list(each.values()) for each in model.component_objects(pyo.Var)}


def _bounds(entries: Sequence[Any]) -> Any:
    """Lower and upper bounds of variables, infinite if there is none; float64, shape (2, entries).

    Both bounds of a fixed variable are its value.
    """
    if entries and isinstance(entries[0], pulp.LpVariable):
        pairs = [(entry.lowBound, entry.upBound) for entry in entries]
    else:
        pairs = [(entry.value, entry.value) if entry.fixed else (entry.lb, entry.ub) for entry in entries]
    below = [-math.inf if bound is None else bound for bound, _ in pairs]
    return np.array([below, [math.inf if bound is None else bound for _, bound in pairs]], dtype=np.float64)


def _objective(model: Any) -> Any:
    """The expression of the one active objective; None if there is not one."""
    active = list(model.component_data_objects(pyo.Objective, active=True))
    return active[0].expr if len(active) == 1 else None


def members_of(model: Any, word: str, index: tuple[Any, ...]) -> Sequence[str]:
    """The members of the class that is the first index of a variable of a model with classes."""
    held = model.component("members")
    return () if held is None or index[0] not in held else tuple(held[index[0]])


def remember(model: Any, per_pair: bool, pruned: bool = False, shared: Shared = members_of) -> None:
    """Record on a Pyomo or PuLP model what is in it, and make `solve_pyomo` and `solve_pulp` call `refuse_unknown`
    first.

    `per_pair` says that decoding reads the node of each task from a variable. The others are as in `Made`.
    """
    literal = isinstance(model, pulp.LpProblem)
    rows = {name: len(held) for name, held in _rows(model).items()}
    if literal:
        model._entries = list(model.variables())  # PuLP sorts its own by name, including those of a user
    bounds = {name: _bounds(entries) for name, entries in _variables(model).items()}
    model._made = Made(per_pair, pruned, rows, bounds, None if literal else _objective(model), shared)
    model._refuse = refuse_unknown


def is_per_pair(model: Any) -> bool:
    """Whether a Pyomo model was built with a variable for each task and node."""
    built: Made | None = getattr(model, "_made", None)
    return built is not None and built.per_pair


def refuse_unknown(model: Any) -> None:
    """Raise UsageError if a model cannot interpret what was added to it since a builder made it.

    A model per pair can interpret everything, and so can the paper's own, unless it is pruned.
    """
    built: Made | None = getattr(model, "_made", None)
    if built is None or built.per_pair or (isinstance(model, pulp.LpProblem) and not built.pruned):
        return
    rows, held = _added_rows(model, built), _tightened(model, built)
    if built.pruned and (rows or held):
        what = rows[0].name if rows else held[0][0].name
        raise UsageError(
            f"{what}: the model has only the instants that an optimum without it needs; {_MEND}, and ends as late as "
            "that may ask for"
        )
    if not built.pruned:
        _refuse_shared(model, built, rows, held)


def refuse_outside(model: Any) -> None:
    """Raise UsageError if a variable has a value outside the bounds that the builder gave it."""
    built: Made | None = getattr(model, "_made", None)
    for name, (lower, upper) in () if built is None else built.bounds.items():
        entries = _variables(model).get(name, [])
        given = [entry.varValue if isinstance(entry, pulp.LpVariable) else entry.value for entry in entries]
        values = np.array([math.nan if value is None else value for value in given], dtype=np.float64)[: len(lower)]
        slack = TOLERANCE * np.maximum(1.0, np.abs(values))
        wrong = np.flatnonzero((values < lower[: len(values)] - slack) | (values > upper[: len(values)] + slack))
        if len(wrong):
            at = int(wrong[0])
            raise UsageError(
                f"{entries[at].name} is {values[at]:g}, and must be {lower[at]:g} to {upper[at]:g}, as the model was "
                "built: fix it, or bound it, within that"
            )


def refuse_unkept(model: Any, decided: Callable[[Any], Iterable[tuple[Any, float]]]) -> None:
    """Raise UsageError if a decision violates what was added to a solved model, or the model cannot interpret it.

    `decided` expresses the decision in as many variables of a model as determine it.
    """
    refuse_unknown(model)
    built: Made | None = getattr(model, "_made", None)
    stale = None if built is None else next((row for row in _added_rows(model, built) if not _holds(row)), None)
    if stale is not None:
        raise UsageError(
            f"{stale.name} does not hold for the values that the model has: solve it again, then decode it"
        )
    if built is None or built.per_pair or isinstance(model, pulp.LpProblem):
        return
    changed = _added_rows(model, built) or _tightened(model, built) or _objective(model) is not built.objective
    if not changed:
        return
    values = list(decided(model))
    if (values or not built.pruned) and all(_close(variable.value, value) for variable, value in values):
        return  # the decision is the solver's solution
    _refuse_unkept(model.clone(), built, decided)


def _rows(model: Any) -> dict[str, list[Any]]:
    """The rows of each constraint, by its name; those of a PuLP model by ""."""
    if isinstance(model, pulp.LpProblem):
        return {"": list(model.constraints())}
    return {each.name: list(each.values()) for each in model.component_objects(pyo.Constraint)}


def _added_rows(model: Any, built: Made) -> list[Any]:
    """The active rows that are not the builder's."""
    added = [row for name, rows in _rows(model).items() for row in rows[built.rows.get(name, 0) :]]
    return [row for row in added if getattr(row, "active", True)]


def _tightened(model: Any, built: Made) -> list[tuple[Any, float, float]]:
    """The builder's variables that were fixed, or whose bounds are tighter now, with the bounds."""
    return [
        (entry, below, above)
        for name, entries in _variables(model).items()
        if name in built.bounds
        for entry, below, above, least, most in zip(entries, *_bounds(entries), *built.bounds[name], strict=False)
        if below > least or above < most
    ]


def _refuse_shared(model: Any, built: Made, rows: Sequence[Any], tightened: Sequence[tuple[Any, float, float]]) -> None:
    """Refuse rows and bounds on variables that stand for several tasks or nodes."""

    def stands_for(entry: Any) -> Sequence[str]:
        component = entry.parent_component()
        own = component.model() is model and component.name in built.bounds
        return built.shared(model, component.local_name, _index(entry)) if own else ()

    asked = [
        (f"a bound of {entry.name}", entry)
        for entry, below, above in tightened
        if below > 0 or above < len(stands_for(entry))  # otherwise it only limits all of these together
    ]
    asked += [(row.name, entry) for row in rows for entry in identify_variables(row.body)]
    for what, entry in asked:
        ids = stands_for(entry)
        if len(ids) > 1:
            listed = ", ".join(ids[:3]) + (", ..." if len(ids) > 3 else "")
            raise UsageError(
                f"{what}: {entry.name} counts for {len(ids)} together ({listed}), so the model cannot tell which of "
                f"them is meant; {_MEND}"
            )


def _index(entry: Any) -> tuple[Any, ...]:
    index = entry.index()
    return index if isinstance(index, tuple) else (index,)


def _holds(row: Any) -> bool:
    """Whether a row holds for the values of its variables; a variable without a value is ignored."""
    if isinstance(row, pulp.LpConstraint):
        return row.value() is None or bool(row.valid(TOLERANCE))
    return any(entry.value is None for entry in identify_variables(row.body)) or not _broken_by_values(row)


def _close(one: float | None, other: float) -> bool:
    return one is not None and abs(one - other) <= TOLERANCE * max(1.0, abs(other))


def _refuse_unkept(copy: Any, built: Made, decided: Callable[[Any], Iterable[tuple[Any, float]]]) -> None:
    """Check a copy of a model at a decision; refuse the decision if the copy has no solution, or a worse one."""
    if _objective(copy) is None:
        for each in copy.component_objects(pyo.Objective):
            each.deactivate()
        copy.add_component("no objective", pyo.Objective(expr=0.0))
    copy._refuse = None
    found, rows = pyo.value(_objective(copy)), _added_rows(copy, built)
    values = list(decided(copy))
    wrong = None if values else "it lies beyond the instants of the model"
    for variable, value in values:
        below, above = variable.bounds
        if variable.fixed and not _close(variable.value, value):
            wrong = wrong or f"{variable.name} is fixed at {variable.value:g}, and is {value:g} there"
        elif (below is not None and value < below - TOLERANCE) or (above is not None and value > above + TOLERANCE):
            wrong = wrong or f"{variable.name} is bounded by {below} and {above}, and is {value:g} there"
        variable.fix(value, skip_validation=True)
    if wrong is None:
        wrong = next((f"{row.name} does not hold there" for row in rows if _broken(row)), None)
    if wrong is None:
        outcome = solve_pyomo(copy, "exact")
        sense = next(copy.component_data_objects(pyo.Objective, active=True)).sense
        if outcome.status is not Termination.OPTIMAL or outcome.objective is None:
            wrong = f"{' or '.join(row.name for row in rows[:3]) or 'what was added'} does not hold there"
        elif sense * outcome.objective > sense * found + TOLERANCE * max(1.0, abs(found)):
            wrong = f"the model's objective is {found:g}, and {outcome.objective:g} there"
    if wrong is not None:
        raise UsageError(
            f"the decision does not keep what was added to the model: {wrong}. This model counts tasks without naming "
            f"their nodes; {_MEND}"
        )


def _broken(row: Any) -> bool:
    """Whether a row is violated by the fixed variables alone."""
    return all(entry.fixed for entry in identify_variables(row.body)) and _broken_by_values(row)


def _broken_by_values(row: Any) -> bool:
    """Whether a row is violated by the values of its variables."""
    body, (lower, upper) = pyo.value(row.body), (row.lb, row.ub)
    slack = TOLERANCE * max(1.0, abs(body))
    return (lower is not None and body < lower - slack) or (upper is not None and body > upper + slack)


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

    `started` expresses a decision in the Pyomo model, as for `starter`. With it, `decode` checks the decision against
    what the user added to that model.
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
    return Translation(
        decode=decoder(kind, compact.decode, literal.decode, compact.started),
        start_values=starter(kind, compact.started, literal.started),
    )
