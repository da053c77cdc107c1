"""A HiGHS object that prints nothing, from its construction on.

highspy 1.16 prints its name and copyright once a process, when the first object is made: its constructor sets up the
callbacks, before anybody can set an option. What a command writes to stdout would begin with these lines.
"""

from __future__ import annotations

from functools import cache

import highspy

__all__ = ["QuietHighs", "quieten"]


class QuietHighs(highspy.Highs):  # type: ignore[misc]
    """HiGHS without output on the console.

    Examples
    --------
    >>> QuietHighs().getNumCol()
    0
    """

    def enableCallbacks(self) -> None:  # noqa: N802
        """What the constructor calls first: output is off by then."""
        self.setOptionValue("log_to_console", False)
        super().enableCallbacks()


@cache
def quieten() -> None:
    """Keep objects that others make from printing that, as those of Pyomo and PuLP: the first of the process is ours.

    Examples
    --------
    >>> quieten()
    """
    QuietHighs()
