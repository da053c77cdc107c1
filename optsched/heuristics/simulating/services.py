"""How long tasks take: the services of the engine, which knows none of them; users may write their own.

All times are whole microseconds on the clock of the instance; tasks and nodes are indices of the instance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from math import ceil

import numpy as np

from optsched.core.arrays import Ragged
from optsched.core.decimals import decimal
from optsched.core.errors import Fault, MissingField
from optsched.core.instance import FINISHED, MAP, PENDING, REDUCE, RUNNING, Cluster, Floats, Instance, Ints, Shuffle
from optsched.core.placement import NONE, microseconds
from optsched.heuristics.running.course import Ends, Progress, Service
from optsched.problems.demands import demands_of
from optsched.problems.parameters import Parameter, choice, number, resolve, sequence
from optsched.problems.service_times import Apart, computing, level_times, missing_times, moved, transfer_times, untimed

__all__ = [
    "Levels",
    "Overload",
    "Recorded",
    "SERVICES",
    "Shuffling",
    "Transfer",
    "place_of",
    "service_named",
]


#: Parameters of the service `levels`, as `resolve` reads them.
_LEVELS = (
    Parameter("factors", None, sequence(3, number(lowest=0)), ""),
    Parameter("duration", None, number(lowest=0), ""),
)


class Levels(Service):
    """Times by locality: on a node with the task's data, in the rack of such a node, and beyond.

    A task takes its `times`. Without them it takes its `duration`, times a factor by locality.

    Parameters
    ----------
    factors
        The factors of a `duration` on a node with the data, in its rack, and beyond it.
    duration
        Seconds: the `duration` of tasks with neither; without it they are refused. With equal times for all tasks and
        no heartbeats a run goes in waves: nothing starts before everything that runs has ended.

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
    #: Its name in messages and records.
    name = "levels"

    def __init__(self, factors: Sequence[float] | str = (1, 1, 1), duration: float | str | None = None) -> None:
        values = resolve(self.name, _LEVELS, {"factors": factors}, {} if duration is None else {"duration": duration})
        self.factors, self.duration = values["factors"], values["duration"]

    @property
    def label(self) -> str:
        factors = "" if self.factors == (1, 1, 1) else f",factors={':'.join(map(str, self.factors))}"
        return f"{self.name}{factors}{'' if self.duration is None else f',duration={self.duration}'}"

    def prepare(self, instance: Instance) -> None:
        left = np.flatnonzero(instance.state.status != FINISHED)
        if self.duration is not None:
            workload = instance.workload
            duration = np.where(np.isnan(workload.duration), float(self.duration), workload.duration)
            instance = replace(instance, workload=replace(workload, duration=duration))
        if missing := list(untimed(instance, left)):
            raise MissingField(missing, place_of(instance, self.name))
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
    """The recorded durations of a trace, wherever a task runs now.

    A reduce's recorded duration includes its waiting for maps, so it ends when its time is over.

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
    def label(self) -> str:
        return "recorded"

    def prepare(self, instance: Instance) -> None:
        duration = instance.workload.duration
        missing = np.flatnonzero(np.isnan(duration) & (instance.state.status != FINISHED)).tolist()
        if missing:
            message = (
                "the trace does not say how long it took; leave the task out (import rumen --unsuccessful leave-out), "
                "or take another service"
            )
            faults = [Fault(f"tasks[{task}].duration", message) for task in missing]
            raise MissingField(faults, place_of(instance, "recorded"))
        self._takes = microseconds(np.nan_to_num(duration)).tolist()

    def started(self, task: int, node: int, now: int) -> Ends:
        return ((task, now + self._takes[task]),)


def place_of(instance: Instance, name: str) -> str:
    """The name of a service on an instance in messages."""
    return f"{instance.name}: {name}" if instance.name else name


#: The services by their names on the command line, each with its module and class, imported on first use.
SERVICES = {
    "levels": ("services", "Levels"),
    "transfer": ("services", "Transfer"),
    "rates": ("rates", "Rates"),
    "recorded": ("services", "Recorded"),
    "overload": ("services", "Overload"),
}


def service_named(name: str) -> type[Service]:
    """The class of the service of a name.

    >>> service_named("levels")(factors="1,1,2")
    <Service levels,factors=1:1:2>
    """
    module, made = SERVICES[name]
    found: type[Service] = getattr(import_module(f"optsched.heuristics.simulating.{module}"), made)
    return found


# What maps send to reduces over time: by map, by reduce, and which maps are still to end ------------------------------


class Shuffling:
    """The shuffle of an instance, and the maps that have ended; each of these must have a node.

    Attributes
    ----------
    map, reduce, size
        int64, int64 and float64, shape (entries,): tasks, and the MB that one sends to the other.
    of_map, of_reduce
        For each task the entries that it sends, and those that it receives.
    node
        For each ended map, the node it ran on, else -1; shape (tasks,).
    left
        For each reduce, how many maps must end before it has all of its input; shape (tasks,).

    Examples
    --------
    >>> from optsched.core.instance import Cluster, Workload
    >>> sent = Shuffle([0, 1], [2, 2], size=[5.0, 7.0])
    >>> workload = Workload(["m1", "m2", "r"], job=[0, 0, 0], job_ids=["j"], kind=[0, 0, 1], shuffle=sent)
    >>> shuffling = Shuffling(Instance(Cluster(["a"]), workload))
    >>> shuffling.ended(1, 0), int(shuffling.left[2]), shuffling.ready(2).tolist()
    ([2], 1, [1])
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
        self._job, jobs = workload.job, len(workload.job_ids)
        #: The reduces of each job; the last row has all other tasks.
        of = np.where((workload.kind == REDUCE) & (self._job >= 0), self._job, jobs)
        self._reduces = _entries_of(of, jobs + 1)
        late = (workload.kind == MAP) & ~done
        of_job = np.bincount(self._job[late & (self._job >= 0)], minlength=jobs + 1)
        apart = late[self.map] & ((self._job[self.map] != self._job[self.reduce]) | (self._job[self.reduce] < 0))
        #: Late maps of another job, or of none, and reduces to which they send.
        sends = np.unique(np.stack((self.map, self.reduce))[:, apart], axis=1)
        self.left: Ints = of_job[self._job] + np.bincount(sends[1], minlength=tasks)

    def ready(self, reduce: int) -> Ints:
        """The entries that a reduce receives from ended maps, in order."""
        entries = self.of_reduce[reduce]
        ready: Ints = entries[self.node[self.map[entries]] != NONE]
        return ready

    def ended(self, task: int, node: int) -> list[int]:
        """A map has ended on a node; returns the reduces that waited for it: of its job, and those it sends to."""
        self.node[task] = node
        receive = self.reduce[self.of_map[task]]
        if (job := self._job[task]) >= 0:
            receive = np.concatenate((receive, self._reduces[job]))
        waited: list[int] = np.unique(receive).tolist()
        self.left[waited] -= 1
        return waited

    def progress(self, maps: Ints, read: Floats, emitted: Floats) -> Progress | None:
        """What becomes known about maps, each with the MB that it has read and its emitted share; or None."""
        sent = self.of_map.take(maps)
        known = Progress(maps, read, sent.values, self.size[sent.values] * emitted[sent.row_of])
        return known if len(maps) else None


def unplaced(instance: Instance) -> Iterator[Fault]:
    """The maps with an unknown node that have ended and send to reduces that have not; one fault each."""
    workload, state = instance.workload, instance.state
    if workload.shuffle is not None:
        sends = workload.shuffle.map[state.status[workload.shuffle.reduce] != FINISHED]
        lost = sends[(state.status[sends] == FINISHED) & (state.node[sends] == NONE)]
        for task in np.unique(lost).tolist():
            yield Fault(f"tasks[{task}].node", "it has ended, and reduces read from it: say on which node it ran")


def _entries_of(ends: Ints, count: int) -> Ragged:
    """For each of `count` ends its positions in `ends`."""
    return Ragged.of_lengths(np.bincount(ends, minlength=count), np.argsort(ends, kind="stable"))


# Tasks that compute and fetch data over the distances of a cluster (Shen et al. 2016, II-B) ---------------------------

#: The tolerance of sums of shares of whole microseconds.
_ROUNDED = 1e-3

#: Long before any time of a run, in microseconds.
_LONG_AGO = -(2**53)


#: Parameters of the service `transfer`.
_TRANSFER = (
    Parameter("scale", 1, number(lowest=0), ""),
    Parameter("reads", "throughout", choice("throughout", "first"), ""),
    Parameter("shuffle", "ended", choice("ended", "emitted", "none"), ""),
)


class Transfer(Service):
    """A map computes and fetches its block; a reduce copies from its maps while these run, and then computes.

    A map takes its `duration` (or else its `times` on a node with its block, which is assumed to be only computing)
    plus, for each MB, the distance to the nearest replica (`optsched.problems.service_times`, as in the problems over
    time with `service=transfer`). A map without replicas fetches nothing. A reduce copies what its maps send it, one
    after another, each MB at the distance from the map's node, and computes for its `duration` once it has everything.
    What is copied before the last map ends costs no further time.

    Parameters
    ----------
    scale
        Seconds that a MB takes over a distance of 1; 1 if distances are seconds per MB, as for rates and links.
    reads
        `throughout`: a map reads, computes and emits evenly during its whole time, as Shen et al. assume to infer the
        size of outputs; `first`: it reads, then it computes and emits.
    shuffle
        `ended`: a reduce copies from ended maps, in the order in which they ended, as in Hadoop; `emitted`: it copies
        what its maps have emitted by then; `none`: it copies nothing, computes at once, and ends no sooner than its
        job's last map, as in the problems over time.

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

    def __init__(self, scale: float | str = 1, reads: str = "throughout", shuffle: str = "ended") -> None:
        given = resolve("transfer", _TRANSFER, {"scale": scale, "reads": reads, "shuffle": shuffle})
        self.scale, self.reads, self.shuffle = given["scale"], given["reads"], given["shuffle"]
        self.waits_for_maps = self.shuffle == "none"

    @property
    def label(self) -> str:
        usual = {parameter.name: parameter.default for parameter in _TRANSFER}
        unusual = (f"{name}={getattr(self, name)}" for name in usual if getattr(self, name) != usual[name])
        return ",".join(["transfer", *unusual])

    def prepare(self, instance: Instance) -> None:
        left = np.flatnonzero(instance.state.status != FINISHED)
        lost = () if self.shuffle == "none" else unplaced(instance)
        if faults := [*missing_times(instance, left), *lost]:
            raise MissingField(faults, place_of(instance, "transfer"))
        workload = instance.workload
        tasks = len(workload)
        self._apart, self._times = Apart(instance), transfer_times(instance, np.arange(tasks), self.scale)
        self._computes = microseconds(np.nan_to_num(computing(instance)))
        self._size = np.nan_to_num(workload.size)
        self._is_map = (workload.kind == MAP).tolist()
        self._shuffling = Shuffling(instance)
        #: For each task its node, and its start; for each map its duration, and its reading time.
        self._node: Ints = np.where(instance.state.status == PENDING, -1, instance.state.node)
        self._begin: Ints = np.full(tasks, _LONG_AGO)
        self._takes: Ints = np.zeros(tasks, dtype=np.int64)
        self._fetches: Ints = np.zeros(tasks, dtype=np.int64)
        self._running: set[int] = set()
        self._reported: Ints = np.full(len(instance.cluster), _LONG_AGO)

    def started(self, task: int, node: int, now: int) -> Ends:
        self._node[task], self._begin[task] = node, now
        self._running.add(task)
        if not self._is_map[task]:
            if self.shuffle == "none":
                return ((task, now + int(self._computes[task])),)
            return () if self._shuffling.left[task] else ((task, self._end_of(task, now)),)
        self._takes[task] = self._times.on(np.array([task]), np.array([node]))[0]
        self._fetches[task] = self._takes[task] - self._computes[task]
        return ((task, now + int(self._takes[task])),)

    def ended(self, task: int, now: int) -> Ends:
        self._running.discard(task)
        if not self._is_map[task] or self.shuffle == "none":
            return ()
        return [
            (reduce, self._end_of(reduce, now))
            for reduce in self._shuffling.ended(task, int(self._node[task]))
            if reduce in self._running and not self._shuffling.left[reduce]
        ]

    def stopped(self, task: int, now: int) -> Ends:
        self._running.discard(task)
        return ()

    def _end_of(self, reduce: int, now: int) -> int:
        """The end of a reduce whose maps have all ended by now."""
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
        maps: Ints = np.array([task for task in sorted(self._running) if self._is_map[task]], dtype=np.int64)
        maps = maps[beats[self._node[maps]] > self._reported[self._node[maps]]]
        self._reported = beats
        went = np.maximum(0, beats[self._node[maps]] - self._begin[maps])
        takes, fetches = self._takes[maps], self._fetches[maps]
        if self.reads == "throughout":
            read = emitted = _share(went, takes)
        else:
            read, emitted = _share(went, fetches), _share(went - fetches, takes - fetches)
        return self._shuffling.progress(maps, self._size[maps] * read, emitted)


def _share(went: Ints, takes: Ints) -> Floats:
    """The share of a time that has passed, from 0 to 1; all of a time of 0."""
    share: Floats = np.clip(np.maximum(went, 0) / np.maximum(takes, 1), 0.0, 1.0)
    return np.where(takes > 0, share, 1.0)


def _copied_as_ended(begin: int, ends: Ints, copies: Ints) -> int:
    """When a reduce that began at `begin` has copied from maps, one after another as they end.

    >>> _copied_as_ended(5, np.array([0, 20, 10]), np.array([3, 4, 30]))
    44
    """
    order = np.argsort(ends, kind="stable")
    ends, copies = ends[order], copies[order]
    to_come = np.cumsum(copies[::-1])[::-1]  # from each map on; the last one to wait for its map sets the end
    return int(max(begin, (np.maximum(ends, begin) + to_come).max(initial=begin)))


def _copied_as_emitted(begin: int, since: Ints, until: Ints, copies: Ints) -> int:
    """When a reduce has copied from maps as they emit evenly from `since` to `until`; the last has ended.

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
    # A server that is idle only if there is nothing to copy: the beginning from which it is busiest sets the end.
    at = np.concatenate(([begin], times[times > begin]))
    before = np.interp(at, times, emitted)
    before[0] = 0.0  # what was emitted before it began waits for it
    return int(np.ceil((at + float(copies.sum()) - before).max() - _ROUNDED))


# A node that runs more tasks than it can bear -------------------------------------------------------------------------


class Overload(Levels):
    """Times by locality while the tasks of a node fit; beyond that all of them are slower.

    While the tasks on a node demand f > 1 times its `capacity` of some resource, each goes at 1/f of its rate; the
    largest f counts. This is an assumption: Sharmilarani et al. speak of stragglers and give no formula. A task without
    `demand` takes nothing. A reduce takes its `demand_shuffle`, if it has one, until its job's last map has ended. A
    task that runs at the snapshot has shared with the other running ones since it started.

    No task ends sooner than under `levels`, so bounds of `makespan` and `job-times` hold for runs.

    Parameters
    ----------
    factors, duration
        As for `Levels`.

    Examples
    --------
    Each of two tasks takes three of four cores: from 2 s on, both go at 4/6 of their rate.

    >>> from optsched.core.instance import Cluster, Workload
    >>> service = Overload()
    >>> workload = Workload(["t1", "t2"], duration=[10.0, 10.0], demand={"cpu": [3.0, 3.0]})
    >>> service.prepare(Instance(Cluster(["a"], slots=[2], capacity={"cpu": [4.0]}), workload))
    >>> service.started(0, 0, 0), service.started(1, 0, 2_000_000)
    ([(0, 10000000)], [(0, 14000000), (1, 17000000)])
    >>> service.ended(0, 14_000_000)
    [(1, 16000000)]
    """

    name = "overload"
    stateless = False

    def prepare(self, instance: Instance) -> None:
        super().prepare(instance)
        workload, cluster = instance.workload, instance.cluster
        every = np.arange(len(workload))
        takes = [demands_of(instance, every, phase) for phase in ("shuffle", "after")]
        if faults := list(_overload_faults(instance, takes)):
            raise MissingField(faults, place_of(instance, self.name))
        #: Each task's demand of each resource while its job's maps run, and afterwards; each node's capacity.
        self._takes = [list(zip(*(column.tolist() for column in table.values()), strict=True)) for table in takes]
        self._has = list(zip(*(_capacity(cluster, name).tolist() for name in takes[0]), strict=True))
        self._is_map = (workload.kind == MAP).tolist()
        self._shuffling = Shuffling(instance)
        #: The node of each running task.
        self._at: dict[int, int] = {}
        #: For each node the remaining microseconds of its tasks without slowdown, their slowdown, and since when.
        self._on: list[dict[int, Fraction]] = [{} for _ in cluster.node_ids]
        self._slower = [Fraction(1)] * len(cluster)
        self._since = [0] * len(cluster)

    def started(self, task: int, node: int, now: int) -> Ends:
        ((_, end),) = super().started(task, node, now)
        self._pass(node, now)
        self._at[task], self._on[node][task] = node, Fraction(end - now)
        ends = self._anew([node], now)
        return ends if end > now else [*ends, (task, now)]

    def ended(self, task: int, now: int) -> Ends:
        node = self._leave(task)
        if not self._is_map[task]:
            return self._anew([node], now)
        waited = self._shuffling.ended(task, node)
        complete = [reduce for reduce in waited if reduce in self._at and not self._shuffling.left[reduce]]
        return self._anew([node, *(self._at[reduce] for reduce in complete)], now)

    def stopped(self, task: int, now: int) -> Ends:
        return self._anew([self._leave(task)], now)

    def _leave(self, task: int) -> int:
        """A task runs no longer; returns the node on which it ran."""
        node = self._at.pop(task)
        del self._on[node][task]
        return node

    def _pass(self, node: int, now: int) -> None:
        """Let time pass on a node."""
        went = (now - self._since[node]) / self._slower[node]
        self._on[node] = {task: left - went for task, left in self._on[node].items()}
        self._since[node] = now

    def _anew(self, nodes: Iterable[int], now: int) -> Sequence[tuple[int, int]]:
        """Share again among the tasks of some nodes; returns the ends of those with work left."""
        ends = []
        for node in dict.fromkeys(nodes):
            self._pass(node, now)
            slower = self._slower[node] = max([Fraction(1), *self._loads(node)])
            ends += [(task, now + ceil(left * slower)) for task, left in self._on[node].items() if left > 0]
        return ends

    def _loads(self, node: int) -> Iterator[Fraction]:
        """By how much its tasks exceed each of a node's resources, as a factor."""
        asked = [self._takes[not self._shuffling.left[task]][task] for task in self._on[node]]
        for has, *amounts in zip(self._has[node], *asked, strict=True):
            if any(amounts):
                yield sum(map(decimal, amounts)) / decimal(has)


def _overload_faults(instance: Instance, takes: Sequence[Mapping[str, Floats]]) -> Iterator[Fault]:
    """The faults of tasks that lack something, or would run for ever; one each."""
    cluster = instance.cluster
    asked = [name for name in takes[0] if any(table[name].any() for table in takes)]
    if not asked:
        yield Fault("tasks[].demand", "say what tasks take of a resource, or take levels")
    runs = (cluster.slots > 0) | (cluster.reduce_slots > 0)
    runs[instance.state.node[instance.state.status == RUNNING]] = True
    for name in asked:
        for node in np.flatnonzero(runs & ~(_capacity(cluster, name) > 0)).tolist():
            yield Fault(f"nodes[{node}].capacity.{name}", "say how much it has, more than 0: tasks demand it")


def _capacity(cluster: Cluster, name: str) -> Floats:
    """The capacity of each node in a resource, NaN if not given."""
    return cluster.capacity.get(name, np.full(len(cluster), np.nan))
