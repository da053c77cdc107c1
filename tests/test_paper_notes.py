"""The notes on the papers (docs/papers.md): numbered without a gap, and every reference to one resolves."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "papers.md"

PAPERS = (
    "Shen et al. 2016",
    "Sharmilarani et al.",
    "Hsu and Freeh",
    "Guo et al. 2012",
    "Agosta et al.",
    "Fischer et al. 2010",
)

HEADING = re.compile(r"^### (.+?), note ([0-9]+): .+$", re.MULTILINE)
#: "Guo et al. 2012, note 5" or "Hsu and Freeh, notes 3 and 4", also where a line ends within it.
REFERENCE = re.compile(f"({'|'.join(map(re.escape, PAPERS))}), notes? ([0-9]+)(?: and ([0-9]+))?")
#: Line ends with what begins a line of a comment or docstring.
BREAK = re.compile(r"\s*\n\s*(?:#:? )?")

READ = (
    *ROOT.glob("*.md"),
    *(
        path
        for folder in ("optsched", "models", "docs", "instances", "solvers", "benchmarks", "notebooks", "tests")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".md", ".json", ".ipynb", ".toml"} and path != Path(__file__).resolve()
    ),
)


def headings() -> list[tuple[str, int]]:
    """Paper and number of each note, in the page's order."""
    return [(paper, int(number)) for paper, number in HEADING.findall(PAGE.read_text(encoding="utf-8"))]


def test_notes_are_numbered_by_paper() -> None:
    """Tests that each paper's notes are 1, 2, 3, ..., and that no heading of a note is of another form."""
    found = headings()
    for paper in PAPERS:
        numbers = [number for other, number in found if other == paper]
        assert numbers == list(range(1, len(numbers) + 1)), paper
        assert numbers, paper
    assert {paper for paper, _ in found} == set(PAPERS)
    assert len(found) == PAGE.read_text(encoding="utf-8").count("\n### ")


def test_every_reference_is_a_note() -> None:
    """Tests that each note that code, cards, instances, tests or pages name is a heading of the page."""
    known, named, missing = set(headings()), 0, []
    for path in READ:
        for paper, *numbers in REFERENCE.findall(BREAK.sub(" ", path.read_text(encoding="utf-8"))):
            for number in filter(None, numbers):
                named += 1
                if (paper, int(number)) not in known:
                    missing.append(f"{path.relative_to(ROOT)}: {paper}, note {number}")
    assert not missing
    assert named > 100


def test_no_note_is_cited_that_users_do_not_have() -> None:
    """Tests that no text refers to the digest of the papers, which is no part of the project."""
    cited = re.compile(r"digest[,']?\s+(?:00[0-4]|of (?:the papers|00[0-4])|has )|digest's", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in READ
        for match in cited.finditer(BREAK.sub(" ", path.read_text(encoding="utf-8")))
    ]
    assert not found
