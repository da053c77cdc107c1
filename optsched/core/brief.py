"""What a noun says of itself in one line: the `repr` of whatever may hold thousands of entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optsched.core.errors import printable

__all__ = ["LONGEST", "brief", "counted", "labelled"]

#: No `repr` is longer, whatever names are in it.
LONGEST = 199


def brief(told: str) -> str:
    """Text between angle brackets, in one line and at most `LONGEST` characters.

    >>> brief("Instance of 9 tasks"), len(brief("x" * 1000))
    ('<Instance of 9 tasks>', 199)
    """
    text = printable(told)
    most = LONGEST - 2
    return f"<{text if len(text) <= most else text[: most - 3] + '...'}>"


def counted(count: int, noun: str) -> str:
    """A number and what it counts.

    >>> counted(1, "task"), counted(0, "task")
    ('1 task', '0 tasks')
    """
    return f"{count} {noun}{'s' * (count != 1)}"


def labelled(name: str, parameters: Mapping[str, Any]) -> str:
    """A policy with its parameters, as the command line takes them.

    >>> labelled("fair", {"delay": 0})
    'fair,delay=0'
    """
    values = (":".join(map(str, value)) if isinstance(value, list | tuple) else value for value in parameters.values())
    return ",".join([name, *(f"{key}={value}" for key, value in zip(parameters, values, strict=True))])
