"""Papers by authors and year wherever users read lists and helps, as docs/papers.md calls them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import answer, run

from optsched.papers import PAPERS, cited

PAGE = Path(__file__).resolve().parent.parent / "docs" / "papers.md"
SHORT = re.compile(r"(?<![\w.,])00[0-4](?!\w|[.,]\d)")


def test_names_are_those_of_the_page() -> None:
    """Tests that the notes on the papers call each paper as the lists do, with the same short name."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| (00\d|FSY) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {short: name for name, short in rows} == PAPERS


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("000, 002", "Shen et al. 2016, Hsu and Freeh"),
        ("after 001 (Sharmilarani et al.), section 3", "after Sharmilarani et al., section 3"),
        ("004 (its section 2)", "Agosta et al. (its section 2)"),
        ("003's costs (000 eq. 3)", "Guo et al.'s costs (Shen et al. 2016 eq. 3)"),
        ("FSY, Theorem 4.2", "Fischer et al. 2010, Theorem 4.2"),
        ("002's (its section 2) and 001's (Sharmilarani)", "Hsu and Freeh's (its section 2) and Sharmilarani et al.'s"),
        ("0.001 of 1,000 and 2.000 at rack 0001, x003, 001.5", "0.001 of 1,000 and 2.000 at rack 0001, x003, 001.5"),
        ("it is in 003.", "it is in Guo et al. 2012."),
        ("OR-Library", "OR-Library"),
    ],
)
def test_texts(text: str, told: str) -> None:
    """Tests that short names are replaced, with authors that follow them, and numbers are left as they are."""
    assert cited(text) == told


@pytest.mark.parametrize("what", ["problems", "heuristics", "families", "instances"])
def test_lists_name_authors(what: str) -> None:
    """Tests that no table says 000 to 004, and that JSON has the short name and the authors."""
    assert SHORT.search(run("list", what).stdout) is None
    entries = answer("list", what)
    for entry in entries:
        if "paper" in entry:
            assert entry["cited"] == cited(entry["paper"])
    if what != "instances":
        assert "Guo et al. 2012" in {entry["cited"].partition(",")[0] for entry in entries}


def test_help_of_generate_names_authors() -> None:
    """Tests that the help of families calls the papers by their authors."""
    told = run("generate", "--help").stdout
    assert SHORT.search(told) is None
    assert "Guo et al." in told
