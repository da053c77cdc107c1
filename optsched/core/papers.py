"""The papers' names: keys of files and records say 000 to 004, texts for users say authors and year.

Texts are written with the authors. Only the field `paper` of problems and heuristics and the tags of instances have the
short names, which programs may select by. `docs/papers.md` has the titles and the notes on each of them.
"""

from __future__ import annotations

import re

__all__ = ["PAPERS", "cited"]

#: The name of each paper, by its short name.
PAPERS = {
    "000": "Shen et al. 2016",
    "001": "Sharmilarani et al.",
    "002": "Hsu and Freeh",
    "003": "Guo et al. 2012",
    "004": "Agosta et al.",
    "FSY": "Fischer et al. 2010",
}

#: A short name, a possessive and its authors where they follow in brackets; no part of a number such as 0.001 or 1,000.
_SHORT = re.compile(r"(?<![\w.,])(00[0-4]|FSY)(?!\w|[.,]\d)('s)?(?: \(([A-Z]\w+)[^()]*\))?")


def cited(text: str) -> str:
    """A text with the papers by authors and year.

    Examples
    --------
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
        if author and not name.startswith(author):  # brackets that say something else
            return name + match[0][len(short) + len(possessive or "") :]
        return name

    return _SHORT.sub(named, text)
