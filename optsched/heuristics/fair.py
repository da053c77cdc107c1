"""`fair` and `capacity`: Hadoop's schedulers that share the cluster out between groups, as policies.

FIFO, which has no shares, is in `fifo`; delay scheduling on its own is in `delay`. The fair shares of several resources
that Sharmilarani et al. compare with are not here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import heappop
from typing import Any

import numpy as np

from optsched.heuristics.delay import AUTO, HADOOP, OFFERS, SKIPS, SLOT_PROBLEMS, DelayPolicy
from optsched.heuristics.job_order import ANYWHERE, NODE, RACK, JobPolicy, Queue, Turn, WaitingMaps
from optsched.heuristics.seen_costs import SeenCosts
from optsched.instance import KINDS, MAP, Bools, Ints
from optsched.problems.base import Parameter, choice
from optsched.running.base import Event, Heuristic, Offer, View

__all__ = ["HEURISTICS", "CapacityPolicy", "FairPolicy"]


class FairPolicy(DelayPolicy):
    """Fair sharing between pools, then between the jobs of a pool, with delay scheduling; reduces at random.

    The groups of the instance are the pools. The pool with the fewest running tasks over its weight goes first, and in
    it the job with the fewest running tasks. Without groups all jobs are in one pool. A job waits for a node with its
    data, and then for a rack with it. A free reduce slot gets a random reduce.

    The defaults are those of Hadoop 1.2.1, which Shen et al. ran: a heartbeat fills all free slots of its node, and a
    job waits 1.5 heartbeats a level. A job is skipped on a heartbeat if it was asked for a map and started none. While
    there are fewer tasks than slots, a node gets no more than its part of them (Hadoop's CapBasedLoadManager). Reduces
    that must be on distinct nodes, a rule that Hadoop does not have, are not capped. Minimum shares and preemption are
    left out.

    Parameters
    ----------
    delay
        Heartbeats for which a job lets itself be skipped to get a node with its data, and as many again to get a rack:
        `hadoop` (`hadoop_delay`), `auto` (the number of nodes with a free slot: about one heartbeat of each) or a
        number; 0: no delay.
    assign
        `multiple`: a heartbeat fills all free slots of its node, Hadoop's `mapred.fairscheduler.assignmultiple`;
        `single`: each slot has a heartbeat of its own, and no node is capped.

    References
    ----------
    Shen et al. 2016, section III; Hadoop 1.2.1, `FairScheduler.java` and `CapBasedLoadManager.java`.
    """

    pooled = True

    def __init__(self, delay: int | str = HADOOP, assign: str = "multiple") -> None:
        super().__init__("two-level", D1=delay, D2=delay)
        self.fills_nodes = assign == "multiple"

    def start(self, view: View, rng: np.random.Generator) -> None:
        #: Of the heartbeat that may go on: its time and node, up to where it asked the jobs of each pool, and which it
        #: launched tasks of.
        self._beat: tuple[float, int] | None = None
        self._reached: dict[int, Turn | None] = {}
        self._launched: set[int] = set()
        self._demand: dict[str, tuple[int, int]] = {}
        super().start(view, rng)

    def notify(self, event: Event, view: View) -> None:
        if event.what != "task-started":
            self._end_heartbeat()
            self._demand.clear()
        super().notify(event, view)

    def memory(self) -> Any:
        """That of delay scheduling, and of the heartbeat that may go on who was asked and who started something."""
        return super().memory(), self._beat, dict(self._reached), set(self._launched)

    def recall(self, memory: Any, view: View) -> None:
        jobs, self._beat, self._reached, self._launched = memory
        super().recall(jobs, view)

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        if not self.fills_nodes:
            return super().offer(offer, view)
        if offer.kind != KINDS[MAP]:
            return super().offer(offer, view) if self._distinct or self._below_cap(offer, view) else ()
        if (offer.time, offer.node) != self._beat:
            self._end_heartbeat()
        answer = super().offer(offer, view) if self._below_cap(offer, view) else ()
        self._beat = offer.time, offer.node
        if answer:
            self._launched.add(view.workload.job.item(answer[0]))
        else:
            self._end_heartbeat()
        return answer

    def _below_cap(self, offer: Offer, view: View) -> bool:
        """Whether the node runs fewer tasks of the kind than its part of all that wait and run, rounded up."""
        every, tasks = self._totals(offer.kind, view)
        own = int(view.slots(offer.kind)[offer.node])
        return own - offer.free < -(-tasks * own // every)

    def refuses(self, kind: str, view: View) -> Bools | None:
        if not self.fills_nodes or (self._distinct and kind != KINDS[MAP]):
            return None
        every, tasks = self._totals(kind, view)
        slots = view.slots(kind)
        full: Bools = slots - view.free_slots(kind) >= -(-tasks * slots // max(every, 1))
        return full

    def _totals(self, kind: str, view: View) -> tuple[int, int]:
        """Slots of the cluster, and tasks that wait or hold one: as many after a start as before."""
        if kind not in self._demand:
            every = int(view.slots(kind).sum())
            waiting = self.waiting_tasks[KINDS.index(kind)]
            self._demand[kind] = every, waiting + every - int(view.free_slots(kind).sum())
        return self._demand[kind]

    def passed(self, pool: int, queue: Queue, turn: Turn | None) -> None:
        """Note who was asked; a skip is counted once, at the end of the heartbeat, of jobs that start nothing."""
        if not self.fills_nodes:
            super().passed(pool, queue, turn)
            return
        before = self._reached.get(pool, turn)
        self._reached[pool] = None if before is None or turn is None else max(before, turn)

    def _end_heartbeat(self) -> None:
        """A job that was asked and started nothing was skipped."""
        launched: dict[int | None, list[int]] = {}
        for job in self._launched:
            launched.setdefault(self.waits_in(job, MAP), []).append(job)
        for pool, turn in self._reached.items():
            self.skip(pool, self.queue(pool, MAP), turn, launched.get(pool, ()))
        self._reached, self._launched, self._beat = {}, set(), None


class CapacityPolicy(JobPolicy):
    """The queue furthest below its guaranteed share, and in it the job whose data is nearest to the slot.

    The groups of the instance are the queues, and their weights the guaranteed shares. The queue with the fewest
    running tasks over its share goes first. In it jobs go by arrival: the first with a map whose data is on the node,
    else one in its rack, else the first that has a map. Slots that a queue leaves go to the next queue.

    Reduces: jobs of the queue go by arrival, and the first starts the reduce for which the node holds the most MB by
    now. If the node holds nothing for any of its reduces while other nodes do, the job lets the offer pass, but only so
    often ("delays reduce tasks to achieve data locality", Shen et al. 2016, section IV; Hadoop's
    own Capacity Scheduler does not).

    Parameters
    ----------
    reduce_delay
        Offers that a job lets pass to get a node with output of its maps. `auto`: the number of nodes with a free
        reduce slot when the job first does so. 0: it starts its first reduce at once.
    """

    pooled = True
    by_arrival = True

    def __init__(self, reduce_delay: int | str = AUTO) -> None:
        self.reduce_delay = reduce_delay

    def start(self, view: View, rng: np.random.Generator) -> None:
        self._maps = WaitingMaps()
        #: Of each rack and queue the jobs that may have a map with data there, as a heap.
        self._in_rack: dict[tuple[int, int], list[int]] = {}
        self._costs = SeenCosts("emitted")
        self._skips: defaultdict[int, int] = defaultdict(int)
        self._auto: dict[int, int] = {}
        super().start(view, rng)

    def learn(self, tasks: Ints, view: View) -> None:
        maps = tasks[view.workload.kind[tasks] == MAP]
        self._maps.add(maps, view, view.workload.job[maps])
        self._in_rack.clear()

    def give_back(self, task: int, view: View) -> None:
        if view.workload.kind[task] == MAP:
            self._maps.give_back(task, view, int(view.workload.job[task]))
            self._in_rack.clear()

    @property
    def waits_rounds(self) -> int:  # type: ignore[override]  # computed, since it depends on the nodes
        """Offers that a job lets pass at most for its reduces."""
        return max(self._auto.values(), default=0) if self.reduce_delay == AUTO else int(self.reduce_delay)

    def memory(self) -> Any:
        """Of each job how many offers it let pass for its reduces, and how many it may."""
        return dict(self._skips), dict(self._auto)

    def recall(self, memory: Any, view: View) -> None:
        skips, auto = memory
        self._skips.update(skips)
        self._auto.update(auto)

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        if offer.kind != KINDS[MAP]:
            found = (self._reduce(jobs, offer, view) for jobs in self.pools(offer))
        else:
            found = (self._map(pool, queue, offer, view) for pool, queue in self.queues(MAP))
        task = next((task for task in found if task is not None), None)
        return () if task is None else (task,)

    def _map(self, pool: int, queue: Queue, offer: Offer, view: View) -> int | None:
        queued = self.queued[MAP]
        for job in sorted(job for job in self._maps.at(NODE, offer.node) if job in queued and queued[job][0] == pool):
            task = self._maps.draw(NODE, offer.node, view, self._draws, job)
            if task is not None:
                return task
        jobs = self._rack_jobs(pool, int(view.cluster.rack[offer.node]))
        while jobs:
            task = (
                self._maps.draw(RACK, offer.node, view, self._draws, jobs[0])
                if self.waits_in(jobs[0], MAP) == pool
                else None
            )
            if task is not None:
                return task
            heappop(jobs)
        return self._maps.draw(ANYWHERE, offer.node, view, self._draws, queue.turns[0][1])

    def _rack_jobs(self, pool: int, rack: int) -> list[int]:
        if rack < 0:
            return []
        if (rack, pool) not in self._in_rack:
            self._in_rack[rack, pool] = sorted(
                job for job in self._maps.at(RACK, rack) if self.waits_in(job, MAP) == pool
            )
        return self._in_rack[rack, pool]

    def _reduce(self, jobs: Iterator[int], offer: Offer, view: View) -> int | None:
        for job in jobs:
            tasks = self.waiting(job, offer.kind, view)
            if self.reduce_delay == 0 or view.shuffle is None:
                return int(tasks[0])
            held = self._costs.held(tasks, view)
            here = held[:, offer.node]
            free = int(np.count_nonzero(view.free_reduce_slots))
            delay = self._auto.setdefault(job, free) if self.reduce_delay == AUTO else int(self.reduce_delay)
            if here.any() or not held.any() or self._skips[job] >= delay:
                self._skips[job] = 0
                return int(tasks[here.argmax()])
            self._skips[job] += 1
        return None


HEURISTICS = (
    Heuristic(
        name="fair",
        paper="000, 002",
        algorithm="Hadoop's Fair Scheduler",
        problems=SLOT_PROBLEMS,
        doc="fair shares between groups and their jobs, with delay scheduling for maps; reduces at random",
        parameters=(
            Parameter("delay", HADOOP, SKIPS, "heartbeats to be skipped for node, and for rack; hadoop, auto, 0"),
            Parameter("assign", "multiple", choice("multiple", "single"), "slots that a heartbeat fills: all, or one"),
        ),
        policy=FairPolicy,
    ),
    Heuristic(
        name="capacity",
        paper="000, 002",
        algorithm="Hadoop's Capacity Scheduler",
        problems=SLOT_PROBLEMS,
        doc="the group furthest below its share, and in it the job whose data is nearest to the slot",
        parameters=(
            Parameter("reduce_delay", AUTO, OFFERS, "offers that a job lets pass for a node with its map output"),
        ),
        policy=CapacityPolicy,
    ),
)
