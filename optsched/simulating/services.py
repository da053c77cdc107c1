"""How long tasks take: the services that the engine asks. It knows none of them, and anybody may write another.

All times are whole microseconds on the clock of the instance; tasks and nodes are indices of the instance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module

import numpy as np

from optsched.brief import brief
from optsched.errors import Fault, MissingField, UsageError
from optsched.instance import FINISHED, Floats, Instance, Ints
from optsched.problems.base import number, sequence
from optsched.problems.service_times import ServiceTimes, untimed
from optsched.schedule import microseconds

__all__ = ["SERVICES", "WAKE", "Ends", "Levels", "Progress", "Recorded", "Service", "place_of", "service_named"]

#: Stands for a task in an answer of a service that wants to be woken at a time.
WAKE = -1

#: Tasks, each with the microsecond at which it ends as things are now.
Ends = Iterable[tuple[int, int]]

_NONE: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Progress:
    """What has become known of running tasks since it was last asked for.

    Attributes
    ----------
    tasks, bytes_read
        Tasks, and the MB of its input that each has read by now.
    entries, emitted
        Entries of the instance's shuffle, and the MB that were emitted by now.
    """

    tasks: Ints
    bytes_read: Floats
    entries: Ints
    emitted: Floats


class Service(ABC):
    """Says when tasks end.

    Every answer is a row of pairs (task, end): each of these running tasks ends at its `end`, now or later, unless a
    later answer says otherwise. A task that no answer has named yet runs on. `(WAKE, time)` asks to be `woken` at that
    time; a later one takes the place of an earlier one. The same calls get the same answers.

    At one instant tasks end first, in the order of the instance. Then the service is woken, jobs arrive, and tasks
    start.

    Attributes
    ----------
    waits_for_maps
        Whether a reduce whose time is up before its job's last map has ended ends with that map. False: the service
        takes care of that itself.
    """

    waits_for_maps: bool = True

    def prepare(self, instance: Instance) -> None:  # noqa: B027  # what needs nothing of the instance need not say so
        """Begin anew with an instance; called once a run, before all else.

        Raises
        ------
        MissingField
            If the instance does not tell what it needs.
        """

    @abstractmethod
    def started(self, task: int, node: int, now: int) -> Ends:
        """A task starts. Those that run at the snapshot are told first, with the time at which each started."""

    def ended(self, task: int, now: int) -> Ends:
        """A task has ended when the service said so."""
        return _NONE

    def stopped(self, task: int, now: int) -> Ends:
        """A task was taken off its node before its end, and waits again."""
        return _NONE

    def woken(self, now: int) -> Ends:
        """The time has come that was asked for."""
        return _NONE

    def progress(self, beats: Ints, now: int) -> Progress | None:
        """What policies learn, before the first offer of an instant; a service without it does not define it.

        Parameters
        ----------
        beats
            int64, shape (nodes,): when each node last had a heartbeat, by which its tasks reported.
        now
            The time.
        """
        return None

    @property
    def told(self) -> str:
        """What records of runs call it."""
        return type(self).__name__

    def __repr__(self) -> str:
        return brief(f"Service {self.told}")


class Levels(Service):
    """Times by locality: on a node with the task's data, in the rack of such a node, and beyond.

    A task takes its `times`. One that gives none takes its `duration`, times a factor by locality.

    Parameters
    ----------
    factors
        What a `duration` is multiplied by on a node with the data, in its rack, and beyond it.

    Examples
    --------
    >>> from optsched.instance import Cluster, Ragged, Workload
    >>> workload = Workload(["t"], replicas=Ragged.from_rows([[0]]), duration=[10.0])
    >>> service = Levels(factors=(1, 1, 1.5))
    >>> service.prepare(Instance(Cluster(["a", "b"]), workload))
    >>> service.started(0, 0, 0), service.started(0, 1, 0)
    (((0, 10000000),), ((0, 15000000),))
    """

    def __init__(self, factors: Sequence[float] | str = (1, 1, 1)) -> None:
        try:
            self.factors = sequence(3, number(lowest=0))(factors)
        except ValueError as error:
            raise UsageError(f"levels: factors={factors!r}: {error}") from None

    @property
    def told(self) -> str:
        factors = "" if self.factors == (1, 1, 1) else f",factors={':'.join(map(str, self.factors))}"
        return f"levels{factors}"

    def prepare(self, instance: Instance) -> None:
        left = np.flatnonzero(instance.state.status != FINISHED)
        if missing := list(untimed(instance, left)):
            raise MissingField(missing, place_of(instance, "levels"))
        times = np.zeros((len(instance.workload), 3), dtype=np.int64)
        times[left] = ServiceTimes(instance, left, self.factors).by_level
        self._node, self._rack, self._off_rack = times.T.tolist()
        self._alike = (times == times[:, :1]).all(axis=1).tolist()
        self._starts, self._replicas = instance.replicas.starts.tolist(), instance.replicas.values.tolist()
        self._racks = instance.cluster.rack.tolist()

    def started(self, task: int, node: int, now: int) -> Ends:
        if self._alike[task]:
            return ((task, now + self._node[task]),)
        holders = self._replicas[self._starts[task] : self._starts[task + 1]]
        if node in holders:
            return ((task, now + self._node[task]),)
        racks = self._racks
        rack = racks[node]
        if rack >= 0 and any(racks[holder] == rack for holder in holders):
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

    @property
    def told(self) -> str:
        return "recorded"

    def prepare(self, instance: Instance) -> None:
        duration = instance.workload.duration
        missing = np.flatnonzero(np.isnan(duration) & (instance.state.status != FINISHED)).tolist()
        told = "the trace does not say how long it took; leave the task out, or take another service"
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
