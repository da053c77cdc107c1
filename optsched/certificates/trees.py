"""Checks trees of cases exactly: branches on integer variables, and multipliers that settle each leaf.

A tree is a list of steps in preorder. Each step concerns a box of whole numbers, the first one the box of all
solutions. If a step branches on a variable, next come the steps of the part in which it is at most `at`, then those of
the other part. A step first settles its box by some of the tree's multipliers in turn: they bound the solutions in it
and narrow it (`problems.relaxations`). A step without a branch is a leaf. So for any tree all parts of a box are
covered, and a wrong multiplier makes the bound weaker, never wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from optsched.certificates.reading import as_mapping, integer, items, shown, spelt
from optsched.core.deadline import check
from optsched.core.errors import CertificateInvalid
from optsched.core.instance import Ints
from optsched.problems.relaxations import Box, IntegerProgram, Relaxation

__all__ = ["Branch", "Step", "Tree", "over_rows", "rows_bound"]

#: The most numbers in waiting parts, some 250 MB, so that a check does not fill the memory; and each part's overhead.
_MOST_NUMBERS, _PER_PART = 2**25, 64


class Branch(NamedTuple):
    """A variable, and its greatest value in the first part."""

    variable: int
    at: int


class Step(NamedTuple):
    """Positions of the multipliers that settle the box, in order; and the branch, None for a leaf."""

    by: Sequence[int] = ()
    branch: Branch | None = None


class Tree(NamedTuple):
    """Multipliers (int64 arrays or another form that the relaxation takes) and the steps in preorder.

    Examples
    --------
    Twice x + y is 3 in no whole numbers. The linear relaxation shows it only after a branch on x + y at 0:

    >>> import numpy as np
    >>> from optsched.problems.relaxations import IntegerProgram
    >>> one, at = np.ones(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    >>> program = IntegerProgram(one, at, np.arange(2), 2 * one, 3 * one[:1], 3 * one[:1], 0 * one, one)
    >>> ray = [np.array([0, 1]), np.array([0, -1])]
    >>> leaf = Step((0, 1))
    >>> Tree(ray, [Step((), Branch(0, 0)), leaf, leaf]).bound(program, 5)
    5
    """

    multipliers: Sequence[Any]
    steps: Sequence[Step]

    def bound(self, relaxation: Relaxation, limit: int) -> int:
        """A lower bound of every solution's cost, in units: `limit`, or what the weakest leaf proves if that is less.

        Raises
        ------
        CertificateInvalid
            If the steps are no tree, or a leaf proves nothing.
        OutOfTime
            At a deadline.
        """
        least, bound, path = limit, None, _Path(relaxation.box)
        box, left = path.box, True
        for number, step in enumerate(self.steps):
            if not left:
                raise CertificateInvalid(f"steps: every box is settled before step {number}")
            for which in step.by:
                check()
                with path.narrowing():
                    found = relaxation.settle(box, self.multipliers[which], limit)
                bound = found if bound is None or (found is not None and found > bound) else bound
            bound = limit if box.empty else bound
            if step.branch is not None:
                path.enter(step.branch, bound)
            elif bound is None:
                raise CertificateInvalid(f"steps: the leaf at step {number} proves nothing")
            else:
                least = min(least, bound)
                left, bound = path.leave()
        if left:
            raise CertificateInvalid(f"steps: {len(path) + 1} boxes are left after the last step")
        return least

    def written(self, name: Callable[[int], Any], multipliers: Callable[[Any], Any]) -> dict[str, Any]:
        """The tree in the form of a certificate: `name` names a variable, `multipliers` writes some multipliers."""
        steps: list[dict[str, Any]] = []
        for by, branch in self.steps:
            step: dict[str, Any] = {"by": list(by)} if by else {}
            if branch is not None:
                step |= {"branch": name(branch.variable), "at": branch.at}
            steps.append(step)
        return {"multipliers": [multipliers(some) for some in self.multipliers], "steps": steps}

    @classmethod
    def read(
        cls, data: Mapping[str, Any], variable: Callable[[Any], int], multipliers: Callable[[Mapping[str, Any]], Any]
    ) -> Tree:
        """Read the output of `written`.

        Parameters
        ----------
        data
            Of a certificate; from any source.
        variable, multipliers
            Read the name of a variable, and some multipliers; they raise CertificateInvalid for anything else.
        """
        some = [multipliers(as_mapping(entry, "multipliers")) for entry in items(data, "multipliers")]

        def step(data: Mapping[str, Any]) -> Step:
            check()
            by = items(data, "by") if "by" in data else ()
            for which in by:
                if isinstance(which, bool) or not isinstance(which, int) or not 0 <= which < len(some):
                    raise CertificateInvalid(f"steps: there are no multipliers {shown(which)}")
            if "branch" not in data:
                return Step(tuple(by))
            return Step(tuple(by), Branch(variable(data["branch"]), integer(data, "at")))

        return cls(some, [step(as_mapping(entry, "steps")) for entry in items(data, "steps")])


def over_rows(tree: Tree, name: Callable[[int], Any] = int) -> dict[str, Any]:
    """A tree over an `IntegerProgram` in the form of a certificate: multipliers are a scale and a price of each row.

    `name` names a column; by default it is its number.
    """
    return tree.written(name, lambda some: {"scale": int(some[0]), "prices": some[1:].tolist()})


def rows_bound(data: Mapping[str, Any], program: IntegerProgram, limit: int, names: Sequence[Any] | None = None) -> int:
    """The lower bound of a program that a tree written by `over_rows` proves, in units: at most `limit`.

    `names` are those of the columns, lists or tuples of JSON's types; None: columns are named by their numbers.

    Raises
    ------
    CertificateInvalid
        If the data is no tree over the program; see `Tree.bound`.
    """
    known = range(len(program.objective)) if names is None else names
    index = {spelt(_listed(name)): column for column, name in enumerate(known)}
    rows = len(program.row_lower)

    def column(name: Any) -> int:
        if spelt(_listed(name)) not in index:
            raise CertificateInvalid(f"branch: there is no column {shown(name)}")
        return index[spelt(_listed(name))]

    def multipliers(data: Mapping[str, Any]) -> Ints:
        prices = [integer({"prices": price}, "prices") for price in items(data, "prices")]
        if len(prices) != rows:
            raise CertificateInvalid(f"prices: must be {rows}, one a row, not {len(prices)}")
        return np.array([integer(data, "scale"), *prices], dtype=np.int64)

    return Tree.read(data, column, multipliers).bound(program, limit)


def _listed(name: Any, deep: int = 2) -> Any:
    """A name with lists instead of tuples, as in JSON; lists are nested at most once."""
    return [_listed(part, deep - 1) for part in name] if deep and isinstance(name, list | tuple) else name


class _Waiting(NamedTuple):
    """The second part of a branch: what is known about it, and what has been narrowed since the branch was made."""

    branch: Branch
    bound: int | None
    narrowed: list[tuple[Ints, Ints, Ints]]


class _Path:
    """The box of the current step, and the waiting parts, stored only as the changes that lead back to them.

    On a path a variable is narrowed at most as often as it has values, for any number of branches.
    """

    def __init__(self, box: Box) -> None:
        self.box = box
        self._waiting: list[_Waiting] = []
        self._numbers_held = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @contextmanager
    def narrowing(self) -> Iterator[None]:
        """Record what is narrowed within the block, if something waits."""
        if not self._waiting:
            yield
            return
        before = Box(self.box.lower.copy(), self.box.upper.copy())
        yield
        where = np.flatnonzero((before.lower != self.box.lower) | (before.upper != self.box.upper))
        if len(where):
            self._waiting[-1].narrowed.append((where, before.lower[where], before.upper[where]))
            self._hold(3 * len(where))

    def _hold(self, numbers: int) -> None:
        self._numbers_held += numbers + _PER_PART
        if self._numbers_held > _MOST_NUMBERS:
            raise CertificateInvalid("steps: boxes within too many others")

    def enter(self, branch: Branch, bound: int | None) -> None:
        """Go to the first part; the second one waits."""
        self._waiting.append(_Waiting(branch, bound, []))
        self._hold(0)
        with self.narrowing():
            self.box.upper[branch.variable] = min(self.box.upper[branch.variable], branch.at)

    def leave(self) -> tuple[bool, int | None]:
        """Go to the latest waiting part; returns whether there is one, and what is known about it."""
        if not self._waiting:
            return False, None
        branch, bound, narrowed = self._waiting.pop()
        for where, lower, upper in reversed(narrowed):
            self.box.lower[where], self.box.upper[where] = lower, upper
            self._numbers_held -= 3 * len(where) + _PER_PART
        self._numbers_held -= _PER_PART
        with self.narrowing():
            self.box.lower[branch.variable] = max(self.box.lower[branch.variable], branch.at + 1)
        return True, bound
