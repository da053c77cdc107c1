"""One-line representations (`repr`) of instances, solutions and others, and the labels of assumed data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optsched.core.errors import printable

if TYPE_CHECKING:
    from optsched.core.instance import Instance
    from optsched.core.network import FlowNetwork

__all__ = ["LONGEST", "assumed", "assumed_in_words", "brief", "counted", "labelled", "several"]

#: No `repr` is longer, even with long names in it.
LONGEST = 199


def brief(text: str) -> str:
    """Text between angle brackets, in one line and at most `LONGEST` characters.

    >>> brief("Instance of 9 tasks"), len(brief("x" * 1000))
    ('<Instance of 9 tasks>', 199)
    """
    text = printable(text)
    most = LONGEST - 2
    return f"<{text if len(text) <= most else text[: most - 3] + '...'}>"


def counted(count: int, noun: str) -> str:
    """A number and what it counts.

    >>> counted(1, "task"), counted(0, "task")
    ('1 task', '0 tasks')
    """
    return f"{count} {noun}{'s' * (count != 1)}"


def several(entries: Sequence[object], most: int) -> str:
    """The first of some entries, and how many more there are.

    >>> several(["a", "b", "c"], 2), several(["a"], 2)
    ('a; b; and 1 more', 'a')
    """
    more = len(entries) - most
    return "; ".join(map(str, entries[:most])) + (f"; and {more} more" if more > 0 else "")


def labelled(name: str, parameters: Mapping[str, Any]) -> str:
    """A policy with its parameters, as the command line takes them.

    >>> labelled("fair", {"delay": 0})
    'fair,delay=0'
    """
    values = (":".join(map(str, value)) if isinstance(value, list | tuple) else value for value in parameters.values())
    return ",".join([name, *(f"{key}={value}" for key, value in zip(parameters, values, strict=True))])


_ASSUMED = re.compile(r"\b(assumed|inferred)\b")

#: The label of a generated instance: what is assumed in it was printed when it was drawn.
_DRAWN = "generated"


def assumed(noun: Instance | FlowNetwork) -> list[str]:
    """The labels of an instance or network that say assumed or inferred."""
    return [name for name, text in noun.labels.items() if _ASSUMED.search(text)]


def assumed_in_words(nouns: Iterable[Instance | FlowNetwork]) -> str:
    """What is labelled as assumed or inferred in some of them, each once; empty where nothing is.

    Generated instances are left out: their names say so, and a note was printed when they were drawn.
    """
    found = dict.fromkeys(name for noun in nouns if _DRAWN not in noun.labels for name in assumed(noun))
    return f"assumed or inferred: {', '.join(found)}" if found else ""
