"""The Pareto-optimal values of a small problem with two components, by trying every placement."""

from __future__ import annotations

from optsched.core.registry import imported, record_of
from optsched.core.results import Value
from optsched.problems import Problem

__all__ = ["pareto_front"]


def pareto_front(problem: Problem) -> list[Value]:
    """Every Pareto-optimal value, by the first component; of placements as the record's enumeration has them."""
    enumeration = imported(record_of(type(problem)).enumeration or "optsched.searches.enumeration:judged")
    front: list[Value] = []
    for value in sorted({value for value, _ in enumeration(problem)}):
        if not front or value[1] < front[-1][1]:
            front.append(value)
    return front
