"""A policy that follows a schedule: each task starts on its node at its microsecond. So a trace is run again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optsched.errors import HeuristicFailed
from optsched.instance import KINDS, PENDING, Instance
from optsched.placement import NONE
from optsched.running.base import Event, Offer, Policy, View
from optsched.schedule import MICRO, Schedule

__all__ = ["Following"]


class Following(Policy):
    """Starts each task where and when a schedule says.

    Parameters
    ----------
    instance
        What the schedule is of.
    schedule
        Node and start of each task that is to run.

    Raises
    ------
    HeuristicFailed
        In a run, where the schedule starts a task without a free slot for it.
    """

    name = "observed"
    fills_nodes = True

    def __init__(self, instance: Instance, schedule: Schedule) -> None:
        self._index = instance.task_index
        kinds = instance.workload.kind
        #: The tasks that start at a time on a node, by kind.
        self._due: dict[tuple[int, int, int], list[int]] = {}
        for task in np.flatnonzero(schedule.nodes != NONE).tolist():
            key = int(schedule.starts[task]), int(schedule.nodes[task]), int(kinds[task])
            self._due.setdefault(key, []).append(task)

    def appointments(self, instance: Instance) -> Sequence[tuple[int, int]]:
        """The microseconds and nodes at which something starts."""
        return sorted({(time, node) for time, node, _ in self._due})

    def start(self, view: View, rng: np.random.Generator) -> None:
        self._number: dict[int, int] = {}
        self._learn(view)

    def notify(self, event: Event, view: View) -> None:
        if event.what == "job-arrived":
            self._learn(view)

    def _learn(self, view: View) -> None:
        """Note which numbers tasks have in the view."""
        for number in range(len(self._number), len(view.workload)):
            self._number[self._index[str(view.workload.task_ids[number])]] = number

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        due = self._due.get((round(offer.time * MICRO), offer.node, KINDS.index(offer.kind)), [])
        tasks = [self._number[task] for task in due if task in self._number]
        tasks = [task for task in tasks if view.status[task] == PENDING]
        if len(tasks) > offer.free:
            names = ", ".join(f'"{view.workload.task_ids[task]}"' for task in tasks[offer.free :])
            node, at = view.cluster.node_ids[offer.node], f"{offer.time:g} s"
            raise HeuristicFailed(f'starts {names} on "{node}" at {at}, where no slot for {offer.kind}s is free then')
        return tasks
