"""Tasks that slow one another down where a node runs more of them than it can bear."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil

import numpy as np

from optsched.core.decimals import decimal
from optsched.core.errors import Fault, MissingField
from optsched.core.instance import MAP, RUNNING, Cluster, Floats, Instance
from optsched.heuristics.running.course import Ends
from optsched.problems.demands import demands_of
from optsched.simulating.services import Levels, Shuffling, place_of

__all__ = ["Overload"]


class Overload(Levels):
    """Times by locality, as long as the tasks of a node fit; beyond that all of them are slower.

    While the tasks on a node ask for f > 1 times its `capacity` of some resource, each goes at 1/f of its rate; the
    resource with the largest f counts. This is assumed: Sharmilarani et al. speak of stragglers and give no formula.
    A task without `demand` takes nothing. A reduce takes its `demand_shuffle`, if it has one, until its job's last map
    has ended. A task that runs at the snapshot has shared with those that do since it started.

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
        if faults := list(_faults(instance, takes)):
            raise MissingField(faults, place_of(instance, self.name))
        #: What each task takes of each resource while its job's maps run, and then; what each node has of it.
        self._takes = [list(zip(*(column.tolist() for column in table.values()), strict=True)) for table in takes]
        self._has = list(zip(*(_capacity(cluster, name).tolist() for name in takes[0]), strict=True))
        self._is_map = (workload.kind == MAP).tolist()
        self._shuffling = Shuffling(instance)
        #: Where each running task is, and what it would still take if nothing slowed it down, in microseconds.
        self._at: dict[int, int] = {}
        self._left: dict[int, Fraction] = {}
        #: Of each node its tasks, how much slower they go, and since when `_left` holds.
        self._on: list[dict[int, None]] = [{} for _ in cluster.node_ids]
        self._slower = [Fraction(1)] * len(cluster)
        self._since = [0] * len(cluster)

    def started(self, task: int, node: int, now: int) -> Ends:
        ((_, end),) = super().started(task, node, now)
        self._pass(node, now)
        self._at[task], self._left[task] = node, Fraction(end - now)
        self._on[node][task] = None
        ends = self._anew([node], now)
        return ends if end > now else [*ends, (task, now)]

    def ended(self, task: int, now: int) -> Ends:
        node = self._leave(task)
        if not self._is_map[task]:
            return self._anew([node], now)
        self._shuffling.ended(task, node)
        complete = [one for one in self._shuffling.waiting(task).tolist() if not self._shuffling.left(one)]
        return self._anew([node, *(self._at[reduce] for reduce in complete if reduce in self._at)], now)

    def stopped(self, task: int, now: int) -> Ends:
        return self._anew([self._leave(task)], now)

    def _leave(self, task: int) -> int:
        """A task runs no more; the node that it ran on."""
        node = self._at.pop(task)
        del self._on[node][task], self._left[task]
        return node

    def _pass(self, node: int, now: int) -> None:
        """Let time pass on a node."""
        went = (now - self._since[node]) / self._slower[node]
        for task in self._on[node]:
            self._left[task] -= went
        self._since[node] = now

    def _anew(self, nodes: Iterable[int], now: int) -> Sequence[tuple[int, int]]:
        """The tasks of some nodes share anew; when each ends that has not yet done what it has to do."""
        ends = []
        for node in dict.fromkeys(nodes):
            self._pass(node, now)
            slower = self._slower[node] = max([Fraction(1), *self._loads(node)])
            left = ((task, self._left[task]) for task in self._on[node])
            ends += [(task, now + ceil(time * slower)) for task, time in left if time > 0]
        return ends

    def _loads(self, node: int) -> Iterator[Fraction]:
        """How many times what a node has of each resource its tasks ask for."""
        asked = [self._takes[not self._shuffling.left(task)][task] for task in self._on[node]]
        for has, *amounts in zip(self._has[node], *asked, strict=True):
            if any(amounts):
                yield sum(map(decimal, amounts)) / decimal(has)


def _faults(instance: Instance, takes: Sequence[Mapping[str, Floats]]) -> Iterator[Fault]:
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
    """The capacity of each node in a resource, NaN where it is not given."""
    return cluster.capacity.get(name, np.full(len(cluster), np.nan))
