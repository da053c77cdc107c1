"""What is free on the trackers of a `utility` problem while tasks are placed one by one and taken away again."""

from __future__ import annotations

import numpy as np

from optsched.instance import MAP, REDUCE, Bools, Ints
from optsched.problems.utility import Allocation, Utility

__all__ = ["Rooms"]


class Rooms:
    """Counts of tasks on the trackers, and what these leave free.

    With `phase=by-maps` each map that is placed makes the reduces of its job take more, on whatever tracker they are: a
    map fits only where they all have room for that.

    Parameters
    ----------
    problem
        Whose capacities and demands hold.
    counts
        What is placed to begin with; it is copied. None: nothing.

    Attributes
    ----------
    counts
        Maps and reduces of each job on each tracker.
    free
        int64, shape (nodes, resources).

    Examples
    --------
    A reduce takes 1 of cpu, and 4 more once both maps of its job are placed; a tracker of 6 has room for one of these.

    >>> from optsched.instance import REDUCE, Cluster, Instance, Workload
    >>> workload = Workload(
    ...     ["m1", "m2", "r"], kind=[MAP, MAP, REDUCE], job=[0] * 3, job_ids=["a"], demand={"cpu": [2.0, 2.0, 5.0]},
    ...     demand_shuffle={"cpu": [float("nan"), float("nan"), 1.0]})
    >>> rooms = Rooms(Utility(Instance(Cluster(["t"], capacity={"cpu": [6.0]}), workload), phase="by-maps"))
    >>> rooms.put(REDUCE, 0, 0)
    >>> rooms.put(MAP, 0, 0)
    >>> rooms.free.tolist(), rooms.fits(MAP, 0, 0)
    ([[1]], False)
    """

    def __init__(self, problem: Utility, counts: Allocation | None = None) -> None:
        shape = len(problem.jobs), len(problem.free)
        given = counts or Allocation(*(np.zeros(shape, dtype=np.int64) for _ in range(2)))
        self.counts = Allocation(*(part.copy() for part in given))
        self.free: Ints = problem.free - problem.used(self.counts)
        self._problem = problem
        self._grows: list[bool] = np.any(problem.growth, axis=1).tolist()
        self._placed = self.counts.maps.sum(axis=1).tolist()
        more = [table[placed] for table, placed in zip(problem.grown, self._placed, strict=True)]
        grown = np.array(more, dtype=np.int64).reshape(problem.growth.shape)
        self._demands: list[Ints] = [problem.demand_map, problem.demand_reduce + grown]

    def demands(self, kind: int) -> Ints:
        """What the next task of each job takes of the tracker that it is placed on, shape (jobs, resources)."""
        return self._demands[kind]

    def beside(self, kind: int, node: int) -> Bools:
        """Of which jobs a task fits what is free on the tracker itself, whatever it changes elsewhere; (jobs,)."""
        fits: Bools = (self.demands(kind) <= self.free[node]).all(axis=1)
        return fits

    def fits(self, kind: int, job: int, node: int) -> bool:
        """Whether one of the job's tasks that wait fits on a tracker, and what its reduces take for it, anywhere."""
        if kind == MAP and self._grows[job]:
            return bool((self._taken(job, node, self._placed[job]) <= self.free).all())
        return bool((self.demands(kind)[job] <= self.free[node]).all())

    def put(self, kind: int, job: int, node: int, count: int = 1) -> None:
        """Place one task of a job on a tracker; with `count` -1 take one away."""
        if kind == MAP:
            if self._grows[job]:
                self.free -= count * self._taken(job, node, self._placed[job] - (count < 0))
            else:
                self.free[node] -= count * self._problem.demand_map[job]
            self._placed[job] += count
            if self._grows[job]:
                grown = self._problem.grown[job][self._placed[job]]
                self._demands[REDUCE][job] = self._problem.demand_reduce[job] + grown
            self.counts.maps[job, node] += count
        else:
            self.free[node] -= count * self.demands(kind)[job]
            self.counts.reduces[job, node] += count

    def _taken(self, job: int, node: int, placed: int) -> Ints:
        """What one map more than so many takes everywhere, with what the job's reduces take for it."""
        table = self._problem.grown[job]
        taken: Ints = self.counts.reduces[job][:, None] * (table[placed + 1] - table[placed])
        taken[node] += self._problem.demand_map[job]
        return taken
