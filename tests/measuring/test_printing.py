"""What people read: tables, numbers, intervals, CSV, JSON."""

import json
from fractions import Fraction

import numpy as np
import pytest

from optsched.measuring import printing
from optsched.measuring.printing import Table, figures, fitted, interval, on_page, page_width, render, share


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("name", ["a-name-of-thirty-characters-or", "[red]word[/red]", "a\x1b]0;title\x07\nb"])
def test_names_on_a_narrow_page(name: str, terminal: bool) -> None:
    """Tests that names stay whole, that brackets are no markup, and that control characters cannot steer a terminal."""
    shown = name.replace("\x1b", r"\x1b").replace("\x07", r"\x07").replace("\n", r"\n")
    assert shown in on_page(Table(("name",), [(name,)]), 10, terminal)


def test_bug_columns_vanished_on_a_narrow_terminal() -> None:
    """Tests that no column, and no part of a number, is left out where the terminal has less room than the table."""
    names = tuple(f"column{number}" for number in range(12))
    text = on_page(Table(names, [[f"{number}.25" for number in range(12)]], frozenset(names)), 40)
    assert max(map(len, text.splitlines())) <= 40
    assert all(name in text for name in names)
    assert all(f" {number}.25" in text for number in range(12))


@pytest.mark.parametrize("most", [20, 40, 60, 80, 200])
def test_a_page_has_every_word_of_a_table(most: int) -> None:
    """Tests that texts are folded at blanks until lines fit, and that each word and number is there once a part."""
    rows = [["best-node", "-12", "a text of many words that no line of a terminal has room for", "Guo et al., note 1"]]
    text = on_page(Table(("name", "value", "bounds", "source"), rows, frozenset({"value"})), most)
    assert max(map(len, text.splitlines())) <= most
    assert set(text.split()) >= {word for cell in rows[0] for word in cell.split()}
    assert on_page(Table(("name",), []), most).split()[0] == "name", "also without rows"


def test_markdown_and_latex() -> None:
    """Tests that both mark columns of numbers, and write what they would obey; a line end is spelled out."""
    table = Table(("name", "gap"), [("a_b|c & d\n", "5 %"), ("{x}\\~^<>", "1 ±2 %")], frozenset({"gap"}))
    assert render(table, form="markdown").splitlines() == [
        "| name | gap |",
        "|---|--:|",
        r"| a\_b\|c \& d\\n | 5 % |",
        r"| {x}\\\~^\<\> | 1 ±2 % |",
    ]
    assert render(table, form="latex").splitlines() == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"name & gap \\",
        r"\midrule",
        r"a\_b\textbar{}c \& d\textbackslash{}n & 5 \% \\",
        r"\{x\}\textbackslash{}\textasciitilde{}\textasciicircum{}\textless{}\textgreater{} & 1 $\pm$2 \% \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


ROW = ["a-name-of-thirty-characters-or", "7", "50 %", "a note of several words"]
FACTS = Table(("instance", "objective", "gap", "note"), [ROW], frozenset({"objective", "gap"}))


@pytest.mark.parametrize("most", [24, 40, 60, 80, 200])
def test_no_line_is_longer_than_the_page(most: int) -> None:
    """Tests that names are cut, columns left out and notes folded until each line fits, and no number is cut."""
    lines = printing.Fitted(FACTS, most, ("objective",))
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


def test_table_drops_an_empty_last_column_and_numbers_long_names() -> None:
    """Tests that a column of names becomes numbers where there is no room, with a line that says whose."""
    rows = [["dl", "1 %", "one-instance-of-a-family", ""], ["rand", "2 %", "another-instance-of-it", ""]]
    table = Table(("heuristic", "gap", "worst on", "note"), rows, frozenset({"gap"}))
    wide = fitted(table, 80, keyed="worst on")
    assert "note" not in wide
    assert "another-instance-of-it" in wide
    rows, _, key = fitted(table, 30, keyed="worst on").partition("worst on 1: ")
    assert [line.split()[-1] for line in rows.splitlines()[2:]] == ["1", "2"]
    assert key.split() == ["one-instance-of-a-", "family,", "2:", "another-instance-of-it"]
    gone = fitted(table, 12, ("worst on",), keyed="worst on")
    assert "one-instance" not in gone, "no key without its column"


def test_json_and_csv() -> None:
    """Tests that rationals are doubles and NaN is refused; in CSV texts stand as they are, and unknown is empty."""
    assert json.loads(printing.to_json({"gap": [Fraction(1, 2), None, 3]})) == {"gap": [0.5, None, 3]}
    with pytest.raises(ValueError, match="JSON"):
        printing.to_json(float("nan"))
    with pytest.raises(TypeError, match="has no form in JSON"):
        printing.to_json(np.int64(1))
    text = printing.to_csv([{"a": "x,y", "b": None}, {"a": "z", "c": {"k": Fraction(1, 4)}}])
    assert text == 'a,b,c\n"x,y",,\nz,,"{""k"":0.25}"\n'


@pytest.mark.parametrize(
    ("cell", "shown", "value"),
    [
        (share(0.025137), "2.51 %", 0.025137),
        (share(12.5), "1250 %", 12.5),
        (share(None), "-", None),
        (figures(3.0), "3", 3),
        (figures(1 / 3), "0.333333", 1 / 3),
        (figures(1e300), "1e+300", 1e300),
        (figures(None), "-", None),
        (printing.seconds(0.0012345), "0.00123", 0.0012345),
        (printing.seconds(None), "-", None),
        (*printing.counts(7), "7", 7),
        (printing.Cell("a", again=True), "a", None),
        ("plain", "plain", "plain"),
    ],
)
def test_cells(cell: str, shown: str, value: object) -> None:
    """Tests what is shown, and the value in full."""
    assert (cell, printing.in_full(cell)) == (shown, value)


def test_interval_against_a_table() -> None:
    """Tests the 95 % interval with the quantile of Student's t for 9 degrees of freedom, 2.262, from printed tables."""
    draws = [float(draw) for draw in range(10)]
    low, high = interval(draws) or (0, 0)
    half = 2.262157 * float(np.std(draws, ddof=1)) / 10**0.5
    assert (low, high) == pytest.approx((4.5 - half, 4.5 + half), rel=1e-6)
    assert interval([1.0]) is None


def test_lines_come_one_by_one() -> None:
    """Tests that lines are those of the whole table where cells fit, and that a wider cell moves little."""
    table = Table(("name", "n", "note"), [("a", "1", "x"), ("longer", "100", "")], frozenset({"n"}))
    lines = printing.Fitted(table, 80)
    assert lines.head() + "".join(map(lines.line, table.rows)) == render(table)
    assert lines.line(("a", "123456", "x")) == "a    123456  x\n"
    assert lines.line(("longer", "123456", "x")) == "longer  123456  x\n"
