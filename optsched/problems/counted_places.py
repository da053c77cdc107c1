"""Problems whose programs count tasks in places: those of a class on nodes, in racks and anywhere, within the slots.

Each task is in a class, and each node in wider and wider areas. Unless something else limits the places, each column of
the program is in two families of nested rows. So the matrix is that of a network, and every vertex is integral.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from optsched.core.arrays import Strings, rank_among
from optsched.core.instance import Bools, Ints, Ragged
from optsched.core.placement import NONE, Placement
from optsched.problems.base import Problem
from optsched.problems.programs import Builder, Members, Program, Zipped
from optsched.problems.relaxations import UNBOUNDED


@dataclass(frozen=True, eq=False)
class TaskClasses:
    """Tasks that no constraint and no cost distinguishes: the class of each of `problem.tasks`.

    `first` is one member of each class (its position in `problem.tasks`), `size` the number of members.
    """

    of_task: Ints
    first: Ints
    size: Ints

    @cached_property
    def members(self) -> Ragged:
        """Positions in `problem.tasks` of the members of each class."""
        return Ragged.of_lengths(self.size, np.argsort(self.of_task, kind="stable"))

    def dealt(self, owner: Ints, node: Ints) -> Ints:
        """Node of each task, or -1: the members of a class are interchangeable and take its nodes in turn.

        `owner` and `node` are the class and the node of each placed task, in any order.
        """
        members, order = self.members, np.argsort(owner, kind="stable")
        rank = rank_among(owner[order])
        nodes = np.full(len(self.of_task), NONE, dtype=np.int64)
        nodes[members.values[members.starts[owner[order]] + rank]] = node[order]
        return nodes

    @classmethod
    def from_keys(cls, keys: Sequence[object]) -> TaskClasses:
        """One class for each distinct key, in the order of first appearance."""
        numbers: dict[object, int] = {}
        return cls._numbered(np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64))

    @classmethod
    def from_rows(cls, label: Ints, *rows: Ragged) -> TaskClasses:
        """One class for each distinct label with rows (of numbers, at least 0), in the order of first appearance.

        The result is that of `from_keys` for tuples, without a tuple for each task. A label is a number or, if `label`
        has two dimensions, a row of numbers.

        >>> TaskClasses.from_rows(np.array([[7, 1], [7, 2], [7, 1]])).of_task.tolist()
        [0, 1, 0]
        """
        number = np.zeros(len(label), dtype=np.int64)
        for column in label.T if label.ndim > 1 else [label]:
            values, place = np.unique(column, return_inverse=True)
            number = np.unique(number * len(values) + place.ravel(), return_inverse=True)[1].astype(np.int64).ravel()
        for ragged in rows:
            beyond = int(ragged.values.max(initial=0)) + 1
            for position in range(int(ragged.lengths.max(initial=0))):
                # Tasks whose row ends here keep their number; the others get a new one.
                longer = np.flatnonzero(ragged.lengths > position)
                keys = number[longer] * beyond + ragged.values[ragged.starts[longer] + position]
                number[longer] = int(number.max()) + 1 + np.unique(keys, return_inverse=True)[1].ravel()
            number = np.unique(number, return_inverse=True)[1].astype(np.int64).ravel()
        return cls._numbered(number)

    @classmethod
    def _numbered(cls, number: Ints) -> TaskClasses:
        """One class for each distinct number, in the order of first appearance."""
        first, inverse = np.unique(number, return_index=True, return_inverse=True)[1:]
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        of_task = rank[inverse.ravel()].astype(np.int64)
        return cls(of_task, first[order].astype(np.int64), np.bincount(of_task, minlength=len(order)).astype(np.int64))


class Level(NamedTuple):
    """Places of one width (nodes, racks, or wider areas): for each class the areas in which its tasks are counted.

    `of_node` is the area of each node, or -1. All nodes of an area are in one area of the next level. `ids` are the
    names of the areas.
    """

    areas: Ragged
    of_node: Ints
    ids: Strings


@dataclass(frozen=True, eq=False)
class Places:
    """The places in which a program counts the tasks of each class: nodes, and then wider areas.

    In wider areas and `anywhere` (if such tasks are counted), tasks get any free slot afterwards. `units` is what a
    task pays in each place: those of the levels in order, then anywhere.
    """

    levels: tuple[Level, ...]
    anywhere: bool
    units: Ints

    @property
    def on_node(self) -> Ragged:
        """For each class the nodes on which its tasks are counted."""
        return self.levels[0].areas

    @property
    def row_of(self) -> Ints:
        """The class of each place."""
        every = np.arange(len(self.on_node) if self.anywhere else 0)
        return np.concatenate([*(level.areas.row_of for level in self.levels), every])


class CountedPlaces(Problem):
    """A problem whose program counts the tasks of each class in places; converts columns to decisions and back."""

    #: Slots of each node; and how many tasks are placed.
    capacity: Ints
    count: int

    @abstractmethod
    def classes(self) -> TaskClasses:
        """Tasks that the problem does not distinguish, kept in `_classes`."""

    @cached_property
    def places(self) -> Places:
        """The places in which the tasks of each class are counted."""
        return self.every_place()

    @abstractmethod
    def every_place(self) -> Places:
        """Each class on each node that its tasks may use."""

    def places_on(self, nodes: Ragged, units: Ints) -> Places:
        """The places of each class on only these nodes, with these units."""
        level = Level(nodes, np.arange(len(self.instance.cluster)), self.instance.cluster.node_ids)
        return Places((level,), False, units)

    def places_of_table(self, usable: Bools, units: Ints) -> Places:
        """The places of each class (row) on the nodes that it may use, with these units."""
        return self.places_on(Ragged.of_lengths(usable.sum(axis=1), np.nonzero(usable)[1]), units[usable])

    def with_places(self, places: Places) -> Self:
        """The same problem with other places in its program."""
        view = copy.copy(self)
        vars(view)["places"] = places
        return view

    def apart(self) -> Self:
        """The same problem with each task as its own class, counted on each node that it may use."""
        view = copy.copy(self)
        for name in [name for name in vars(view) if isinstance(getattr(type(view), name, None), cached_property)]:
            del vars(view)[name]  # it may depend on the classes
        vars(view)["_classes"] = TaskClasses.from_keys(range(len(self.tasks)))
        vars(view)["places"] = view.every_place()
        assert len(view.classes().first) == len(self.tasks)
        return view

    def place_values(self, decision: Placement) -> Ints:
        """The values of the variables of the places."""
        classes, nodes = self.classes(), self.nodes_of(decision)
        placed = np.flatnonzero(nodes != NONE)
        owner, node = classes.of_task[placed], nodes[placed]
        counts = []
        for level in self.places.levels:
            found = _entries(level.areas, owner, level.of_node[node])
            counts.append(np.bincount(found[found >= 0], minlength=len(level.areas.values)))
            owner, node = owner[found < 0], node[found < 0]
        if self.places.anywhere:
            counts.append(np.bincount(owner, minlength=len(classes.first)))
        return np.concatenate(counts).astype(np.int64)

    def decision_of(self, values: Ints, program: Program) -> Placement:
        """Tasks on their nodes first; then those in racks, and those anywhere, take the remaining slots there."""
        places = self.places
        counts = np.split(values[: len(places.units)], np.cumsum([len(level.areas.values) for level in places.levels]))
        owner = np.repeat(places.row_of, np.concatenate(counts))
        node = np.repeat(places.on_node.values, counts[0])
        wider = [(level.of_node, level.areas.values) for level in places.levels[1:]]
        every = np.zeros(len(self.instance.cluster), dtype=np.int64), np.zeros(len(counts[-1]), dtype=np.int64)
        for (of_node, areas), number in zip([*wider, every], counts[1:], strict=True):
            if number.any():
                left = self.capacity - np.bincount(node, minlength=len(of_node))
                node = np.append(node, _free_slots(left, of_node, np.repeat(areas, number)))
        return self.placement(self.classes().dealt(owner, node))


def _free_slots(left: Ints, of_node: Ints, areas: Ints) -> Ints:
    """The node of a free slot in each of some distinct areas; `left` is each node's free slots."""
    inside = np.flatnonzero(of_node >= 0)
    inside = inside[np.argsort(of_node[inside], kind="stable")]
    last = np.cumsum(left[inside])
    order = np.argsort(areas, kind="stable")
    wanted = areas[order]
    before = (last - left[inside])[np.searchsorted(of_node[inside], wanted)]
    nodes = np.empty_like(areas)
    nodes[order] = inside[np.searchsorted(last, before + rank_among(wanted), side="right")]
    return nodes


def _entries(rows: Ragged, row: Ints, value: Ints) -> Ints:
    """The position of each value (at least -1) within its row, or -1 if it is not there.

    >>> _entries(Ragged.from_rows([[3], [1, 3]]), np.array([1, 0, 0]), np.array([3, 1, -1])).tolist()
    [2, -1, -1]
    """
    width = 2 + int(max(rows.values.max(initial=0), value.max(initial=0)))
    keys, asked = rows.row_of * width + rows.values, row * width + value
    order = np.argsort(keys)
    place = np.append(order, -1)[np.searchsorted(keys, asked, sorter=order)]
    known: Ints = np.where((place >= 0) & (value >= 0) & (np.append(keys, -1)[place] == asked), place, -1)
    return known


#: Names of the variables of a level, of their set, and a description; the same for the rows of its slots.
_LEVELS = (
    ("place", "PAIRS", "tasks of the class on the node", "node_slots", "NODES", "node"),
    ("place_in_rack", "RACK_PAIRS", "tasks on slots of the rack", "rack_slots", "RACKS", "rack"),
)


def _words(level: int) -> tuple[str, str, str, str, str, str]:
    if level < len(_LEVELS):
        return _LEVELS[level]
    name = f"area{level}"
    return f"place_in_{name}", f"{name}_PAIRS", "tasks on slots of the area", f"{name}_slots", f"{name}_AREAS", "area"


def enter_columns(problem: CountedPlaces, builder: Builder, extra: Ints | None, cost_name: str = "") -> list[Ints]:
    """Add the variables of the places to an empty builder; returns their columns for each level, and for anywhere.

    `extra` is what a task of each class pays in any place; None: nothing costs anything. `cost_name` is a model's name
    for the cost of a task on a node; empty: it has none.
    """
    classes, places = problem.classes(), problem.places
    tasks = problem.task_ids
    names, owner = tasks[classes.first], places.row_of
    costs = np.zeros(len(owner), dtype=np.int64) if extra is None else places.units + extra[owner]
    families = [(*_words(number)[:3], level.areas.row_of, level) for number, level in enumerate(places.levels)]
    anywhere = np.arange(len(names) if places.anywhere else 0)
    columns, first = [], 0
    for name, over, doc, of, level in (*families, ("place_anywhere", "CLASSES", "tasks on any slots", anywhere, None)):
        if len(of) or name == "place":
            where = [] if level is None else [level.ids[level.areas.values]]
            columns.append(
                builder.variables(
                    name,
                    Zipped(names[of], *where),
                    upper=classes.size[of],
                    cost=costs[first : first + len(of)],
                    over=over,
                    doc=doc,
                    cost_name=cost_name if name == "place" else "",
                )
            )
            first += len(of)
        else:
            columns.append(of)
    builder.group(
        "members", "CLASSES", Members(names, classes.members, tasks), place=0, place_in_rack=0, place_anywhere=0
    )
    return columns


def enter_places(
    problem: CountedPlaces, builder: Builder, extra: Ints | None, cost_name: str = ""
) -> tuple[Ints, Ints]:
    """Like `enter_columns`, with the rows of classes and slots; returns the column and the class of each place."""
    columns, owner = enter_columns(problem, builder, extra, cost_name), problem.places.row_of
    classes, every = problem.classes(), np.concatenate(columns)
    names = problem.task_ids[classes.first]
    supply = builder.rows(
        "class_supply",
        Zipped(names),
        lower=classes.size if problem.count == len(problem.tasks) else -UNBOUNDED,
        upper=classes.size,
        over="CLASSES",
        doc="no more tasks than the class has",
    )
    builder.enter(supply[owner], every)
    if problem.count < len(problem.tasks):
        placed = builder.rows(
            "cardinality", [()], lower=problem.count, upper=problem.count, doc="count tasks are placed"
        )
        builder.enter(placed, every)
    for number in range(len(problem.places.levels)):
        _enter_slots(problem, builder, columns, number)
    return every, owner


def _enter_slots(problem: CountedPlaces, builder: Builder, columns: list[Ints], number: int) -> None:
    """Add the slots of a level's areas for the tasks counted there; all other tasks find a slot."""
    levels = problem.places.levels
    areas, of_node, ids = levels[number]
    used = np.unique(areas.values)
    if number and not len(used):
        return
    known = of_node >= 0
    slots = np.bincount(of_node[known], problem.capacity[known], len(ids)).astype(np.int64)
    *_, name, over, noun = _words(number)
    row_of = np.full(len(ids) + 1, -1, dtype=np.int64)  # the last entry is for nodes without an area
    row_of[used] = builder.rows(
        name,
        Zipped(ids[used]),
        upper=slots[used],
        over=over,
        doc=f"no {noun} takes more than its slots",
    )
    for inner, own in zip(levels[: number + 1], columns, strict=False):
        a_node = np.zeros(len(inner.ids), dtype=np.int64)
        a_node[inner.of_node[inner.of_node >= 0]] = np.flatnonzero(inner.of_node >= 0)
        rows = row_of[of_node[a_node[inner.areas.values]]]
        builder.enter(rows[rows >= 0], own[rows >= 0])


def enter_steps(
    builder: Builder,
    name: str,
    steps: dict[str, list[tuple[int, int]]],
    columns: Ints,
    pool_of: Iterable[str],
) -> None:
    """Add a pool's cost by its number of placed tasks, the cheapest step first.

    `name` is, say, `pool_tier`; then the variables are `tier` and the rows `pool_tiers`. `steps` has cost and number of
    tasks of each step, by pool; `pool_of` is the pool of each of the places' columns.
    """
    if not steps:
        return
    labels = [(pool, number) for pool, listed in steps.items() for number in range(1, len(listed) + 1)]
    cost, size = np.array([step for listed in steps.values() for step in listed], dtype=np.int64).reshape(-1, 2).T
    word = name.partition("_")[2]
    taken = builder.variables(
        word, labels, upper=size, cost=cost, over=f"{word.upper()}S", doc="tasks of the pool, by what one more costs"
    )
    number = {pool: row for row, pool in enumerate(steps)}
    rows = builder.rows(f"{name}s", [(pool,) for pool in steps], lower=0, upper=0, doc="the placed are in the steps")
    row_of = np.array([number.get(pool, -1) for pool in pool_of], dtype=np.int64)
    builder.enter(rows[row_of[row_of >= 0]], columns[row_of >= 0])
    builder.enter(rows[[number[pool] for pool, _ in labels]], taken, -1)


def filled(sizes: list[int], count: int) -> Ints:
    """How many of `count` tasks go on each step, given the sizes of the steps; the first steps are filled first.

    >>> filled([2, 1, 3], 4).tolist()
    [2, 1, 1]
    """
    before = np.cumsum([0, *sizes])
    taken: Ints = np.clip(count - before[:-1], 0, np.diff(before)).astype(np.int64)
    return taken
