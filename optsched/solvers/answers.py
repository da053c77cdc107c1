"""A program as arrays, a solver's outcome on it in the same terms for every interface, and checks of its values.

An outcome is a solver's claim in floating point. Higher layers turn it into a `results.Solution`, whose objective is
exact and evaluated again.

Values must be of the right length, finite, integral where required, within bounds, and satisfy every row. Whether they
are optimal is a separate question. Anything that is no solution raises `SolverDisagreement`, so that no higher layer
decodes nonsense.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from optsched.core.arrays import LARGEST
from optsched.core.errors import Fault, InputError, OutOfTime, SolverDisagreement, UsageError
from optsched.core.results import Limit, Number, Termination

if TYPE_CHECKING:
    import scipy.sparse as sp

#: Exceptions that stop a search from outside. Its result is then what it has found and proved.
STOPPED = (KeyboardInterrupt, OutOfTime, MemoryError)


def stopped(error: BaseException) -> tuple[Limit, str]:
    """The limit that one of `STOPPED` stands for, and its message.

    >>> stopped(MemoryError("std::bad_alloc"))
    (<Limit.MEMORY: 'MEMORY'>, 'out of memory')
    """
    if isinstance(error, KeyboardInterrupt):
        return Limit.INTERRUPTED, "interrupted"
    return (Limit.MEMORY, "out of memory") if isinstance(error, MemoryError) else (Limit.TIME, "out of time")


@dataclass(frozen=True, eq=False, slots=True)
class LinearProgram:
    """Minimise `objective @ x + offset` with `row_lower <= matrix @ x <= row_upper`, `col_lower <= x <= col_upper`.

    The matrix is scipy.sparse CSR or CSC, shape (rows, columns), with fewer than 2^31 entries. Everything else is
    float64 of shape (columns,) or (rows,); `integer` is bool. Limits may be infinite. InputError names each array of
    another shape, or with NaN.
    """

    objective: Floats
    col_lower: Floats
    col_upper: Floats
    integer: npt.NDArray[np.bool_]
    row_lower: Floats
    row_upper: Floats
    matrix: sp.csr_array | sp.csc_array | sp.csr_matrix | sp.csc_matrix
    offset: float = 0.0

    def __post_init__(self) -> None:
        rows, columns = self.matrix.shape
        faults = []
        if self.matrix.format not in ("csr", "csc") or self.matrix.nnz >= 2**31:
            faults.append(Fault("matrix", "must be CSR or CSC with fewer than 2^31 entries"))
        lengths = dict.fromkeys(("objective", "col_lower", "col_upper", "integer"), columns)
        lengths |= dict.fromkeys(("row_lower", "row_upper"), rows)
        for name, length in lengths.items():
            array = getattr(self, name)
            if array.shape != (length,):
                faults.append(Fault(name, f"has shape {array.shape}, but the matrix needs {(length,)}"))
            elif np.isnan(array).any():
                faults.append(Fault(name, f"is NaN at {int(np.isnan(array).argmax())}"))
        if np.isnan(self.matrix.data).any():
            faults.append(Fault("matrix", "has an entry that is NaN"))
        if faults:
            raise InputError(faults, "linear program")


@dataclass(frozen=True, slots=True)
class SolverOutcome:
    """Why a solver stopped, its claims about incumbent and bound, and its literal words.

    None means that the solver does not know, never 0 or infinity. `status` is OPTIMAL only if objective and bound meet;
    FEASIBLE with an objective, NO_SOLUTION without; INFEASIBLE; and ERROR for a run without an answer, such as an
    unbounded objective (`raw_status` says so). `limit` stopped the run; NODES is any limit on effort other than time.
    INTERRUPTED with OPTIMAL or INFEASIBLE: the run was over before the interrupt reached it, and the caller should
    still stop. `objective` and `bound` are claims in the model's own sense and with its constant. `seconds` are only
    the solver's; `nodes` are those of branch and bound, None for a linear program. `solver` has `name`, `version`,
    `interface` and the `options` that were set.
    """

    status: Termination
    limit: Limit | None
    objective: float | None
    bound: float | None
    raw_status: str
    seconds: float
    nodes: int | None
    solver: Mapping[str, Any] = field(default_factory=dict)


def negated(outcome: SolverOutcome) -> SolverOutcome:
    """The same in the other sense: objective and bound change their sign.

    >>> low = negated(SolverOutcome(Termination.FEASIBLE, Limit.TIME, 5.0, 7.5, "time limit reached", 1.0, 0))
    >>> low.objective, low.bound
    (-5.0, -7.5)
    """
    objective, bound = (None if value is None else -value for value in (outcome.objective, outcome.bound))
    return replace(outcome, objective=objective, bound=bound)


#: The outcome if a model did not fit into memory before the solver began.
OUT_OF_MEMORY = SolverOutcome(Termination.NO_SOLUTION, Limit.MEMORY, None, None, "out of memory", 0.0, None)

#: The outcome if Ctrl-C came while the solver did not check for it.
INTERRUPTED = SolverOutcome(Termination.NO_SOLUTION, Limit.INTERRUPTED, None, None, "interrupted", 0.0, None)


Floats = npt.NDArray[np.float64]

#: Tolerance of a value for its bound, integrality or its row's side: absolute, and relative to the row's terms.
_ABSOLUTE, _RELATIVE = 1e-5, 1e-9

#: Tolerance between the claimed objective and that of the values, relative to the sum of its terms.
_OBJECTIVE = 1e-6


def check_values(answer: Any, program: LinearProgram) -> Floats:
    """The values of a program's columns as an array, if they are a solution of it.

    SolverDisagreement if there are too few or too many, one is not finite, not whole where it must be, beyond its
    bounds, or a row is violated; it names the first.
    """
    values = np.asarray(answer, dtype=np.float64)
    columns = len(program.objective)
    if values.shape != (columns,):
        raise SolverDisagreement(f"the solver holds {values.size} values for {columns} columns")
    _refuse(~np.isfinite(values), values, "which is no number")
    _refuse(program.integer & (np.abs(values - np.rint(values)) > _ABSOLUTE), values, "which must be whole")
    slack = _ABSOLUTE + _RELATIVE * np.abs(values)
    beyond = (values < program.col_lower - slack) | (values > program.col_upper + slack)
    _refuse(beyond, values, "which is beyond its bounds")
    import scipy.sparse as sp

    matrix = sp.csr_array(program.matrix)
    sides = matrix @ values
    # The attainable precision of a row depends on the size of its terms.
    slack = _ABSOLUTE + _RELATIVE * (abs(matrix) @ np.abs(values) + np.abs(sides))
    broken = np.flatnonzero((sides < program.row_lower - slack) | (sides > program.row_upper + slack))
    if len(broken):
        row = int(broken[0])
        limits = f"{program.row_lower[row]} to {program.row_upper[row]}"
        raise SolverDisagreement(f"the solver's values make {sides[row]} of row {row}, which must be {limits}")
    return values


def _refuse(wrong: npt.NDArray[np.bool_], values: Floats, reason: str) -> None:
    found = np.flatnonzero(wrong)
    if len(found):
        raise SolverDisagreement(f"the solver holds {values[found[0]]} for column {found[0]}, {reason}")


def check_objective(claimed: float, values: Floats, program: LinearProgram) -> None:
    """Raise SolverDisagreement if the claimed objective is not that of the values."""
    terms = program.objective * values
    value = float(terms.sum()) + program.offset
    size = 1.0 + abs(program.offset) + float(np.abs(terms).sum())
    if not abs(claimed - value) <= _OBJECTIVE * size:
        raise SolverDisagreement(f"the solver says that its solution is worth {claimed}, which is worth {value}")


def check_claim(who: str, claimed: float | None, value: Number) -> None:
    """Raise SolverDisagreement if a solver's claimed figure is not the re-evaluated value.

    >>> check_claim("lsap", 17.0, 16)
    Traceback (most recent call last):
    optsched.core.errors.SolverDisagreement: lsap: the solver says 17.0, the placement is worth 16.0
    """
    if claimed is not None and abs(claimed - float(value)) > _OBJECTIVE * max(1.0, abs(float(value))):
        raise SolverDisagreement(f"{who}: the solver says {claimed}, the placement is worth {float(value)}")


def whole_bound(claimed: float, step: int = 1) -> int:
    """The least multiple of `step` that a lower bound in floating point allows.

    >>> whole_bound(2.0000001), whole_bound(2.1), whole_bound(2.1, step=5)
    (2, 3, 5)
    """
    return int(np.ceil((claimed - _OBJECTIVE * max(1.0, abs(claimed))) / step)) * step


def check_duals(answer: Any, length: int, what: str) -> Floats:
    """Duals or reduced costs as an array; SolverDisagreement if they are of another length or not finite."""
    duals = np.asarray(answer, dtype=np.float64)
    if duals.shape != (length,) or not np.isfinite(duals).all():
        raise SolverDisagreement(f"the solver holds no {length} finite numbers as {what}")
    return duals


def whole_numbers(values: Floats) -> npt.NDArray[np.int64]:
    """Values that must be whole, as at the vertices of a network's program; SolverDisagreement if one is not.

    >>> whole_numbers(np.array([2.0, 1e-7])).tolist()
    [2, 0]
    """
    rounded = np.rint(values)
    _refuse(np.abs(values - rounded) > _ABSOLUTE, values, "but a vertex of this program is whole")
    if np.abs(rounded).max(initial=0.0) >= 2.0**63:
        raise SolverDisagreement(f"the solver holds {np.abs(rounded).max()}, past every number of the program")
    return rounded.astype(np.int64)


def whole_prices(duals: Floats) -> npt.NDArray[np.int64] | None:
    """The duals rounded to whole numbers, for prices; None if one is past 2^53, so that there are no prices.

    Any prices prove something true, but they must be exact numbers.

    >>> whole_prices(np.array([1.0, -2.0000001])).tolist(), whole_prices(np.array([1e30]))
    ([1, -2], None)
    """
    if not np.abs(duals).max(initial=0.0) <= LARGEST:
        return None
    return np.rint(duals).astype(np.int64)


#: Denominators of rounded prices: 1 is exact if the duals are whole, the other nearly exact.
SCALES = (1, 2**20)


def rounded_prices(duals: Floats, scales: Sequence[int] = SCALES) -> Iterator[tuple[npt.NDArray[np.int64], int]]:
    """The duals rounded to whole multiples of 1/scale, and the scale, for each scale at which they are exact numbers.

    >>> [(prices.tolist(), scale) for prices, scale in rounded_prices(np.array([0.5, 2.0]), (1, 2))]
    [([0, 2], 1), ([1, 4], 2)]
    """
    for scale in scales:
        prices = whole_prices(duals * scale)
        if prices is not None:
            yield prices, scale


@contextmanager
def decoding(who: str) -> Iterator[None]:
    """A context for decoding a solver's solution to a placement. An error in it is the solver's fault.

    A checked solution is within bounds and satisfies its rows. But if it is no vertex it may not be a placement.
    """
    try:
        yield
    except (ArithmeticError, LookupError, ValueError, StopIteration, UsageError) as error:
        raised = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise SolverDisagreement(f"{who}: the solver's incumbent is no decision ({raised})") from error
