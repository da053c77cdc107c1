"""The integer program of `worst-group` with limits on what groups pay: what a tree of cases needs of it.

Tasks that are alike are a class. A class has so many tasks on each node with its data, in each rack with its data, and
anywhere; the slots of a node, of a rack and of all are not exceeded. A task in a rack, or anywhere, gets its slot
there afterwards, so that each placement is a solution of the same cost, and each solution a placement of no more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optsched.core.instance import Ints
from optsched.problems.counted_room import count_limits
from optsched.problems.relaxations import UNBOUNDED, IntegerProgram
from optsched.problems.worst_group import WorstGroup

__all__ = ["GroupProgram", "group_limits"]


def group_limits(problem: WorstGroup, most: Sequence[int]) -> list[tuple[int, int, int, int]] | None:
    """Limits on numbers of tasks in the place of those on what groups pay: (group, a, b, c) as of `count_limits`.

    None where how many tasks pay the cost at the data is open.
    """
    on_node, in_rack, off_rack = problem.levels
    if on_node and problem.count < len(problem.tasks):
        return None
    near, far = in_rack - on_node, off_rack - on_node
    return [
        (group, *limit)
        for group, size in enumerate(problem.sizes)
        for limit in count_limits(size, near, far, most[group] - on_node * size)
    ]


class GroupProgram:
    """The program of the least locality cost where each group pays no more than a limit.

    Parameters
    ----------
    problem
        In which something is placed.
    most
        What each group pays at most (`WorstGroup.most_within`).
    costless
        Whether nothing counts but whether there is a solution: all costs are 0 then.

    Attributes
    ----------
    program
        A variable for each class and each place of it, nodes first, then racks, then anywhere.
    names
        What certificates call each variable: a task of the class, the kind of the place, and its id.

    Examples
    --------
    >>> from optsched.instances.files import load
    >>> problem = WorstGroup(load("examples/worst-group"))
    >>> sorted({name[1] for name in GroupProgram(problem, problem.most_within(0)).names})
    ['anywhere', 'node']
    """

    def __init__(self, problem: WorstGroup, most: Sequence[int], costless: bool = False) -> None:
        classes = problem.classes()
        local, racked = problem.idle_replicas.take(classes.first), problem.idle_racks.take(classes.first)
        every, rack = np.arange(len(classes.size)), problem.rack
        owner = np.concatenate([local.row_of, racked.row_of, every])
        level = np.repeat(problem.levels, [len(local.values), len(racked.values), len(every)]).astype(np.int64)
        tasks = problem.instance.workload.task_ids[problem.tasks[classes.first]][owner].tolist()
        nodes, racks = problem.instance.cluster.node_ids, problem.instance.cluster.rack_ids
        places = [("node", name) for name in nodes[local.values].tolist()]
        places += [("rack", name) for name in racks[racked.values].tolist()]
        places += [("anywhere", "")] * len(every)
        self.names: list[tuple[str, ...]] = [(task, *place) for task, place in zip(tasks, places, strict=True)]

        rows = _Rows()
        whole = problem.count == len(problem.tasks)
        for number, size in enumerate(classes.size.tolist()):
            rows.add(np.flatnonzero(owner == number), 1, size if whole else 0, size)
        if not whole:
            rows.add(np.arange(len(owner)), 1, problem.count, problem.count)
        first = len(local.values)
        for node in np.unique(local.values).tolist():
            rows.add(np.flatnonzero(local.values == node), 1, -UNBOUNDED, int(problem.capacity[node]))
        for number in np.unique(racked.values).tolist():
            inside = np.append(
                np.flatnonzero(rack[local.values] == number), first + np.flatnonzero(racked.values == number)
            )
            rows.add(inside, 1, -UNBOUNDED, int(problem.capacity[rack == number].sum()))
        group = problem.pool[classes.first][owner]
        limits = group_limits(problem, most)
        for number, near, far, limit in limits or ():
            paid = np.select([level == problem.levels[0], level == problem.levels[2]], [0, far], near)
            rows.add(np.flatnonzero(group == number), paid[group == number], -UNBOUNDED, limit)
        for number, limit in enumerate(most) if limits is None else ():
            rows.add(np.flatnonzero(group == number), level[group == number], -UNBOUNDED, limit)
        upper = classes.size[owner]
        self.program = rows.program(level * (not costless), upper)


class _Rows:
    """Rows of a program as they come."""

    def __init__(self) -> None:
        self._columns: list[Ints] = []
        self._values: list[Ints] = []
        self._limits: list[tuple[int, int]] = []

    def add(self, columns: Ints, value: Ints | int, lower: int, upper: int) -> None:
        """A row with these values in these columns."""
        self._columns.append(columns)
        self._values.append(np.broadcast_to(np.asarray(value, dtype=np.int64), columns.shape))
        self._limits.append((lower, upper))

    def program(self, objective: Ints, upper: Ints) -> IntegerProgram:
        """The program: columns from 0 to `upper`."""
        row = np.repeat(np.arange(len(self._columns)), [len(columns) for columns in self._columns])
        lower_, upper_ = np.array(self._limits, dtype=np.int64).T
        column, value = np.concatenate(self._columns), np.concatenate(self._values)
        return IntegerProgram(objective, row, column, value, lower_, upper_, np.zeros_like(upper), upper)
