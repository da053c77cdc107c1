"""Writes models as LP and MPS files whose names are the instance's own ids, different for different ids.

Pyomo's own symbolic names can collide and PuLP's must exist before; here both use `place.t1.n1` for `place[t1,n1]`. An
MPS file is written from the LP file as HiGHS reads it. `about` gives the meaning of a file's objective.

Both use the subset that every reader interprets alike: readers differ, mostly silently. Therefore:

- an MPS file always minimises: CBC and PuLP ignore `OBJSENSE MAX` and would minimise what should be maximised;
- there are no `RANGES` and no constant of the objective among the right-hand sides (PuLP's reader knows neither): a row
  with two limits is two rows, a constant a column that is fixed at 1;
- every integer has both its bounds written (readers disagree about the default upper one, 1 or none), with `LO` and
  `UP` (`LI` and `UI` stop PuLP's reader), and a column without lower bound has `MI` before `UP` (after it, PuLP's
  reader sets the upper bound to 0);
- short names are in the columns of the fixed form of MPS, where CBC looks for those of bounds without a number;
- numbers are written so that they are read as exactly the same doubles; PuLP itself writes 12 digits.
"""

from __future__ import annotations

import io
import math
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import highspy
import pulp
import pyomo.environ as pyo
import scipy.sparse as sp
from pyomo.repn.plugins.lp_writer import LPWriter

from optsched.core.errors import UsageError
from optsched.core.problem_record import imported
from optsched.core.registry import record_of
from optsched.core.results import Component
from optsched.problems import AnyProblem
from optsched.problems.base import expect_problem
from optsched.solvers.algebraic import has_sos, injective_names
from optsched.solvers.options import QuietHighs

__all__ = ["Meaning", "about", "write_lp", "write_mps"]

_NAMED = (pyo.Var, pyo.Constraint, pyo.Objective)


class _Labeler:
    """Names Pyomo's components for a file, each index by an injective name, computed once."""

    def __init__(self, model: Any) -> None:
        indices = (data.index() for data in model.component_data_objects(_NAMED))
        labels = dict.fromkeys(str(part) for index in indices for part in _parts(index))
        self.names = dict(zip(labels, injective_names(labels), strict=True))

    def __call__(self, data: Any) -> str:
        return ".".join([data.parent_component().local_name, *(self.names[str(part)] for part in _parts(data.index()))])


def _parts(index: Any) -> tuple[Any, ...]:
    return () if index is None else index if isinstance(index, tuple) else (index,)


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of a model's objective.

    Attributes
    ----------
    component
        The component of the problem that the objective represents.
    units
        How many units of the model's objective are one of the component's.
    """

    component: Component
    units: int

    def of(self, objective: float | int, negated: bool = False) -> Fraction:
        """The component's value for an objective of the model, or of a file whose objective is negated.

        Examples
        --------
        >>> from optsched.core.results import Sense
        >>> Meaning(Component("penalty", Sense.MIN, "MB/s"), 1024).of(1536)
        Fraction(3, 2)
        """
        return (-1 if negated else 1) * Fraction(objective) / self.units

    def notes(self, negated: bool = False) -> list[str]:
        """Sentences for the reader of a file.

        Examples
        --------
        >>> from optsched.core.results import Sense
        >>> for note in Meaning(Component("use", Sense.MAX, "MB/s"), 1024).notes(negated=True):
        ...     print(note)
        objective: minus the use, which is to be most: the most is minus the least of this
        objective in units of 1/1024 MB/s: divide by 1024
        """
        name, sense, unit = self.component.name, self.component.sense, self.component.unit
        lines = [f"objective: {name} ({sense}), in {unit}" if self.units == 1 else f"objective: {name} ({sense})"]
        if negated:
            lines = [f"objective: minus the {name}, which is to be most: the most is minus the least of this"]
        if self.units != 1:
            lines.append(f"objective in units of 1/{self.units} {unit}: divide by {self.units}")
        return lines


def about(problem: AnyProblem, limited: bool = False) -> Meaning:
    """The meaning of the objective of a problem's models, compact and literal alike.

    Parameters
    ----------
    problem
        The problem that is modelled.
    limited
        Whether the model was built at a limit. If that limits the first component (`ProgramLimit.component`), the
        second is the objective.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems import Latency
    >>> about(Latency(Instance(Cluster(["s"]), Workload(["t"]))), limited=True).component.name
    'work'
    """
    expect_problem(problem, "about")
    record = record_of(type(problem))
    second = limited and record.limit is not None and record.limit.component == 0
    module = imported(record.models or "optsched.models")
    units: tuple[int, int] = getattr(module, "OBJECTIVE_UNITS", (1, 1))
    own = getattr(module, "objective_units", None)
    if own is not None:
        units = own(problem)
    return Meaning(problem.components[int(second)], units[int(second)])


def write_lp(model: Any, path: Path | str, notes: Sequence[str] = ()) -> None:
    r"""Write a Pyomo or PuLP model of this package as an LP file; the same model gives the same bytes.

    Parameters
    ----------
    model
        As `build_pyomo` or `build_pulp` made it, or with further constraints.
    path
        The file, which is overwritten.
    notes
        Lines of comment for the top.

    Raises
    ------
    UsageError
        If the model has SOS constraints, two variables of one name, or a name that readers would misinterpret.

    Examples
    --------
    >>> import tempfile
    >>> problem = pulp.LpProblem("example", pulp.LpMinimize)
    >>> x = problem.add_variable("x", 0)
    >>> problem.setObjective(2 * x)
    >>> problem.addConstraint(x >= 1, "limit")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_lp(problem, Path(folder) / "example.lp", ["bought as needed"])
    ...     print(Path(folder, "example.lp").read_text(encoding="utf-8"))
    \* bought as needed *\
    \* example *\
    Minimize
    OBJ: 2 x
    Subject To
    limit: x >= 1
    End
    """
    if isinstance(model, pulp.LpProblem):
        text = pulp_lp_text(model)
    else:
        stream = io.StringIO()
        labeler = _Labeler(model)
        expect_names(map(labeler, model.component_data_objects(pyo.Var)))
        LPWriter().write(model, stream, labeler=labeler)
        text = stream.getvalue()
    comments = "".join(rf"\* {_plain(note)} *" + "\\\n" for note in notes)
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        file.write(comments + text)


def write_mps(model: Any, path: Path | str, notes: Sequence[str] = ()) -> None:
    """Write a Pyomo or PuLP model as an MPS file that every reader minimises: a maximised objective is negated.

    Parameters
    ----------
    model, path, notes
        As for `write_lp`.

    Raises
    ------
    UsageError
        If the model has SOS constraints or nonlinear terms, or two variables of one name.

    Examples
    --------
    >>> import tempfile
    >>> problem = pulp.LpProblem("example", pulp.LpMaximize)
    >>> x = problem.add_variable("x", 0)
    >>> problem.setObjective(2 * x)
    >>> problem.addConstraint(x <= 1, "limit")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_mps(problem, Path(folder) / "example.mps", ["objective: minus twice x"])
    ...     print(Path(folder, "example.mps").read_text(encoding="utf-8"))
    * objective: minus twice x
    NAME model
    ROWS
     N objective
     L limit
    COLUMNS
     x objective -2
     x limit 1
    RHS
     RHS limit 1
    BOUNDS
    ENDATA
    """
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "model.lp")
        write_lp(model, program)
        solver = QuietHighs()
        if solver.readModel(str(program)) == highspy.HighsStatus.kError or solver.getHessianNumNz():
            raise UsageError(f"{model.name} is no linear or mixed-integer program that HiGHS can read; write it as LP")
    text = mps_text(solver.getLp(), [_plain(note) for note in notes])
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def _plain(note: str) -> str:
    """A note as one line of ASCII; names in it are escaped."""
    return note.encode("unicode_escape").decode("ascii")


# Text -----------------------------------------------------------------------------------------------------------------


#: Name of the column that represents the constant of an objective, as in Pyomo.
_CONSTANT = "ONE_VAR_CONSTANT"

#: The length of the lines of PuLP's LP files.
_LINE = pulp.constants.LpCplexLPLineSize

#: Significant digits that PuLP writes; kept if they suffice.
_DIGITS = 12

#: Beginnings that HiGHS reads as a number: `influence` as infinity.
_NUMBER = re.compile(r"[\d.]|inf|nan", re.IGNORECASE)

#: Words that begin a section of an LP file, or declare the kind of a variable.
_WORD = re.compile(
    r"(max|min)(imi[sz]e|imum)?|subject|such|st|s\.t\.|bounds?|free|gen(erals?)?|int(egers?)?|bin(ary|aries)?"
    r"|semis?(-continuous)?|sos|end",
    re.IGNORECASE,
)


def number(value: float) -> str:
    """The shortest text that is read as the same double.

    Examples
    --------
    >>> number(3.0), number(0.1 + 0.2), number(1e15 + 1), number(-0.0)
    ('3', '0.30000000000000004', '1000000000000001', '0')
    """
    value = float(value) + 0.0
    if value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    short = f"{value:.{_DIGITS}g}"
    return short if float(short) == value else repr(value)


def expect_names(names: Iterable[str]) -> None:
    """Raise UsageError for a name that a reader of LP files would misinterpret.

    >>> expect_names(["place.t1.n1", "influence.t1"])
    Traceback (most recent call last):
    optsched.core.errors.UsageError: the name "influence.t1" begins as a number does, or is a word of LP files; call \
that part of the model otherwise
    """
    for name in names:
        if _NUMBER.match(name) or _WORD.fullmatch(name):
            reason = f'the name "{name}" begins as a number does, or is a word of LP files'
            raise UsageError(f"{reason}; call that part of the model otherwise")


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """The wanted name, with enough underscores to make it a new one."""
    names = set(taken)
    while wanted in names:
        wanted += "_"
    return wanted


# LP files of PuLP models ------------------------------------------------------------------------------------------


def pulp_lp_text(model: Any) -> str:
    r"""A PuLP problem as PuLP writes it (`LpProblem.writeLP`), but with the exact numbers and the constant.

    Raises
    ------
    UsageError
        If it has SOS constraints, or two variables of one name.

    Examples
    --------
    >>> model = pulp.LpProblem("example", pulp.LpMaximize)
    >>> x = model.add_variable("x", None, 0.1 + 0.2, "Integer")
    >>> model.setObjective(1000000000001 * x + 7)
    >>> model.addConstraint(x >= -3, "limit")
    >>> print(pulp_lp_text(model))
    \* example *\
    Maximize
    OBJ: 7 ONE_VAR_CONSTANT + 1000000000001 x
    Subject To
    limit: x >= -3
    Bounds
     ONE_VAR_CONSTANT = 1
     -inf <= x <= 0.30000000000000004
    Generals
    x
    End
    <BLANKLINE>
    """
    if has_sos(model):
        raise UsageError(f"SOS constraints are not written: write those of {model.name} with binaries")
    try:
        model.checkDuplicateVars()
    except pulp.PulpError as error:
        raise UsageError(f"{error}: make names by injective_names") from error
    # PuLP 3 lists by name those with a declaration, PuLP 4 all in the order of creation: the file is the same.
    rows = [*model.constraints(), *([] if model.objective is None else [model.objective])]
    used = {variable.name for row in rows for variable, _ in row.items()}
    variables = sorted((each for each in model.variables() if each.name in used), key=lambda each: str(each.name))
    expect_names(variable.name for variable in variables)
    expect_names(row.name for row in model.constraints() if row.name is not None)
    objective = [] if model.objective is None else [(v.name, value) for v, value in model.objective.items()]
    offset = 0.0 if model.objective is None else float(model.objective.constant or 0.0)
    constant = free_name(_CONSTANT, (variable.name for variable in variables))
    if offset or not objective:
        objective.append((constant, offset))
    lines = [rf"\* {model.name} *\\"[:-1], "Minimize" if model.sense == pulp.LpMinimize else "Maximize"]
    name = model.objective.name if model.objective is not None and model.objective.name else "OBJ"
    lines += _wrapped(name, objective, "")
    lines.append("Subject To")
    empty = False
    for name, row in sorted(_named_rows(model.constraints()), key=lambda named: named[0]):
        terms = [(v.name, value) for v, value in row.items()]
        empty |= not terms
        sign = pulp.LpConstraintSenses[row.sense]
        lines += _wrapped(name, terms or [(constant, 0.0)], f" {sign} {number(-float(row.constant))}")
    bounds = [_bounds(variable) for variable in variables]
    if offset or empty or any(variable == constant for variable, _ in objective):
        bounds.insert(0, f" {constant} = 1")
    bounds = [bound for bound in bounds if bound]
    lines += ["Bounds", *bounds] if bounds else []
    for title, binary in (("Generals", False), ("Binaries", True)):
        names = [v.name for v in variables if v.cat == pulp.LpInteger and v.isBinary() is binary]
        lines += [title, *names] if names else []
    return "\n".join([*lines, "End", ""])


def _named_rows(rows: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Each constraint with its name; those that a user added without one are called `_C1`, `_C2`, ..., as in PuLP."""
    taken = {row.name for row in rows if row.name is not None}
    unnamed = 0
    for row in rows:
        unnamed += row.name is None
        yield row.name if row.name is not None else free_name(f"_C{unnamed}", taken), row


def _wrapped(name: str, terms: Sequence[tuple[str, float]], end: str) -> Iterator[str]:
    """`name: terms end` in lines that are not too long, the terms sorted by name."""
    line = f"{name}:"
    for position, (variable, value) in enumerate(sorted(terms)):
        sign = " -" if value < 0 else " +" if position else ""
        term = f"{sign} {variable}" if abs(value) == 1 else f"{sign} {number(abs(value))} {variable}"
        if len(line) + len(term) > _LINE:
            yield line
            line = ""
        line += term
    if len(line) + len(end) > _LINE:
        yield line
        line = ""
    yield line + end


def _bounds(variable: Any) -> str:
    """The line for the bounds of a PuLP variable; empty if the format's default is the same."""
    lower: Any
    upper: Any
    lower, upper = (
        None if bound is None or math.isinf(bound) else bound for bound in (variable.lowBound, variable.upBound)
    )
    continuous = variable.cat == pulp.LpContinuous
    if variable.isBinary() or (variable.isPositive() and continuous):
        return ""
    if lower is None and upper is None:
        return f" {variable.name} free"
    if lower == upper:
        return f" {variable.name} = {number(lower)}"
    start = "-inf <= " if lower is None else "" if lower == 0 and continuous else f"{number(lower)} <= "
    return f" {start}{variable.name}" + ("" if upper is None else f" <= {number(upper)}")


# MPS files of any program -----------------------------------------------------------------------------------------


def mps_text(program: Any, notes: Sequence[str] = ()) -> str:
    """A program as MPS: a minimisation, so a maximised objective is negated.

    Parameters
    ----------
    program
        `highspy.HighsLp`, with names.
    notes
        Lines of comment for the top.

    Examples
    --------
    >>> solver = highspy.Highs()
    >>> solver.silent()
    >>> x = solver.addVariable(lb=-1, name="x", type=highspy.HighsVarType.kInteger)
    >>> _ = solver.addConstr(1 <= 2 * x <= 5, name="two")
    >>> _ = solver.maximize(x + 4)
    >>> print(mps_text(solver.getLp(), ["minus x"]))
    * minus x
    NAME model
    ROWS
     N objective
     L two
     G two_
    COLUMNS
     MARKER 'MARKER' 'INTORG'
     x objective -1
     x two 2
     x two_ 2
     MARKER 'MARKER' 'INTEND'
     ONE_VAR_CONSTANT objective -4
    RHS
     RHS two 5
     RHS two_ 1
    BOUNDS
     PL BOUND x
     LO BOUND x -1
     FX BOUND ONE_VAR_CONSTANT 1
    ENDATA
    <BLANKLINE>
    """
    sign = -1.0 if program.sense_ == highspy.ObjSense.kMaximize else 1.0
    columns, rows = list(program.col_names_), list(program.row_names_)
    objective = free_name("objective", rows)
    constant = free_name(_CONSTANT, columns)
    taken = {objective, *rows}
    # A row is one or two lines of the file: its kind, name and right-hand side.
    written: list[list[tuple[str, str, float]]] = []
    for name, lower, upper in zip(rows, program.row_lower_, program.row_upper_, strict=True):
        limits: list[tuple[str, str, float]] = []
        for kind, side in [("E", lower)] if lower == upper else [("L", upper), ("G", lower)]:
            if math.isfinite(side):
                row = free_name(name, taken) if limits else name
                taken.add(row)
                limits.append((kind, row, side))
        written.append(limits)
    kinds = list(program.integrality_)
    integer = [bool(kinds) and kinds[column] == highspy.HighsVarType.kInteger for column in range(len(columns))]
    costs = [sign * cost for cost in program.col_cost_]
    lines = [f"* {note}" for note in notes]
    lines += ["NAME          model", "ROWS", f" N  {objective}"]
    lines += [f" {kind}  {row}" for limits in written for kind, row, _ in limits]
    lines += ["COLUMNS", *_columns(_by_column(program), columns, integer, costs, objective, written)]
    if program.offset_:
        lines.append(_entry(constant, objective, sign * program.offset_))
    lines.append("RHS")
    lines += [_entry("RHS", row, side) for limits in written for _, row, side in limits if side]
    lines.append("BOUNDS")
    for name, whole, lower, upper in zip(columns, integer, program.col_lower_, program.col_upper_, strict=True):
        lines += _column_bounds(name, whole, lower, upper)
    if program.offset_:
        lines.append(_bound("FX", constant, 1))
    return "\n".join([*lines, "ENDATA", ""])


def _by_column(program: Any) -> sp.csc_array:
    matrix = program.a_matrix_
    by_row = matrix.format_ == highspy.MatrixFormat.kRowwise
    parts = (matrix.value_, matrix.index_, matrix.start_)
    shape = (program.num_row_, program.num_col_)
    return sp.csr_array(parts, shape=shape).tocsc() if by_row else sp.csc_array(parts, shape=shape)


def _columns(
    matrix: sp.csc_array,
    names: Sequence[str],
    integer: Sequence[bool],
    costs: Sequence[float],
    objective: str,
    rows: Sequence[Sequence[tuple[str, str, float]]],
) -> Iterator[str]:
    within = False
    starts, indices, values = matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()
    for column, (name, cost) in enumerate(zip(names, costs, strict=True)):
        if integer[column] != within:
            within = not within
            yield _marker(within)
        entries = range(starts[column], starts[column + 1])
        if cost or not entries:  # a column that is in no row must be named too
            yield _entry(name, objective, cost)
        for entry in entries:
            for _, row, _ in rows[indices[entry]]:
                yield _entry(name, row, values[entry])
    if within:
        yield _marker(False)


def _marker(begin: bool) -> str:
    return f"    MARKER                 'MARKER'                 '{'INTORG' if begin else 'INTEND'}'"


def _entry(first: str, second: str, value: float) -> str:
    return f"    {first:8}  {second:8}  {number(value)}"


def _bound(kind: str, name: str, value: float | None = None) -> str:
    return f" {kind} BOUND     {name}" if value is None else f" {kind} BOUND     {name:8}  {number(value)}"


def _column_bounds(name: str, integer: bool, lower: float, upper: float) -> Iterator[str]:
    if lower == upper:
        yield _bound("FX", name, lower)
    elif math.isinf(lower) and math.isinf(upper):
        yield _bound("FR", name)
    else:
        if math.isinf(lower):
            yield _bound("MI", name)
        elif math.isinf(upper) and integer:
            yield _bound("PL", name)
        if math.isfinite(lower) and (lower or integer or upper < 0):
            yield _bound("LO", name, lower)
        if math.isfinite(upper):
            yield _bound("UP", name, upper)
