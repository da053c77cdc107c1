"""A schedule in which jobs end by given times, and each map runs where it is quickest: a program over nodes and steps.

Maps of a job that take the same time are alike once it is said on which node each of them runs. So the variables are
how many of them start on each node in each step, and which task is on which of its nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from optsched.arrays import Floats, Ints
from optsched.deadline import check
from optsched.instance import KINDS, MAP
from optsched.problems.schedules import ScheduleProblem
from optsched.searches.job_placing import matched
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


@dataclass
class _Posed:
    """The columns and rows of a program, and what columns stand for.

    Attributes
    ----------
    upper, whole
        Of each column.
    rows
        Columns with 1, columns with -1, and the least and the most that the row may come to.
    starts
        Columns of each group on each node: how many start there at its release, in the next step, and so on.
    """

    upper: list[float] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    rows: list[tuple[Sequence[int], Sequence[int], float, float]] = field(default_factory=list)
    starts: dict[tuple[int, int], range] = field(default_factory=dict)

    def columns(self, count: int, upper: float, whole: bool) -> range:
        """So many new ones."""
        first = len(self.upper)
        self.upper += [upper] * count
        self.whole += [whole] * count
        return range(first, first + count)

    def program(self) -> LinearProgram:
        """The program, which has no objective."""
        row, column, value = [], [], []
        for number, (more, less, _, _) in enumerate(self.rows):
            row += [number] * (len(more) + len(less))
            column += [*more, *less]
            value += [1.0] * len(more) + [-1.0] * len(less)
        count = len(self.upper)
        return LinearProgram(
            objective=np.zeros(count),
            col_lower=np.zeros(count),
            col_upper=np.array(self.upper),
            integer=np.array(self.whole, dtype=bool),
            row_lower=np.array([each[2] for each in self.rows]),
            row_upper=np.array([each[3] for each in self.rows]),
            matrix=sp.csr_array((value, (row, column)), shape=(len(self.rows), count)),
        )


class EndsProgram:
    """Places the maps of a problem within any times by which jobs end; reduces are not looked at.

    Parameters
    ----------
    problem
        One that is not plainly infeasible. All its times are in steps of `problem.lattice`.

    Examples
    --------
    >>> from optsched.instance import Cluster, Instance, Workload
    >>> from optsched.problems.job_times import JobTimes
    >>> problem = JobTimes(Instance(Cluster(["a"]), Workload(["t1", "t2"], duration=[10, 20])))
    >>> nodes, starts = EndsProgram(problem).place([3, 2], 100)
    >>> starts.tolist(), EndsProgram(problem).place([2, 2], 100)
    ([20000000, 0], None)
    """

    def __init__(self, problem: ScheduleProblem) -> None:
        self.problem, step = problem, problem.lattice
        self._room = problem.room[KINDS[MAP]]
        runs = np.flatnonzero(problem.instance.workload.kind[problem.running] == MAP)
        self._busy: list[list[int]] = [[] for _ in self._room]
        until = ((problem.busy_until[runs] - problem.now) // step).tolist()
        for node, end in zip(problem.instance.state.node[problem.running[runs]].tolist(), until, strict=True):
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
        found = solve_uninterrupted(posed.program(), Profile("schedules by ends", node_limit=nodes))
        return None if found.x is None else self._read(posed, found.x)

    def _posed(self, by: Sequence[int], most: int) -> _Posed | None:
        """The program; None where it is too large, or a job has too little time."""
        posed, covers, size = _Posed(), dict[tuple[int, int], list[int]](), 0
        for number, group in enumerate(self._groups):
            check()
            ticks = by[group.job] - group.time - group.release + 1
            into: dict[int, list[int]] = {}
            for homes in group.homes:
                own = posed.columns(len(homes), 1.0, False)
                posed.rows.append((own, (), 1.0, 1.0))
                for node, column in zip(homes, own, strict=True):
                    into.setdefault(node, []).append(column)
            size += ticks * len(into) * (1 + group.time)
            if ticks <= 0 or len(posed.upper) + ticks * len(into) > most or size > _DENSE * most:
                return None
            for node, columns in into.items():
                here = min(len(columns), int(self._room[node])) if group.time else len(columns)
                own = posed.columns(ticks, float(here), True)
                posed.starts[number, node] = own
                posed.rows.append((own, columns, 0.0, 0.0))
                for tick, column in enumerate(own, group.release):
                    for instant in range(tick, tick + group.time):
                        covers.setdefault((node, instant), []).append(column)
        for (node, instant), columns in covers.items():
            free = int(self._room[node]) - sum(instant < until for until in self._busy[node])
            posed.rows.append((columns, (), -np.inf, float(free)))
        return posed

    def _read(self, posed: _Posed, values: Floats) -> tuple[Ints, Ints]:
        """Where tasks run and when, by the values of columns."""
        counts = np.rint(values).astype(np.int64)
        nodes, starts = (np.zeros(len(self.problem.tasks), dtype=np.int64) for _ in range(2))
        begins: list[dict[int, list[int]]] = [{} for _ in self._groups]
        for (number, node), own in posed.starts.items():
            begins[number][node] = np.repeat(np.arange(len(own)), counts[own.start : own.stop]).tolist()
        for group, held in zip(self._groups, begins, strict=True):
            room = [len(held.get(node, ())) for node in range(len(self._room))]
            for task, node in zip(group.tasks, matched(group.homes, room), strict=True):
                nodes[task] = node
                starts[task] = self.problem.now + (group.release + held[node].pop()) * self.problem.lattice
        return nodes, starts
