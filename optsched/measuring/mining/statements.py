"""Claims of the registry as `mine` breaks them: what a check says of each single draw, and how far it is from false."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from optsched.core.errors import HeuristicFailed, InputError, UsageError
from optsched.measuring.gaps import GapReport
from optsched.measuring.judging import Check, claim
from optsched.measuring.judging.expressions import evaluated
from optsched.measuring.judging.judges import ORDERED, answers
from optsched.measuring.judging.quantities import OF_SNAPSHOTS
from optsched.measuring.studies.choices import chosen, parted

__all__ = ["Statement", "margin", "statement"]

#: Functions of an expression that take numbers of one draw; every other one takes draws together.
_OF_ONE_DRAW = {"abs", "max", "min", "exp", "log", "floor", "ceil"}

#: The margin of a statement outside of what it is about.
_UNSAID = 1000


@dataclass(frozen=True)
class Statement:
    """A check of a claim, called with a `GapReport` like a claim of your own.

    Attributes
    ----------
    claim, check, region
        The id, what is to be made false, and where the claim holds. The search heeds only what the check itself says.
    problem, parameters, heuristic
        What the check is about.
    """

    claim: str
    check: Check
    problem: str
    parameters: Mapping[str, Any]
    heuristic: str
    region: str

    def __call__(self, report: GapReport) -> Any:
        """How far the statement is from being false on the instance; True where something in it cannot be measured."""
        try:
            ask = answers(report.problem, report.seed or 0)  # whose parameters may be others than the check's
            measured = {name: ask(text) for name, text in self.check.measure.items()}
        except (HeuristicFailed, InputError):
            return True
        return margin(self.check.says, measured)


def statement(name: str, heuristic: str | None = None) -> Statement:
    """The statement of a claim that one instance can break.

    Parameters
    ----------
    name
        The id of the claim.
    heuristic
        The one that it is to be about; by default that of its first check that is false, else of its first one.

    Raises
    ------
    UsageError
        If there is no such claim, or no check of it is about this heuristic and about each draw alone.

    Examples
    --------
    >>> statement("agosta/3.4-corollary-1").heuristic
    'labl,lbar=inf'
    """
    one = claim(name)
    found = [(check, text, chosen(text)) for check in one.checks if _of_one_draw(check) for text in _heuristics(check)]
    wanted = None if heuristic is None else chosen(heuristic)
    fitting = [
        (check, text)
        for check, text, choice in found
        if wanted is None or (choice.entry, choice.parameters) == (wanted.entry, wanted.parameters)
    ]
    if not fitting:
        known = ", ".join(dict.fromkeys(choice.label for _, _, choice in found))
        why = f"its statements are about {known}" if found else "none of its checks is about each instance alone"
        raise UsageError(f"{name}: no statement that one instance could break; {why}")
    check, text = min(fitting, key=lambda entry: entry[0].holds)
    problem, parameters = parted(check.problem, "problem")
    return Statement(name, check, problem, parameters, text, one.region)


def _heuristics(check: Check) -> Iterator[str]:
    """The heuristics that a check measures."""
    for text in check.measure.values():
        source = text.rpartition(" of ")[2]
        if source != "optimum" and source not in OF_SNAPSHOTS and "@" not in source:
            yield source


def _of_one_draw(check: Check) -> bool:
    """Whether a check says something of each draw by itself, on a snapshot."""
    if check.judge != "snapshots":
        return False
    nodes = list(ast.walk(ast.parse(check.says, mode="eval")))
    called = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
    return called <= _OF_ONE_DRAW and not any(isinstance(node, ast.Subscript) for node in nodes)


def margin(text: str, measured: Mapping[str, Any]) -> Any:
    """How far an expression is from being false: below 0 if it is, and only then.

    For a comparison it is the difference of the sides, for `a & b` the smaller margin. `a | b` says b where a is false,
    and nothing elsewhere. Any other expression, such as an equation, is a truth value.

    Examples
    --------
    >>> margin("a < b", {"a": 2, "b": 5}), margin("(a > 2) | (b < a)", {"a": 2, "b": 5})
    (Fraction(3, 1), Fraction(-3, 1))
    """
    values = {name: np.array([[value]], dtype=object) for name, value in measured.items()}

    def taken(node: ast.expr) -> Any:
        return np.asarray(evaluated(ast.unparse(node), values), dtype=object).item()

    def of(node: ast.expr) -> Any:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd):
            return min(of(node.left), of(node.right))
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return _UNSAID if taken(node.left) else of(node.right)
        truth = bool(taken(node))
        if not (isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ORDERED)):
            return truth
        difference = abs(Fraction(taken(node.left)) - Fraction(taken(node.comparators[0])))
        return difference if truth else min(-difference, Fraction(-1))

    return of(ast.parse(text, mode="eval").body)
