"""Papers by authors and year wherever users read: lists, helps, pages, notebooks, docstrings and instance files.

The short names 000 to 004 and FSY stand only where programs select by them: the field `paper`, the tags of instances,
and the two tables that say what the short names mean.
"""

from __future__ import annotations

import gzip
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from command_line import answer, run

from optsched.cli import cli
from optsched.core.papers import PAPERS, cited

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "papers.md"
SHORT = re.compile(r"(?<![\w.,])(?:00[0-4]|FSY)(?!\w|[.,]\d)")

#: Where users read, and where the next author does.
FOLDERS = ("optsched", "docs", "models", "instances", "solvers", "benchmarks", "notebooks", "tests")

CALLED = "|".join(map(re.escape, PAPERS.values()))

#: What may have a short name: in Python a text that is nothing else, in files the tags, and the two tables.
EXCEPT = {
    ".py": re.compile(r'^"(?:00[0-4](?:, )?)+"$'),
    ".json": re.compile(r'"tags": \[[^]]*\]'),
    ".md": re.compile(rf"^\| (?:{CALLED}) \| [^|]+ \| (?:00[0-4]|FSY) \|$|^\| `tags` \|.*$", re.MULTILINE),
}

#: What the short names mean, and the tests of that.
MEANINGS = {ROOT / "optsched" / "core" / "papers.py", Path(__file__).resolve()}


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


def files(*suffixes: str) -> list[Path]:
    """The project's files with one of the suffixes."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    for folder in FOLDERS:
        found += sorted((ROOT / folder).rglob("*"))
    return [path for path in found if path.suffix in suffixes]


def around(text: str) -> list[str]:
    """Each short name in a text, with what stands around it."""
    return [text[max(0, found.start() - 40) : found.end() + 20] for found in SHORT.finditer(text)]


def texts(path: Path) -> Iterator[str]:
    """What a file says: docstrings, comments and other texts of a module, cells of a notebook and what they printed."""
    if path.suffix == ".py":
        with path.open("rb") as lines:
            for token in tokenize.tokenize(lines.readline):
                if token.type in {tokenize.STRING, tokenize.COMMENT} and not EXCEPT[".py"].match(token.string):
                    yield token.string
        return
    text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()
    if path.suffix != ".ipynb":
        yield EXCEPT[".json" if path.suffix == ".gz" else path.suffix].sub("", text)
        return
    for cell in json.loads(text)["cells"]:
        yield "".join(cell["source"])
        for output in cell.get("outputs", []):
            yield from (*output.get("text", []), *output.get("data", {}).get("text/plain", []))


def commands(group: click.Group, *path: str) -> Iterator[tuple[str, ...]]:
    """Every command and group of commands, by its words."""
    yield path
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)
        else:
            yield (*path, name)


def test_helps_name_authors() -> None:
    """Tests that no command's help has a short name."""
    found = list(commands(cli))
    helps = {words: run(*words, "--help").stdout for words in found}
    assert "Guo et al." in helps[("generate", "guo-fig4")]
    assert not {words: names for words, told in helps.items() if (names := around(told))}


@pytest.mark.parametrize(
    ("suffixes", "least"), [((".py",), 100), ((".md",), 20), ((".ipynb",), 2), ((".json", ".gz"), 20)]
)
def test_files_name_authors(suffixes: tuple[str, ...], least: int) -> None:
    """Tests that no module, page, notebook, instance or schema has a short name but where it is explained, or a tag."""
    found = [path for path in files(*suffixes) if path.resolve() not in MEANINGS]
    assert len(found) >= least
    assert set(suffixes) == {path.suffix for path in found}
    suspected = [path for path in found if path.suffix == ".gz" or SHORT.search(path.read_text(encoding="utf-8"))]
    assert not {path: names for path in suspected if (names := [name for text in texts(path) for name in around(text)])}


def test_cards_link_to_the_page_for_titles() -> None:
    """Tests that the sources of a card have a link to the notes in place of a paper's authors and title."""
    rows = re.findall(
        r"^\| [^|]+ \| (.+?): ([^|]+) \| (?:00\d|FSY) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(rows) == len(PAPERS)
    for card in sorted((ROOT / "models").glob("*.md")):
        sources = " ".join(card.read_text(encoding="utf-8").partition("## References")[2].split())
        for authors, title in rows:
            assert f"{authors}:" not in sources, card
            assert title.partition(", SPAA")[0] not in sources, card
        assert (
            "](../docs/papers.md)" in sources
            or not any(name in sources for name in PAPERS.values())
            or "makespan.md" in sources
        )
