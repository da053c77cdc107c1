"""How texts for users name things: one-line representations (`repr`), counts, labels of assumed data, papers.

Texts cite papers by their authors. Only the field `paper` of problems and heuristics and the tags of instances use the
short names (000 to 004), by which programs may select. `docs/papers.md` has the titles.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from optsched.core.errors import printable

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
    """A policy with its parameters, as the command line writes it.

    >>> labelled("fair", {"delay": 0})
    'fair,delay=0'
    """
    return ",".join([name, *(f"{key}={as_argument(value, ':')}" for key, value in parameters.items())])


def as_argument(value: Any, comma: str = ",") -> str:
    """A parameter's value as the command line takes it; within a heuristic `comma` is a colon.

    >>> as_argument((0, 0.5)), as_argument([1, 2], ":"), as_argument(True)
    ('0,0.5', '1:2', 'true')
    """
    if isinstance(value, list | tuple):
        return comma.join(as_argument(part, comma) for part in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


_ASSUMED = re.compile(r"\b(assumed|inferred)\b")

#: The label of a generated instance: its assumptions were printed when it was drawn.
_DRAWN = "generated"


def assumed(noun: Any) -> list[str]:
    """The labels of an instance or network that say assumed or inferred."""
    return [name for name, text in noun.labels.items() if _ASSUMED.search(text)]


def assumed_in_words(nouns: Iterable[Any]) -> str:
    """All labels that say assumed or inferred in some instances or networks, each once; empty if there are none.

    Generated instances are left out: their names say so, and a note was printed when they were drawn.
    """
    found = dict.fromkeys(name for noun in nouns if _DRAWN not in noun.labels for name in assumed(noun))
    return f"assumed or inferred: {', '.join(found)}" if found else ""


#: The name of each paper, by its short name.
PAPERS = {
    "000": "Shen et al. 2016",
    "001": "Sharmilarani et al.",
    "002": "Hsu and Freeh",
    "003": "Guo et al. 2012",
    "004": "Agosta et al.",
    "FSY": "Fischer et al. 2010",
}

#: A short name, a possessive and the authors in brackets after it; no part of a number such as 0.001 or 1,000.
_SHORT = re.compile(r"(?<![\w.,])(00[0-4]|FSY)(?!\w|[.,]\d)('s)?(?: \(([A-Z]\w+)[^()]*\))?")


def cited(text: str) -> str:
    """A text in which papers are cited by authors and year.

    >>> cited("003, section IV.A; 000 (Shen, Sarker, Yu, Deng), Table II; a step of 0.001")
    'Guo et al. 2012, section IV.A; Shen et al. 2016, Table II; a step of 0.001'
    >>> cited("003's costs")
    "Guo et al.'s costs"
    """

    def named(match: re.Match[str]) -> str:
        short, possessive, author = match.groups()
        name = PAPERS[short]
        if possessive:
            name = re.sub(r" \d{4}$", "", name) + possessive
        if author and not name.startswith(author):  # the brackets say something else
            return name + match[0][len(short) + len(possessive or "") :]
        return name

    return _SHORT.sub(named, text)
