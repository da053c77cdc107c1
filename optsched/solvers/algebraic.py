"""HiGHS behind Pyomo and PuLP models: Pyomo translates its own, a PuLP problem is read, and `highs` does the rest.

So status, limit, objective and bound mean the same as for arrays. They never come from Pyomo or PuLP, whose own words
mislead at limits and gaps. Values are loaded into a model only if there is a solution, and duals only for a linear
program that was solved.

Both functions take a start, and give it to HiGHS directly. Neither library has a working start for HiGHS: Pyomo's new
interface has none, and PuLP takes `warmStart=True` and ignores it.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pulp
import pyomo.environ as pyo
import scipy.sparse as sp
from pyomo.contrib.solver.common.util import IncompatibleModelError
from pyomo.contrib.solver.solvers.highs import Highs as PyomoHighs
from pyomo.core.staleflag import StaleFlagManager
from pyomo.version import version as pyomo_version

from optsched.core.errors import UsageError, expect
from optsched.core.processes.handing import taken
from optsched.core.results import Termination
from optsched.solvers.answers import OUT_OF_MEMORY, LinearProgram, SolverOutcome, negated
from optsched.solvers.highs import MOST_COEFFICIENT, ArraySolution, read_solution, run, solve_program
from optsched.solvers.options import quieten
from optsched.solvers.profiles import AnyProfile

__all__ = ["injective_names", "solve_pulp", "solve_pyomo"]


#: Pyomo redirects the output of the whole process while it translates, which two threads must not do at once.
_translating = threading.Lock()


def _translate(model: Any) -> tuple[Any, list[Any], list[Any]]:
    """A Pyomo model in HiGHS, with its variables and constraints in the order of the columns and rows.

    Only this function knows the internals of Pyomo's interface, which can translate a model only to solve it.
    """
    quieten()
    interface = PyomoHighs()
    with _translating:
        interface.set_instance(model)
    variables = [interface._vars[key][0] for key in interface._pyomo_var_to_solver_var_map]
    return interface._solver_model, variables, list(interface._pyomo_con_to_solver_con_map)


def _refused_rows(name: str) -> UsageError:
    """The error if HiGHS would not take all constraints, which neither library notices."""
    return UsageError(f"HiGHS refuses constraints of {name}: coefficients must be finite and below 1e15")


def _ask(model: Any) -> None:
    """Let a model refuse what it cannot interpret, if its builder has given it a function for that (`_refuse`)."""
    refuse = getattr(model, "_refuse", None)
    if refuse is not None:
        refuse(model)


def solve_pyomo(
    model: Any,
    profile: AnyProfile,
    start: Mapping[Any, float] | None = None,
    decode: Callable[[], Any] | None = None,
) -> SolverOutcome:
    """Solve a linear or mixed-integer Pyomo model and load the solution, if there is one, into it.

    Parameters
    ----------
    model
        `pyomo.environ.ConcreteModel` with one active objective. If it is a linear program and has a `Suffix` named
        `dual` or `rc` that imports, that gets the duals or reduced costs: the change of the optimum per unit.
    profile
        Limits and options, or the name of a profile.
    start
        `ComponentMap` from variables to values to start from; may be partial. HiGHS ignores an infeasible one.
    decode
        Decodes the values in the model. Better solutions during the search are loaded, decoded and passed on if
        somebody asked for them (`optsched.core.processes.handing.taking`).

    Returns
    -------
    SolverOutcome
        In the model's own sense. Without a solution the variables have no values.

    Raises
    ------
    UsageError
        If HiGHS cannot take the model (not linear, several objectives, SOS constraints, coefficients of 1e15), the
        start names a variable that the model does not use, or a compact model of `optsched.models` cannot interpret a
        constraint that was added to it.

    Examples
    --------
    >>> model = pyo.ConcreteModel()
    >>> model.x = pyo.Var(domain=pyo.Integers, bounds=(0, 9))
    >>> model.cost = pyo.Objective(expr=2 * model.x + 1, sense=pyo.maximize)
    >>> model.limit = pyo.Constraint(expr=3 * model.x <= 10)
    >>> outcome = solve_pyomo(model, "exact")
    >>> str(outcome.status), outcome.objective, outcome.bound, pyo.value(model.x)
    ('OPTIMAL', 7.0, 7.0, 3.0)
    """
    expect(model, pyo.Block, "solve_pyomo takes a Pyomo model", "a PuLP problem is for solve_pulp")
    _ask(model)
    try:
        highs, variables, constraints = _translate(model)
    except MemoryError:
        return OUT_OF_MEMORY
    except (IncompatibleModelError, NotImplementedError, ValueError) as error:
        raise UsageError(f"HiGHS cannot take the model {model.name}: {_not_linear(model) or error}") from error
    if highs.getNumRow() < len(constraints):
        raise _refused_rows(model.name)
    hint = None
    if start is not None:
        column_of = {id(variable): column for column, variable in enumerate(variables)}
        hint = _hint((column_of.get(id(variable)), variable.name, value) for variable, value in start.items())

    def load(values: npt.NDArray[np.float64]) -> None:
        for variable, value in zip(variables, values.tolist(), strict=True):
            variable.set_value(value, skip_validation=True)

    outcome = run(highs, profile, f"pyomo {pyomo_version}", hint, _loaded(load, decode))
    StaleFlagManager.mark_all_as_stale()
    held = read_solution(highs, outcome)
    if held.x is None:
        for variable in variables:  # values of an earlier solve would be decoded as this answer
            variable.set_value(None)
    else:
        load(held.x)
    for name, keys, values in (("dual", constraints, held.row_duals), ("rc", variables, held.col_duals)):
        suffix = model.component(name)
        if isinstance(suffix, pyo.Suffix) and suffix.import_enabled():
            suffix.clear()
            if values is not None:
                suffix.update(zip(keys, values.tolist(), strict=True))
    return outcome


def _not_linear(model: Any) -> str:
    """The constraint that is not linear; empty if all are."""
    for row in model.component_data_objects(pyo.Constraint, active=True):
        if row.body.polynomial_degree() not in (0, 1):
            return f"the constraint {row.name} is not linear"
    return ""


def _loaded(
    load: Callable[[npt.NDArray[np.float64]], None], decode: Callable[[], Any] | None
) -> Callable[[npt.NDArray[np.float64]], None] | None:
    """The receiver of solutions during the search: each is loaded into the model, and decoded there."""
    if decode is None:
        return None

    def read(values: npt.NDArray[np.float64]) -> Any:
        load(values)
        return decode()

    return taken(read)


def _pulp_program(problem: Any, sign: float) -> LinearProgram:
    """A PuLP problem as a minimisation: its objective times a sign."""
    variables, constraints, objective = problem.variables(), list(problem.constraints()), problem.objective
    column_of = {variable.name: column for column, variable in enumerate(variables)}
    costs = np.zeros(len(variables))
    for variable, cost in () if objective is None else objective.items():
        costs[column_of[variable.name]] = sign * cost
    entries = [[(column_of[each.name], value) for each, value in row.items() if value] for row in constraints]
    terms = [term for row in entries for term in row]
    values = np.array([value for _, value in terms], dtype=np.float64)
    if not (np.abs(values) < MOST_COEFFICIENT).all():
        raise _refused_rows(problem.name)
    starts = np.cumsum([0, *map(len, entries)])
    shape = len(constraints), len(variables)
    return LinearProgram(
        objective=costs,
        col_lower=_limits((variable.lowBound for variable in variables), -math.inf),
        col_upper=_limits((variable.upBound for variable in variables), math.inf),
        integer=np.array([variable.cat == pulp.LpInteger for variable in variables], dtype=bool),
        row_lower=_limits((row.getLb() for row in constraints), -math.inf),
        row_upper=_limits((row.getUb() for row in constraints), math.inf),
        matrix=sp.csr_array((values, np.array([column for column, _ in terms], dtype=np.int64), starts), shape=shape),
        offset=0.0 if objective is None else sign * float(objective.constant or 0.0),
    )


def _limits(values: Iterable[float | None], none: float) -> npt.NDArray[np.float64]:
    """Limits as an array, with `none` for each that is None."""
    return np.array([none if value is None else value for value in values], dtype=np.float64)


def has_sos(problem: Any) -> bool:
    """Whether a PuLP problem has SOS constraints: PuLP 4 has a method for it, PuLP 3 two mappings."""
    return bool(problem.has_sos() if hasattr(problem, "has_sos") else problem.sos1 or problem.sos2)


#: Unlike in PuLP itself, "Optimal" means an optimum; `sol_status` says whether there is any solution.
_PULP_STATUS = {
    Termination.OPTIMAL: (pulp.LpStatusOptimal, pulp.LpSolutionOptimal),
    Termination.FEASIBLE: (pulp.LpStatusNotSolved, pulp.LpSolutionIntegerFeasible),
    Termination.INFEASIBLE: (pulp.LpStatusInfeasible, pulp.LpSolutionInfeasible),
    Termination.ERROR: (pulp.LpStatusUndefined, pulp.LpSolutionNoSolutionFound),
}


def solve_pulp(
    problem: Any,
    profile: AnyProfile,
    start: Mapping[str, float] | None = None,
    decode: Callable[[], Any] | None = None,
) -> SolverOutcome:
    """Solve a linear or mixed-integer PuLP problem and load the solution, if there is one, into it.

    Parameters
    ----------
    problem
        `pulp.LpProblem`. For a linear program, `pi` of the constraints and `dj` of the variables are the change of the
        optimum per unit. Its own `status` is "Optimal" only for optima.
    profile
        Limits and options, or the name of a profile.
    start
        From names of variables to values to start from; may be partial. HiGHS ignores an infeasible one.
    decode
        As for `solve_pyomo`.

    Returns
    -------
    SolverOutcome
        In the problem's own sense. Without a solution all values are None.

    Raises
    ------
    UsageError
        If two variables have the same name, the problem has SOS constraints or coefficients of 1e15 (PuLP would drop
        both), or the start names a variable that the problem does not use.

    Examples
    --------
    >>> problem = pulp.LpProblem("example", pulp.LpMaximize)
    >>> x = problem.add_variable("x", 0, 9, "Integer")
    >>> problem.setObjective(2 * x + 1)
    >>> problem.addConstraint(3 * x <= 10, "limit")
    >>> outcome = solve_pulp(problem, "exact")
    >>> str(outcome.status), outcome.objective, outcome.bound, x.value()
    ('OPTIMAL', 7.0, 7.0, 3.0)
    """
    expect(problem, pulp.LpProblem, "solve_pulp takes a PuLP problem", "a Pyomo model is for solve_pyomo")
    _ask(problem)
    _refuse_what_pulp_loses(problem)
    variables, sign = problem.variables(), -1.0 if problem.sense == pulp.LpMaximize else 1.0
    try:
        program = _pulp_program(problem, sign)
    except MemoryError:
        return OUT_OF_MEMORY
    hint = None
    if start is not None:
        column_of = {variable.name: column for column, variable in enumerate(variables)}
        hint = _hint((column_of.get(name), name, value) for name, value in start.items())

    improving = _loaded(partial(_load, variables), decode)
    found = solve_program(program, profile, f"pulp {pulp.__version__}", hint, improving)
    if found.outcome is OUT_OF_MEMORY:
        return OUT_OF_MEMORY
    _load_answer(problem, variables, program, found, sign)
    return found.outcome if sign > 0 else negated(found.outcome)


def _refuse_what_pulp_loses(problem: Any) -> None:
    """Raise UsageError for two variables of the same name, and for SOS constraints."""
    try:
        problem.checkDuplicateVars()
    except pulp.PulpError as error:
        raise UsageError(f"{error}: make names by injective_names") from error
    if has_sos(problem):
        raise UsageError(f"PuLP gives no SOS constraints to HiGHS: write those of {problem.name} with binaries")


def _load(variables: Sequence[Any], values: npt.NDArray[np.float64]) -> None:
    """Give the variables of a PuLP problem their values."""
    for variable, value in zip(variables, values.tolist(), strict=True):
        variable.varValue = value


def _load_answer(
    problem: Any, variables: Sequence[Any], program: LinearProgram, found: ArraySolution, sign: float
) -> None:
    """Set what `LpProblem.solve` sets in a PuLP problem: values, reduced costs, slacks, duals, status and seconds.

    `sign` times its objective is that of the program. `solutionCpuTime` stays unchanged: no CPU time is measured.
    """
    if found.x is None:
        for variable in variables:
            variable.varValue = None
            if variable.varValue is not None:  # PuLP 4 takes no None: the old value is no answer
                variable.varValue = math.nan
    else:
        _load(variables, found.x)
    for column, variable in enumerate(variables):
        variable.dj = None if found.col_duals is None else sign * float(found.col_duals[column])
    sides = None if found.x is None else program.matrix @ found.x
    for number, row in enumerate(problem.constraints()):
        side = -1.0 if row.sense == pulp.LpConstraintLE else 1.0
        row.slack = None if sides is None else side * (row.constant + float(sides[number]))
        row.pi = None if found.row_duals is None else sign * float(found.row_duals[number])
    nothing = (pulp.LpStatusNotSolved, pulp.LpSolutionNoSolutionFound)
    problem.assignStatus(*_PULP_STATUS.get(found.outcome.status, nothing))
    problem.solutionTime = found.outcome.seconds


def _hint(
    entries: Iterable[tuple[int | None, str, float]],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Columns and values of a start, from (column, name, value)."""
    columns, values = [], []
    for column, name, value in entries:
        if column is None:
            raise UsageError(f"the start names {name}, which the objective and constraints do not use")
        if not math.isfinite(value):
            raise UsageError(f"the start gives {name} the value {value}: it must be finite")
        columns.append(column)
        values.append(value)
    return np.array(columns, dtype=np.int32), np.array(values, dtype=np.float64)


_UNSAFE = re.compile(r"[^A-Za-z0-9]")

#: Labels whose first character could begin a number (also `e5`, as in 2e5), and the words of the LP format.
_UNSAFE_FIRST = re.compile(
    r"[0-9].*|e[0-9].*|e|bin(ary|aries)?|gen(eral)?s?|int(eger)?s?|(max|min)(imi[sz]e|imum)?|bounds?|free|end|nan|"
    r"inf(inity)?|sec|semis?|sos[12]?|st|subject|such",
    re.IGNORECASE | re.DOTALL,
)

#: PuLP refuses to write longer names.
_LONGEST_NAME = 80


def injective_names(labels: Iterable[str]) -> list[str]:
    """Names that LP and MPS files and both libraries take unchanged, different for different labels.

    ASCII letters and digits stay, `_` becomes `__`, and any other character `_` code `_`; so does the first one if a
    name may not begin with it. Join the names of a pair with a full stop: no name has one.

    Parameters
    ----------
    labels
        Ids of anything, each once.

    Returns
    -------
    list of str
        In the order of the labels. A label whose name would exceed 80 characters is named by its position.

    Raises
    ------
    UsageError
        If a label occurs twice.

    Examples
    --------
    >>> injective_names(["n1", "a_b", "a b", "a-b", "1", "e5", "free"])
    ['n1', 'a__b', 'a_20_b', 'a_2d_b', '_31_', '_65_5', '_66_ree']
    """
    names: dict[str, str] = {}
    for position, label in enumerate(labels):
        if label in names:
            raise UsageError(f'the label "{label}" occurs twice: names must differ')
        name = _UNSAFE.sub(lambda match: _escaped(match[0]), label)
        if _UNSAFE_FIRST.fullmatch(label):
            name = _escaped(name[0]) + name[1:]
        names[label] = name if 0 < len(name) <= _LONGEST_NAME else f"_z{position}_"
    return list(names.values())


def _escaped(character: str) -> str:
    return "__" if character == "_" else f"_{ord(character):x}_"
