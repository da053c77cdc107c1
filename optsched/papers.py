"""How the papers are called: texts within the code say 000 to 004, what users read says authors and year.

`docs/papers.md` has the titles and the notes on each of them.
"""

from __future__ import annotations

import re

__all__ = ["PAPERS", "cited"]

#: What each paper is called, by the short name that it has in the code.
PAPERS = {
    "000": "Shen et al. 2016",
    "001": "Sharmilarani et al.",
    "002": "Hsu and Freeh",
    "003": "Guo et al. 2012",
    "004": "Agosta et al.",
}

#: A short name, and its authors where they follow in brackets; no part of a number such as 0.001 or 1,000.
_SHORT = re.compile(r"(?<![\w.,])(00[0-4])(?!\w|[.,]\d)(?: \(([A-Z]\w+)[^()]*\))?")


def cited(text: str) -> str:
    """A text with the papers by authors and year.

    Examples
    --------
    >>> cited("003, section IV.A; 000 (Shen, Sarker, Yu, Deng), Table II; a step of 0.001")
    'Guo et al. 2012, section IV.A; Shen et al. 2016, Table II; a step of 0.001'
    """

    def named(match: re.Match[str]) -> str:
        name, short = PAPERS[match[1]], match[0][: len(match[1])]
        if match[2] and not name.startswith(match[2]):  # brackets that say something else
            return name + match[0][len(short) :]
        return name

    return _SHORT.sub(named, text)
