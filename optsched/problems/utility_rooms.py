"""Free resources of the trackers of a `utility` problem while tasks are placed and removed one by one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import islice
from types import MappingProxyType

import numpy as np

from optsched.core.instance import Bools, Ints
from optsched.core.placement import NONE, Placement
from optsched.problems.utility import Allocation, Utility

#: Jobs that are tried one by one on a tracker before all are compared with what is free there.
_TRIED = 8

_NOTHING: Mapping[int, int] = MappingProxyType({})


class Rooms:
    """Counts of tasks on the trackers, and what these leave free.

    Parameters
    ----------
    problem
        Whose capacities and demands hold.
    counts
        What is placed to begin with; it is copied. None: nothing.

    Attributes
    ----------
    placed
        How many maps, and how many reduces, each job has placed.
    free
        int64, shape (nodes, resources).

    Examples
    --------
    A tracker with 3 of cpu has room for one map that takes 2.

    >>> from optsched.core.instance import MAP, Cluster, Instance, Workload
    >>> workload = Workload(["m1", "m2"], job=[0] * 2, job_ids=["a"], demand={"cpu": [2.0, 2.0]})
    >>> rooms = Rooms(Utility(Instance(Cluster(["t"], capacity={"cpu": [3.0]}), workload)))
    >>> rooms.put(MAP, 0, 0)
    >>> rooms.free.tolist(), rooms.fits(MAP, 0, 0)
    ([[1]], False)
    """

    def __init__(self, problem: Utility, counts: Allocation | None = None) -> None:
        self._shape = len(problem.jobs), len(problem.free)
        given = counts or Allocation(*(np.zeros(self._shape, dtype=np.int64) for _ in range(2)))
        self._problem = problem
        self.placed: tuple[list[int], list[int]] = given.maps.sum(axis=1).tolist(), given.reduces.sum(axis=1).tolist()
        #: For maps and for reduces: of each tracker how many it has of each job, without those that it has none of.
        self._on: tuple[dict[int, dict[int, int]], dict[int, dict[int, int]]] = {}, {}
        self._demands = problem.demand_map, problem.demand_reduce
        self._rows = [list(map(tuple, demands.tolist())) for demands in self._demands]
        self.free: Ints = problem.free.copy()
        for kind, part in enumerate(given):
            jobs, nodes = np.nonzero(part)
            taken = part[jobs, nodes]
            np.subtract.at(self.free, nodes, taken[:, None] * self._demands[kind][jobs])
            for job, node, count in zip(jobs.tolist(), nodes.tolist(), taken.tolist(), strict=True):
                self._count(kind, job, node, count)

    @property
    def counts(self) -> Allocation:
        """Maps and reduces of each job on each tracker, in arrays that are made again."""
        counts = Allocation(*(np.zeros(self._shape, dtype=np.int64) for _ in range(2)))
        for kind, part in enumerate(counts):
            jobs, nodes, amounts = self._entries(kind)
            part[jobs, nodes] = amounts
        return counts

    @property
    def placement(self) -> Placement:
        """The placement with these counts that the problem chooses (`Utility.placement_of`)."""
        problem = self._problem
        found = np.full(len(problem.tasks), NONE, dtype=np.int64)
        for kind, positions in enumerate((problem.map_positions, problem.reduce_positions)):
            _, nodes, amounts = self._entries(kind)
            hosts = np.split(np.repeat(nodes, amounts), np.cumsum(self.placed[kind]))
            for tasks, own in zip(positions, hosts, strict=False):  # the last is what no job has: nothing
                found[tasks[: len(own)]] = own
        return problem.placement(found)

    def _entries(self, kind: int) -> tuple[Ints, Ints, Ints]:
        """Jobs, trackers and how many: what is placed, by job and then by tracker."""
        entries = [(job, node, count) for node, own in self._on[kind].items() for job, count in own.items()]
        jobs, nodes, amounts = np.array(sorted(entries), dtype=np.int64).reshape(-1, 3).T
        return jobs, nodes, amounts

    def digest(self, kind: int) -> bytes:
        """A short name of what is placed of a kind: that of no other counts."""
        return hashlib.sha256(np.ascontiguousarray(self._entries(kind)).tobytes()).digest()

    def on(self, kind: int, node: int) -> Mapping[int, int]:
        """How many tasks a tracker has of each job that it has any of."""
        return self._on[kind].get(node, _NOTHING)

    def fitting(self, kind: int, node: int) -> Bools:
        """Whether a task of each job fits on a tracker, shape (jobs,)."""
        fits: Bools = (self._demands[kind] <= self.free[node]).all(axis=1)
        return fits

    def fits(self, kind: int, job: int, node: int) -> bool:
        """Whether one of the job's tasks that wait fits on a tracker."""
        return all(need <= left for need, left in zip(self._rows[kind][job], self.free[node].tolist(), strict=True))

    def first(self, kind: int, node: int, order: Sequence[tuple[int, ...]]) -> int | None:
        """The first job with a task that fits on a tracker; `order` has the jobs at the ends of its entries."""
        for entry in islice(order, _TRIED):
            if self.fits(kind, entry[-1], node):
                return entry[-1]
        if len(order) <= _TRIED:
            return None
        able = self.fitting(kind, node).tolist()
        return next((entry[-1] for entry in islice(order, _TRIED, None) if able[entry[-1]]), None)

    def put(self, kind: int, job: int, node: int, count: int = 1) -> None:
        """Place one task of a job on a tracker; with `count` -1 take one away."""
        self.free[node] -= count * self._demands[kind][job]
        self.placed[kind][job] += count
        self._count(kind, job, node, count)

    def _count(self, kind: int, job: int, node: int, more: int) -> None:
        """A tracker has `more` tasks of a job more, or fewer if `more` is below 0."""
        counts = self._on[kind].setdefault(node, {})
        counts[job] = counts.get(job, 0) + more
        if not counts[job]:
            del counts[job]
