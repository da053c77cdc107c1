"""Writing models as LP and MPS files whose names are the instance's own ids, different for different ids.

Pyomo's own symbolic names can collide and PuLP's must be made before; here both read `place.t1.n1` for `place[t1,n1]`.
An MPS file is written from the LP file as HiGHS reads it; `program_files` has the text of both. What the objective of
a file means is said by `about`.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import highspy
import pulp
import pyomo.environ as pyo
from pyomo.repn.plugins.lp_writer import LPWriter

from optsched.core.errors import UsageError
from optsched.core.registry import imported, record_of
from optsched.core.results import Component
from optsched.models.program_files import expect_names, mps_text, pulp_lp_text
from optsched.problems import AnyProblem
from optsched.problems.base import expect_problem
from optsched.solvers.algebraic import injective_names
from optsched.solvers.quiet_highs import QuietHighs

__all__ = ["Meaning", "about", "write_lp", "write_mps"]

_NAMED = (pyo.Var, pyo.Constraint, pyo.Objective)


class _Labeler:
    """Names Pyomo's components for a file, each index by an injective name; made once for each index."""

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
    """What the objective of a model stands for.

    Attributes
    ----------
    component
        The component of the problem that is its objective.
    units
        How many units of the model's objective are one of the component's.
    """

    component: Component
    units: int

    def of(self, objective: float | int, negated: bool = False) -> Fraction:
        """The component's value at an objective of the model, or of a file whose objective is negated.

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
        told = [f"objective: {name} ({sense}), in {unit}" if self.units == 1 else f"objective: {name} ({sense})"]
        if negated:
            told = [f"objective: minus the {name}, which is to be most: the most is minus the least of this"]
        if self.units != 1:
            told.append(f"objective in units of 1/{self.units} {unit}: divide by {self.units}")
        return told


def about(problem: AnyProblem, limited: bool = False) -> Meaning:
    """What the objective of a problem's models is, compact and literal alike.

    Parameters
    ----------
    problem
        What is modelled.
    limited
        Whether the model was built at a limit. Where that is one on the first component (`ProgramLimit.component`), the
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
        As `build_pyomo` or `build_pulp` made it, or with more constraints.
    path
        The file, which is overwritten.
    notes
        Lines of comment for the top.

    Raises
    ------
    UsageError
        If the model has SOS constraints, two variables of one name, or a name that readers take for something else.

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
    """Write a Pyomo or PuLP model as an MPS file that every reader minimises: the objective of a maximum is negated.

    Parameters
    ----------
    model, path, notes
        As for `write_lp`.

    Raises
    ------
    UsageError
        If the model has SOS constraints or more than linear terms, or two variables of one name.

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
    """A note that is one line of ASCII, whatever names it holds."""
    return note.encode("unicode_escape").decode("ascii")
