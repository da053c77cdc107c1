"""Reports as LaTeX and Markdown."""

from __future__ import annotations

import re

from optsched.reporting.content import Lines, Picture, Report, Section, Table, counts, share, texts
from optsched.reporting.documents import FLOAT_ROWS, ROWS, latex, markdown

TABLE = Table(
    "gaps-a_b",
    "Gaps in a_b",
    ("heuristic", "≤ 5 %"),
    frozenset({"≤ 5 %"}),
    [[*texts("my_dl|x"), share(0.5)]],
    "A #note.",
)
LONG = Table("long", "Long", ("n",), frozenset({"n"}), [counts(number) for number in range(ROWS + 1)])
PAGE_ONLY = Table("runs", "All runs", ("n",), frozenset(), [texts("x")], everywhere=False)
EMPTY = Table("none", "None", ("n",), frozenset(), [])
REPORT = Report(
    "Gaps & more",
    "One run.",
    (
        Section(
            "a", "First_one", (TABLE, "It is *so*.", Lines(("one\ntwo",)), Lines(("optsched gap ```",), command=True))
        ),
        Section("b", "Second", (LONG, PAGE_ONLY, EMPTY, Picture("p", "P", "told", "long", "c", bytes))),
        Section("c", "Page only", (PAGE_ONLY,)),
    ),
)


def test_markdown() -> None:
    """Tests headings, tables, lists and commands, and that nothing in them is obeyed."""
    text = markdown(REPORT)
    assert text.startswith("# Gaps \\& more\n\nOne run.\n\n## First\\_one\n\n### Gaps in a\\_b\n\n| heuristic |")
    assert "| my\\_dl\\|x | 50 % |\n\nA \\#note.\n\nIt is \\*so\\*.\n\n- one\\\\ntwo\n" in text
    assert "```bash\noptsched gap '''\n```" in text
    assert f"The first {ROWS} of {ROWS + 1} rows; all are in the CSV." in text
    assert "Page only" not in text, "a section without anything is left out"


def test_latex() -> None:
    """Tests that each table is a float with caption and label, and that what LaTeX would obey is escaped."""
    text = latex(REPORT)
    assert text.count("\\begin{table}") == text.count("\\end{table}") == text.count("\\toprule") == 2
    assert "\\caption{Gaps in a\\_b.}" in text
    assert "\\label{tab:long}" in text
    assert "tab:gaps" not in text, "a name that is no label has none"
    assert "my\\_dl\\textbar{}x & 50 \\%" in text
    assert "heuristic & $\\leq$ 5 \\%" in text
    assert f"\\caption{{Long. The first {FLOAT_ROWS} of {ROWS + 1} rows; all are in the CSV.}}" in text
    assert not re.search(r"^[^%\n]*one", text, re.MULTILINE), "texts are comments, or left out"
