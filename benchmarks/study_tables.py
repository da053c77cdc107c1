"""Markdown tables and the few figures that the studies print; what they measure is in the studies themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from optsched.measuring.printing import interval

__all__ = ["count", "mean", "spread", "table"]


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


def mean(values: Sequence[float], digits: int = 2) -> str:
    """The mean, without trailing zeros.

    >>> mean([1, 2, 2]), mean([2, 2])
    ('1.67', '2')
    """
    text = f"{sum(values) / len(values):.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def spread(values: Sequence[float], digits: int = 1) -> str:
    """The mean and half of its 95 % confidence interval (Student's t).

    >>> spread([1.0, 2.0, 3.0])
    '2.0 ± 2.5'
    """
    middle = f"{sum(values) / len(values):.{digits}f}"
    limits = interval(values)
    return middle if limits is None else f"{middle} ± {(limits[1] - limits[0]) / 2:.{digits}f}"


def count(truths: Iterable[bool]) -> str:
    """How many are true, of how many.

    >>> count([True, False, True])
    '2 of 3'
    """
    held = list(truths)
    return f"{sum(held)} of {len(held)}"
