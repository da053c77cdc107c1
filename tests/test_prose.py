"""Pages stay short and plain: their words, the length of their sentences, and words that hide what is meant.

The limits are what the pages had when they were halved, rounded up. They only go down: a new page cuts as many words
elsewhere. `python benchmarks/house_size.py` prints the same figures.
"""

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: All words of all pages, tables and code included.
MOST_WORDS = 59_816
#: Words of a sentence, on average over all pages.
MEAN_SENTENCE = 14.0
#: The share of sentences with more than 30 words.
SHARE_OF_LONG = 0.01

#: Words of `BANNED` in the package: public names, what users type, and the leftovers. It only goes down.
MOST_BANNED_IN_CODE = 25

#: Words and turns that readers of English as a second language had to read twice.
BANNED = re.compile(r"\b(told|beside|of which|whatever|whoever|for want of|so many|afar)\b", re.IGNORECASE)


@pytest.fixture(name="prose")
def _prose(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that counts."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("prose")


def texts(prose: Any) -> dict[str, str]:
    """Each page by its path."""
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in prose.handwritten()}


def banned(prose: Any, text: str) -> list[str]:
    """The banned words of a page, each with what stands around it; code may say what it likes."""
    plain = re.sub(r"`[^`]*`", "", prose.without_code(text))
    return [plain[max(0, found.start() - 30) : found.end() + 30] for found in BANNED.finditer(plain)]


def test_pages_stay_short(prose: Any) -> None:
    """Tests that all pages together have no more words than the limit."""
    assert sum(len(text.split()) for text in texts(prose).values()) <= MOST_WORDS


def test_sentences_stay_short(prose: Any) -> None:
    """Tests that a sentence has few words on average, and that hardly any is long."""
    counts = [count for text in texts(prose).values() for count in prose.words_of_sentences(text)]
    assert sum(counts) / len(counts) <= MEAN_SENTENCE
    assert sum(count > 30 for count in counts) / len(counts) <= SHARE_OF_LONG


def test_words_stay_plain(prose: Any) -> None:
    """Tests that no page uses a banned word."""
    found = {page: words for page, text in texts(prose).items() if (words := banned(prose, text))}
    assert not found


def test_code_stays_plain() -> None:
    """Tests that names, docstrings, comments and messages of the package use no more banned words than the limit."""
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "optsched").rglob("*.py"))
    assert sum(len(BANNED.findall(source)) for source in sources) <= MOST_BANNED_IN_CODE


def test_counting(prose: Any) -> None:
    """Tests what counts as a sentence, and that a banned word is found in a table but not in code."""
    page = "# Of which\n\nOne two. Three\nfour five!\n\n- six `told` seven\n\n| whatever | x |\n\n```\nbeside\n```\n"
    assert prose.words_of_sentences(page) == [2, 3, 4]
    assert [BANNED.search(words)[0].lower() for words in banned(prose, page)] == ["of which", "whatever"]
