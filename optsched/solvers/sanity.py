"""Models of two or three variables for which some release of HiGHS called a wrong value "Optimal".

`optsched self-test` runs them on the installed solver: highspy 1.14 failed all of these, by 0.8 or more.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from optsched.solvers.highs import LinearProgram, solve_arrays
from optsched.solvers.profiles import Profile

__all__ = ["SMALL_MODELS", "wrong_answers"]

_INF = np.inf

#: An optimum that is off by less is no fault: HiGHS keeps a row up to a millionth (1.16 gives 8.999999 for 9).
_TOLERANCE = 1e-5


def _program(
    objective: list[float], columns: list[tuple[float, float, bool]], rows: list[tuple[float, list[float], float]]
) -> LinearProgram:
    """A program from costs, columns (lower, upper, integer) and rows (lower, coefficients, upper)."""
    lower, upper, integer = zip(*columns, strict=True)
    row_lower, coefficients, row_upper = zip(*rows, strict=True)
    return LinearProgram(
        objective=np.array(objective),
        col_lower=np.array(lower),
        col_upper=np.array(upper),
        integer=np.array(integer),
        row_lower=np.array(row_lower),
        row_upper=np.array(row_upper),
        matrix=sp.csr_array(np.array(coefficients)),
    )


#: For each public issue: the model and its optimum, found by hand.
SMALL_MODELS: dict[str, tuple[LinearProgram, float]] = {
    "HiGHS#2957": (
        _program([1.0, 2.0], [(0.0, 20.0, True), (8.0, 20.0, False)], [(20.1, [1.0, 1.0], _INF)]),
        28.2,
    ),
    "HiGHS#3002": (
        _program(
            [1.0, 4.0, 9.0],
            [(0.0, 4.0, False), (-1.0, 1.0, False), (0.0, _INF, True)],
            [(-_INF, [1.0, 1.0, 0.0], 5.0), (10.0, [1.0, 0.0, 1.0], _INF), (7.5, [0.0, -1.0, 1.0], 7.5)],
        ),
        64.0,
    ),
    "HiGHS#3043": (
        _program([2.0, 3.0], [(0.0, 10.0, False), (0.0, 10.0, True)], [(4.5, [1.0, 1.0], _INF)]),
        9.0,
    ),
    "HiGHS#3073": (
        _program(
            [100.0, 0.01, 0.0],
            [(0.0, _INF, False), (-_INF, _INF, False), (0.45, 3.0, True)],
            [(3.0, [1.0, 0.0, 1.0], 3.0), (-_INF, [0.0, -1.0, 1.0], 0.0), (-_INF, [0.0, -1.0, -1.0], 0.0)],
        ),
        0.03,
    ),
}


def wrong_answers(profile: Profile | None = None) -> list[str]:
    """One line for each of the models that the installed HiGHS gets wrong; empty is good.

    >>> wrong_answers()
    []
    """
    lines = []
    for issue, (program, optimum) in SMALL_MODELS.items():
        outcome = solve_arrays(program, profile or Profile("exact")).outcome
        if outcome.objective is None or outcome.bound is None or abs(outcome.objective - optimum) > _TOLERANCE:
            lines.append(f"{issue}: optimum {optimum}, HiGHS {outcome.solver['version']} says {outcome.objective}")
    return lines
