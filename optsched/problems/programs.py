"""Integer programs of problems as data: named integer variables and rows with bounds.

A `Programmed` problem has a program in addition to its definition. Code that all problems share derives from it: arrays
for HiGHS, models with the same names, sizes, starts, the linear bound, and a tree of cases that proves the optimum (the
modules `programs` of `optsched.routes`, `optsched.models` and `optsched.certificates`). The program is no second
definition: `fault_of` checks it against `objective` and `violations`.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from optsched.core.arrays import Strings
from optsched.core.deprecated import Renamed
from optsched.core.errors import UsageError
from optsched.core.instance import Ints, Ragged
from optsched.core.placement import NONE
from optsched.core.results import Number
from optsched.problems.base import Problem
from optsched.problems.relaxations import UNBOUNDED, IntegerProgram

__all__ = [
    "Builder",
    "Family",
    "Group",
    "Label",
    "Limited",
    "Members",
    "Program",
    "Programmed",
    "Zipped",
    "fault_of",
    "labelled",
    "limit_unit",
    "samples",
    "summed",
]

#: The label of a variable or row in its family: texts, whole numbers, or None for "nowhere".
Label = tuple[Any, ...]

#: Up to this many placements of a problem are all tried; otherwise this many are drawn.
_ALL, _DRAWN = 4_000, 1_000


class Zipped(Sequence[Label]):
    """Labels whose parts are columns of ids; large programs that are not models never list them.

    >>> Zipped(np.array(["t", "u"]), np.array(["a", "b"]))[1]
    ('u', 'b')
    """

    def __init__(self, *parts: Strings) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return len(self._parts[0])

    def __getitem__(self, at: Any) -> Any:
        return list(self)[at] if isinstance(at, slice) else tuple(str(part[at]) for part in self._parts)

    def __iter__(self) -> Iterator[Label]:
        return zip(*(part.tolist() for part in self._parts), strict=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of a list


class Members(Mapping[str, Sequence[str]]):
    """The ids of the members of each class, by its name; computed on demand."""

    def __init__(self, names: Strings, members: Ragged, ids: Strings) -> None:
        self._parts = names, members, ids

    @cached_property
    def _listed(self) -> dict[str, tuple[str, ...]]:
        names, members, ids = self._parts
        return {name: tuple(ids[row].tolist()) for name, row in zip(names.tolist(), members, strict=True)}

    def __getitem__(self, name: str) -> Sequence[str]:
        return self._listed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._parts[0])


@dataclass(frozen=True, slots=True)
class Family:
    """Variables, or rows, with one name.

    Attributes
    ----------
    name
        Its name in models and messages.
    labels
        The label of each: texts and whole numbers, equally many for all.
    over
        The name of the set of the labels.
    first
        The number of the first.
    doc
        What they are, in a phrase.
    cost
        A model's name for the costs of the variables; empty: none.
    implied
        Whether the other variables determine these at least cost: they are continuous in a model and not decoded.
    """

    name: str
    labels: Sequence[Label]
    over: str
    first: int
    doc: str
    cost: str = ""
    implied: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A group of a program's rows or variables, such as classes of equal tasks.

    Attributes
    ----------
    name, over
        A model's name for the members of each class, and for the set of the classes.
    members
        The ids of the members of each class, by the label of the class.
    position
        The position of the class in the labels of a family, by the family's name.
    """

    name: str
    over: str
    members: Mapping[str, Sequence[str]]
    position: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Program:
    """A program for one component of a problem.

    Attributes
    ----------
    numbers
        Its numbers: least objective over whole variables in a box, within rows.
    variables, rows
        The families, in the order of the numbers.
    component
        Position of the component that is optimised.
    unit
        Units of the objective per unit of the component; negative if the component is maximised.
    groups
        The classes whose members its variables count together.
    """

    numbers: IntegerProgram
    variables: tuple[Family, ...]
    rows: tuple[Family, ...]
    component: int
    unit: int
    groups: tuple[Group, ...] = ()

    whole = Renamed("numbers")

    @property
    def names(self) -> list[list[str]]:
        """The name and the label of each variable, as certificates write them."""
        return [
            [family.name, *("" if part is None else str(part) for part in label)]
            for family in self.variables
            for label in family.labels
        ]

    def family(self, name: str) -> slice:
        """The columns of a family of variables.

        >>> builder = Builder()
        >>> _ = builder.variables("x", [("a",)], upper=1), builder.variables("y", [("a",), ("b",)], upper=1)
        >>> builder.program().family("y")
        slice(1, 3, None)
        """
        return _slice_of(self.variables, name)

    def rows_of(self, name: str) -> slice:
        """The positions of a family of rows."""
        return _slice_of(self.rows, name)

    def broken(self, values: Ints) -> str | None:
        """The first bound or row that the values violate, by its name; None: none.

        >>> builder = Builder()
        >>> x = builder.variables("x", [("a",), ("b",)], upper=1)
        >>> builder.enter(builder.rows("one", [("of both",)], lower=1, upper=1), x)
        >>> builder.program().broken(np.array([1, 1]))
        'one[of both] is 2, and must be 1 to 1'
        """
        numbers = self.numbers
        sums = np.zeros(len(numbers.row_lower), dtype=object)
        np.add.at(sums, numbers.row, numbers.value.astype(object) * values[numbers.column])
        for families, found, lower, upper in (
            (self.variables, values, numbers.lower, numbers.upper),
            (self.rows, sums, numbers.row_lower, numbers.row_upper),
        ):
            wrong = np.flatnonzero((found < lower) | (found > upper))
            if len(wrong):
                at = int(wrong[0])
                family = next(one for one in families if one.first <= at < one.first + len(one.labels))
                label = ",".join(map(str, family.labels[at - family.first]))
                due = f"{lower[at]} to {upper[at]}" if upper[at] < UNBOUNDED else f"at least {lower[at]}"
                due = due if lower[at] > -UNBOUNDED else f"at most {upper[at]}"
                return f"{family.name}[{label}] is {found[at]}, and must be {due}"
        return None


def _slice_of(families: Sequence[Family], name: str) -> slice:
    found = next(family for family in families if family.name == name)
    return slice(found.first, found.first + len(found.labels))


class Builder:
    """Collects the variables, rows and entries of a program.

    Examples
    --------
    Two tasks: one may run on a, where it costs 1, and any number on b, where each costs 3:

    >>> builder = Builder()
    >>> place = builder.variables("place", [("t", "a"), ("t", "b")], upper=2, cost=[1, 3], doc="tasks on nodes")
    >>> builder.enter(builder.rows("slots", [("a",)], upper=1), place[:1])
    >>> builder.enter(builder.rows("all", [()], lower=2, upper=2), place)
    >>> program = builder.program()
    >>> program.names, program.numbers.row_upper.tolist()
    ([['place', 't', 'a'], ['place', 't', 'b']], [1, 2])
    """

    def __init__(self) -> None:
        self._variables: list[Family] = []
        self._rows: list[Family] = []
        self._groups: list[Group] = []
        self._numbers: dict[str, list[Ints]] = {
            name: [] for name in ("objective", "lower", "upper", "row_lower", "row_upper", "row", "column", "value")
        }

    def variables(
        self,
        name: str,
        labels: Sequence[Label],
        *,
        upper: npt.ArrayLike,
        lower: npt.ArrayLike = 0,
        cost: npt.ArrayLike = 0,
        over: str = "",
        doc: str = "",
        cost_name: str = "",
        implied: bool = False,
    ) -> Ints:
        """Add a family of variables; bounds and cost are one for each or one for all. Returns their columns."""
        numbers = {"lower": lower, "upper": upper, "objective": cost}
        return self._add(self._variables, numbers, name, labels, over, doc, cost_name, implied)

    def rows(
        self,
        name: str,
        labels: Sequence[Label],
        *,
        lower: npt.ArrayLike = -UNBOUNDED,
        upper: npt.ArrayLike = UNBOUNDED,
        over: str = "",
        doc: str = "",
    ) -> Ints:
        """Add a family of rows without entries. Returns their numbers."""
        return self._add(self._rows, {"row_lower": lower, "row_upper": upper}, name, labels, over, doc)

    def columns(self, name: str, labels: Sequence[Label], **options: Any) -> dict[Label, int]:
        """As `variables`; returns the columns by their labels."""
        return dict(zip(labels, self.variables(name, labels, **options).tolist(), strict=True))

    def constrain(self, name: str, terms: Mapping[Label, Mapping[int, int]], **options: Any) -> None:
        """Add a family of rows, as in `rows`, with their entries: for each label its columns and their values."""
        numbers = self.rows(name, list(terms), **options)
        for row, some in zip(numbers.tolist(), terms.values(), strict=True):
            self.enter(row, list(some), list(some.values()))

    def group(self, name: str, over: str, members: Mapping[str, Sequence[str]], **position: int) -> None:
        """Declare a group; see `Group` for the parameters."""
        self._groups.append(Group(name, over, members, position))

    def enter(self, rows: npt.ArrayLike, columns: npt.ArrayLike, values: npt.ArrayLike = 1) -> None:
        """Add entries; rows, columns and values are broadcast against each other."""
        entries = np.broadcast_arrays(*(np.asarray(part, dtype=np.int64) for part in (rows, columns, values)))
        for key, part in zip(("row", "column", "value"), entries, strict=True):
            self._numbers[key].append(part.ravel())

    def program(self, component: int = 0, unit: int = 1) -> Program:
        """The collected program; see `Program` for the parameters."""
        none = np.zeros(0, dtype=np.int64)
        numbers = IntegerProgram(**{key: np.concatenate([none, *parts]) for key, parts in self._numbers.items()})
        return Program(numbers, tuple(self._variables), tuple(self._rows), component, unit, tuple(self._groups))

    def _add(
        self,
        families: list[Family],
        numbers: dict[str, npt.ArrayLike],
        name: str,
        labels: Sequence[Label],
        over: str,
        *said: Any,
    ) -> Ints:
        """Add a family after the others; its set gets its name if it has none."""
        first = families[-1].first + len(families[-1].labels) if families else 0
        families.append(Family(name, labels, over or f"{name}_index", first, *said))
        for key, given in numbers.items():
            self._numbers[key].append(np.broadcast_to(np.asarray(given, dtype=np.int64), (len(labels),)))
        return np.arange(first, first + len(labels))


def summed(columns: Mapping[Label, int], *by: int) -> dict[Label, dict[int, int]]:
    """Terms for `Builder.constrain` that sum columns whose labels have the same entries at some positions.

    >>> summed({("t", "a"): 0, ("t", "b"): 1, ("u", "a"): 2}, 1)
    {('a',): {0: 1, 2: 1}, ('b',): {1: 1}}
    """
    terms: dict[Label, dict[int, int]] = {}
    for label, column in columns.items():
        terms.setdefault(tuple(label[place] for place in by), {})[column] = 1
    return terms


def labelled(program: Program, value_of: Mapping[str, Callable[..., int]]) -> Ints:
    """The values of a program's variables, from a function of the label for each family."""
    return np.array(
        [value_of[family.name](*label) for family in program.variables for label in family.labels], dtype=np.int64
    )


class Programmed(ABC):
    """A problem with an exact program: `objective` and `violations` as rows."""

    @abstractmethod
    def program(self, before: tuple[Number, ...] = ()) -> Program:
        """The program of the first component, or of the one after `before`.

        Parameters
        ----------
        before
            The optima of the earlier components, in units of their programs.
        """

    def apart(self) -> Any:
        """The same problem with a program that counts nothing together, for models with a user's own constraints.

        By default it is the problem itself, if its program has no groups.

        Raises
        ------
        UsageError
            If there is none.
        """
        if self.program().groups:
            raise UsageError(f"{type(self).__name__} has no program per pair: build its model without per_pair")
        return self

    @abstractmethod
    def values_of(self, decision: Any, program: Program) -> Ints:
        """The values of the variables for a feasible decision, int64, shape (variables,)."""

    @abstractmethod
    def decision_of(self, values: Ints, program: Program) -> Any:
        """A decision that costs no more than these values, which satisfy all rows."""


class Limited(Programmed):
    """A problem of two components whose first one is settled by limits, such as the highest of several means.

    `program((limit,))` is that of the second component with the first one at a limit, a whole number or a fraction. If
    `program((value_below(claim),))` is empty, the first component is at least `claim`. The search for the least limit
    starts from `program()`, with the prices of its linear relaxation (`value_left`). Its objective is at most the first
    component, rounded up. Limits and values are as in `minimised`: negated if more is better.
    """

    @abstractmethod
    def value_below(self, value: Number) -> Number:
        """A limit for programs: no decision's first component lies between it and `value`, which is excluded."""

    @abstractmethod
    def value_from(self, value: Number) -> Number:
        """The least possible value of the first component that is at least this one, as far as is known."""

    @abstractmethod
    def value_left(self, multipliers: Ints, least: Number) -> Number:
        """The least value, at least `least`, that multipliers of the rows of `program()` leave; the scale is first."""

    @abstractmethod
    def value_above(self, value: Number) -> Number:
        """The least possible value of the first component above this one, as far as is known."""


def limit_unit(problem: Any) -> int:
    """The factor that converts the first component to a limit (`Limited`)."""
    return int(problem.components[0].sign)


def fault_of(problem: Any, before: tuple[Number, ...], decisions: Iterator[Any]) -> str | None:
    """The fault of a problem's program: it lacks a feasible decision, or costs more than it; None if there is none.

    A proof over a program says nothing about a decision that the program lacks, so an "optimum" might be beaten.

    Parameters
    ----------
    problem
        `Programmed`.
    before
        As in `Programmed.program`; decisions that are worse in an earlier component are skipped.
    decisions
        What to try; infeasible ones are skipped.
    """
    program = problem.program(before)
    limited = limit_unit(problem) if isinstance(problem, Limited) else None
    units = [limited or problem.program(before[:number]).unit for number in range(len(before))] + [program.unit]
    costs = program.numbers.objective.tolist()
    for decision in decisions:
        if problem.violations(decision):
            continue
        *first, worth = (value * unit for value, unit in zip(problem.evaluate(decision), units, strict=False))
        if any(value > limit for value, limit in zip(first, before, strict=True)):
            continue
        values = problem.values_of(decision, program)
        cost = sum(each * number for each, number in zip(costs, values.tolist(), strict=True))
        wrong = program.broken(values) or (
            f"it costs {cost} units, and not {worth}" if cost > math.ceil(worth) else None
        )
        if wrong is not None:
            text = str(decision.to_dict(problem)) if hasattr(decision, "to_dict") else repr(decision)
            shown = text if len(text) < 120 else f"{text[:116]} ..."
            return f"the program does not have the feasible {problem.decided.noun} {shown}: {wrong}"
    return None


def samples(problem: Problem, around: Any = None) -> Iterator[Any]:
    """Placements for checking a program: all of a small problem, else those on a walk through a large one.

    Each step of the walk moves a task or swaps two. It is taken if the placement violates no more and costs no more, by
    the problem's own definition. So a walk from an "optimum" finds what is better nearby, which a wrong program lacks.
    The walk is the same each time. Some of its placements are infeasible.

    Parameters
    ----------
    around
        The placement where the walk begins; None: no task is placed.
    """
    tasks, nodes = len(problem.tasks), len(problem.instance.cluster)
    if (nodes + 1) ** tasks <= _ALL:
        yield from map(problem.placement, itertools.product(range(NONE, nodes), repeat=tasks))
        return

    def rank(placement: Any) -> tuple[Any, ...]:
        if violations := problem.violations(placement):
            return True, sum(abs(entry.amount) for entry in violations)
        return False, *problem.minimised(problem.evaluate(placement))

    rng = np.random.default_rng(0)
    held = problem.placement(np.full(tasks, NONE)) if around is None else around
    least = rank(held)
    yield held
    for _ in range(_DRAWN):
        chosen = problem.nodes_of(held).copy()
        first, second = rng.integers(0, tasks, 2)
        swap = bool(rng.integers(2)) and chosen[first] != chosen[second]
        chosen[first], chosen[second] = chosen[second], chosen[first] if swap else rng.integers(NONE, nodes)
        drawn = problem.placement(chosen)
        yield drawn
        if (found := rank(drawn)) <= least:
            held, least = drawn, found
