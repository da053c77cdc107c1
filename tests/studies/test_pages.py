"""Tables that fit a page: what is cut, left out, folded, numbered, and put into headings."""

from __future__ import annotations

import pytest
from command_line import run

from optsched.gaps import GapReport, Reference, gap
from optsched.instances.generate import generate
from optsched.printing import Lines, Table
from optsched.problems import Latency, Lsap, Problem
from optsched.studies.pages import Fitted, GapPage, elided, fitted, page_width

FACTS = Lines(("instance", "objective", "gap", "note"), (30, 9, 8, 4), frozenset({"objective", "gap"}))
ROW = ["a-name-of-thirty-characters-or", "7", "50 %", "a note of several words"]

THREE = ("papers/fsy-not-optimal", "papers/labl-figure2", "generated/planted-lsap-n30-t25-remote4-seed0")


def report(problem: Problem, heuristic: str, seed: int = 0) -> GapReport:
    """The gap of a heuristic."""
    return gap(problem, heuristic, seed, Reference(problem))


@pytest.mark.parametrize("most", [24, 40, 60, 80, 200])
def test_no_line_is_longer_than_the_page(most: int) -> None:
    """Tests that names are cut, columns left out and notes folded until each line fits, and no number is cut."""
    lines = Fitted(FACTS, most, ("objective",))
    text = lines.head() + lines.line(ROW)
    assert max(map(len, text.splitlines())) <= most
    assert "50 %" in text
    assert " ".join(text.split()).endswith("a note of several words")
    assert ("objective" in lines.columns) == (most > 24)
    assert ("a-name-of-thirty-characters-or" in text) == (most >= 60)


def test_page_is_that_of_the_terminal_or_80(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that COLUMNS says how wide a page is, and without it and a terminal, or in a file, 80 are taken."""
    monkeypatch.delenv("COLUMNS", raising=False)
    assert page_width(file=True) == 80
    monkeypatch.setenv("COLUMNS", "57")
    assert (page_width(), page_width(file=True)) == (57, 57)
    for nonsense in ("", "0", "-5", "wide"):
        monkeypatch.setenv("COLUMNS", nonsense)
        assert page_width(file=True) == 80


def test_names_keep_both_ends() -> None:
    """Tests that names are cut in the middle, to a length that is kept, and only where they are longer."""
    assert [elided("abcdefghij", most) for most in (10, 9, 5)] == ["abcdefghij", "abc...hij", "a...j"]


def test_table_drops_an_empty_last_column_and_numbers_long_names() -> None:
    """Tests that a column of names becomes numbers where there is no room, with a line that says whose."""
    rows = [["dl", "1 %", "one-instance-of-a-family", ""], ["rand", "2 %", "another-instance-of-it", ""]]
    table = Table(("heuristic", "gap", "worst on", "note"), rows, frozenset({"gap"}))
    wide = fitted(table, 80, keyed="worst on")
    assert "note" not in wide
    assert "another-instance-of-it" in wide
    narrow = fitted(table, 30, keyed="worst on")
    assert narrow.splitlines()[2:] == [
        "dl         1 %         1",
        "rand       2 %         2",
        "worst on 1: one-instance-of-a-",
        "  family,",
        "  2: another-instance-of-it",
    ]
    gone = fitted(table, 12, ("worst on",), keyed="worst on")
    assert "one-instance" not in gone, "no key without its column"


def test_rows_stand_under_what_they_share() -> None:
    """Tests that each instance and problem has a heading with its reference, and its rows no such column."""
    problems = [Lsap(generate("lsap", seed, nodes=4, tasks=4)) for seed in (0, 1)]
    page = GapPage([(problem, ["dl", "rand"]) for problem in problems])
    text = "".join(page.rows([(name, report(problem, name))]) for problem in problems for name in ("dl", "rand"))
    first, second = text.split("\n\n")
    value = report(problems[0], "dl").reference.value
    assert value is not None
    assert first.splitlines()[0] == f"lsap-n4-t4-seed0, lsap: optimum {value[0]} (locality-cost), proof: dual"
    assert first.splitlines()[1].split() == ["heuristic", "objective", "gap", "note"]
    assert [line.split()[0] for line in second.splitlines()[3:]] == ["dl", "rand"]


def test_one_heuristic_on_several_instances_is_one_table() -> None:
    """Tests that with one heuristic a problem the rows are by instance, and what never varies is the heading."""
    problems = [Lsap(generate("lsap", seed, nodes=4, tasks=4)) for seed in (0, 1)]
    page = GapPage([(problem, ["dl"]) for problem in problems])
    lines = "".join(page.rows([("dl", report(problem, "dl"))], "a note") for problem in problems).splitlines()
    assert lines[0] == "dl in lsap"
    assert lines[1].split() == ["instance", "objective", "reference", "proof", "gap"]
    assert [line.split()[0] for line in lines[3::2]] == ["lsap-n4-t4-seed0", "lsap-n4-t4-seed1"]
    assert lines[4::2] == ["  a note"] * 2, "below its row, where there is no room beside it"
    one = GapPage([(kind(problems[0].instance), ["rand"]) for kind in (Lsap, Latency)])
    (heading, head, *_) = one.rows([("rand", report(problems[0], "rand"))]).splitlines()
    assert heading == "rand on lsap-n4-t4-seed0"
    assert head.split()[0] == "problem"
    mixed = GapPage([(problems[0], ["dl"]), (Latency(problems[1].instance), ["labl"])], most=200)
    (head, *_) = mixed.rows([("dl", report(problems[0], "dl"))]).splitlines()
    assert head.split()[:3] == ["instance", "problem", "heuristic"]


@pytest.mark.parametrize("columns", ["40", "80"])
@pytest.mark.parametrize(
    "args",
    [
        ("gap", *THREE, "--problem", "lsap", "--problem", "latency"),
        ("gap", *THREE, "--problem", "latency", "--heuristic", "labl", "--each"),
        ("gap", "papers/guo-fig2", "--problem", "lsap", "--repeats", "3"),
        ("matrix", "papers/hsu-two-clusters", "--heuristic", "dl", "--heuristic", "labl"),
    ],
    ids=["summary", "each", "repeats", "matrix"],
)
def test_output_fits_the_page(args: tuple[str, ...], columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no line of a table of `gap` and `matrix` is longer than the page, where none is a terminal."""
    monkeypatch.setenv("COLUMNS", columns)
    text = run(*args).stdout
    assert text
    assert max(map(len, text.splitlines())) <= int(columns)
