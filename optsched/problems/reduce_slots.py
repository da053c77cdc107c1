"""Where pending reduces may run: on idle slots, one of a job on a node (Shen et al. 2016, Algorithm 2, line 1).

With that rule there may be fewer places than slots. `ReduceSlots.count` is how many reduces can be placed at once; the
others wait for a later wave.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from optsched.core.instance import REDUCE, RUNNING, Bools, Instance, Ints
from optsched.core.placement import NONE
from optsched.core.results import Violation
from optsched.problems.base import overfull

__all__ = ["ReduceSlots"]


class ReduceSlots:
    """Idle reduce slots for the pending reduces of a snapshot.

    Parameters
    ----------
    instance
        The snapshot.
    reduces
        Indices of the pending reduces.
    distinct
        Whether a node may run at most one reduce of a job, counting those that run already. A reduce without a job is
        not limited by others.

    Attributes
    ----------
    capacity
        int64, shape (nodes,): idle reduce slots, no more than there are reduces.
    job
        int64, shape (reduces,): job of each, or -1.
    barred
        bool, shape (jobs + 1, nodes): where a reduce of the job runs already; the last row, which -1 picks, is for
        reduces without a job.
    """

    capacity: Ints
    job: Ints
    barred: Bools

    def __init__(self, instance: Instance, reduces: Ints, distinct: bool) -> None:
        self.instance, self.reduces, self.distinct = instance, reduces, distinct
        state, workload = instance.state, instance.workload
        self.capacity = np.minimum(state.idle_reduce_slots, len(reduces))
        self.job = workload.job[reduces]
        self.barred = np.zeros((len(workload.job_ids) + 1, len(instance.cluster)), dtype=bool)
        if distinct:
            running = (workload.kind == REDUCE) & (state.status == RUNNING)
            self.barred[workload.job[running], state.node[running]] = True
            self.barred[-1] = False
        for array in (self.capacity, self.job, self.barred):
            array.setflags(write=False)

    @property
    def limited(self) -> Bools:
        """Which reduces may not share a node with another of their job, shape (reduces,)."""
        limited: Bools = (self.job >= 0) & self.distinct
        return limited

    @cached_property
    def usable(self) -> Bools:
        """Whether each reduce (row) may run on each node (column), if it were the only one."""
        usable: Bools = (self.capacity > 0) & ~self.barred[self.job]
        usable.setflags(write=False)
        return usable

    @cached_property
    def count(self) -> int:
        """The most reduces that can be placed at once: a maximum flow from jobs through nodes to slots."""
        free = np.flatnonzero(self.capacity > 0)
        loose = int(np.count_nonzero(~self.limited))
        jobs, waiting = np.unique(self.job[self.limited], return_counts=True)
        if not len(jobs) or not len(free):
            return min(loose, int(self.capacity.sum()))
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_flow

        # Source 0, jobs, reduces without that limit, nodes, sink.
        owners = 1 + np.arange(len(jobs) + 1)
        first = len(jobs) + 2
        sink = first + len(free)
        row, column = np.nonzero(~self.barred[np.ix_(jobs, free)])
        nodes = first + np.arange(len(free))
        tail = np.concatenate([np.zeros_like(owners), 1 + row, np.full(len(free), first - 1), nodes])
        head = np.concatenate([owners, first + column, nodes, np.full(len(free), sink)])
        room = np.concatenate([waiting, [loose], np.ones_like(row), np.full(len(free), loose), self.capacity[free]])
        graph = csr_array((room.astype(np.int32), (tail, head)), shape=(sink + 1, sink + 1))
        return int(maximum_flow(graph, 0, sink).flow_value)

    def violations(self, nodes: Ints, *kind: str) -> Iterator[Violation]:
        """The violations of the reduces' nodes (or -1); `kind` is put before the ids where maps are placed too."""
        cluster, jobs = self.instance.cluster, self.instance.workload.job_ids
        placed = nodes != NONE
        yield from overfull(cluster, nodes, self.capacity, "slots", *kind)
        here = np.zeros(self.barred.shape, dtype=np.int64)
        ours = placed & self.limited
        np.add.at(here, (self.job[ours], nodes[ours]), 1)
        for job, node in np.argwhere((here + self.barred > 1) & (here > 0)).tolist():
            over = int(here[job, node] + self.barred[job, node]) - 1
            yield Violation("distinct", (str(jobs[job]), str(cluster.node_ids[node])), over)
        if placed.sum() < self.count:
            yield Violation("cardinality", kind, self.count - int(placed.sum()))
