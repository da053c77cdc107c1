"""Integer programs of problems as data: named integer variables and rows with bounds.

A `Programmed` problem has a program in addition to its definition. Code that all problems share derives from it: arrays
for HiGHS, models with the same names, sizes, starts, the linear bound, and a tree of cases that proves the optimum (the
modules `programs` of `optsched.routes`, `optsched.models` and `optsched.certificates`). The program is no second
definition: `program_audit` holds it against `objective` and `violations`, both ways.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from optsched.core.arrays import Strings
from optsched.core.brief import counted
from optsched.core.deprecated import Renamed
from optsched.core.errors import UsageError
from optsched.core.instance import Ints, Ragged
from optsched.core.results import Number
from optsched.problems.foreign import WrongAnswer, answered, hold
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
    "labelled",
    "limit_unit",
    "summed",
]

#: The label of a variable or row in its family: texts, whole numbers, or None for "nowhere".
Label = tuple[Any, ...]


class Zipped(Sequence[Label]):
    """Labels whose parts are columns of ids; large programs that are not models never list them.

    >>> Zipped(np.array(["t", "u"]), np.array(["a", "b"]))[1]
    ('u', 'b')
    """

    def __init__(self, *parts: npt.NDArray[Any]) -> None:
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


@dataclass(frozen=True)
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

    @cached_property
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
        return _slice_of(self.variables, name, "variables")

    def rows_of(self, name: str) -> slice:
        """The positions of a family of rows."""
        return _slice_of(self.rows, name, "rows")

    def broken(self, values: Ints) -> str | None:
        """The first bound or row that the values violate, by its name; None: none.

        >>> builder = Builder()
        >>> x = builder.variables("x", [("a",), ("b",)], upper=1)
        >>> builder.enter(builder.rows("one", [("of both",)], lower=1, upper=1), x)
        >>> builder.program().broken(np.array([1, 1]))
        'one[of both] is 2, and must be 1 to 1'
        """
        numbers = self.numbers
        most = int(np.abs(numbers.value).max(initial=0)) * int(np.abs(values).max(initial=0)) * len(numbers.value)
        kind = np.int64 if most < UNBOUNDED else object  # so that no sum is past int64
        sums = np.zeros(len(numbers.row_lower), dtype=kind)
        np.add.at(sums, numbers.row, numbers.value.astype(kind) * values[numbers.column])
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


def _slice_of(families: Sequence[Family], name: str, what: str) -> slice:
    for family in families:
        if family.name == name:
            return slice(family.first, family.first + len(family.labels))
    raise LookupError(f'the program has no {what} "{name}"; it has {", ".join(family.name for family in families)}')


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
        #: The names of all parts of a model, except its sets; and the labels in each set.
        self._names = {"before", "objective", "program"}
        self._sets: dict[str, Sequence[Label]] = {}
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
        """Add a family of variables; bounds and cost are one for each or one for all. Returns their columns.

        `labels` has one tuple a variable, `[()]` for a single one. `over`: the name of the index set in models.
        `doc`: a phrase. `cost_name`: what models call the costs. `implied`: the others decide these at least cost.
        All numbers are whole; ValueError if one is not, or if models could not have the names.
        """
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
        """Add a family of rows without entries. Returns their numbers.

        ValueError also if a lower bound is over its upper bound.
        """
        found = self._add(self._rows, {"row_lower": lower, "row_upper": upper}, name, labels, over, doc)
        least, most = (self._numbers[key][-1] for key in ("row_lower", "row_upper"))
        if (least > most).any():
            at = int((least > most).argmax())
            bounds = f"{labels[at]!r} has lower={least[at]} over upper={most[at]}"
            raise ValueError(f'Builder.rows("{name}"): {bounds}, which nothing fits; swap them, or leave one out')
        return found

    def columns(self, name: str, labels: Sequence[Label], **options: Any) -> dict[Label, int]:
        """As `variables`; returns the columns by their labels."""
        return dict(zip(labels, self.variables(name, labels, **options).tolist(), strict=True))

    def constrain(self, name: str, terms: Mapping[Label, Mapping[int, int]], **options: Any) -> None:
        """Add a family of rows, as in `rows`, with their entries: for each label its columns and their values."""
        numbers = self.rows(name, list(terms), **options)
        for row, some in zip(numbers.tolist(), terms.values(), strict=True):
            self.enter(row, list(some), list(some.values()))

    def group(self, name: str, over: str, members: Mapping[str, Sequence[str]], **position: int) -> None:
        """Add names of the tasks or nodes that a label counts together; see `Group` for the parameters."""
        self._name(f'Builder.group("{name}")', name)
        self._groups.append(Group(name, over, members, position))

    def enter(self, rows: npt.ArrayLike, columns: npt.ArrayLike, values: npt.ArrayLike = 1) -> None:
        """Add entries; rows, columns and values are broadcast against each other."""
        given = {"row": rows, "column": columns, "value": values}
        parts = {key: _whole("Builder.enter", key, numbers) for key, numbers in given.items()}
        try:
            entries = np.broadcast_arrays(*parts.values())
        except ValueError:
            shapes = ", ".join(f"{key} {part.shape}" for key, part in parts.items())
            raise ValueError(f"Builder.enter: the shapes do not fit together: {shapes}") from None
        for key, part in zip(given, entries, strict=True):
            self._numbers[key].append(part.ravel())

    def program(self, component: int = 0, unit: int = 1) -> Program:
        """The collected program; see `Program` for the parameters."""
        none = np.zeros(0, dtype=np.int64)
        numbers = IntegerProgram(**{key: np.concatenate([none, *parts]) for key, parts in self._numbers.items()})
        for what, used, known in (
            ("row", numbers.row, len(numbers.row_lower)),
            ("column", numbers.column, len(numbers.lower)),
        ):
            if len(used) and not 0 <= used.min() <= used.max() < known:
                raise ValueError(
                    f"Builder.enter: the {what}s are {used.min()} to {used.max()}; there are {known}, from 0"
                )
        if not isinstance(unit, int | np.integer) or not unit:
            raise ValueError(f"Builder.program: the unit {unit!r} must be a whole number other than 0")
        return Program(numbers, tuple(self._variables), tuple(self._rows), component, int(unit), tuple(self._groups))

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
        family = Family(name, labels, over or f"{name}_index", first, *said)
        place = f'Builder.{"rows" if families is self._rows else "variables"}("{name}")'
        self._check(place, family)
        families.append(family)
        for key, given in numbers.items():
            what = "cost" if key == "objective" else key.removeprefix("row_")
            whole = _whole(place, what, given)
            if whole.ndim > 1 or whole.size not in (1, len(labels)):
                wanted = f"give one for each of {counted(len(labels), 'label')}, or one for all"
                raise ValueError(f"{place}: {what} has the shape {whole.shape}; {wanted}")
            self._numbers[key].append(np.broadcast_to(whole, (len(labels),)))
        return np.arange(first, first + len(labels))

    def _name(self, place: str, name: str) -> None:
        """Take a name of a part of a model; ValueError if it is taken, or no identifier."""
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"{place}: {name!r} is no name for models; give an identifier")
        if name in self._names or name in self._sets:
            raise ValueError(f'{place}: there is "{name}" already; give another name')
        self._names.add(name)

    def _check(self, place: str, family: Family) -> None:
        """ValueError if models could not be built of a family."""
        self._name(place, family.name)
        if family.cost:
            self._name(place, family.cost)
        if not family.over.isidentifier() or family.over in self._names:
            raise ValueError(f'{place}: over "{family.over}" is no identifier, or the name of a family')
        labels = family.labels
        if isinstance(labels, Zipped):
            return
        for label in labels:
            if not isinstance(label, tuple) or len(label) != len(labels[0]):
                raise ValueError(
                    f'{place}: a label is a tuple, such as ("rack",), of as many entries as others, not {label!r}'
                )
        if len(set(labels)) < len(labels):
            twice = next(label for label, count in Counter(labels).items() if count > 1)
            raise ValueError(f"{place}: there are two labels {twice!r}; give each once")
        if any(labels) and self._sets.setdefault(family.over, labels) != labels:
            raise ValueError(f'{place}: over "{family.over}" has other labels in another family; give another name')


def _whole(place: str, what: str, given: npt.ArrayLike) -> Ints:
    """Numbers as int64; ValueError if one is not whole."""
    numbers = np.asarray(given)
    try:
        with np.errstate(invalid="ignore"):
            whole: Ints = numbers.astype(np.int64, copy=False)
    except (OverflowError, TypeError, ValueError):
        raise ValueError(f"{place}: the {what} {given!r:.60} is no whole number below 2^63") from None
    if numbers.dtype.kind not in "bi" and (whole != numbers).any():
        wrong = numbers[whole != numbers].flat[0]
        raise ValueError(
            f"{place}: the {what} {wrong} is no whole number; round it, or count in units (`unit` of `Builder.program`)"
        )
    return whole


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


def _program(problem: Any, answer: Any, before: tuple[Number, ...] = (), *_: Any) -> Any:
    if not isinstance(answer, Program):
        raise answered(answer, "a Program: end with builder.program(...)")
    position = len(before)
    component = problem.components[min(position, len(problem.components) - 1)]
    if answer.component != position:
        message = (
            f"is of the component {answer.component}; give builder.program(component={position}): {component.name}"
        )
        raise WrongAnswer(message)
    if answer.unit * component.sign < 0:
        side = "above" if component.sign > 0 else "below"
        raise WrongAnswer(
            f"has the unit {answer.unit}; give one {side} 0, since {component.name} is {component.sense}imised"
        )
    return answer


def _values(problem: Any, answer: Any, decision: Any, program: Program, *_: Any) -> Any:
    number = len(program.numbers.lower)
    if not isinstance(answer, np.ndarray) or answer.dtype.kind not in "iu" or answer.ndim != 1:
        raise answered(answer, f"an array of int64, shape ({number},)")
    if len(answer) != number:
        raise WrongAnswer(f"answered {len(answer)} values; the program has {number}")
    return answer


def _decision(problem: Any, answer: Any, *_: Any) -> Any:
    if not isinstance(answer, problem.decided):
        raise answered(answer, f"a {problem.decided.__name__}, such as self.placement(nodes)")
    return answer


class Programmed(ABC):
    """A problem with an exact program: `objective` and `violations` as rows."""

    leaves_out_worse: ClassVar[bool] = False
    """Whether the program of the first component may lack decisions that are worse than the best."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        hold(cls, {"program": _program, "values_of": _values, "decision_of": _decision})

    @abstractmethod
    def program(self, before: tuple[Number, ...] = ()) -> Program:
        """The program of the first component, or of the one after `before`.

        Parameters
        ----------
        before
            Empty: the first component. Else one number for each earlier component, as its own program counts it:
            component times `unit`, so negative if more is better. Add a row that keeps each (`upper=before[i]`), and
            end with `builder.program(component=len(before), unit=...)`.
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
        """The values of the variables for a feasible decision, int64, shape (variables,).

        Auxiliary variables too (a maximum, say), at their least, so that the cost equals the objective.
        """

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
