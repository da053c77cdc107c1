"""The long description on the package index: the README as it reads without the repository around it.

hatchling calls it for every build. The index draws Markdown, but knows no relative links, and its readers have no
clone. The pages come with the package: `optsched docs` shows them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

#: Parts that only hold in a clone, each with what stands there on the index.
CLONE = re.compile(r"<!-- in a clone -->\n.*?<!-- on the index:(.*?)-->\n", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
RELATIVE_IMAGE = re.compile(r"!\[[^\]]*\]\((?!https?:)[^)]*\)\n?")
#: Pages that `optsched docs` shows, in parentheses or with a text of their own.
BARE_PAGE = re.compile(r"\(\[[^\]]+\]\(\./docs/([\w/-]+)\.md(?:#[^)]*)?\)\)")
PAGE = re.compile(r"\[([^\]]+)\]\(\./docs/([\w/-]+)\.md(?:#[^)]*)?\)")
RELATIVE_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|mailto:)[^)]*\)")
#: A word after the language of a block is for the tests.
FENCE = re.compile(r"^(```\w+) .*$", re.MULTILINE)


def long_description(readme: str) -> str:
    """The README without what only holds in a clone, comments and relative images; links name pages that ship."""
    text = CLONE.sub(lambda part: part[1].strip("\n") + "\n" if part[1].strip() else "", readme)
    for pattern, instead in (
        (COMMENT, ""),
        (RELATIVE_IMAGE, ""),
        (BARE_PAGE, r"(`optsched docs \1`)"),
        (PAGE, r"\1 (`optsched docs \2`)"),
        (RELATIVE_LINK, r"\1"),
        (FENCE, r"\1"),
    ):
        text = pattern.sub(instead, text)
    return re.sub(r"\n{3,}", "\n\n", text)


class LongDescription(MetadataHookInterface):
    """Puts the long description into the metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in `readme`, which `pyproject.toml` calls dynamic."""
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": long_description(readme)}
