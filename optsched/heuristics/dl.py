"""`dl` and `rand`: Hadoop's default rule, which prefers tasks with data on the offering node, and its random version.

Guo et al. describe dl-sched for one heartbeat. Their theory and figures fit only another reading: every idle slot has
its chance of a local task before any slot takes another task. Both readings are here (Guo et al. 2012, note 1).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from optsched.core.instance import KINDS, MAP, PENDING, REDUCE
from optsched.heuristics.job_order import ANYWHERE, NODE, RACK, WaitingMaps
from optsched.heuristics.running.base import Event, Heuristic, Offer, Policy, View
from optsched.problems.base import Parameter, choice, number

__all__ = ["HEURISTICS", "LocalityPolicy"]


class LocalityPolicy(Policy):
    """A task with data on the node, else one with data in its rack, else any; drawn at random among equals.

    A free reduce slot gets a random reduce. It starts one task an offer. The time that an offer takes does not depend
    on how many tasks wait (`WaitingMaps`), if ties are random.

    Parameters
    ----------
    reading
        `heartbeat`: the node takes the best task at once, perhaps one that another idle node has the data of. `sweep`:
        each slot passes once before it takes a task without data on the node, so that under the driver all idle slots
        have taken local tasks by then.
    randomness
        Chance, 0 to 1, that a slot is given any task at random without looking at data (Guo et al. 2012, section IV.D).
    ties
        Among tasks with data on the node, or in its rack: `random`, or the `first` of the instance, as Hadoop takes the
        first of its list. Without either the task is always random, as the paper says.
    """

    def __init__(self, reading: str = "sweep", randomness: float = 0, ties: str = "random") -> None:
        self.reading, self.randomness, self.ties = reading, randomness, ties

    def start(self, view: View, rng: np.random.Generator) -> None:
        self._rng = rng
        self._known = 0
        self._passed: defaultdict[int, int] = defaultdict(int)  # free slots of each node that have passed once
        self._waiting = WaitingMaps()
        self._learn(view)

    def notify(self, event: Event, view: View) -> None:
        if event.what == "job-arrived":
            self._learn(view)
            self._passed.clear()
        elif event.what in ("task-returned", "task-released"):
            self._waiting.give_back(event.index, view, view.workload.kind.item(event.index))
            self._passed.clear()
        elif event.what == "node-changed":
            node = event.index
            self._passed[node] = min(self._passed[node], int(view.free_map_slots[node]))

    def memory(self) -> Any:
        """Free slots of each node that have passed once."""
        return dict(self._passed)

    def recall(self, memory: Any, view: View) -> None:
        self._passed.update(memory)

    def _learn(self, view: View) -> None:
        """Enter the tasks that are new in the view."""
        tasks = self._known + np.flatnonzero(view.status[self._known :] == PENDING)
        self._known = len(view.workload)
        self._waiting.add(tasks, view, view.workload.kind[tasks])

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        node = offer.node
        if offer.kind != KINDS[MAP]:
            task = self._waiting.draw(ANYWHERE, node, view, self._rng, REDUCE)
            return () if task is None else (task,)
        waits_once = self.reading == "sweep" and self._passed[node] < offer.free
        task = None
        if self.randomness and (waits_once or self.reading == "heartbeat") and self._rng.random() < self.randomness:
            task = self._draw(ANYWHERE, offer, view)
        if task is None:
            task = self._draw(NODE, offer, view)
        if task is None and waits_once:
            self._passed[node] += 1
            return ()
        if task is None:
            task = self._draw(RACK, offer, view)
        if task is None:
            task = self._draw(ANYWHERE, offer, view)
        if not waits_once and self._passed[node]:
            self._passed[node] -= 1
        return () if task is None else (task,)

    def _draw(self, level: int, offer: Offer, view: View) -> int | None:
        first = self.ties == "first" and level != ANYWHERE
        return self._waiting.draw(level, offer.node, view, self._rng, first=first)


_READING = Parameter(
    "reading",
    "sweep",
    choice("sweep", "heartbeat"),
    "which slots are filled first: all with local tasks, or in the order of heartbeats",
)


HEURISTICS = (
    Heuristic(
        name="dl",
        paper="003",
        algorithm="III.A, dl-sched",
        problems=("lsap", "fair-lsap", "lsap-fairness", "worst-group", "flow"),
        doc="Hadoop's default: a task with data on the offering node, else in its rack, else any",
        parameters=(
            _READING,
            Parameter("ties", "random", choice("random", "first"), "among tasks that are as near: any, or the first"),
        ),
        policy=LocalityPolicy,
    ),
    Heuristic(
        name="rand",
        paper="003",
        algorithm="IV.D, rand-sched",
        problems=("lsap", "fair-lsap", "lsap-fairness", "worst-group", "flow"),
        doc="with a chance of `randomness` any task, else as dl",
        parameters=(
            Parameter(
                "randomness",
                1,
                number(lowest=0, highest=1),
                "share of the slots that get a task at random (Guo et al. 2012: 0.3, 0.5, 0.7, 1)",
            ),
            _READING,
        ),
        policy=LocalityPolicy,
    ),
)
