"""Markdown tables that the benchmarks print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[object]], text_columns: int = 1) -> str:
    r"""A Markdown table; all columns but the first `text_columns` are numbers and stand to the right.

    Asterisks are the bounds l* and l**, not emphasis.

    >>> print(table(["a", "l*"], [["x", 1]]))
    | a | l\* |
    |---|---:|
    | x | 1 |
    """
    rule = ["---" if column < text_columns else "---:" for column in range(len(header))]
    lines = ["| " + " | ".join(str(cell).replace("*", "\\*") for cell in row) + " |" for row in (header, *rows)]
    return "\n".join([lines[0], "|" + "|".join(rule) + "|", *lines[1:]])
