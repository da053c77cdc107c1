"""Tables of the page on the contract, as the tests hold it and write it anew."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

__all__ = ["shows", "table"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "contract.md"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(head)}", *lines[1:]]) + "\n"


def shows(name: str, text: str) -> bool:
    """Whether the page has a text between the comments of a name. OPTSCHED_WRITE_GOLDEN=1 writes it there."""
    whole = PAGE.read_text(encoding="utf-8")
    begin, end = f"<!-- {name} -->\n\n", f"\n<!-- /{name} -->"
    before, _, rest = whole.partition(begin)
    held, found, after = rest.partition(end)
    assert found, f"the page has no part {name}"
    if os.environ.get("OPTSCHED_WRITE_GOLDEN") == "1":
        PAGE.write_text(f"{before}{begin}{text}{end}{after}", encoding="utf-8")
        return True
    return held == text
