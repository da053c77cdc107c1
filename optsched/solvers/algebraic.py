"""HiGHS behind Pyomo and PuLP models: each library translates its model, and `highs.run` does the rest.

So status, limit, objective and bound mean what they mean for arrays. They never come from Pyomo or PuLP, whose own
words mislead at limits and gaps. Values are loaded into a model only where there is a solution, and duals only for a
linear program that is solved.

Both functions take a start, and give it to HiGHS directly. Neither library has one for HiGHS that works: Pyomo's new
interface has none, and PuLP takes `warmStart=True` and ignores it.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import highspy
import numpy as np
import numpy.typing as npt
import pulp
import pyomo.environ as pyo
from pyomo.contrib.solver.common.util import IncompatibleModelError
from pyomo.contrib.solver.solvers.highs import Highs as PyomoHighs
from pyomo.core.staleflag import StaleFlagManager
from pyomo.version import version as pyomo_version

from optsched.core.errors import UsageError, expect
from optsched.core.processes.handing import taken
from optsched.core.results import Termination
from optsched.solvers.answers import OUT_OF_MEMORY, SolverOutcome, negated
from optsched.solvers.highs import program_of, read_solution, run
from optsched.solvers.options import quieten
from optsched.solvers.profiles import AnyProfile

__all__ = ["injective_names", "solve_pulp", "solve_pyomo"]


#: Pyomo diverts the output of the whole process while it translates, which two threads must not do at once.
_translating = threading.Lock()


def _translate(model: Any) -> tuple[Any, list[Any], list[Any]]:
    """A Pyomo model as HiGHS holds it, with its variables and constraints in the order of the columns and rows.

    This is the one place that knows the inside of Pyomo's interface, which can translate a model only to solve it.
    """
    quieten()
    interface = PyomoHighs()
    with _translating:
        interface.set_instance(model)
    variables = [interface._vars[key][0] for key in interface._pyomo_var_to_solver_var_map]
    return interface._solver_model, variables, list(interface._pyomo_con_to_solver_con_map)


def _check_rows(highs: Any, count: int, name: str) -> None:
    """Raise UsageError where HiGHS did not take all constraints. Neither Pyomo nor PuLP checks that they are there."""
    if highs.getNumRow() < count:
        raise UsageError(f"HiGHS refuses constraints of {name}: coefficients must be finite and below 1e15")


def _ask(model: Any) -> None:
    """Have a model refuse what it cannot tell, if its builder has given it a function for that (`_refuse`)."""
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
        `pyomo.environ.ConcreteModel` with one active objective. Where it has a `Suffix` named `dual` or `rc` that
        imports, and is a linear program, that gets the duals or reduced costs: the change of the optimum per unit.
    profile
        Limits and options, or the name of a profile.
    start
        `ComponentMap` from variables to values to start from; may be partial. HiGHS ignores an infeasible one.
    decode
        What the values in the model stand for. Better solutions that are found on the way are loaded and given to who
        takes them, if anybody does (`optsched.core.processes.handing.taking`).

    Returns
    -------
    SolverOutcome
        In the model's own sense. Without a solution the variables have no values.

    Raises
    ------
    UsageError
        If HiGHS cannot take the model (not linear, several objectives, SOS constraints, coefficients of 1e15), the
        start names a variable that the model does not use, or a compact model of `optsched.models` cannot tell what a
        constraint means that was added to it.

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
    _check_rows(highs, len(constraints), model.name)
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
        for variable in variables:  # values of an earlier solve would be decoded as the answer of this one
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
    """Which constraint is not linear; empty where all are."""
    for row in model.component_data_objects(pyo.Constraint, active=True):
        if row.body.polynomial_degree() not in (0, 1):
            return f"the constraint {row.name} is not linear"
    return ""


def _loaded(
    load: Callable[[npt.NDArray[np.float64]], None], decode: Callable[[], Any] | None
) -> Callable[[npt.NDArray[np.float64]], None] | None:
    """What takes a solution that is found on the way: it is loaded into the model, and decoded there."""
    if decode is None:
        return None

    def read(values: npt.NDArray[np.float64]) -> Any:
        load(values)
        return decode()

    return taken(read)


class _PulpEngine(pulp.HiGHS):  # type: ignore[misc]
    """PuLP's HiGHS, used only for the translation: running, reading and loading are ours."""

    outcome: SolverOutcome

    def __init__(
        self, profile: AnyProfile, start: Mapping[str, float] | None, decode: Callable[[], Any] | None
    ) -> None:
        quieten()
        super().__init__(msg=False)
        self.profile = profile
        self.start = start
        self.decode = decode

    def buildSolverModel(self, lp: Any) -> None:  # noqa: N802
        model, sign = lp.solverModel, _sign(lp)
        self.column_of = {variable.name: column for column, variable in enumerate(lp.variables())}
        costs = {variable.name: cost for variable, cost in lp.objective.items()}
        for column, variable in enumerate(lp.variables()):
            lower, upper = variable.lowBound, variable.upBound
            bounds = -math.inf if lower is None else lower, math.inf if upper is None else upper
            # PuLP maximises by minimising the negated costs, and forgets the constant.
            model.addCol(sign * costs.get(variable.name, 0.0), *bounds, 0, [], [])
            if variable.cat == pulp.LpInteger:
                model.changeColIntegrality(column, highspy.HighsVarType.kInteger)
        for row in lp.constraints():
            entries = [(self.column_of[variable.name], value) for variable, value in row.items() if value]
            lower, upper = row.getLb(), row.getUb()
            bounds = -math.inf if lower is None else lower, math.inf if upper is None else upper
            model.addRow(*bounds, len(entries), [column for column, _ in entries], [value for _, value in entries])
        _check_rows(model, lp.numConstraints(), lp.name)
        model.changeObjectiveOffset(sign * float(lp.objective.constant or 0.0))

    def callSolver(self, lp: Any) -> None:  # noqa: N802
        hint = None
        if self.start is not None:
            hint = _hint((self.column_of.get(name), name, value) for name, value in self.start.items())

        def load(values: npt.NDArray[np.float64]) -> None:
            for variable, value in zip(lp.variables(), values.tolist(), strict=True):
                variable.varValue = value

        improving = _loaded(load, self.decode)
        self.outcome = run(lp.solverModel, self.profile, f"pulp {pulp.__version__}", hint, improving)

    def findSolutionValues(self, lp: Any) -> tuple[int, int]:  # noqa: N802
        # The inherited method knows no node limit, and loads zeros where there is no solution.
        program = program_of(lp.solverModel)
        held, sign = read_solution(lp.solverModel, self.outcome, program), _sign(lp)
        columns = None if held.x is None else held.x.tolist()
        rows = None if held.x is None else (program.matrix @ held.x).tolist()
        reduced_costs = None if held.col_duals is None else held.col_duals.tolist()
        row_duals = None if held.row_duals is None else held.row_duals.tolist()
        for column, variable in enumerate(lp.variables()):
            variable.varValue = None if columns is None else columns[column]
            if columns is None and variable.varValue is not None:  # PuLP 4 takes no None: what was held is no answer
                variable.varValue = math.nan
            variable.dj = None if reduced_costs is None else sign * reduced_costs[column]
        for number, constraint in enumerate(lp.constraints()):
            side = -1.0 if constraint.sense == pulp.LpConstraintLE else 1.0
            constraint.slack = None if rows is None else side * (constraint.constant + rows[number])
            constraint.pi = None if row_duals is None else sign * row_duals[number]
        return _PULP_STATUS.get(self.outcome.status, (pulp.LpStatusNotSolved, pulp.LpSolutionNoSolutionFound))


def has_sos(problem: Any) -> bool:
    """Whether a PuLP problem has SOS constraints: PuLP 4 says it by a method, PuLP 3 keeps two mappings."""
    return bool(problem.has_sos() if hasattr(problem, "has_sos") else problem.sos1 or problem.sos2)


#: Unlike in PuLP itself, "Optimal" means an optimum; `sol_status` says whether there is any solution.
_PULP_STATUS = {
    Termination.OPTIMAL: (pulp.LpStatusOptimal, pulp.LpSolutionOptimal),
    Termination.FEASIBLE: (pulp.LpStatusNotSolved, pulp.LpSolutionIntegerFeasible),
    Termination.INFEASIBLE: (pulp.LpStatusInfeasible, pulp.LpSolutionInfeasible),
    Termination.ERROR: (pulp.LpStatusUndefined, pulp.LpSolutionNoSolutionFound),
}


def _sign(lp: Any) -> float:
    return -1.0 if lp.sense == pulp.LpMaximize else 1.0


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
        `pulp.LpProblem`. Of a linear program, `pi` of the constraints and `dj` of the variables are the change of the
        optimum per unit. Its own `status` is "Optimal" for optima only.
    profile
        Limits and options, or the name of a profile.
    start
        From names of variables to values to start from; may be partial. HiGHS ignores an infeasible one.
    decode
        As of `solve_pyomo`.

    Returns
    -------
    SolverOutcome
        In the problem's own sense. Without a solution all values are None.

    Raises
    ------
    UsageError
        If two variables bear the same name, the problem has SOS constraints (which PuLP would drop) or coefficients
        of 1e15 (likewise), or the start names a variable that the problem does not use.

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
    try:
        problem.checkDuplicateVars()
    except pulp.PulpError as error:
        raise UsageError(f"{error}: make names by injective_names") from error
    if has_sos(problem):
        raise UsageError(f"PuLP gives no SOS constraints to HiGHS: write those of {problem.name} with binaries")
    engine = _PulpEngine(profile, start, decode)
    try:
        problem.solve(engine)
    except MemoryError:
        return OUT_OF_MEMORY
    problem.solverModel = None  # a HiGHS object does not pickle, and would keep the model's memory
    return negated(engine.outcome) if problem.sense == pulp.LpMaximize else engine.outcome


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

#: Labels whose first character would begin a number (also `e5`, as in 2e5), and the words of the LP format.
_UNSAFE_FIRST = re.compile(
    r"[0-9].*|e[0-9].*|e|bin(ary|aries)?|gen(eral)?s?|int(eger)?s?|(max|min)(imi[sz]e|imum)?|bounds?|free|end|nan|"
    r"inf(inity)?|sec|semis?|sos[12]?|st|subject|such",
    re.IGNORECASE | re.DOTALL,
)

#: PuLP refuses to write longer names.
_LONGEST_NAME = 80


def injective_names(labels: Iterable[str]) -> list[str]:
    """Names that LP and MPS files and both libraries take as they are, different for different labels.

    ASCII letters and digits stay, `_` becomes `__`, and any other character `_` code `_`; so does the first one where
    a name may not begin with it. Join the names of a pair with a full stop: no name has one.

    Parameters
    ----------
    labels
        Ids of anything, each once.

    Returns
    -------
    list of str
        In the order of the labels. A label of more than 80 characters when written so is named by its position.

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
