"""`fair` and `capacity`: Hadoop's schedulers that share the cluster out between groups, as policies.

FIFO, which has no shares, is in `fifo`; delay scheduling on its own is in `delay`. The fair shares of several resources
that Sharmilarani et al. compare with are not here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from optsched.heuristics.delay import AUTO, HADOOP, OFFERS, SKIPS, SLOT_PROBLEMS, DelayPolicy
from optsched.heuristics.job_order import ANYWHERE, NODE, RACK, JobPolicy, WaitingMaps
from optsched.heuristics.seen_costs import SeenCosts
from optsched.instance import KINDS, MAP, Ints
from optsched.problems.base import Parameter, choice
from optsched.running.base import Heuristic, Offer, View

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
        super().start(view, rng)
        self._skipped: set[int] = set()
        self._launched: set[int] = set()
        self._node: int | None = None  # the node of the heartbeat that may go on

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        if not self.fills_nodes:
            return super().offer(offer, view)
        if offer.kind != KINDS[MAP]:
            return super().offer(offer, view) if self._distinct or self._below_cap(offer, view) else ()
        if offer.node != self._node:
            self._end_heartbeat()
        answer = super().offer(offer, view) if self._below_cap(offer, view) else ()
        self._node = offer.node
        self._launched.update(view.workload.job[list(answer)].tolist())
        if not answer:
            self._end_heartbeat()
        return answer

    def _below_cap(self, offer: Offer, view: View) -> bool:
        """Whether the node runs fewer tasks of the kind than its part of all that wait and run, rounded up."""
        cluster = view.cluster
        slots = cluster.slots if offer.kind == KINDS[MAP] else cluster.reduce_slots
        every, own = int(slots.sum()), int(slots[offer.node])
        kind = KINDS.index(offer.kind)
        waiting = sum(entry.waiting[kind] for entry in self._jobs.values())
        tasks = waiting + every - int(view.free_slots(offer.kind).sum())
        return own - offer.free < -(-tasks * own // every)

    def skip(self, job: int) -> None:
        """Count a skipped heartbeat once, at its end, and only if the job starts nothing on it."""
        if not self.fills_nodes:
            super().skip(job)
        else:
            self._skipped.add(job)

    def _end_heartbeat(self) -> None:
        """A job that was asked and started nothing was skipped."""
        for job in sorted(self._skipped - self._launched):
            super().skip(job)
        self._skipped, self._launched, self._node = set(), set(), None


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
        self._maps: defaultdict[int, WaitingMaps] = defaultdict(WaitingMaps)
        self._costs = SeenCosts("emitted")
        self._skips: defaultdict[int, int] = defaultdict(int)
        self._auto: dict[int, int] = {}
        super().start(view, rng)

    def learn_job(self, job: int, tasks: Ints, view: View) -> None:
        self._maps[job].add(tasks[view.workload.kind[tasks] == MAP], view)

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        for queue in self.pools(offer):
            jobs = list(queue)
            task = self._map(jobs, offer, view) if offer.kind == KINDS[MAP] else self._reduce(jobs, offer, view)
            if task is not None:
                return (task,)
        return ()

    def _map(self, jobs: list[int], offer: Offer, view: View) -> int | None:
        drawn = (
            self._maps[job].draw(level, offer.node, view, self._rng) for level in (NODE, RACK, ANYWHERE) for job in jobs
        )
        return next((task for task in drawn if task is not None), None)

    def _reduce(self, jobs: list[int], offer: Offer, view: View) -> int | None:
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
