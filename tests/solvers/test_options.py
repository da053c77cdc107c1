"""`optsched.solvers.options`: options that HiGHS refuses."""

import math
from typing import Any

import highspy
import pytest

from optsched.solvers.options import set_options


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("presolv", "off", 'HiGHS has no such option: did you mean "presolve"?'),
        ("mip_rel_gap", math.nan, "HiGHS refuses nan: wrong type (it wants double)"),
        ("mip_rel_gap", -1.0, "HiGHS refuses -1.0: wrong type (it wants double) or not available"),
        ("presolve", "sometimes", "HiGHS refuses 'sometimes': wrong type (it wants string) or not available"),
        ("mip_max_nodes", 1.5, "HiGHS refuses 1.5: wrong type (it wants int)"),
    ],
)
def test_option_that_is_refused(name: str, value: Any, message: str) -> None:
    """Tests names, types and values, NaN among them, which HiGHS itself takes: the option keeps what it had."""
    highs = highspy.Highs()
    highs.silent()
    before = highs.getOptions()
    (fault,) = set_options(highs, {name: value})
    assert str(fault).startswith(f"{name}: {message}")
    assert getattr(highs.getOptions(), name, None) == getattr(before, name, None)
