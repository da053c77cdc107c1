"""Running model cards: their Python blocks are executed in order, and each block's output follows it in the card.

The worked examples of the golden files are what the cards define, so a reader sees what was exported.
"""

from __future__ import annotations

import contextlib
import io
import re
from functools import cache
from pathlib import Path
from typing import Any

from optsched.core.resources import folder

#: A block of code, and the block of output after it where it prints something.
_BLOCKS = re.compile(r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<output>.*?)```\n)?", re.DOTALL)


def path(card: str) -> Path:
    """Where a card lies."""
    return folder("models") / f"{card}.md"


@cache
def run(card: str) -> tuple[str, dict[str, Any]]:
    """The card's text with the output that its code prints today, and what the code defined."""
    names: dict[str, Any] = {}

    def executed(block: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], f"{card}.md", "exec"), names)
        output = printed.getvalue()
        return f"```python\n{block['code']}```\n" + (f"\n```text\n{output}```\n" if output else "")

    return _BLOCKS.sub(executed, path(card).read_text(encoding="utf-8")), names
