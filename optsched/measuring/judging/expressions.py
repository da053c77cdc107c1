"""Evaluates the expressions of checks over measured numbers: exact arithmetic, comparisons, a few functions.

A name stands for a table of numbers, with a row for each family or instance and a column for each draw. Literals are
exact decimals. `mean`, `share`, `least`, `most` and `total` combine a row; a comparison must be true in every place.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from optsched.core.errors import UsageError

__all__ = ["FUNCTIONS", "evaluated"]


def _each(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers, applied to arrays place by place."""
    return np.vectorize(function, otypes=[object])


def _along(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of a row, applied to the rows of a table; unchanged for a list of numbers."""

    def taken(table: Any) -> Any:
        rows = np.asarray(table, dtype=object)
        return function(rows) if rows.ndim < 2 else np.array([function(row) for row in rows], dtype=object)

    return taken


#: The functions of expressions.
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "mean": _along(lambda row: sum(row) / Fraction(len(row))),
    "share": _along(lambda row: Fraction(sum(map(bool, row)), len(row))),
    "least": _along(min),
    "most": _along(max),
    "total": _along(sum),
    "argmax": lambda row: int(np.argmax(row)),
    "argmin": lambda row: int(np.argmin(row)),
    "grows": lambda row: all(bool(low <= high) for low, high in pairwise(row)),
    "any": lambda table: bool(np.any(table)),
    "all": lambda table: bool(np.all(table)),
    "row": lambda *numbers: np.array(numbers, dtype=object),
    "abs": abs,
    "max": _each(max),
    "min": _each(min),
    "exp": _each(math.exp),
    "log": _each(math.log),
    "floor": _each(math.floor),
    "ceil": _each(math.ceil),
}

_ALLOWED = (
    *(ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Call, ast.Subscript, ast.Slice),
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.operator, ast.unaryop, ast.cmpop),
)


_POSITION = (ast.Constant, ast.Slice, ast.Tuple, ast.UnaryOp, ast.USub, ast.Load)


class _Exact(ast.NodeTransformer):
    """Refuses everything but arithmetic; literals become fractions, `a < b < c` stays unchanged."""

    def __init__(self, text: str, known: Mapping[str, Any]) -> None:
        self._text, self._known = text, known

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, _ALLOWED):
            raise UsageError(f'"{self._text}": {type(node).__name__} is no arithmetic')
        return super().generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self._known:
            raise UsageError(f'"{self._text}": nothing measured is called {node.id}')
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        for part in ast.walk(node.slice):  # a position stays a whole number
            if not isinstance(part, _POSITION):
                raise UsageError(f'"{self._text}": {type(part).__name__} is no position')
        return ast.Subscript(self.visit(node.value), node.slice, node.ctx)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            raise UsageError(f'"{self._text}": {node.value!r} is no number')
        written = ast.Constant(ast.get_source_segment(self._text, node))
        return ast.Call(ast.Name("Fraction", ast.Load()), [written], [])


def evaluated(text: str, values: Mapping[str, Any]) -> Any:
    """The value of an expression.

    Raises
    ------
    UsageError
        If it is no expression, names something that is not measured, is more than arithmetic, or has no value.

    Examples
    --------
    >>> evaluated("85 / 125 == .68", {}), evaluated("mean(gain) > 2", {"gain": np.array([[1, 2, 6]], dtype=object)})
    (True, array([ True]))
    """
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise UsageError(f'"{text}": {error.msg}') from None
    exact = ast.fix_missing_locations(_Exact(text, {**FUNCTIONS, **values}).visit(tree))
    names = {"__builtins__": {}, "Fraction": Fraction, **FUNCTIONS, **values}
    try:
        return eval(compile(exact, text, "eval"), names)  # only arithmetic, as checked above
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UsageError(f'"{text}" has no value: {error}') from None
