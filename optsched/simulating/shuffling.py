"""What maps send to reduces as time passes: by map, by reduce, and which maps are still to end."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from optsched.arrays import Ragged
from optsched.errors import Fault
from optsched.instance import FINISHED, MAP, REDUCE, Floats, Instance, Ints, Shuffle
from optsched.placement import NONE

__all__ = ["Shuffling", "unplaced"]


class Shuffling:
    """The shuffle of an instance, and the maps that have ended.

    Parameters
    ----------
    instance
        Its maps that are finished have a node.

    Attributes
    ----------
    map, reduce, size
        int64, int64 and float64, shape (entries,): tasks, and the MB that the one sends to the other.
    of_map, of_reduce
        For each task the entries that it sends, and those that it receives.
    node
        Of each map that has ended the node it ran on, else -1; shape (tasks,).

    Examples
    --------
    >>> from optsched.instance import Cluster, Workload
    >>> sent = Shuffle([0, 1], [2, 2], size=[5.0, 7.0])
    >>> workload = Workload(["m1", "m2", "r"], job=[0, 0, 0], job_ids=["j"], kind=[0, 0, 1], shuffle=sent)
    >>> shuffling = Shuffling(Instance(Cluster(["a"]), workload))
    >>> shuffling.ended(1, 0), shuffling.left(2), shuffling.ready(2).tolist()
    (None, 1, [1])
    """

    def __init__(self, instance: Instance) -> None:
        workload, tasks = instance.workload, len(instance.workload)
        none = np.zeros(0, dtype=np.int64)
        shuffle = workload.shuffle or Shuffle(none, none, np.zeros(0))
        self.map: Ints = shuffle.map
        self.reduce: Ints = shuffle.reduce
        self.size: Floats = shuffle.size
        self.of_map, self.of_reduce = _entries_of(self.map, tasks), _entries_of(self.reduce, tasks)
        done = (workload.kind == MAP) & (instance.state.status == FINISHED)
        self.node: Ints = np.where(done, instance.state.node, NONE)
        self._job = workload.job
        left = (workload.kind == MAP) & ~done & (workload.job >= 0)
        #: Maps of each job that have not ended; the last entry is for tasks without a job.
        self._left = np.append(np.bincount(workload.job[left], minlength=len(workload.job_ids)), 0)
        #: Whether an entry comes from a map of another job, or of none, and how many of a reduce's are still to come.
        self._apart = (self._job[self.map] != self._job[self.reduce]) | (self._job[self.reduce] < 0)
        late = self._apart & ~done[self.map]
        self._apart_left = np.bincount(self.reduce[late], minlength=tasks)
        rows = np.flatnonzero((workload.kind == REDUCE) & (workload.job >= 0))
        #: The reduces of jobs, and for each job the places in that list of its own.
        self._rows, self._reduces = rows, _entries_of(workload.job[rows], len(workload.job_ids))

    def left(self, reduce: int) -> int:
        """How many maps must end until a reduce has all that it reads."""
        return int(self._left[self._job[reduce]] + self._apart_left[reduce])

    def ready(self, reduce: int) -> Ints:
        """The entries that a reduce receives from maps that have ended, in order."""
        entries = self.of_reduce[reduce]
        ready: Ints = entries[self.node[self.map[entries]] != NONE]
        return ready

    def ended(self, task: int, node: int) -> None:
        """A map has ended on a node."""
        self.node[task] = node
        if self._job[task] >= 0:
            self._left[self._job[task]] -= 1
        entries = self.of_map[task]
        np.subtract.at(self._apart_left, self.reduce[entries[self._apart[entries]]], 1)

    def waiting(self, task: int) -> Ints:
        """The reduces that a map holds up: those of its job, and those that it sends to."""
        job = self._job[task]
        own = self._rows[self._reduces[job]] if job >= 0 else self._rows[:0]
        return np.union1d(own, self.reduce[self.of_map[task]])


def unplaced(instance: Instance) -> Iterator[Fault]:
    """The maps that have ended nobody knows where, and that send to reduces that have not; one fault each."""
    workload, state = instance.workload, instance.state
    if workload.shuffle is not None:
        sends = workload.shuffle.map[state.status[workload.shuffle.reduce] != FINISHED]
        lost = sends[(state.status[sends] == FINISHED) & (state.node[sends] == NONE)]
        for task in np.unique(lost).tolist():
            yield Fault(f"tasks[{task}].node", "it has ended, and reduces read from it: say on which node it ran")


def _entries_of(ends: Ints, count: int) -> Ragged:
    """For each of so many ends the places at which it stands."""
    return Ragged.of_lengths(np.bincount(ends, minlength=count), np.argsort(ends, kind="stable"))
