"""Tasks that compute, and fetch what they read over the distances of a cluster (Shen et al. 2016, II-B)."""

from __future__ import annotations

import numpy as np

from optsched.core.errors import MissingField, UsageError
from optsched.core.instance import FINISHED, MAP, PENDING, Floats, Instance, Ints
from optsched.core.schedule import microseconds
from optsched.problems.base import choice, number
from optsched.problems.transfer_times import Apart, computing, moved, transfer_times, untold
from optsched.running.course import Ends, Progress, Service
from optsched.simulating.services import Shuffling, place_of, unplaced

__all__ = ["Transfer"]

#: Sums of shares of whole microseconds are this near to what they are.
_ROUNDED = 1e-3

#: Long before any time of a run, in microseconds.
_LONG_AGO = -(2**53)


class Transfer(Service):
    """A map computes and fetches its block; a reduce copies from its maps while these run, and computes then.

    A map takes its `duration` (or else its `times` on a node with its block: that is assumed to be computing alone) and
    for each MB the distance to the nearest replica (`optsched.problems.transfer_times`, as the problems over time with
    `service=transfer`). A map without replicas fetches nothing. A reduce copies what its
    maps send it, one after another, each MB for the distance from where the map ran, and computes for its `duration`
    once it has all. What is copied before the last map ends costs no time of its own.

    Parameters
    ----------
    scale
        Seconds that a MB takes over a distance of 1; 1 where distances are seconds a MB, as of rates and links.
    reads
        `throughout`: a map reads, computes and emits evenly for as long as it takes, as Shen et al. assume where they
        infer the size of outputs; `first`: it reads, then it computes and emits.
    shuffle
        `ended`: a reduce copies from maps that have ended, in the order in which they did, as Hadoop does; `emitted`:
        it copies what its maps have emitted by then; `none`: it copies nothing, computes at once, and ends no sooner
        than its job's last map, as in the problems over time.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Ragged, Topology, Workload
    >>> cluster = Cluster(["a", "b"], topology=Topology("rate", [[1, 50], [50, 1]]))
    >>> block = Ragged.from_rows([[0]])
    >>> service = Transfer()
    >>> service.prepare(Instance(cluster, Workload(["m"], size=[100], duration=[10], replicas=block)))
    >>> service.started(0, 0, 0), service.started(0, 1, 0)
    (((0, 10000000),), ((0, 12000000),))
    """

    scale: float
    reads: str
    shuffle: str

    def __init__(self, scale: float | str = 1, reads: str = "throughout", shuffle: str = "ended") -> None:
        readers = {
            "scale": (number(lowest=0), scale),
            "reads": (choice("throughout", "first"), reads),
            "shuffle": (choice("ended", "emitted", "none"), shuffle),
        }
        for name, (read, given) in readers.items():
            try:
                setattr(self, name, read(given))
            except ValueError as error:
                raise UsageError(f"transfer: {name}={given!r}: {error}") from None
        self.waits_for_maps = self.shuffle == "none"

    @property
    def told(self) -> str:
        given = {"scale": self.scale, "reads": self.reads, "shuffle": self.shuffle}
        usual = {"scale": 1, "reads": "throughout", "shuffle": "ended"}
        return ",".join(["transfer", *(f"{name}={value}" for name, value in given.items() if value != usual[name])])

    def prepare(self, instance: Instance) -> None:
        left = np.flatnonzero(instance.state.status != FINISHED)
        lost = () if self.shuffle == "none" else unplaced(instance)
        if faults := [*untold(instance, left), *lost]:
            raise MissingField(faults, place_of(instance, "transfer"))
        workload = instance.workload
        tasks = len(workload)
        self._apart, self._times = Apart(instance), transfer_times(instance, np.arange(tasks), self.scale)
        self._computes = microseconds(np.nan_to_num(computing(instance)))
        self._size = np.nan_to_num(workload.size)
        self._is_map = (workload.kind == MAP).tolist()
        self._shuffling = Shuffling(instance)
        #: Of each task where it runs or ran, and from when on; of each map how long it takes, and reads.
        self._node: Ints = np.where(instance.state.status == PENDING, -1, instance.state.node)
        self._begin: Ints = np.full(tasks, _LONG_AGO)
        self._takes: Ints = np.zeros(tasks, dtype=np.int64)
        self._fetches: Ints = np.zeros(tasks, dtype=np.int64)
        self._running: list[set[int]] = [set() for _ in instance.cluster.node_ids]
        self._reported: Ints = np.full(len(instance.cluster), _LONG_AGO)

    def started(self, task: int, node: int, now: int) -> Ends:
        self._node[task], self._begin[task] = node, now
        if not self._is_map[task]:
            self._running[node].add(task)
            if self.shuffle == "none":
                return ((task, now + int(self._computes[task])),)
            return () if self._shuffling.left(task) else ((task, self._end_of(task, now)),)
        self._takes[task] = self._times.on(np.array([task]), np.array([node]))[0]
        self._fetches[task] = self._takes[task] - self._computes[task]
        self._running[node].add(task)
        return ((task, now + int(self._takes[task])),)

    def ended(self, task: int, now: int) -> Ends:
        self._running[self._node[task]].discard(task)
        if not self._is_map[task] or self.shuffle == "none":
            return ()
        self._shuffling.ended(task, int(self._node[task]))
        reduces = [
            reduce
            for reduce in self._shuffling.waiting(task).tolist()
            if reduce in self._running[self._node[reduce]] and not self._shuffling.left(reduce)
        ]
        return [(reduce, self._end_of(reduce, now)) for reduce in reduces]

    def stopped(self, task: int, now: int) -> Ends:
        self._running[self._node[task]].discard(task)
        return ()

    def _end_of(self, reduce: int, now: int) -> int:
        """When a reduce ends whose maps have all ended by now."""
        entries = self._shuffling.of_reduce[reduce]
        maps, begin = self._shuffling.map[entries], int(self._begin[reduce])
        away = self._apart.pairs(self._node[maps], np.full(len(maps), self._node[reduce]))
        copies = moved(self._shuffling.size[entries], away, self.scale)
        since, until = self._begin[maps], self._begin[maps] + self._takes[maps]
        if self.shuffle == "emitted":
            since = since + (self._fetches[maps] if self.reads == "first" else 0)
            copied = _copied_as_emitted(begin, since, until, copies)
        else:
            copied = _copied_as_ended(begin, until, copies)
        return max(copied, now) + int(self._computes[reduce])

    def progress(self, beats: Ints, now: int) -> Progress | None:
        heard = np.flatnonzero(beats > self._reported).tolist()
        self._reported = beats
        told = [task for node in heard for task in sorted(self._running[node]) if self._is_map[task]]
        if not told:
            return None
        maps = np.array(told)
        went = np.maximum(0, beats[self._node[maps]] - self._begin[maps])
        takes, fetches = self._takes[maps], self._fetches[maps]
        if self.reads == "throughout":
            read = emitted = _share(went, takes)
        else:
            read, emitted = _share(went, fetches), _share(went - fetches, takes - fetches)
        sent = self._shuffling.of_map.take(maps)
        return Progress(
            maps,
            self._size[maps] * read,
            sent.values,
            self._shuffling.size[sent.values] * emitted[sent.row_of],
        )


def _share(went: Ints, takes: Ints) -> Floats:
    """Which share of a time has gone, from 0 to 1; all of a time of 0."""
    share: Floats = np.clip(np.maximum(went, 0) / np.maximum(takes, 1), 0.0, 1.0)
    return np.where(takes > 0, share, 1.0)


def _copied_as_ended(begin: int, ends: Ints, copies: Ints) -> int:
    """When a reduce that began at `begin` has copied from maps, one after another as they end.

    >>> _copied_as_ended(5, np.array([0, 20, 10]), np.array([3, 4, 30]))
    44
    """
    order = np.argsort(ends, kind="stable")
    ends, copies = ends[order], copies[order]
    to_come = np.cumsum(copies[::-1])[::-1]  # from each map on; whoever is the last to wait for its map sets the end
    return int(max(begin, (np.maximum(ends, begin) + to_come).max(initial=begin)))


def _copied_as_emitted(begin: int, since: Ints, until: Ints, copies: Ints) -> int:
    """When a reduce has copied from maps that emit evenly from `since` to `until`, as they do; the last has ended.

    >>> _copied_as_emitted(0, np.array([0]), np.array([10]), np.array([4])), _copied_as_emitted(
    ...     0, np.array([0]), np.array([10]), np.array([30])
    ... )
    (10, 30)
    """
    if not len(copies):
        return begin
    lasts = np.maximum(until - since, 1)
    times = np.concatenate((until - lasts, until))
    order = np.argsort(times, kind="stable")
    times = times[order]
    slopes = np.cumsum(np.concatenate((copies / lasts, -copies / lasts))[order])
    emitted = np.concatenate(([0.0], np.cumsum(slopes[:-1] * np.diff(times))))
    # A server that is idle only when there is nothing to copy: the beginning from which it is busiest sets the end.
    at = np.concatenate(([begin], times[times > begin]))
    before = np.interp(at, times, emitted)
    before[0] = 0.0  # what was emitted before it began waits for it
    return int(np.ceil((at + float(copies.sum()) - before).max() - _ROUNDED))
