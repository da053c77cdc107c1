"""Options of HiGHS: every one that it refuses is told, and the others are set."""

from __future__ import annotations

import math
from typing import Any

import highspy
import pytest

from optsched.solvers.highs_options import option_faults, set_options


def test_option_faults_lists_all() -> None:
    """Tests that every option that HiGHS refuses is listed, and none that it takes."""
    faults = option_faults({"presolve": "off", "presolv": "off", "mip_max_leaves": 1.5})
    assert [fault.place for fault in faults] == ["presolv", "mip_max_leaves"]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("presolv", "off", 'HiGHS has no such option: did you mean "presolve"?'),
        ("mip_rel_gap", math.nan, "HiGHS refuses nan: wrong type (it wants double)"),
        ("mip_rel_gap", [0.1], "HiGHS refuses [0.1]: wrong type (it wants double)"),
        ("mip_rel_gap", -1.0, "HiGHS refuses -1.0: wrong type (it wants double) or not available"),
        ("presolve", "sometimes", "HiGHS refuses 'sometimes': wrong type (it wants string) or not available"),
        ("mip_max_nodes", 1.5, "HiGHS refuses 1.5: wrong type (it wants int)"),
    ],
)
def test_option_that_is_refused(name: str, value: Any, told: str) -> None:
    """Tests names, types and values, NaN among them, which HiGHS itself takes: the option keeps what it had."""
    highs = highspy.Highs()
    highs.silent()
    before = highs.getOptions()
    (fault,) = set_options(highs, {name: value})
    assert str(fault).startswith(f"{name}: {told}")
    if hasattr(before, name):
        assert getattr(highs.getOptions(), name) == getattr(before, name)


def test_options_that_are_set() -> None:
    """Tests that each kind of option is set, and what is refused between two others keeps neither back."""
    highs = highspy.Highs()
    highs.silent()
    faults = set_options(highs, {"mip_rel_gap": 0.25, "presolv": "off", "presolve": "off", "mip_max_nodes": 7})
    assert [fault.place for fault in faults] == ["presolv"]
    options = highs.getOptions()
    assert (options.mip_rel_gap, options.presolve, options.mip_max_nodes) == (0.25, "off", 7)
    assert set_options(highs, {}) == []
