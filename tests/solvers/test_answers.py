"""What a run of a solver gave and what it holds, as it is read: values, figures, duals, whole numbers, and decoding."""

import numpy as np
import pytest

from optsched.core.errors import OutOfTime, SolverDisagreement
from optsched.core.results import Limit
from optsched.solvers.answers import (
    STOPPED,
    check_claim,
    check_duals,
    check_objective,
    check_values,
    decoding,
    stopped,
    whole_bound,
    whole_numbers,
    whole_prices,
)
from optsched.solvers.highs import small_program

PROGRAM = small_program([1.0, 2.0], [(0.0, 2.0, True), (0.0, 5.0, False)], [(3.0, [1.0, 1.0], 4.0)])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0], "1 values for 2 columns"),
        ([1.0, 2.0, 0.0], "3 values for 2 columns"),
        ([np.nan, 2.0], "nan for column 0, which is no number"),
        ([1.0, np.inf], "inf for column 1, which is no number"),
        ([1.5, 2.0], "1.5 for column 0, which must be whole"),
        ([3.0, 0.0], "3.0 for column 0, which is beyond its bounds"),
        ([0.0, -1.0], "-1.0 for column 1, which is beyond its bounds"),
        ([1.0, 1.0], "make 2.0 of row 0, which must be 3.0 to 4.0"),
        ([1.0, 4.0], "make 5.0 of row 0, which must be 3.0 to 4.0"),
    ],
)
def test_what_is_no_solution(values: list[float], message: str) -> None:
    """Tests that each way of being no solution is a disagreement that names the place."""
    with pytest.raises(SolverDisagreement, match=message):
        check_values(values, PROGRAM)


def test_what_is_read() -> None:
    """Tests that a solution within tolerances is taken, its worth compared, and duals are as many as due."""
    held = check_values([1.0 + 1e-7, 2.0 - 1e-7], PROGRAM)
    check_objective(5.0, held, PROGRAM)
    with pytest.raises(SolverDisagreement, match=r"worth 6\.0, which is worth 4\.99"):
        check_objective(6.0, held, PROGRAM)
    with pytest.raises(SolverDisagreement, match="worth nan"):
        check_objective(np.nan, held, PROGRAM)
    assert check_duals([1.0], 1, "duals").tolist() == [1.0]
    for wrong in ([1.0, 2.0], [np.nan]):
        with pytest.raises(SolverDisagreement, match="holds no 1 finite numbers as duals"):
            check_duals(wrong, 1, "duals")
    with pytest.raises(SolverDisagreement, match=r"0.5 for column 1, but a vertex of this program is whole"):
        whole_numbers(np.array([1.0, 0.5]))
    with pytest.raises(SolverDisagreement, match="past every number"):
        whole_numbers(np.array([1e300]))


@pytest.mark.parametrize(
    "error", [KeyError("x"), IndexError(), StopIteration(), OverflowError("far"), ValueError("no")]
)
def test_decoding(error: Exception) -> None:
    """Tests that what fails while a solution is decoded is the solver's fault, with the failure as its cause."""
    with (
        pytest.raises(SolverDisagreement, match=r"lsap: the solver's incumbent is no decision") as caught,
        decoding("lsap"),
    ):
        raise error
    assert caught.value.__cause__ is error


def test_bug_duals_past_every_number_were_cast() -> None:
    """Tests that duals which no whole number of a program can be are no prices, and that others are rounded."""
    for value in (1e300, -1e300, 2.0**53 + 2):
        assert whole_prices(np.array([1.0, value])) is None
    prices = whole_prices(np.array([2.0**53, -1.4]))
    assert prices.tolist() == [2**53, -1]


def test_claims_are_held_to_a_millionth() -> None:
    """Tests that figures may differ by a millionth of the value, or of 1; more is a disagreement that names both."""
    for claimed, value in ((None, 5), (16.00001, 16), (-1e12, -(10**12) - 1), (1e-7, 0)):
        check_claim("lsap", claimed, value)
    for claimed, value in ((16.0001, 16), (1e-5, 0), (-3.0, 3)):
        with pytest.raises(SolverDisagreement, match=f"^lsap: the solver says {claimed}, .* is worth {float(value)}$"):
            check_claim("lsap", claimed, value)


@pytest.mark.parametrize(
    ("claimed", "step", "expected"),
    [
        (2.0000001, 1, 2),
        (5e-7, 1, 0),
        (2.1, 1, 3),
        (2.1, 5, 5),
        (5.0000001, 5, 5),
        (-2.1, 1, -2),
        (-7.0, 5, -5),
        (1e12 + 1, 1, 10**12 + 1 - 10**6),
    ],
)
def test_bounds_become_whole(claimed: float, step: int, expected: int) -> None:
    """Tests that a bound leaves room for the least multiple which the solver's precision does not rule out."""
    assert whole_bound(claimed, step) == expected


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (KeyboardInterrupt(), (Limit.INTERRUPTED, "interrupted")),
        (OutOfTime("late"), (Limit.TIME, "out of time")),
        (MemoryError("std::bad_alloc"), (Limit.MEMORY, "out of memory")),
        (SolverDisagreement("told already"), None),
    ],
)
def test_what_is_not_the_solvers_fault(error: BaseException, result: tuple[Limit, str] | None) -> None:
    """Tests that what stops a search, which is a result, and a disagreement that is told already pass as they are."""
    with pytest.raises(type(error)) as caught, decoding("lsap"):
        raise error
    assert caught.value is error
    assert isinstance(error, STOPPED) == (result is not None)
    assert result is None or stopped(error) == result
