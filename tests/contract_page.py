"""Parts of the page on the contract, as the tests hold it and write it anew."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["shows"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "contract.md"


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
