"""Trees of cases for integer programs: HiGHS solves the relaxation of each case, its duals are the multipliers.

Nothing that HiGHS says is believed. A case whose relaxation has no solution gets the duals of the least violation of
its rows, which are a ray.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from optsched.certificates.trees import Branch, Step, Tree
from optsched.deadline import check
from optsched.instance import LARGEST, Floats, Ints
from optsched.problems.relaxations import UNBOUNDED, Box, IntegerProgram
from optsched.solvers.highs import LinearProgram, solve_uninterrupted
from optsched.solvers.profiles import Profile

__all__ = ["grown_tree", "linear_program"]

#: Prices are counted in so many parts of a unit of cost, those of rays in so many parts of 1.
_SCALE, _RAY = 2**8, 2**16

#: A case is settled by so many rounds of multipliers at most.
_ROUNDS = 3


def linear_program(program: IntegerProgram, relaxed: bool = False) -> LinearProgram:
    """The program as arrays; `relaxed` makes whole numbers continuous."""
    shape = len(program.row_lower), len(program.objective)
    ends = [limit.astype(np.float64) for limit in (program.row_lower, program.row_upper)]
    for limit in ends:
        limit[np.abs(limit) >= UNBOUNDED] *= np.inf
    return LinearProgram(
        objective=program.objective.astype(np.float64),
        col_lower=program.lower.astype(np.float64),
        col_upper=program.upper.astype(np.float64),
        integer=np.full(shape[1], not relaxed),
        row_lower=ends[0],
        row_upper=ends[1],
        matrix=sp.csr_array((program.value.astype(np.float64), (program.row, program.column)), shape=shape),
    )


def grown_tree(program: IntegerProgram, limit: int, profile: Profile, most: int) -> Tree | None:
    """A tree that proves that no solution costs less than `limit`; None where it would have more than `most` cases.

    None also where there is a solution that costs less, or where no multipliers show what HiGHS says.

    Raises
    ------
    OutOfTime
        At the deadline.
    """
    relaxed = linear_program(program, relaxed=True)
    multipliers: list[Ints] = []
    steps: list[Step] = []
    waiting: list[Box] = [program.box]
    while waiting:
        check()
        if len(steps) == most:
            return None
        box, by = waiting.pop(), []
        for _ in range(_ROUNDS):
            found, values = _duals(relaxed, box, profile)
            if found is None:
                return None
            by.append(len(multipliers))
            multipliers.append(found)
            left = int((box.upper - box.lower).sum())
            bound = program.settle(box, found, limit)
            if bound == limit or box.empty or int((box.upper - box.lower).sum()) == left:
                break
        settled = bound == limit or box.empty
        branch = None if settled else _branch(box, values)
        if not settled and branch is None:
            return None
        steps.append(Step(tuple(by), branch))
        if branch is not None:
            waiting += reversed(box.split(*branch))
    return Tree(multipliers, steps)


def _branch(box: Box, values: Floats) -> Branch | None:
    """The variable that is farthest from a whole number, else the one with most values left; None: none has two."""
    spread = box.upper - box.lower
    if not spread.any():
        return None
    far = np.where(spread > 0, np.abs(values - np.rint(values)), 0.0)
    variable = int(np.argmax(far if far.max() > 1e-6 else spread))
    return Branch(variable, int(np.clip(np.floor(values[variable]), box.lower[variable], box.upper[variable] - 1)))


def _duals(relaxed: LinearProgram, box: Box, profile: Profile) -> tuple[Ints | None, Floats]:
    """Multipliers of a box, by the duals of its relaxation or a ray; and the relaxation's solution."""
    inside = replace(relaxed, col_lower=box.lower.astype(np.float64), col_upper=box.upper.astype(np.float64))
    found, scale = solve_uninterrupted(inside, profile), _SCALE
    values = found.x
    if values is None or found.row_duals is None:
        found, scale = solve_uninterrupted(_elastic(inside), profile), 0
    if found.row_duals is None:
        return None, inside.col_lower
    prices = np.rint(found.row_duals * (scale or _RAY))
    if (np.abs(prices) > LARGEST).any():
        return None, inside.col_lower
    return np.concatenate(([scale], prices.astype(np.int64))), inside.col_lower if values is None else values


def _elastic(program: LinearProgram) -> LinearProgram:
    """The least violation of the rows, in place of the cost: two more columns for each row, over and under it."""
    rows, columns = program.matrix.shape
    slack = np.zeros(2 * rows)
    return replace(
        program,
        objective=np.concatenate((np.zeros(columns), slack + 1.0)),
        col_lower=np.concatenate((program.col_lower, slack)),
        col_upper=np.concatenate((program.col_upper, slack + np.inf)),
        integer=np.zeros(columns + 2 * rows, dtype=bool),
        matrix=sp.hstack([program.matrix, sp.eye_array(rows), -sp.eye_array(rows)], format="csr"),
    )
