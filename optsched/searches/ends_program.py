"""A schedule in which jobs end by given times, and each map runs where it is quickest: a program over nodes and steps.

Maps of a job that take the same time are alike once it is said on which node each of them runs. So the variables are
how many of them start on each node in each step, and which task is on which of its nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from optsched.core.arrays import Floats, Ints
from optsched.core.deadline import check
from optsched.core.instance import KINDS, MAP
from optsched.problems.programs import Builder
from optsched.problems.schedules import ScheduleProblem
from optsched.searches.job_placing import matched
from optsched.searches.program_tree import as_arrays
from optsched.solvers.highs import LinearProgram, solve_uninterrupted
from optsched.solvers.profiles import Profile

__all__ = ["EndsProgram"]

#: Variables have so many coefficients on average at most.
_DENSE = 50


class _Group(NamedTuple):
    """Maps of a job with the same least time, in steps, and for each of them the nodes where it takes that."""

    job: int
    time: int
    release: int
    tasks: list[int]
    homes: list[list[int]]


class _Posed(NamedTuple):
    """A program, and of each group on each node the columns: how many start there at its release, a step later, ..."""

    program: LinearProgram
    starts: dict[tuple[int, int], Ints]


class EndsProgram:
    """Places the maps of a problem within any times by which jobs end; reduces are not looked at.

    Parameters
    ----------
    problem
        One that is not plainly infeasible. All its times are in steps of `problem.lattice`.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Instance, Workload
    >>> from optsched.problems.job_times import JobTimes
    >>> problem = JobTimes(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[10, 20])))
    >>> nodes, starts = EndsProgram(problem).place([3, 2], 100)
    >>> starts.tolist(), EndsProgram(problem).place([2, 2], 100)
    ([20000000, 0], None)
    """

    def __init__(self, problem: ScheduleProblem) -> None:
        self.problem, step = problem, problem.lattice
        self._room = problem.room[KINDS[MAP]]
        self._busy: list[list[int]] = [[] for _ in self._room]
        nodes, until, _ = problem.running_of(MAP)
        for node, end in zip(nodes.tolist(), ((until - problem.now) // step).tolist(), strict=True):
            self._busy[node].append(end)
        job = problem.jobs.of_task[problem.tasks]
        release, time = (problem.release - problem.now) // step, problem.least_times // step
        groups: dict[tuple[int, int, int], list[int]] = {}
        for position in np.flatnonzero(problem.kind == MAP).tolist():
            key = int(job[position]), int(time[position]), int(release[position])
            groups.setdefault(key, []).append(position)
        self._groups = [_Group(*key, tasks, list(map(self._homes, tasks))) for key, tasks in groups.items()]

    def _homes(self, position: int) -> list[int]:
        """The nodes where a task takes its least time."""
        usable = np.flatnonzero(self._room > 0)
        times = self.problem.times.on(np.full(len(usable), position), usable)
        homes: list[int] = usable[times <= self.problem.least_times[position]].tolist()
        return homes

    def place(self, by: Sequence[int], most: int, nodes: int = 20) -> tuple[Ints, Ints] | None:
        """A node and a start (microseconds) of each map; those of reduces are 0.

        Parameters
        ----------
        by
            For each job the step after the snapshot by which its maps end.
        most
            No program with more variables is posed.
        nodes
            So many nodes of its tree are looked at.

        Returns
        -------
        tuple
            int64, shape (tasks,) each; None where the program is too large, or nothing was found.
        """
        posed = self._posed(by, most)
        if posed is None:
            return None
        found = solve_uninterrupted(posed.program, Profile("schedules by ends", node_limit=nodes))
        return None if found.x is None else self._read(posed, found.x)

    def _posed(self, by: Sequence[int], most: int) -> _Posed | None:
        """The program; None where it is too large, or a job has too little time."""
        builder, size, count = Builder(), 0, 0
        starts: dict[tuple[int, int], Ints] = {}
        covers: dict[tuple[int, int], list[int]] = {}
        for number, group in enumerate(self._groups):
            check()
            ticks = by[group.job] - group.time - group.release + 1
            tasks = [task for task, held in enumerate(group.homes) for _ in held]
            homes = [node for held in group.homes for node in held]
            own = builder.variables("on", [()] * len(homes), upper=1)
            builder.enter(builder.rows("once", [()] * len(group.homes), lower=1, upper=1)[tasks], own)
            nodes = sorted(set(homes))
            size += ticks * len(nodes) * (1 + group.time)
            count += len(homes) + ticks * len(nodes)
            if ticks <= 0 or count > most or size > _DENSE * most:
                return None
            begun = builder.rows("begun", [()] * len(nodes), lower=0, upper=0)
            builder.enter(begun[np.searchsorted(nodes, homes)], own, -1)
            for row, node in zip(begun, nodes, strict=True):
                here = homes.count(node)
                here = min(here, int(self._room[node])) if group.time else here
                columns = starts[number, node] = builder.variables("start", [()] * ticks, upper=here)
                builder.enter(row, columns)
                for tick, column in enumerate(columns.tolist(), group.release):
                    for instant in range(tick, tick + group.time):
                        covers.setdefault((node, instant), []).append(column)
        free = [self._room[node] - sum(instant < until for until in self._busy[node]) for node, instant in covers]
        for row, covered in zip(builder.rows("slots", [()] * len(free), upper=free), covers.values(), strict=True):
            builder.enter(row, covered)
        program = as_arrays(builder.program().whole, integer=False)
        for columns in starts.values():
            program.integer[columns] = True
        return _Posed(program, starts)

    def _read(self, posed: _Posed, values: Floats) -> tuple[Ints, Ints]:
        """Where tasks run and when, by the values of columns."""
        counts = np.rint(values).astype(np.int64)
        nodes, starts = (np.zeros(len(self.problem.tasks), dtype=np.int64) for _ in range(2))
        begins: list[dict[int, list[int]]] = [{} for _ in self._groups]
        for (number, node), own in posed.starts.items():
            begins[number][node] = np.repeat(np.arange(len(own)), counts[own]).tolist()
        for group, held in zip(self._groups, begins, strict=True):
            room = [len(held.get(node, ())) for node in range(len(self._room))]
            for task, node in zip(group.tasks, matched(group.homes, room), strict=True):
                nodes[task] = node
                starts[task] = self.problem.now + (group.release + held[node].pop()) * self.problem.lattice
        return nodes, starts
