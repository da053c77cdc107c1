"""The options of HiGHS, and its objects without a banner.

HiGHS refuses options of a wrong name or type by a return value, not by an exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import highspy

from optsched.core.errors import Fault, nearest


class QuietHighs(highspy.Highs):  # type: ignore[misc]
    """HiGHS without output on the console, from its construction on.

    highspy 1.16 prints its name and copyright once per process, when the first object is made: its constructor sets up
    the callbacks before anybody can set an option. A command's output on stdout would begin with these lines.
    """

    def enableCallbacks(self) -> None:  # noqa: N802
        """The constructor calls this first: output is off by then."""
        self.setOptionValue("log_to_console", False)
        super().enableCallbacks()


@cache
def quieten() -> None:
    """Keep objects that others make (Pyomo, PuLP) from printing that: the first of the process is ours."""
    QuietHighs()


def option_faults(options: Mapping[str, Any]) -> list[Fault]:
    """Which of these HiGHS options have an unknown name, a wrong type or a wrong value.

    >>> [str(fault) for fault in option_faults({"mip_rel_gpa": 0.1})]
    ['mip_rel_gpa: HiGHS has no such option: did you mean "mip_rel_gap"?']
    """
    return set_options(QuietHighs(), options)


def set_options(highs: Any, options: Mapping[str, Any]) -> list[Fault]:
    """Set options and list those that HiGHS refuses: it only returns a value for that, and accepts NaN."""
    known = [name for name in dir(highs.getOptions()) if not name.startswith("_")]
    faults = []
    for name, value in options.items():
        if name not in known:
            faults.append(Fault(name, f"HiGHS has no such option: {nearest(name, known)}"))
        elif (
            not isinstance(value, bool | int | float | str)
            or value != value
            or highs.setOptionValue(name, value) != highspy.HighsStatus.kOk
        ):
            kind = highs.getOptionType(name)[1].name.removeprefix("k").lower()
            faults.append(Fault(name, f"HiGHS refuses {value!r}: wrong type (it wants {kind}) or not available"))
    return faults
