"""How long tasks take: the services that the engine asks. It knows none of them, and anybody may write another.

All times are whole microseconds on the clock of the instance; tasks and nodes are indices of the instance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib import import_module

import numpy as np

from optsched.core.arrays import Ragged
from optsched.core.errors import Fault, MissingField, UsageError
from optsched.core.instance import FINISHED, MAP, REDUCE, Floats, Instance, Ints, Shuffle
from optsched.core.placement import NONE
from optsched.core.schedule import microseconds
from optsched.problems.base import number, sequence
from optsched.problems.service_times import level_times, untimed
from optsched.running.course import Ends, Service

__all__ = [
    "Levels",
    "Recorded",
    "SERVICES",
    "place_of",
    "service_named",
]


class Levels(Service):
    """Times by locality: on a node with the task's data, in the rack of such a node, and beyond.

    A task takes its `times`. One that gives none takes its `duration`, times a factor by locality.

    Parameters
    ----------
    factors
        What a `duration` is multiplied by on a node with the data, in its rack, and beyond it.
    duration
        Seconds: the `duration` of tasks that give neither; without it they are refused. With equal times for all
        tasks and no heartbeats a run goes in waves: nothing starts before all that runs has ended.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Ragged, Workload
    >>> workload = Workload(["t"], replicas=Ragged.from_rows([[0]]), duration=[10.0])
    >>> service = Levels(factors=(1, 1, 1.5))
    >>> service.prepare(Instance(Cluster(["a", "b"]), workload))
    >>> service.started(0, 0, 0), service.started(0, 1, 0)
    (((0, 10000000),), ((0, 15000000),))
    """

    stateless = True

    def __init__(self, factors: Sequence[float] | str = (1, 1, 1), duration: float | str | None = None) -> None:
        try:
            self.factors = sequence(3, number(lowest=0))(factors)
        except ValueError as error:
            raise UsageError(f"levels: factors={factors!r}: {error}") from None
        try:
            self.duration = None if duration is None else number(lowest=0)(duration)
        except ValueError as error:
            raise UsageError(f"levels: duration={duration!r}: {error}") from None

    @property
    def told(self) -> str:
        factors = "" if self.factors == (1, 1, 1) else f",factors={':'.join(map(str, self.factors))}"
        return f"levels{factors}{'' if self.duration is None else f',duration={self.duration}'}"

    def prepare(self, instance: Instance) -> None:
        left = np.flatnonzero(instance.state.status != FINISHED)
        if self.duration is not None:
            workload = instance.workload
            duration = np.where(np.isnan(workload.duration), float(self.duration), workload.duration)
            instance = replace(instance, workload=replace(workload, duration=duration))
        if missing := list(untimed(instance, left)):
            raise MissingField(missing, place_of(instance, "levels"))
        times = np.zeros((len(instance.workload), 3), dtype=np.int64)
        times[left] = level_times(instance, left, self.factors).by_level
        self._node, self._rack, self._off_rack = times.T.tolist()
        self._alike = (times == times[:, :1]).all(axis=1).tolist()
        self._starts, self._replicas = instance.replicas.starts.tolist(), instance.replicas.values.tolist()
        self._racks = instance.cluster.rack.tolist()
        self._away: set[int] = set()

    def node_changed(self, node: int, there: bool, now: int) -> Ends:
        self._away ^= {node}
        return ()

    def started(self, task: int, node: int, now: int) -> Ends:
        if self._alike[task]:
            return ((task, now + self._node[task]),)
        holders = self._replicas[self._starts[task] : self._starts[task + 1]]
        if self._away:
            holders = [holder for holder in holders if holder not in self._away]
        if node in holders:
            return ((task, now + self._node[task]),)
        rack = self._racks[node]
        if rack >= 0:
            for holder in holders:
                if self._racks[holder] == rack:
                    return ((task, now + self._rack[task]),)
        return ((task, now + self._off_rack[task]),)


class Recorded(Service):
    """The durations that a trace recorded, wherever a task runs now.

    A recorded duration of a reduce has in it that it waited for maps, so it ends when its time is up.

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Workload
    >>> service = Recorded()
    >>> service.prepare(Instance(Cluster(["a"]), Workload(["t"], duration=[2.5])))
    >>> service.started(0, 0, 1)
    ((0, 2500001),)
    """

    waits_for_maps = False
    stateless = True

    @property
    def told(self) -> str:
        return "recorded"

    def prepare(self, instance: Instance) -> None:
        duration = instance.workload.duration
        missing = np.flatnonzero(np.isnan(duration) & (instance.state.status != FINISHED)).tolist()
        told = (
            "the trace does not say how long it took; leave the task out (import rumen --unsuccessful leave-out), or "
            "take another service"
        )
        if missing:
            raise MissingField(
                [Fault(f"tasks[{task}].duration", told) for task in missing], place_of(instance, "recorded")
            )
        self._takes = microseconds(np.nan_to_num(duration)).tolist()

    def started(self, task: int, node: int, now: int) -> Ends:
        return ((task, now + self._takes[task]),)


def place_of(instance: Instance, name: str) -> str:
    """How messages call a service on an instance."""
    return f"{instance.name}: {name}" if instance.name else name


#: The services by the names that the command line knows, each with the module and the class, imported when asked for.
SERVICES = {
    "levels": ("services", "Levels"),
    "transfer": ("transfer", "Transfer"),
    "rates": ("rates", "Rates"),
    "recorded": ("services", "Recorded"),
}


def service_named(name: str) -> type[Service]:
    """The class of the service of a name.

    >>> service_named("levels")(factors="1,1,2")
    <Service levels,factors=1:1:2>
    """
    module, made = SERVICES[name]
    found: type[Service] = getattr(import_module(f"optsched.simulating.{module}"), made)
    return found


# What reduces copy ---------------------------------------------------------------------------------------------------
#
# What maps send to reduces as time passes: by map, by reduce, and which maps are still to end.


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
    >>> from optsched.core.instance import Cluster, Workload
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
