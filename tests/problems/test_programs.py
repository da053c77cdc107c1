"""Programs as data: what a builder collects and refuses."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from programmed import Gathering, posed

from optsched.core.errors import UsageError
from optsched.core.results import Number
from optsched.problems.programs import Builder, Group, Program
from optsched.problems.relaxations import UNBOUNDED


def test_what_is_collected() -> None:
    """Tests that entries are broadcast, that families follow one another, and rows without a limit have none."""
    builder = Builder()
    x = builder.variables("x", [("a",), ("b",)], lower=-1, upper=[2, 3], cost=5, over="ALL", doc="numbers")
    y = builder.variables("y", [("a", "b")], upper=1)
    rows = builder.rows("at_least", [("a",), ("b",)], lower=[0, 1])
    builder.enter(rows[:, None], np.append(x, y), [[1, 2, 3], [4, 5, 6]])
    program = builder.program(component=1, unit=7)
    whole = program.numbers
    assert program.names == [["x", "a"], ["x", "b"], ["y", "a", "b"]]
    assert [(family.over, family.first, family.doc) for family in program.variables] == [
        ("ALL", 0, "numbers"),
        ("y_index", 2, ""),
    ]
    assert (whole.lower.tolist(), whole.upper.tolist(), whole.objective.tolist()) == ([-1, -1, 0], [2, 3, 1], [5, 5, 0])
    assert (whole.row_lower.tolist(), whole.row_upper.tolist()) == ([0, 1], [UNBOUNDED] * 2)
    assert list(zip(whole.row.tolist(), whole.column.tolist(), whole.value.tolist(), strict=True)) == [
        *((0, 0, 1), (0, 1, 2), (0, 2, 3)),
        *((1, 0, 4), (1, 1, 5), (1, 2, 6)),
    ]
    assert (program.component, program.unit) == (1, 7)
    assert program.broken(np.array([0, 0, 1])) is None
    assert program.broken(np.array([0, 0, 2])) == "y[a,b] is 2, and must be 0 to 1"
    assert program.broken(np.array([0, 0, 0])) == "at_least[b] is 0, and must be at least 1"


TWO = [("a",), ("b",)]


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (
            lambda b: b.variables("x", TWO, upper=1, cost=0.5),
            r'variables\("x"\): the cost 0.5 is no whole number; round it',
        ),
        (lambda b: b.variables("x", TWO, upper=[1, Fraction(3, 2)]), "the upper 3/2 is no whole number"),
        (lambda b: b.variables("x", TWO, upper=np.inf), "the upper inf is no whole number"),
        (lambda b: b.variables("x", TWO, upper=1, lower=[0, np.nan]), "the lower nan is no whole number"),
        (lambda b: b.rows("x", TWO, upper=[1.0, 2.5]), r'rows\("x"\): the upper 2.5 is no whole number'),
        (lambda b: b.enter(0, 0, [1, 0.1]), "Builder.enter: the value 0.1 is no whole number"),
        (
            lambda b: b.variables("x", TWO, upper=[1, 2, 3]),
            r"upper has the shape \(3,\); give one for each of 2 labels",
        ),
        (
            lambda b: b.rows("x", TWO, lower=[0, 5], upper=3),
            r'rows\("x"\): .* has lower=5 over upper=3, which nothing fits; swap them, or leave one out',
        ),
        (lambda b: b.rows("x", TWO, lower=[[1, 2]]), r"lower has the shape \(1, 2\); give one"),
        (lambda b: b.variables("first", TWO, upper=1), 'there is "first" already; give another name'),
        (lambda b: b.rows("first", TWO), 'there is "first" already'),
        (lambda b: b.rows("NODES", TWO), 'there is "NODES" already'),
        (lambda b: b.rows("objective", TWO), 'there is "objective" already'),
        (lambda b: b.variables("x", TWO, upper=1, cost_name="first"), 'there is "first" already'),
        (lambda b: b.group("first", "CLASSES", {}), r'group\("first"\): there is "first" already'),
        (lambda b: b.rows("as low", TWO), "'as low' is no name for models; give an identifier"),
        (lambda b: b.rows(3, TWO), "3 is no name for models"),
        (lambda b: b.rows("x", TWO, over="first"), 'over "first" is no identifier, or the name of a family'),
        (lambda b: b.rows("x", TWO, over="my nodes"), 'over "my nodes" is no identifier'),
        (lambda b: b.rows("x", [("a",)], over="NODES"), 'over "NODES" has other labels in another family'),
        (lambda b: b.rows("x", ["a", "b"]), r'rows\("x"\): a label is a tuple, such as .*, not \'a\''),
        (lambda b: b.rows("x", [("a",), ("b", "c")]), r"of as many entries as others, not \('b', 'c'\)"),
        (lambda b: b.rows("x", [("a",), ("b",), ("a",)]), r"there are two labels \('a',\)"),
        (
            lambda b: b.enter([0, 0, 0], [0, 0]),
            r"the shapes do not fit .*: row \(3,\), column \(2,\), value",
        ),
        (
            lambda b: b.variables("x", TWO, upper=1, cost=2**70),
            "11303424 is no whole number below",
        ),
        (lambda b: b.enter(7, 0), "Builder.enter: the rows are 7 to 7; there are 0, from 0"),
        (lambda b: b.enter(b.rows("x", TWO), -1), "Builder.enter: the columns are -1 to -1; there are 2, from 0"),
        (lambda b: b.program(unit=0), "the unit 0 must be a whole number other than 0"),
        (lambda b: b.program(unit=0.5), "the unit 0.5 must be a whole number other than 0"),
    ],
)
def test_what_a_builder_refuses(add: Callable[[Builder], object], message: str) -> None:
    """Tests that what a program or a model of it cannot have is refused where it is given, with place and mend."""

    def build() -> Program:
        builder = Builder()
        builder.variables("first", TWO, upper=1, over="NODES")
        add(builder)
        return builder.program()

    with pytest.raises(ValueError, match=message):
        build()


def test_a_family_that_is_not_there() -> None:
    """Tests that variables and rows of a wrong name are named, with those that exist."""
    builder = Builder()
    builder.variables("first", TWO, upper=[1.0, 2.0])
    builder.rows("second", TWO)
    program = builder.program()
    assert program.numbers.upper.tolist() == [1, 2]
    with pytest.raises(LookupError, match='the program has no variables "x"; it has first'):
        program.family("x")
    with pytest.raises(LookupError, match='the program has no rows "first"; it has second'):
        program.rows_of("first")


def test_apart() -> None:
    """Tests that a program without groups is its own per pair, and that one with groups must say which it is."""
    problem = posed(0)
    assert problem.apart() is problem
    limited = Builder()
    limited.enter(limited.rows("few", [()], upper=1), limited.variables("x", [()], upper=5))
    assert limited.program().broken(np.array([2])) == "few[] is 2, and must be at most 1"

    class Grouped(Gathering):
        """Its program has a group."""

        def program(self, before: tuple[Number, ...] = ()) -> Program:
            return replace(super().program(before), groups=(Group("members", "CLASSES", {}, {}),))

    with pytest.raises(UsageError, match="Grouped has no program per pair: build its model without per_pair"):
        Grouped(problem.instance).apart()
