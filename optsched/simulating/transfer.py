"""Tasks that compute, and fetch what they read over the distances of a cluster (Shen et al. 2016, II-B)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from optsched.errors import Fault, MissingField, UsageError
from optsched.instance import FINISHED, MAP, PENDING, Floats, Instance, Ints
from optsched.parts import HOPS
from optsched.problems.base import choice, number
from optsched.problems.distances import cluster_places, nested_areas
from optsched.running.service import Ends, Progress, Service
from optsched.schedule import MICRO, microseconds
from optsched.simulating.services import place_of
from optsched.simulating.shuffling import Shuffling, unplaced

__all__ = ["Transfer", "by_levels"]

#: Sums of shares of whole microseconds are this near to what they are.
_ROUNDED = 1e-3

#: Long before any time of a run, in microseconds.
_LONG_AGO = -(2**53)


class Transfer(Service):
    """A map computes and fetches its block; a reduce copies from its maps while these run, and computes then.

    A map takes its `duration` (or else its `times` on a node with its block: that is assumed to be computing alone) and
    for each MB the distance to the nearest replica. A map without replicas fetches nothing. A reduce copies what its
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
        it copies what its maps have emitted by then.

    Examples
    --------
    >>> from optsched.instance import Cluster, Ragged, Topology, Workload
    >>> cluster = Cluster(["a", "b"], topology=Topology("rate", [[1, 50], [50, 1]]))
    >>> block = Ragged.from_rows([[0]])
    >>> service = Transfer()
    >>> service.prepare(Instance(cluster, Workload(["m"], size=[100], duration=[10], replicas=block)))
    >>> service.started(0, 0, 0), service.started(0, 1, 0)
    (((0, 10000000),), ((0, 12000000),))
    """

    waits_for_maps = False
    scale: float
    reads: str
    shuffle: str

    def __init__(self, scale: float | str = 1, reads: str = "throughout", shuffle: str = "ended") -> None:
        readers = {
            "scale": (number(lowest=0), scale),
            "reads": (choice("throughout", "first"), reads),
            "shuffle": (choice("ended", "emitted"), shuffle),
        }
        for name, (read, given) in readers.items():
            try:
                setattr(self, name, read(given))
            except ValueError as error:
                raise UsageError(f"transfer: {name}={given!r}: {error}") from None

    def prepare(self, instance: Instance) -> None:
        if faults := [*_untold(instance), *unplaced(instance)]:
            raise MissingField(faults, place_of(instance, "transfer"))
        workload = instance.workload
        tasks = len(workload)
        self._nested = nested_areas(instance)
        self._places = None if self._nested is not None else cluster_places(instance.cluster, instance.name)
        self._computes = microseconds(np.nan_to_num(_computing(instance)))
        self._size, self._replicas = np.nan_to_num(workload.size), instance.replicas
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
            return () if self._shuffling.left(task) else ((task, self._end_of(task, now)),)
        holders = self._replicas[task]
        away = self._from(holders, node).min() if len(holders) else 0.0
        self._fetches[task] = round(float(self._size[task]) * float(away) * self.scale * MICRO)
        self._takes[task] = self._fetches[task] + self._computes[task]
        self._running[node].add(task)
        return ((task, now + int(self._takes[task])),)

    def ended(self, task: int, now: int) -> Ends:
        self._running[self._node[task]].discard(task)
        if not self._is_map[task]:
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

    def _from(self, nodes: Ints, node: int) -> Floats:
        """How far a node is from each of some nodes."""
        if self._nested is None:
            assert self._places is not None
            return self._places.pairs(nodes, node)
        lengths: Floats = self._nested.lengths[self._nested.level(nodes, np.full(len(nodes), node))]
        return lengths

    def _end_of(self, reduce: int, now: int) -> int:
        """When a reduce ends whose maps have all ended by now."""
        entries = self._shuffling.of_reduce[reduce]
        maps, begin = self._shuffling.map[entries], int(self._begin[reduce])
        away = self._from(self._node[maps], int(self._node[reduce]))
        copies = np.rint(self._shuffling.size[entries] * away * self.scale * MICRO).astype(np.int64)
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


def by_levels(instance: Instance, scale: float | str = 1) -> Instance:
    """The instance with what maps take under `Transfer` as their times by locality, which problems over time know.

    Each map gets `times`: what it computes, and for each MB the distance to a node with its block, in its rack, and
    beyond. So `makespan` and `job-times` let it end when a run under `Transfer` does. A reduce gets what it computes
    alone: its copying is no matter of the node that it is on, but of where the maps ran. A run under `Transfer` ends it
    no sooner than the problems do, and their bounds hold for such runs too.

    Parameters
    ----------
    instance
        With a topology of `hops` that do not shorten with distance, and sizes and durations.
    scale
        Seconds that a MB takes over a distance of 1.

    Raises
    ------
    UsageError
        If distances are not those of node, rack and beyond, or the scale is out of its range.
    MissingField
        If the instance lacks what `Transfer` needs.

    Examples
    --------
    >>> from optsched.instance import Cluster, Ragged, Topology, Workload
    >>> cluster = Cluster(["a", "b"], topology=Topology("hops", hops={"node": 0, "rack": 2, "off_rack": 4}))
    >>> workload = Workload(["m"], size=[100], duration=[10], replicas=Ragged.from_rows([[0]]))
    >>> by_levels(Instance(cluster, workload), scale=0.004).workload.times.tolist()
    [[10.0, 10.8, 11.6]]
    """
    service = Transfer(scale)
    service.prepare(instance)
    topology = instance.cluster.topology
    hops = None if topology is None else topology.hops
    away = [] if hops is None else [hops[level] for level in HOPS]
    if not away or sorted(away) != away:
        told = "distances are not those of node, rack and beyond"
        raise UsageError(f"{place_of(instance, 'transfer')}: {told}: give hops, none shorter than a nearer one")
    workload = instance.workload
    reads = np.nan_to_num(workload.size) * ((workload.kind == MAP) & (instance.replicas.lengths > 0))
    units = np.rint(reads[:, None] * np.array(away) * service.scale * MICRO).astype(np.int64)
    computes = microseconds(np.nan_to_num(_computing(instance)))
    known = np.where(np.isnan(_computing(instance))[:, None], np.nan, (computes[:, None] + units) / MICRO)
    return replace(instance, workload=replace(workload, times=known))


def _computing(instance: Instance) -> Floats:
    """How long each task computes, in seconds; NaN where nobody knows."""
    workload = instance.workload
    return np.where(np.isnan(workload.duration), workload.times[:, 0], workload.duration)


def _untold(instance: Instance) -> Iterator[Fault]:
    """What is missing, one fault each."""
    workload, left = instance.workload, instance.state.status != FINISHED
    for task in np.flatnonzero(left & np.isnan(_computing(instance))).tolist():
        yield Fault(f"tasks[{task}].duration", "say for how many seconds it computes")
    reads = left & (instance.replicas.lengths > 0) & (workload.kind == MAP)
    for task in np.flatnonzero(reads & np.isnan(workload.size)).tolist():
        yield Fault(f"tasks[{task}].size", "say how many MB it reads from its replicas")


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
