"""The program of an assignment problem: tasks of a class counted on nodes, in racks and anywhere, within the slots.

Each task is in a class, which is in a pool, and all are in the number of the placed; each node is in a rack. So each
column is in nested rows of two sorts: the matrix is that of a network, and every vertex is whole.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import Self

import numpy as np

from optsched.core.instance import Ints, Ragged
from optsched.core.placement import NONE, Placement
from optsched.core.results import Number
from optsched.problems.assignment import AssignmentProblem, Places, TaskClasses
from optsched.problems.base import Problem
from optsched.problems.programs import Builder, Program
from optsched.problems.relaxations import UNBOUNDED

__all__ = ["AssignmentProgram", "CountedPlaces", "enter_columns", "enter_places", "enter_steps", "filled"]


class CountedPlaces(Problem):
    """A problem whose program counts the tasks of each class in places, from columns to decisions and back.

    Attributes
    ----------
    capacity, count
        int64, shape (nodes,): slots of each node; how many tasks are placed.
    """

    capacity: Ints
    count: int

    @abstractmethod
    def classes(self) -> TaskClasses:
        """Tasks that the problem does not tell apart, which are held as `_classes`."""

    @cached_property
    def places(self) -> Places:
        """The places in which the tasks of each class are counted."""
        return self.every_place()

    @abstractmethod
    def every_place(self) -> Places:
        """Each class on each node that its tasks may use."""

    def apart(self) -> Self:
        """The same problem with each task as a class of its own, which is counted on each node that it may use."""
        view = copy.copy(self)
        for name in [name for name in vars(view) if isinstance(getattr(type(view), name, None), cached_property)]:
            del vars(view)[name]  # it may depend on the classes
        vars(view)["_classes"] = TaskClasses.from_keys(range(len(self.tasks)))
        vars(view)["places"] = view.every_place()
        assert len(view.classes().first) == len(self.tasks)
        return view

    def place_values(self, decision: Placement) -> Ints:
        """The values of the variables of the places."""
        classes, places, nodes = self.classes(), self.places, self.nodes_of(decision)
        placed = np.flatnonzero(nodes != NONE)
        owner, node, rack = classes.of_task[placed], nodes[placed], self.instance.cluster.rack
        counts = []
        for near, place_of in ((places.on_node, np.arange(len(rack))), (places.in_rack, rack)):
            found = _entries(near, owner, place_of[node])
            counts.append(np.bincount(found[found >= 0], minlength=len(near.values)))
            owner, node = owner[found < 0], node[found < 0]
        if places.anywhere:
            counts.append(np.bincount(owner, minlength=len(classes.first)))
        return np.concatenate(counts).astype(np.int64)

    def decision_of(self, values: Ints, program: Program) -> Placement:
        """Tasks on their nodes first; then those in racks, and those anywhere, take the slots that are left there."""
        places, rack = self.places, self.instance.cluster.rack
        waiting = [iter(members.tolist()) for members in self.classes().members]
        nodes = np.full(len(self.tasks), NONE, dtype=np.int64)

        def give(owners: Ints, number: Ints, hosts: Ints) -> None:
            for owner, host in zip(np.repeat(owners, number).tolist(), hosts.tolist(), strict=True):
                nodes[next(waiting[owner])] = host

        def left() -> Ints:
            """The node of each slot that is left."""
            return np.repeat(
                np.arange(len(rack)), self.capacity - np.bincount(nodes[nodes != NONE], minlength=len(rack))
            )

        split = np.cumsum([len(places.on_node.values), len(places.in_rack.values)])
        number, racked, anywhere = np.split(values[: len(places.units)], split)
        give(places.on_node.row_of, number, np.repeat(places.on_node.values, number))
        if not places.anywhere:
            return self.placement(nodes)
        slots = left()
        slots = slots[np.argsort(rack[slots], kind="stable")]
        asked = np.repeat(places.in_rack.values, racked)
        order = np.argsort(asked, kind="stable")
        rank = np.arange(len(asked)) - np.searchsorted(asked[order], asked[order])
        hosts = np.empty_like(asked)
        hosts[order] = slots[np.searchsorted(rack[slots], asked[order]) + rank]
        give(places.in_rack.row_of, racked, hosts)
        give(np.arange(len(anywhere)), anywhere, left()[: int(anywhere.sum())])
        return self.placement(nodes)


class AssignmentProgram(AssignmentProblem, CountedPlaces):
    """An assignment problem with the program of its costs.

    Attributes
    ----------
    cost_name
        What a model calls the cost of a task in a place; empty: nothing.
    """

    cost_name = ""

    def program(self, before: tuple[Number, ...] = ()) -> Program:
        """Least cost of the places and of the pools' tiers; a pool with one tier adds that to its tasks' places."""
        builder, pool = Builder(), self.pool[self.classes().first]
        single = np.array([steps[0][0] if len(steps) == 1 else 0 for steps in self._filled_tiers], dtype=np.int64)
        columns, owner = enter_places(self, builder, single[pool], self.cost_name)
        tiers = {number: steps for number, steps in enumerate(self._filled_tiers) if len(steps) > 1}
        names = [pool.name for pool in self.pools]
        enter_steps(
            builder,
            "pool_tier",
            {names[of]: steps for of, steps in tiers.items()},
            columns,
            [names[of] for of in pool[owner].tolist()],
        )
        return builder.program(unit=self.grid)

    @property
    def _filled_tiers(self) -> list[list[tuple[int, int]]]:
        """The tiers of each pool that have room."""
        return [[(units, size) for units, size in pool.tiers if size] for pool in self.pools]

    def values_of(self, decision: Placement, program: Program) -> Ints:
        placed = self.nodes_of(decision) != NONE
        counts = np.bincount(self.pool[placed], minlength=len(self.pools)).tolist()
        steps = zip(self._filled_tiers, counts, strict=True)
        tiers = [filled([size for _, size in tiers], count) for tiers, count in steps if len(tiers) > 1]
        return np.concatenate([self.place_values(decision), *tiers])


def _entries(rows: Ragged, row: Ints, value: Ints) -> Ints:
    """The position of each value (at least -1) among those of its row, or -1 where it is not there.

    >>> _entries(Ragged.from_rows([[3], [1, 3]]), np.array([1, 0, 0]), np.array([3, 1, -1])).tolist()
    [2, -1, -1]
    """
    width = 2 + int(max(rows.values.max(initial=0), value.max(initial=0)))
    keys, asked = rows.row_of * width + rows.values, row * width + value
    order = np.argsort(keys)
    place = np.append(order, -1)[np.searchsorted(keys, asked, sorter=order)]
    known: Ints = np.where((place >= 0) & (value >= 0) & (np.append(keys, -1)[place] == asked), place, -1)
    return known


def enter_columns(
    problem: CountedPlaces, builder: Builder, extra: Ints | None, cost_name: str = ""
) -> tuple[list[Ints], Ints]:
    """Add the variables of the places.

    Parameters
    ----------
    problem
        What is posed.
    builder
        Has nothing yet.
    extra
        int64, shape (classes,): what a task of each class pays wherever it is; None: nothing costs anything.
    cost_name
        What a model calls the cost of a task on a node; empty: nothing.

    Returns
    -------
    tuple
        The columns of the places on nodes, in racks and anywhere; and the class of each.
    """
    workload, cluster = problem.instance.workload, problem.instance.cluster
    classes, places = problem.classes(), problem.places
    tasks = workload.task_ids[problem.tasks]
    names, on_node, in_rack = tasks[classes.first], places.on_node, places.in_rack
    anywhere = np.arange(len(names) if places.anywhere else 0)
    owner = np.concatenate([on_node.row_of, in_rack.row_of, anywhere])
    costs = np.zeros(len(owner), dtype=np.int64) if extra is None else places.units + extra[owner]
    families: tuple[tuple[str, str, Ints, list[np.ndarray], str], ...] = (
        ("place", "PAIRS", on_node.row_of, [cluster.node_ids[on_node.values]], "tasks of the class on the node"),
        (
            "place_in_rack",
            "RACK_PAIRS",
            in_rack.row_of,
            [cluster.rack_ids[in_rack.values]],
            "tasks on slots of the rack",
        ),
        ("place_anywhere", "CLASSES", anywhere, [], "tasks on whichever slots"),
    )
    columns, first = [], 0
    for name, over, of, where, doc in families:
        if len(of) or name == "place":
            labels = list(zip(names[of].tolist(), *(place.tolist() for place in where), strict=True))
            cost = costs[first : first + len(of)]
            columns.append(
                builder.variables(
                    name,
                    labels,
                    upper=classes.size[of],
                    cost=cost,
                    over=over,
                    doc=doc,
                    cost_name=cost_name if name == "place" else "",
                )
            )
            first += len(of)
    members = [tuple(tasks[row].tolist()) for row in classes.members]
    listed = dict(zip(names.tolist(), members, strict=True))
    builder.group("members", "CLASSES", listed, place=0, place_in_rack=0, place_anywhere=0)
    return columns, owner


def enter_places(
    problem: CountedPlaces, builder: Builder, extra: Ints | None, cost_name: str = ""
) -> tuple[Ints, Ints]:
    """Like `enter_columns`, with the rows of classes and slots; returns the column of each place, and its class."""
    columns, owner = enter_columns(problem, builder, extra, cost_name)
    classes, every = problem.classes(), np.concatenate(columns)
    names = problem.instance.workload.task_ids[problem.tasks[classes.first]]
    supply = builder.rows(
        "class_supply",
        [(name,) for name in names.tolist()],
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
    _enter_slots(problem, builder, columns)
    return every, owner


def _enter_slots(problem: CountedPlaces, builder: Builder, columns: list[Ints]) -> None:
    """Add the slots of the nodes and racks for the tasks that are counted there; all others find one."""
    cluster, places = problem.instance.cluster, problem.places
    nodes, at = np.unique(places.on_node.values, return_inverse=True)
    node_slots = builder.rows(
        "node_slots",
        [(name,) for name in cluster.node_ids[nodes].tolist()],
        upper=problem.capacity[nodes],
        over="NODES",
        doc="no node takes more than its slots",
    )
    builder.enter(node_slots[at], columns[0])
    near = np.unique(places.in_rack.values)
    if not len(near):
        return
    known = cluster.rack >= 0
    slots = np.bincount(cluster.rack[known], problem.capacity[known], len(cluster.rack_ids)).astype(np.int64)
    row_of = np.full(len(cluster.rack_ids) + 1, -1, dtype=np.int64)  # the last is that of nodes without a rack
    row_of[near] = builder.rows(
        "rack_slots",
        [(name,) for name in cluster.rack_ids[near].tolist()],
        upper=slots[near],
        over="RACKS",
        doc="no rack takes more than its slots",
    )
    inside = row_of[cluster.rack[places.on_node.values]]
    builder.enter(inside[inside >= 0], columns[0][inside >= 0])
    builder.enter(row_of[places.in_rack.values], columns[1])


def enter_steps(
    builder: Builder,
    name: str,
    steps: dict[str, list[tuple[int, int]]],
    columns: Ints,
    pool_of: Iterable[str],
) -> None:
    """Add what the placed tasks of a pool cost by their number, the cheapest step first.

    Parameters
    ----------
    builder
        Has the places.
    name
        `pool_tier`, say, for the variables `tier` and the rows `pool_tiers`.
    steps
        Cost and number of tasks of each step, by the pool.
    columns, pool_of
        The columns of the places, and the pool of each.
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
    """How many tasks go on each of the steps of these sizes, `count` in all, the first steps first.

    >>> filled([2, 1, 3], 4).tolist()
    [2, 1, 1]
    """
    before = np.cumsum([0, *sizes])
    taken: Ints = np.clip(count - before[:-1], 0, np.diff(before)).astype(np.int64)
    return taken
