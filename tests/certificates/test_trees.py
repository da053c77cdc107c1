"""Trees of cases: right whatever they hold, refused where they are no trees, and written as they are read."""

import json
import re
from typing import Any

import numpy as np
import pytest

from optsched.certificates import trees
from optsched.certificates.reading import integer, items
from optsched.certificates.trees import Branch, Step, Tree
from optsched.core.deadline import deadline
from optsched.core.errors import CertificateInvalid, OutOfTime
from optsched.core.instance import Ints
from optsched.problems.relaxations import Box, IntegerProgram

#: 2 x + 2 y = 3 with x and y 0 or 1, which no whole numbers are: the linear relaxation says 2 (1.5) at least.
ODD = IntegerProgram(
    np.array([1, 1]), np.array([0, 0]), np.array([0, 1]), np.array([2, 2]), np.array([3]), np.array([3]),
    np.array([0, 0]), np.array([1, 1]),
)  # fmt: skip

#: Prices of its row that bound the cost, and two rays.
PRICES = [np.array([2, 1]), np.array([0, 1]), np.array([0, -1])]


def read(data: dict[str, Any]) -> Tree:
    """A tree as text that a file held: variables by their position, multipliers as lists."""

    def variable(named: Any) -> int:
        if named not in ("x", "y"):
            raise CertificateInvalid(f"branch: there is no variable {named!r}")
        return "xy".index(named)

    def multipliers(entry: Any) -> Ints:
        return np.array([integer({"price": price}, "price") for price in items(entry, "prices")], dtype=np.int64)

    return Tree.read(json.loads(json.dumps(data)), variable, multipliers)


def written(tree: Tree) -> dict[str, Any]:
    """What `read` reads."""
    return tree.written("xy".__getitem__, lambda some: {"prices": some.tolist()})


WHOLE = Tree(PRICES, [Step((0,), Branch(0, 0)), Step((1, 2)), Step((), Branch(1, 0)), Step((1, 2)), Step((1, 2))])


def test_a_tree_proves_what_its_weakest_leaf_does() -> None:
    """Tests a tree that closes, one whose leaf is weaker, the bound of a step above a leaf, and what is written."""
    assert WHOLE.bound(ODD, 9) == 9
    assert Tree(PRICES, [Step((0,))]).bound(ODD, 9) == 2
    assert Tree(PRICES, [Step((0,), Branch(0, 0)), Step(), Step((1, 2))]).bound(ODD, 9) == 2
    assert Tree(PRICES, [Step((0,), Branch(0, 5)), Step((0,)), Step()]).bound(ODD, 9) == 2
    again = read(written(WHOLE))
    assert written(again) == written(WHOLE)
    assert again.bound(ODD, 9) == 9


def test_what_a_step_settles_its_parts_need_not() -> None:
    """Tests that parts of a box that is settled are settled too, and must be there all the same."""
    both = [Step((1, 2), Branch(0, 0)), Step(), Step()]
    shut = Tree(PRICES, [Step((0,), Branch(0, -1)), Step(), *both])
    assert shut.bound(ODD, 9) == 9
    with pytest.raises(CertificateInvalid, match="2 boxes are left"):
        Tree(PRICES, [Step((0,), Branch(0, -1))]).bound(ODD, 9)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"steps": []}, "1 boxes are left after the last step"),
        ({"steps": [{}]}, "the leaf at step 0 proves nothing"),
        ({"steps": [{"by": [2]}]}, "the leaf at step 0 proves nothing"),
        ({"steps": [{"by": [0]}, {"by": [0]}]}, "every box is settled before step 1"),
        ({"steps": [{"by": [3]}]}, "there are no multipliers 3"),
        ({"steps": [{"by": [True]}]}, "there are no multipliers True"),
        ({"steps": [{"by": 0}]}, "by: must be a list"),
        ({"steps": [7]}, "steps: must hold objects"),
        ({"steps": {}}, "steps: must be a list"),
        ({"steps": [{"branch": "z", "at": 0}]}, "there is no variable 'z'"),
        ({"steps": [{"branch": "x"}]}, "at: must be an integer"),
        ({"multipliers": None}, "multipliers: must be a list"),
        ({"multipliers": [{"prices": [0.5]}]}, "price: must be an integer"),
    ],
)
def test_no_tree(changed: dict[str, Any], message: str) -> None:
    """Tests that what is no tree, or proves nothing, is refused with its place."""
    with pytest.raises(CertificateInvalid, match=re.escape(message)):
        read({**written(WHOLE), **changed}).bound(ODD, 9)


def test_too_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that branches within branches, or large boxes within others, are refused before they fill the memory."""
    deep = Tree(PRICES, [Step((0,), Branch(0, 5))] * 20)
    with pytest.raises(CertificateInvalid, match="boxes are left"):
        deep.bound(ODD, 9)
    monkeypatch.setattr(trees, "_MOST_NUMBERS", 300)
    with pytest.raises(CertificateInvalid, match="too many others"):
        deep.bound(ODD, 9)


class Noted:
    """A relaxation that notes the boxes it is asked about, and narrows the last of three variables each time."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[int], int, int]] = []

    @property
    def box(self) -> Box:
        return Box(np.zeros(3, dtype=np.int64), np.full(3, 9))

    def settle(self, box: Box, multipliers: Ints, limit: int) -> int | None:
        self.asked.append((np.concatenate(box).tolist(), int(multipliers[0]), limit))
        box.upper[2] -= 1
        return int(multipliers[0])


def test_what_waits_is_brought_back() -> None:
    """Tests that each part is asked about with its own multipliers, lesser values first, as if boxes were copied."""
    wide = Noted()
    branches = [Step((1,), Branch(0, 4)), Step((0, 2), Branch(1, 2)), Step((0,)), Step((0,), Branch(1, 6))]
    assert Tree([np.array([some]) for some in (1, 2, 3)], [*branches, *[Step((0,))] * 3]).bound(wide, 5) == 2
    assert wide.asked == [
        ([0, 0, 0, 9, 9, 9], 2, 5),
        ([0, 0, 0, 4, 9, 8], 1, 5),
        ([0, 0, 0, 4, 9, 7], 3, 5),
        ([0, 0, 0, 4, 2, 6], 1, 5),
        ([0, 3, 0, 4, 9, 6], 1, 5),
        ([0, 3, 0, 4, 6, 5], 1, 5),
        ([0, 7, 0, 4, 9, 5], 1, 5),
        ([5, 0, 0, 9, 9, 8], 1, 5),
    ]


def test_a_deadline_ends_the_check() -> None:
    """Tests that a tree is not checked past a deadline, nor read."""
    with deadline(0):
        for ended in (lambda: WHOLE.bound(ODD, 9), lambda: read(written(WHOLE))):
            with pytest.raises(OutOfTime):
                ended()


def test_no_change_of_a_tree_proves_more_than_is_true() -> None:
    """Tests that trees drawn at random, over programs with a solution, never prove more than it costs."""
    rng, refused = np.random.default_rng(3), 0
    for _ in range(300):
        values = rng.integers(0, 2, 3)
        matrix = rng.integers(-2, 3, (2, 3))
        sums = matrix @ values
        row, column = np.nonzero(matrix)
        program = IntegerProgram(
            rng.integers(-4, 5, 3), row, column, matrix[row, column], sums - 1, sums, np.zeros(3, int), np.ones(3, int)
        )
        prices = [rng.integers(-4, 5, 3) * (1, 1, 1) for _ in range(4)]
        prices = [np.append(abs(some[0]), some[1:]) for some in prices]
        steps = [
            Step(tuple(rng.integers(0, 4, 2).tolist()), Branch(int(rng.integers(0, 3)), 0) if turn < 2 else None)
            for turn in range(5)
        ]
        cost = int(program.objective @ values)
        try:
            assert Tree(prices, steps).bound(program, 50) <= cost
        except CertificateInvalid:
            refused += 1
    assert refused < 250
