"""Grows a tree of cases that proves the optimum of an integer program, or that it is infeasible.

Each case is bounded by the prices of its linear relaxation or, if that is empty, by a ray (Farkas), both in whole
numbers (`problems.relaxations.IntegerProgram`). The checker recomputes the whole tree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from optsched.certificates.trees import Branch, Step, Tree
from optsched.core.deadline import check
from optsched.core.instance import Floats, Ints
from optsched.core.results import Termination
from optsched.problems.relaxations import UNBOUNDED, Box, IntegerProgram
from optsched.solvers.answers import LinearProgram, SolverOutcome, whole_prices
from optsched.solvers.highs import MOST_COEFFICIENT, solve_uninterrupted
from optsched.solvers.profiles import Profile

#: Denominators of the prices of rows, and of rays.
_SCALE, _RAY_SCALE = 2**16, 2**24

#: A value this near to a whole number counts as whole.
_WHOLE = 1e-6

#: Variables, the farthest from whole, that are tried at each case; parts with less gain than this count as this.
_CANDIDATES, _LEAST_GAIN = 20, 0.1


def as_arrays(program: IntegerProgram, box: Box | None = None, integer: bool = True) -> LinearProgram:
    """The program in HiGHS's form, within a box, or its linear relaxation."""
    lower, upper = (program.lower, program.upper) if box is None else box
    shape = len(program.row_lower), len(program.objective)
    return LinearProgram(
        objective=program.objective.astype(np.float64),
        col_lower=lower.astype(np.float64),
        col_upper=np.where(upper >= UNBOUNDED, np.inf, upper.astype(np.float64)),
        integer=np.full(len(lower), integer),
        row_lower=np.where(program.row_lower <= -UNBOUNDED, -np.inf, program.row_lower.astype(np.float64)),
        row_upper=np.where(program.row_upper >= UNBOUNDED, np.inf, program.row_upper.astype(np.float64)),
        matrix=sp.csr_array((program.value.astype(np.float64), (program.row, program.column)), shape=shape),
    )


def settling_tree(program: IntegerProgram, limit: int, profile: Profile, most_programs: int) -> Tree | None:
    """A tree that settles the program at a limit, in units of the objective: nothing in it costs less.

    It branches on the variable whose two parts cost most by their linear programs (strong branching). None if there are
    more than `most_programs` of these, a limit of the profile stopped it, something cheaper was found, or coefficients
    are too large for HiGHS. OutOfTime if a deadline passes, KeyboardInterrupt if Ctrl-C came while HiGHS ran.

    Examples
    --------
    Twice x + y is 3 in no whole numbers:

    >>> one, at = np.ones(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    >>> program = IntegerProgram(one, at, np.arange(2), 2 * one, 3 * one[:1], 3 * one[:1], 0 * one, one)
    >>> tree = settling_tree(program, 5, Profile("exact"), 100)
    >>> tree.bound(program, 5), [step.branch for step in tree.steps][0]
    (5, Branch(variable=0, at=0))
    """
    if not _is_taken(program):
        return None
    search = _Search(program, limit, profile, most_programs)
    multipliers: list[Ints] = []
    steps: list[Step] = []
    first = search.case(program.box)
    waiting = [] if first is None else [first]
    while waiting:
        case = waiting.pop()
        parts = None if case.closed else search.parted(case)
        if parts is None and not case.closed:
            return None
        steps.append(Step((len(multipliers),), None if parts is None else parts[0]))
        multipliers.append(case.multipliers)
        waiting += [] if parts is None else reversed(parts[1])
    return Tree(multipliers, steps) if steps else None


@dataclass(frozen=True, eq=False)
class _Case:
    """A box that its multipliers have narrowed, their bound, and the values of its linear relaxation."""

    box: Box
    multipliers: Ints
    bound: int
    closed: bool
    values: Floats


class Root(NamedTuple):
    """The linear relaxation of a program.

    HiGHS's outcome; its solution if that is whole (int64, shape (columns,)), else None; and a tree of one case, settled
    by its prices, None if HiGHS has none.
    """

    outcome: SolverOutcome
    values: Ints | None
    tree: Tree | None


def root(program: IntegerProgram, profile: Profile, scale: int = _SCALE) -> Root:
    """The linear relaxation, and what its prices prove, in units over `scale`. KeyboardInterrupt at Ctrl-C."""
    if not _is_taken(program):
        status = "coefficients are too large for HiGHS"
        return Root(SolverOutcome(Termination.ERROR, None, None, None, status, 0.0, None), None, None)
    found = solve_uninterrupted(as_arrays(program, integer=False), profile)
    with np.errstate(over="ignore"):  # infinite duals make no prices
        prices = None if found.row_duals is None else whole_prices(found.row_duals * scale)
    tree = None if prices is None else Tree([np.concatenate([[scale], prices])], [Step((0,))])
    values = None
    if found.x is not None and found.outcome.status is Termination.OPTIMAL:
        values = np.rint(found.x).astype(np.int64)
        values = values if np.abs(found.x - values).max(initial=0.0) <= _WHOLE else None
    return Root(found.outcome, values, tree)


def _is_taken(program: IntegerProgram) -> bool:
    """Whether the coefficients of the rows are small enough for HiGHS."""
    return int(np.abs(program.value).max(initial=0)) < MOST_COEFFICIENT


class _Search:
    """Solves the linear programs of cases."""

    def __init__(self, program: IntegerProgram, limit: int, profile: Profile, most_programs: int) -> None:
        self.program, self.limit, self.profile = program, limit, profile
        self._left = most_programs

    def case(self, box: Box) -> _Case | None:
        """The result of a box's linear relaxation; None if it has none, or too many were solved."""
        check()
        self._left -= 1
        linear = as_arrays(self.program, box, integer=False)
        found = solve_uninterrupted(linear, self.profile)
        scale, duals, values = _SCALE, found.row_duals, found.x
        if values is None and found.outcome.limit is None:  # it is empty, and a ray proves that
            found = solve_uninterrupted(_elastic(linear), self.profile)
            scale, duals, values = 0, found.row_duals, found.x
        if self._left < 0 or values is None or duals is None:
            return None
        prices = whole_prices(duals * (scale or _RAY_SCALE))
        if prices is None:
            return None
        multipliers = np.concatenate([[scale], prices])
        multipliers //= max(1, int(np.gcd.reduce(multipliers)))
        bound = self.program.settle(box, multipliers, self.limit)
        closed = box.empty or (bound is not None and bound >= self.limit)
        least = self.limit if closed else self.limit - 2**40 if bound is None else bound
        return _Case(box, multipliers, least, closed, values[: len(box.lower)])

    def parted(self, case: _Case) -> tuple[Branch, list[_Case]] | None:
        """The branch whose two parts cost most, and the parts; None if all is whole, or a part has no result."""
        off = np.abs(case.values - np.rint(case.values))
        off[case.box.lower >= case.box.upper] = 0
        best: tuple[float, Branch, list[_Case]] | None = None
        for variable in np.argsort(-off, kind="stable")[:_CANDIDATES].tolist():
            if off[variable] <= _WHOLE:
                break
            lower, upper = int(case.box.lower[variable]), int(case.box.upper[variable])
            branch = Branch(variable, min(max(math.floor(case.values[variable]), lower), upper - 1))
            parts = [self.case(part) for part in case.box.split(*branch)]
            cases = [part for part in parts if part is not None]
            if len(cases) < len(parts):
                return None
            score = math.prod(max(part.bound - case.bound, _LEAST_GAIN) for part in cases)
            if best is None or score > best[0]:
                best = score, branch, cases
            if all(part.closed for part in cases):
                break
        return None if best is None else (best[1], best[2])


def _elastic(program: LinearProgram) -> LinearProgram:
    """The least violation of the rows: its duals are a ray if no point satisfies all rows."""
    rows, columns = program.matrix.shape
    more = sp.hstack([program.matrix, sp.eye_array(rows), -sp.eye_array(rows)], format="csr")
    return replace(
        program,
        objective=np.concatenate([np.zeros(columns), np.ones(2 * rows)]),
        col_lower=np.concatenate([program.col_lower, np.zeros(2 * rows)]),
        col_upper=np.concatenate([program.col_upper, np.full(2 * rows, np.inf)]),
        integer=np.zeros(columns + 2 * rows, dtype=bool),
        matrix=more,
    )
