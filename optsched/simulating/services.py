"""How long tasks take: the services that the engine asks. It knows none of them, and anybody may write another.

All times are whole microseconds on the clock of the instance; tasks and nodes are indices of the instance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module

import numpy as np

from optsched.errors import Fault, MissingField, UsageError
from optsched.instance import FINISHED, Instance
from optsched.problems.base import number, sequence
from optsched.problems.service_times import level_times, untimed
from optsched.running.service import Ends, Service
from optsched.schedule import microseconds

__all__ = ["SERVICES", "Levels", "Recorded", "place_of", "service_named"]


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
    >>> from optsched.instance import Cluster, Ragged, Workload
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
    >>> from optsched.instance import Cluster, Workload
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
