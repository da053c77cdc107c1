"""What says how long tasks take, over time; the services that there are live in `optsched.simulating`.

All times are whole microseconds; tasks and nodes are indices of the instance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

from optsched.brief import brief
from optsched.instance import Floats, Instance, Ints

__all__ = ["WAKE", "Ends", "Progress", "Service"]

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
    stateless
        Whether it keeps nothing of tasks that run, so that it may be prepared with another instance while they do.
    """

    waits_for_maps: bool = True
    stateless: bool = False

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

    def node_changed(self, node: int, there: bool, now: int) -> Ends:
        """A node is lost, or is back; tasks that ran on a lost one are stopped next."""
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
