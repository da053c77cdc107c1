"""A user's own rows on a model: what was added since the builder made it, and whether the model can interpret that.

A compact model counts equal tasks together, and does not name the node of a task that is counted in a rack or anywhere.
So a user's row may hold for the counts and not for the placement. `remember` records what a builder made. Later
additions are rows, fixed variables, tighter bounds, or another objective. `refuse_unknown` refuses before the solve
what a model cannot interpret, and `refuse_unkept` after it what a decision violates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pulp
import pyomo.environ as pyo
from pyomo.core.expr.visitor import identify_variables

from optsched.core.errors import UsageError
from optsched.core.results import Termination
from optsched.solvers.algebraic import solve_pyomo

#: HiGHS's tolerance for integers and for rows, as a share of values above 1.
TOLERANCE = 1e-5

#: The ids that a variable counts together, from a model, the name of a component and an index.
Shared = Callable[[Any, str, tuple[Any, ...]], Sequence[str]]

_UNKEPT = "the decision does not keep what was added to the model"
_LOOSE = "A variable, such as a makespan, may have another value in the model than tasks give it: constrain the tasks"
_MEND = "build the model with per_pair=True, which has a variable for each task and node"


@dataclass(frozen=True, slots=True)
class Made:
    """The names and rows that a builder made from a problem.

    `per_pair`: each task has a variable for each node that it may use. `pruned`: it leaves out decisions that no
    optimum needs, but may need with a further constraint. `rows` and `bounds` are the indices of each constraint, and
    the bounds of each variable, by its name; for a PuLP model all by "". `objective` is the expression;
    None for a PuLP model. `shared` says what each variable counts together.
    """

    per_pair: bool
    pruned: bool
    rows: dict[str, set[Any]]
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
    rows = {name: set(held) for name, held in _rows(model).items()}
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
    if built is None:
        return
    changed = _added_rows(model, built) or _tightened(model, built)
    if isinstance(model, pulp.LpProblem):
        if changed:
            _refuse_unkept_literal(model, built, list(decided(model)))
        return
    if not changed and _objective(model) is built.objective:
        return
    values = list(decided(model))
    if (values or not built.pruned) and all(_close(variable.value, value) for variable, value in values):
        return  # the decision is the solver's solution
    _refuse_unkept(model.clone(), built, decided)


def _rows(model: Any) -> dict[str, dict[Any, Any]]:
    """The rows of each constraint by their indices, by its name; those of a PuLP model by their names, by ""."""
    if isinstance(model, pulp.LpProblem):
        return {"": {row.name: row for row in model.constraints()}}
    return {each.name: dict(each.items()) for each in model.component_objects(pyo.Constraint)}


def _added_rows(model: Any, built: Made) -> list[Any]:
    """The active rows that are not the builder's."""
    added = [
        row
        for name, rows in _rows(model).items()
        for index, row in rows.items()
        if index not in built.rows.get(name, ())
    ]
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
            f"{_UNKEPT}: {wrong}. "
            + (_LOOSE if built.per_pair else f"This model counts tasks without naming their nodes; {_MEND}")
        )


def _refuse_unkept_literal(model: Any, built: Made, values: Sequence[tuple[Any, float]]) -> None:
    """Refuse a decision, as values of variables of a PuLP model, if an added row or bound does not hold for it.

    Rows with other variables, such as the user's own, may hold for other values of these.
    """
    known = {variable.name for variable, _ in values}
    held = [variable.varValue for variable, _ in values]
    for variable, value in values:
        variable.varValue = value
    rows = [row for row in _added_rows(model, built) if known >= {variable.name for variable, _ in row.items()}]
    broken = [row.name for row in rows if not _holds(row)]
    broken += [f"a bound of {variable.name}" for variable, _ in values if not variable.valid(TOLERANCE)]
    for (variable, _), value in zip(values, held, strict=True):
        variable.varValue = value
    if broken:
        raise UsageError(f"{_UNKEPT}: {broken[0]} does not hold there. {_LOOSE}")


def _broken(row: Any) -> bool:
    """Whether a row is violated by the fixed variables alone."""
    return all(entry.fixed for entry in identify_variables(row.body)) and _broken_by_values(row)


def _broken_by_values(row: Any) -> bool:
    """Whether a row is violated by the values of its variables."""
    body, (lower, upper) = pyo.value(row.body), (row.lb, row.ub)
    slack = TOLERANCE * max(1.0, abs(body))
    return (lower is not None and body < lower - slack) or (upper is not None and body > upper + slack)
