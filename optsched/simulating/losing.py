"""Nodes that are lost for a while: what ran there runs again, and so do maps whose output was there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from optsched.errors import UsageError, expect, nearest
from optsched.instance import FINISHED, LARGEST, MAP, REDUCE, Instance
from optsched.running.course import NEVER
from optsched.schedule import MICRO
from optsched.simulating.engine import BACK, CHANGE, LOST, STOPPED, Engine

__all__ = ["Loss", "LosingEngine", "losses_of"]

#: A node (its id, or its index), when it is lost, and when it is back, in seconds; None: never.
Loss = tuple[str | int, float, float | None]

#: What to give for each.
HOW = "give a node, when it is lost, and when it is back (None: never)"


def losses_of(given: Iterable[Loss], instance: Instance) -> tuple[tuple[int, int, int], ...]:
    """Losses as node, and microseconds of loss and return, in order of time.

    Raises
    ------
    UsageError
        For a node that there is not, times that are none, and two losses of a node at once.

    Examples
    --------
    >>> from optsched.instance import Cluster, Workload
    >>> losses_of([("b", 5, None)], Instance(Cluster(["a", "b"]), Workload([])))
    ((1, 5000000, 1152921504606846976),)
    """
    expect(given, Sequence, "losses: must be a list", HOW)
    found = sorted(_loss(loss, instance) for loss in given)
    for (node, _, back), (other, lost, _) in pairwise(found):
        if node == other and lost < back:
            name = instance.cluster.node_ids[node]
            raise UsageError(f'losses: node "{name}" is lost at {lost / MICRO:g} s, and not yet back then')
    return tuple(sorted(found, key=lambda loss: (loss[1], loss[0])))


def _loss(loss: Any, instance: Instance) -> tuple[int, int, int]:
    """One loss."""
    ids = instance.cluster.node_ids.tolist()
    try:
        node, lost, back = loss
        index = instance.node_index[node] if isinstance(node, str) else range(len(ids)).index(node)
        times = round(lost * MICRO), NEVER if back is None else round(back * MICRO)
    except KeyError:
        raise UsageError(f'losses: there is no node "{loss[0]}"; {nearest(loss[0], ids)}') from None
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"losses: {loss!r}; {HOW}") from None
    if max(abs(times[0]), 0 if back is None else abs(times[1])) > LARGEST:
        raise UsageError(f"losses: {loss!r}; a time is at most 2^53 microseconds")
    if not round(instance.time * MICRO) <= times[0] < times[1]:
        raise UsageError(f"losses: {loss!r}; a node is lost once the run has begun, and comes back later")
    return index, *times


class LosingEngine(Engine):
    """An engine that loses nodes: their slots are gone until they are back.

    Tasks that run there wait again. So do maps that have ended there, where their job has a reduce that has not: what
    they wrote is gone. Reduces that were released stay so.
    """

    def begin_losses(self, losses: Iterable[tuple[int, int, int]]) -> None:
        """Plan what is lost; to be called before the run."""
        for node, lost, back in losses:
            self.plan(lost, CHANGE, node)
            if back < NEVER:
                self.plan(back, CHANGE, node)
        self._away: set[int] = set()

    def happens(self, what: int, index: int) -> None:
        if what != CHANGE:
            super().happens(what, index)
        elif index in self._away:
            self._comes_back(index)
        else:
            self._is_lost(index)

    @property
    def coming(self) -> int:
        return NEVER if self.is_done else super().coming

    @property
    def is_done(self) -> bool:
        """Whether all tasks have ended; whatever becomes of nodes then concerns nobody."""
        known = self.known
        return known.complete and not (self.running or any(known.waiting.values()) or any(self._held.values()))

    def _is_lost(self, node: int) -> None:
        self._away.add(node)
        self._set_slots(node, LOST, (0, 0))
        self.ask("node_changed", node, False, self.now)
        for task in [task for task, there in enumerate(self.node) if there == node]:
            if self.end[task] == NEVER or self._is_missed(task):
                self._runs_again(task)

    def _comes_back(self, node: int) -> None:
        self._away.discard(node)
        cluster = self.known.problem.instance.cluster
        self._set_slots(node, BACK, (int(cluster.slots[node]), int(cluster.reduce_slots[node])))
        self.ask("node_changed", node, True, self.now)

    def _set_slots(self, node: int, what: int, slots: tuple[int, int]) -> None:
        """A node has other slots from now on."""
        self.record.append((self.now, what, -1, node))
        event = self.known.change_node(node, slots)
        if self.beats is not None:
            for kind in (MAP, REDUCE):
                self.beats.open(kind, node, bool(slots[kind]))
        self.changed()
        self.tell(event)

    def _is_missed(self, task: int) -> bool:
        """Whether a task that has ended is a map of whose job a reduce has not: it is to fetch what the map wrote."""
        job = self._job[task]
        if self._kind[task] != MAP or job < 0:
            return False
        return any(self._kind[other] == REDUCE and self.end[other] == NEVER for other in self._of_job(job))

    def _of_job(self, job: int) -> list[int]:
        """The tasks of a job that had not ended at the beginning."""
        if not hasattr(self, "_tasks_of"):
            self._tasks_of: dict[int, list[int]] = {}
            status = self.known.problem.instance.state.status.tolist()
            for task, owner in enumerate(self._job):
                if status[task] != FINISHED:
                    self._tasks_of.setdefault(owner, []).append(task)
        return self._tasks_of.get(job, [])

    def _runs_again(self, task: int) -> None:
        """A task is taken off its node, or what it wrote there is gone: it waits again."""
        job, kind = self._job[task], self._kind[task]
        self.record.append((self.now, STOPPED, task, self.node[task]))
        event = self.known.return_task(self._number_of[task])
        if self.end[task] == NEVER:
            if kind == REDUCE and task in self._late.get(job, ()):
                self._late[job].remove(task)
            self.stops(task)
        else:
            self.node[task], self.start[task], self.end[task] = -1, NEVER, NEVER
            self._maps_left[job] += 1
            self._needed[job] += 1
        self.tell(event)
