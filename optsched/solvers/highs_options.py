"""Options of HiGHS: setting them, and telling which of them it does not take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import highspy

from optsched.core.errors import Fault, nearest
from optsched.solvers.quiet_highs import QuietHighs

__all__ = ["option_faults", "set_options"]


def option_faults(options: Mapping[str, Any]) -> list[Fault]:
    """Which of these HiGHS options have an unknown name, a wrong type or a wrong value.

    >>> [str(fault) for fault in option_faults({"mip_rel_gpa": 0.1})]
    ['mip_rel_gpa: HiGHS has no such option: did you mean "mip_rel_gap"?']
    """
    return set_options(QuietHighs(), options)


def set_options(highs: Any, options: Mapping[str, Any]) -> list[Fault]:
    """Set options and list those that HiGHS refuses: it tells by a return value alone."""
    known = [name for name in dir(highs.getOptions()) if not name.startswith("_")]
    faults = []
    for name, value in options.items():
        if name not in known:
            faults.append(Fault(name, f"HiGHS has no such option: {nearest(name, known)}"))
        elif not _is_scalar(value) or highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            kind = highs.getOptionType(name)[1].name.removeprefix("k").lower()
            faults.append(Fault(name, f"HiGHS refuses {value!r}: wrong type (it wants {kind}) or not available"))
    return faults


def _is_scalar(value: Any) -> bool:
    """Whether a value is of a type that an option can have; NaN, which HiGHS takes, is no value of any."""
    return isinstance(value, bool | int | float | str) and value == value
