"""Writing models as LP files whose names are the instance's own ids, different for different ids.

Pyomo's own symbolic names can collide and PuLP's must be made before; here both read `place.t1.n1` for `place[t1,n1]`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pulp
import pyomo.environ as pyo
from pyomo.repn.plugins.lp_writer import LPWriter

from optsched.solvers.algebraic import injective_names

__all__ = ["write_lp"]

#: As long as lines may be in the LP format of most readers.
_LONGEST = 255

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


def write_lp(model: Any, path: Path | str) -> None:
    r"""Write a Pyomo or PuLP model of this package as an LP file; the same model gives the same bytes.

    Parameters
    ----------
    model
        As `build_pyomo` or `build_pulp` made it, or with more constraints.
    path
        The file, which is overwritten.

    Examples
    --------
    >>> import tempfile
    >>> problem = pulp.LpProblem("example", pulp.LpMinimize)
    >>> x = problem.add_variable("x", 0)
    >>> problem.setObjective(2 * x)
    >>> problem.addConstraint(x >= 1, "limit")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_lp(problem, Path(folder) / "example.lp")
    ...     print(Path(folder, "example.lp").read_text(encoding="utf-8"))
    \* example *\
    Minimize
    OBJ: 2 x
    Subject To
    limit: x >= 1
    End
    """
    if isinstance(model, pulp.LpProblem):
        model.writeLP(str(path), max_length=_LONGEST)
        return
    with Path(path).open("w", encoding="utf-8", newline="\n") as stream:
        LPWriter().write(model, stream, labeler=_Labeler(model))
