"""Tasks that slow one another down, since they share processing and network capacity.

Hsu and Freeh, sections 3 and 4.2: a task is a flow of data from a storage node through its own node, and its rate
changes with the other running tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from heapq import heapify, heappop, heappush
from math import inf, isnan
from typing import Any

import numpy as np

from optsched.core.decimals import decimal
from optsched.core.deprecated import former_names
from optsched.core.errors import Fault, MissingField, UsageError
from optsched.core.instance import FINISHED, MAP, RUNNING, Instance, Ints
from optsched.core.placement import MICRO, microseconds
from optsched.heuristics.running.course import WAKE, Ends, Progress, Service
from optsched.heuristics.simulating.services import Shuffling, place_of, unplaced
from optsched.problems.demands import task_rates
from optsched.problems.parameters import Parameter, choice, resolve

__all__ = [
    "Rates",
    "least_times",
]

__getattr__ = former_names(__name__, Overload="optsched.heuristics.simulating.services:Overload")

#: Rates are whole multiples of 1 MB/s over this, so that nothing drifts; remaining work is a whole product of such a
#: rate and a microsecond.
_UNIT = 10**12

#: Stands for the source node of data that comes from none.
_NOWHERE = -1


#: The demand of a task that asks for everything there is: more than any rate.
_ALL = _UNIT * 2**53


class Shares:
    """Max-min fair rates of flows that come and go on resources of given capacities; `rate` has the last settled ones.

    All rates grow equally until a flow has its demand or one of its resources is full; then it stays, and the others
    grow on (Bertsekas and Gallager 1992, section 6.5.2). All numbers are whole: nobody gets what a full resource leaves
    over, less than one unit per flow.

    Only the flows that an event affects are computed again: those joined to it by resources whose demand exceeds
    capacity. All others keep their rates.

    >>> shares = Shares([10, 4])
    >>> shares.add(7, [0], 9), shares.add(8, [0, 1], 9), shares.settle()
    (None, None, {8: 4, 7: 6})
    >>> shares.remove(7), shares.add(9, [1], 1), shares.settle()
    (None, None, {9: 1, 8: 3})
    """

    def __init__(self, capacity: Sequence[float]) -> None:
        self._capacity = capacity
        #: The flows on each resource, in the order of arrival, and their total demand.
        self._users: list[dict[int, None]] = [{} for _ in capacity]
        self._asked = [0] * len(capacity)
        self._uses: dict[int, Sequence[int]] = {}
        self._most: dict[int, int] = {}
        self.rate: dict[int, int] = {}
        #: Flows whose rates may have changed since they were settled.
        self._touched: dict[int, None] = {}

    def __contains__(self, flow: object) -> bool:
        return flow in self._uses

    def users(self, resource: int) -> int:
        """How many flows use a resource."""
        return len(self._users[resource])

    def add(self, flow: int, uses: Sequence[int], most: int) -> None:
        """Add a flow with the demand `most`. It has no rate until it is settled."""
        asked: Any = min([most, *(self._capacity[resource] for resource in uses)])
        self._uses[flow], self._most[flow] = uses, asked
        for resource in uses:
            self._users[resource][flow] = None
            self._asked[resource] += asked
        self._touched[flow] = None

    def remove(self, flow: int) -> None:
        """Remove a flow, if it is there."""
        for resource in self._uses.pop(flow, ()):
            del self._users[resource][flow]
            if self._asked[resource] > self._capacity[resource]:
                self._touched.update(self._users[resource])
            self._asked[resource] -= self._most[flow]
        self._most.pop(flow, None)
        self.rate.pop(flow, None)
        self._touched.pop(flow, None)

    def settle(self) -> dict[int, int]:
        """Give each flow its rate; returns those whose rate changed, with it."""
        flows, tight = self._joined()
        self._touched = {}
        filled = self._filled(flows, tight)
        changed = {flow: rate for flow, rate in filled.items() if self.rate.get(flow) != rate}
        self.rate |= changed
        return changed

    def _joined(self) -> tuple[list[int], list[int]]:
        """The flows that share scarce resources with the affected ones, those that share with these, and so on."""
        found = dict.fromkeys(self._touched)
        wait = list(found)
        tight: dict[int, None] = {}
        for flow in wait:
            for resource in self._uses[flow]:
                if resource in tight or self._asked[resource] <= self._capacity[resource]:
                    continue
                tight[resource] = None
                for other in self._users[resource]:
                    if other not in found:
                        found[other] = None
                        wait.append(other)
        return wait, list(tight)

    def _filled(self, flows: list[int], tight: list[int]) -> dict[int, int]:
        """The rates of flows that share scarce resources with no others."""
        left: dict[int, Any] = {resource: self._capacity[resource] for resource in tight}
        count = {resource: len(self._users[resource]) for resource in tight}
        #: The share that each resource gave at some time; it only grows.
        levels = [(left[resource] // count[resource], resource) for resource in tight]
        heapify(levels)
        rate: dict[int, int] = {}

        def give(flow: int, level: int) -> None:
            rate[flow] = level
            for resource in self._uses[flow]:
                if resource in left:
                    left[resource] -= level
                    count[resource] -= 1

        for flow in sorted(flows, key=self._most.__getitem__):  # stable: flows with equal demand stay in order
            asked = self._most[flow]
            while levels and levels[0][0] < asked:
                level, resource = heappop(levels)
                if not count[resource]:
                    continue
                now = left[resource] // count[resource]
                if now > level:  # others on it took less than their share
                    heappush(levels, (now, resource))
                    continue
                for user in self._users[resource]:
                    if user not in rate:
                        give(user, level)
            if flow not in rate:
                give(flow, asked)
        return rate


class _Reading:
    """A task that reads: what it reads from which node, at which rates so far, and what waits for it.

    Attributes
    ----------
    node
        Where it runs.
    source
        The node that it reads from.
    total
        What it reads from there: a rate times microseconds.
    marks
        When its rate changed, what was left to read from there, and the rate from then on.
    waits
        What other nodes have for it.
    """

    __slots__ = ("marks", "node", "source", "total", "waits")

    def __init__(self, node: int, now: int) -> None:
        self.node = node
        self.waits: dict[int, int] = {}
        self.read(_NOWHERE, 0, now)

    def put(self, source: int, work: int) -> None:
        """Add what a node has for it."""
        if work:
            self.waits[source] = self.waits.get(source, 0) + work

    def read(self, source: int, work: int, now: int) -> None:
        """Begin to read from a node."""
        self.source, self.total, self.marks = source, work, [(now, work, 0)]

    def left_at(self, now: int) -> int:
        """The remaining work."""
        since, left, rate = self.marks[-1]
        return max(0, left - rate * (now - since))

    def go(self, rate: int, now: int) -> None:
        """Continue at another rate."""
        self.marks.append((now, self.left_at(now), rate))

    def until(self) -> int | None:
        """When everything is read from there; None: never at this rate."""
        since, left, rate = self.marks[-1]
        if not left:
            return since
        return since - (-left // rate) if rate else None

    def reported(self, beat: int) -> int:
        """The remaining work at a time, no earlier than that of the last call."""
        while len(self.marks) > 1 and self.marks[1][0] <= beat:
            del self.marks[0]
        since, left, rate = self.marks[0]
        return max(0, left - rate * max(0, beat - since))


class Rates(Service):
    """Each running task goes at the least of its demand and its shares, until its MB are through.

    A task's demand is its `rate_in`, by the type of its node. It shares its node's `rate_process` with all tasks that
    run there, its node's `rate_in` with all that read over the network there, and the `rate_out` of the node that it
    reads from with all that read from there: max-min fair `Shares`, recomputed whenever a task starts or ends. Rates
    that are not given do not limit.

    A map reads its `size` from a node with its block: its own node, else one in its rack, else any; of these the one
    from which the fewest tasks read. A reduce reads what its ended maps send it, from one of their nodes at a time: in
    the order of the nodes, beginning after its own. Without a `shuffle` it goes through its `size`. It ends when all of
    its job's maps have ended and it has read everything. Its output costs nothing. A task that runs at the snapshot has
    shared with the other running ones since it started, unless its `bytes_read` say how far it is.

    Parameters
    ----------
    local
        `free`: a task that reads from its own node needs no share of the node's output and input rates; `shared`: it
        needs its share of the output rate.

    Examples
    --------
    Two maps read from `s`, which sends 10 MB/s; one of them asks for at most 2:

    >>> from optsched.core.instance import Cluster, Ragged, Workload
    >>> cluster = Cluster(["a", "b", "s"], rate_out=[10, 10, 10])
    >>> blocks = Ragged.from_rows([[2], [2]])
    >>> service = Rates()
    >>> service.prepare(Instance(cluster, Workload(["t1", "t2"], size=[80, 80], rate_in=[20, 2], replicas=blocks)))
    >>> service.started(0, 0, 0), service.started(1, 1, 0)
    (((-1, 0),), ((-1, 0),))
    >>> service.woken(0)
    [(0, 10000000), (1, 40000000)]
    """

    waits_for_maps = False

    def __init__(self, local: str = "free") -> None:
        given = resolve("rates", (Parameter("local", "free", choice("free", "shared"), ""),), {"local": local})
        self.local = given["local"]

    def prepare(self, instance: Instance) -> None:
        if faults := [*_faults(instance), *unplaced(instance)]:
            raise MissingField(faults, place_of(instance, "rates"))
        cluster, workload, state = instance.cluster, instance.workload, instance.state
        self._instance, self._is_map = instance, (workload.kind == MAP).tolist()
        self._nodes = len(cluster)
        limits = np.concatenate((cluster.rate_process, cluster.rate_in, cluster.rate_out)).tolist()
        #: The resources: what each node processes, then what each takes in, then what each gives out.
        self._shares = Shares([inf if isnan(rate) else _units(rate) for rate in limits])
        self._shuffling = Shuffling(instance)
        self._receives = self._shuffling.of_reduce.lengths > 0
        self._readings: dict[int, _Reading] = {}
        self._heard: Ints = np.full(len(cluster), -(2**53))
        #: Tasks whose end must be reported even at the same rate.
        self._to_report: dict[int, None] = {}
        #: When reduces may have read everything from a node.
        self._turns: list[tuple[int, int]] = []
        #: Tasks that run at the snapshot and are still to begin.
        self._at_first = int(np.count_nonzero(state.status == RUNNING))
        self._time = int(microseconds(instance.time))

    # What happens ---------------------------------------------------------------------------------------------------

    def started(self, task: int, node: int, now: int) -> Ends:
        self._begin(task, node, now)
        if not self._at_first:
            return ((WAKE, now),)
        self._share_again(now)
        self._at_first -= 1
        return () if self._at_first else self._replayed()

    def ended(self, task: int, now: int) -> Ends:
        node = self._leave(task).node
        if self._is_map[task]:
            waited = self._shuffling.ended(task, node)
            for entry in self._shuffling.of_map[task].tolist():
                reading = self._readings.get(int(self._shuffling.reduce[entry]))
                if reading is not None:
                    reading.put(node, _work(self._shuffling.size[entry]))
            self._to_report.update((reduce, None) for reduce in waited if reduce in self._readings)
        return ((WAKE, now),)

    def stopped(self, task: int, now: int) -> Ends:
        self._leave(task)
        return ((WAKE, now),)

    def woken(self, now: int) -> Ends:
        """Reduces that have read everything from a node turn to the next; affected tasks get new ends."""
        while self._turns and self._turns[0][0] <= now:
            _, task = heappop(self._turns)
            if task in self._readings:
                self._to_report[task] = None
        touched = {*self._share_again(now), *self._to_report}
        self._to_report.clear()
        ends = [end for task in sorted(touched) for end in self._end_of(task)]
        if self._turns:
            ends.append((WAKE, max(now, self._turns[0][0])))
        return ends

    def progress(self, beats: Ints, now: int) -> Progress | None:
        heard = (beats > self._heard).tolist()
        self._heard = beats
        reporting, shares = [], []
        for task, reading in self._readings.items():
            if heard[reading.node] and self._is_map[task] and reading.total:
                reporting.append(task)
                shares.append(1 - reading.reported(int(beats[reading.node])) / reading.total)
        maps, share = np.array(reporting, dtype=np.int64), np.array(shares)
        return self._shuffling.progress(maps, self._instance.workload.size[maps] * share, share)

    # Tasks that read ------------------------------------------------------------------------------------------------

    def _begin(self, task: int, node: int, now: int) -> None:
        """A task starts to read."""
        reading = self._readings[task] = _Reading(node, now)
        self._to_report[task] = None
        size = self._instance.workload.size[task]
        if self._is_map[task]:
            self._read(task, reading, self._source(task, node), _work(size), now)
        elif self._receives[task]:
            for entry in self._shuffling.ready(task).tolist():
                sender = self._shuffling.node[self._shuffling.map[entry]]
                reading.put(int(sender), _work(self._shuffling.size[entry]))
        else:
            reading.put(_NOWHERE, _work(size))

    def _leave(self, task: int) -> _Reading:
        """A task is no longer on its node."""
        self._to_report.pop(task, None)
        self._shares.remove(task)
        return self._readings.pop(task)

    def _read(self, task: int, reading: _Reading, source: int, work: int, now: int) -> None:
        """A task reads from a node from now on."""
        node = reading.node
        uses = [node]
        if source not in (_NOWHERE, node):
            uses.append(self._nodes + node)
        if source != _NOWHERE and (source != node or self.local == "shared"):
            uses.append(2 * self._nodes + source)
        reading.read(source, work, now)
        asks = float(task_rates(self._instance, np.array([task]))[0, self._instance.cluster.type[node]])
        self._shares.add(task, uses, _ALL if isnan(asks) else _units(asks))

    def _share_again(self, now: int) -> dict[int, int]:
        """Share again; returns the tasks whose rates changed. Reduces that have read a node's data turn to the next."""
        for task in self._to_report:
            reading = self._readings[task]
            if self._is_map[task] or reading.left_at(now):
                continue
            self._shares.remove(task)
            reading.read(_NOWHERE, 0, now)
            if reading.waits:
                turns = {node: (node - reading.node - 1) % self._nodes for node in reading.waits}
                source = min(turns, key=turns.__getitem__)
                self._read(task, reading, source, reading.waits.pop(source), now)
        changed = self._shares.settle()
        for task, rate in changed.items():
            self._readings[task].go(rate, now)
        return changed

    def _end_of(self, task: int) -> Ends:
        """The end of a task at its current rate; nothing yet if it is unknown."""
        reading = self._readings[task]
        until = reading.until()
        if until is None:
            return ()
        if self._is_map[task] or not (reading.waits or self._shuffling.left[task]):
            return ((task, until),)
        if task in self._shares:
            heappush(self._turns, (until, task))
        return ()

    def _replayed(self) -> Ends:
        """Compute what is left now of tasks that run at the snapshot, which have shared since they started."""
        read = self._instance.state.bytes_read
        for task, reading in self._readings.items():
            left = reading.left_at(self._time)
            if self._is_map[task] and not np.isnan(read[task]):
                left = max(0, reading.total - _work(read[task]))
            reading.marks = [(self._time, left, reading.marks[-1][2])]
        return ((WAKE, self._time),)

    def _source(self, task: int, node: int) -> int:
        """The node from which a map reads its block."""
        holders: list[int] = self._instance.replicas[task].tolist()
        if not holders:
            return _NOWHERE
        if node in holders:
            return node
        rack = self._instance.cluster.rack
        near = [holder for holder in holders if rack[holder] >= 0 and rack[holder] == rack[node]]
        return min(near or holders, key=lambda holder: (self._shares.users(2 * self._nodes + holder), holder))


def least_times(instance: Instance, local: str = "free") -> Instance:
    """The instance with times that are lower limits under `Rates`, so that bounds of problems over time hold there.

    Each task takes its time at the best node with its data, and at the best one beyond, as if it were alone in the
    cluster. With shared rates no schedule is proved best: what a bound of the instance leaves open may be due to
    sharing.

    Parameters
    ----------
    instance
        As for `Rates`.
    local
        As for `Rates`.

    Returns
    -------
    Instance
        With `times` of all tasks that have not ended, rounded up to whole microseconds, and a label that says so.

    Raises
    ------
    UsageError
        If `local` is unknown, or a task can read nowhere.
    MissingField
        If the instance lacks what `Rates` needs.

    Examples
    --------
    A map of 80 MB reads 20 MB/s on `s`, and 10 from there, as one run on `a` does; two share, and take longer:

    >>> from optsched.core.instance import Cluster, Ragged, Workload
    >>> cluster = Cluster(["a", "s"], slots=[2, 0], rate_out=[10, 10])
    >>> blocks = Ragged.from_rows([[1], [1]])
    >>> instance = Instance(cluster, Workload(["t1", "t2"], size=[80, 80], rate_in=[20, 20], replicas=blocks))
    >>> least_times(instance).workload.times.tolist()
    [[4.0, 8.0, 8.0], [4.0, 8.0, 8.0]]
    """
    Rates(local).prepare(instance)
    cluster, workload, state = instance.cluster, instance.workload, instance.state
    left = np.flatnonzero(state.status != FINISHED)
    process, takes_in, gives = (
        np.where(np.isnan(rates), np.inf, rates) for rates in (cluster.rate_process, cluster.rate_in, cluster.rate_out)
    )
    asks = task_rates(instance, left)
    # The best processing rates of each type of node, and what they process of data from the network.
    alone, over = np.zeros(asks.shape[1]), np.zeros(asks.shape[1])
    np.maximum.at(alone, cluster.type, process)
    np.maximum.at(over, cluster.type, np.minimum(process, takes_in))
    by_process, by_network = np.fmin(asks, alone).max(axis=1), np.fmin(asks, over).max(axis=1)
    times, amounts = workload.times.copy(), _amounts(instance)
    for row, task in enumerate(left.tolist()):
        near = far = float(by_process[row])
        holders = instance.replicas[task]
        if workload.kind[task] == MAP and len(holders):
            own = np.fmin(asks[row, cluster.type[holders]], process[holders])
            near = float((own if local == "free" else np.minimum(own, gives[holders])).max())
            far = float(min(by_network[row], gives[holders].max()))
        fastest = max(near, far)
        if amounts[task] and not fastest:
            message = f"tasks[{task}] can read nowhere, and would never end; give its nodes rates above 0"
            raise UsageError(f"{place_of(instance, 'rates')}: {message}")
        took = [_took(amounts[task], rate or fastest) for rate in (near, far, far)]
        read, start = state.bytes_read[task], state.start[task]
        if state.status[task] == RUNNING and workload.kind[task] == MAP and not isnan(read) and not isnan(start):
            still = _took(max(0, amounts[task] - _work(float(read))), fastest)
            took = [int(microseconds(instance.time) - microseconds(start)) + still] * 3
        times[task] = [time / MICRO for time in took]
    labels = {**instance.labels, "times": "inferred: the least time of each task alone, by the rates of nodes"}
    return replace(instance, workload=replace(workload, times=times), labels=labels)


def _amounts(instance: Instance) -> list[int]:
    """The data that each task reads, as a rate times microseconds."""
    found = [0 if isnan(size) else _work(size) for size in instance.workload.size.tolist()]
    shuffling = Shuffling(instance)
    for reduce in np.flatnonzero(shuffling.of_reduce.lengths).tolist():
        sizes = shuffling.size[shuffling.of_reduce[reduce]].tolist()
        found[reduce] = sum(map(_work, sizes))
    return found


def _took(amount: int, rate: float) -> int:
    """The microseconds to read an amount."""
    return 0 if rate == float("inf") else -(-amount // max(1, _units(rate)))


@lru_cache(maxsize=2**16)
def _units(value: float) -> int:
    """A rate, or an amount, in units of 1/`_UNIT`, rounded down."""
    return int(decimal(value) * _UNIT)


def _work(size: float) -> int:
    """MB as a rate times microseconds."""
    return _units(size) * MICRO


def _faults(instance: Instance) -> Iterator[Fault]:
    """The faults of tasks that lack something, or would run for ever; one each."""
    workload, cluster = instance.workload, instance.cluster
    left = np.flatnonzero(instance.state.status != FINISHED)
    receives = np.zeros(len(workload), dtype=bool)
    if workload.shuffle is not None:
        receives[workload.shuffle.reduce] = True
    for task in left[np.isnan(workload.size[left]) & ~receives[left]].tolist():
        other = "" if workload.kind[task] == MAP else ", or what its maps send it (shuffle)"
        yield Fault(f"tasks[{task}].size", f"say how many MB it reads{other}")
    rates = task_rates(instance, left)[:, np.unique(cluster.type)]
    for task in left[(rates == 0).any(axis=1)].tolist():
        yield Fault(f"tasks[{task}].rate_in", "is 0: it would never end; give a rate above 0, or leave it out")
    runs = (cluster.slots > 0) | (cluster.reduce_slots > 0)
    if np.isnan(cluster.rate_process[runs]).any():
        for task in left[np.isnan(rates).any(axis=1)].tolist():
            yield Fault(f"tasks[{task}].rate_in", "say at which rate it reads, in MB/s, or give nodes a rate_process")
