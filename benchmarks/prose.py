"""Words and sentences of the project's pages, for `house_size.py` and for the test that keeps them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def without_code(text: str) -> str:
    """A page without blocks of code, comments and formulas."""
    return re.sub(r"```.*?```|<!--.*?-->|\$\$.*?\$\$", "", text, flags=re.DOTALL)


def sentences(text: str) -> list[str]:
    """The sentences of a page, without code, tables and headings."""
    text = re.sub(r"^(\||#).*$", "", without_code(text), flags=re.MULTILINE)
    found = re.split(r"(?<=[.!?])\s+|\n\s*\n|\n\s*[-*] |\n\d+\. ", text)
    return [sentence for sentence in found if len(sentence.split()) > 1]


def words_of_sentences(text: str) -> list[int]:
    """How many words each sentence of a page has."""
    return [len(sentence.split()) for sentence in sentences(text)]


def handwritten() -> list[Path]:
    """Pages of Markdown, without hidden folders (environments, caches) and without what builds leave."""
    skipped = (".", "build", "_build")
    parts = {path: path.relative_to(ROOT).parts for path in sorted(ROOT.rglob("*.md"))}
    return [path for path, names in parts.items() if not any(name.startswith(skipped) for name in names)]
