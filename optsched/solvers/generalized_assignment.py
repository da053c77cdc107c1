"""`generalized-assignment` by HiGHS on arrays: the relaxation, whose duals are prices, and the integer program."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from optsched.errors import SolverDisagreement
from optsched.instance import Ints
from optsched.placement import Placement
from optsched.problems.generalized_assignment import GeneralizedAssignment
from optsched.results import Limit
from optsched.solvers.highs import LinearProgram, solve_arrays
from optsched.solvers.outcome import SolverOutcome
from optsched.solvers.profiles import Profile

__all__ = ["CapacityPrices", "capacity_prices", "integer_program", "solve_integer_program"]

#: Denominators that prices are rounded to: 1 is exact where the program is a network's, the other all but exact.
_SCALES = (1, 2**20)

#: Prices beyond this would not be exact as doubles.
_LARGEST_PRICE = 2**53


class CapacityPrices(NamedTuple):
    """Prices of a unit of each capacity, int64, shape (resources, nodes), in units of cost times `scale`."""

    prices: Ints
    scale: int


def integer_program(problem: GeneralizedAssignment, relaxed: bool = False) -> LinearProgram:
    """The program with a binary for each usable pair; `relaxed` makes them continuous.

    Costs are minimised in the problem's units. Rows: each task once, then each capacity, in its smallest whole unit,
    so that no tolerance is as large as a demand.
    """
    task, node = np.nonzero(problem.usable)
    tasks, nodes = problem.units.shape
    column = np.arange(len(task))
    rows, columns, values = [task], [column], [np.ones(len(task))]
    limits: list[npt.NDArray[np.float64]] = []
    for place in range(len(problem.resources)):
        demand = problem.demand[place, task, node]
        divisor = max(1, math.gcd(*demand.tolist()))
        used = demand > 0
        rows.append(tasks + place * nodes + node[used])
        columns.append(column[used])
        values.append((demand[used] // divisor).astype(np.float64))
        limits.append((problem.capacity[place] // divisor).astype(np.float64))
    height = tasks + len(problem.resources) * nodes
    matrix = sp.csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(height, len(task))
    )
    return LinearProgram(
        objective=(problem.sign * problem.units[task, node]).astype(np.float64),
        col_lower=np.zeros(len(task)),
        col_upper=np.ones(len(task)),
        integer=np.full(len(task), not relaxed),
        row_lower=np.concatenate([np.ones(tasks), np.full(height - tasks, -np.inf)]),
        row_upper=np.concatenate([np.ones(tasks), *limits]),
        matrix=matrix,
    )


def capacity_prices(problem: GeneralizedAssignment, profile: Profile) -> CapacityPrices:
    """The prices, of those that rounding the relaxation's duals gives, that prove the better bound; else none at all.

    Whatever they are, the bound that they prove is valid (`GeneralizedAssignment.price_bound`): no solver is believed.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C came while HiGHS ran.
    """
    best = CapacityPrices(np.zeros_like(problem.capacity), 1)
    found = solve_arrays(integer_program(problem, relaxed=True), profile)
    if found.outcome.limit is Limit.INTERRUPTED:
        raise KeyboardInterrupt
    duals = found.row_duals
    if duals is None:
        return best
    task, node = np.nonzero(problem.usable)
    price = -duals[len(problem.tasks) :].reshape(problem.capacity.shape)
    for place in range(len(problem.resources)):
        price[place] /= max(1, math.gcd(*problem.demand[place, task, node].tolist()))
    for scale in _SCALES:
        scaled = np.rint(np.maximum(price, 0.0) * scale)
        if float(scaled.max(initial=0.0)) > _LARGEST_PRICE:
            continue
        rounded = CapacityPrices(scaled.astype(np.int64), scale)
        if problem.sign * problem.price_bound(*rounded) > problem.sign * problem.price_bound(*best):
            best = rounded
    return best


def solve_integer_program(
    problem: GeneralizedAssignment, profile: Profile, start: Placement | None = None
) -> tuple[SolverOutcome, Placement | None]:
    """Solve the integer program.

    Parameters
    ----------
    problem
        In which no task is stranded.
    profile
        Limits and options of the solver.
    start
        A feasible placement to begin from.

    Returns
    -------
    tuple
        What HiGHS says, in the problem's own sense and in units of 1/`grid`, and the placement that it holds.

    Raises
    ------
    SolverDisagreement
        If HiGHS holds a solution that is no feasible placement.
    """
    task, node = np.nonzero(problem.usable)
    hint = None if start is None else (problem.nodes_of(start)[task] == node).astype(np.float64)
    found = solve_arrays(integer_program(problem), profile, hint)
    if found.x is None:
        return found.outcome, None
    chosen = found.x > 0.5
    nodes = np.full(len(problem.tasks), -1, dtype=np.int64)
    nodes[task[chosen]] = node[chosen]
    placement = problem.placement(nodes)
    wrong = problem.violations(placement)
    if wrong:
        raise SolverDisagreement(f"{problem.name}: HiGHS holds a placement that violates {wrong[0]}")
    return found.outcome, placement
