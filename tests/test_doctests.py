"""The Python examples in Markdown (README, docs, model cards), run as doctests; pytest itself runs those of modules.

A block fenced as `python` or `pycon` that shows a prompt is an example. The blocks of one file share their names, as
a reader would run them one after another. A block without a prompt is a listing and is not run.
"""

import doctest
import re
from pathlib import Path

import pytest
from pages import ROOT, write_files

FENCED = re.compile(r"^```(?:python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = sorted(page for pattern in ("*.md", "docs/**/*.md", "models/**/*.md") for page in ROOT.glob(pattern))


def examples(text: str) -> str:
    """The text with everything but its examples blanked, so that line numbers stay those of the page."""
    kept = [""] * text.count("\n")
    for block in FENCED.finditer(text):
        if ">>> " in block[1]:
            first = text.count("\n", 0, block.start(1))
            lines = block[1].splitlines()
            kept[first : first + len(lines)] = lines
    return "\n".join(kept) + "\n"


def failures(text: str, name: str) -> str:
    """What doctest reports on the examples of a page; empty where all of them print what they show."""
    test = doctest.DocTestParser().get_doctest(examples(text), {"__name__": "__main__"}, name, name, 0)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(test, out=report.append)
    return "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_of_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that each example of a page, run where the page's files are, prints what the page shows."""
    write_files(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert failures(page.read_text(encoding="utf-8"), page.name) == ""


def test_wrong_example_is_caught() -> None:
    """Tests that an example that prints something else is reported with its line, and a listing is not run."""
    page = "# Page\n\n```python\n1 / 0\n```\n\n```pycon\n>>> 1 + 1\n3\n```\n"
    assert "line 8, in page" in failures(page, "page")
    assert failures(page.replace("3\n", "2\n"), "page") == ""
