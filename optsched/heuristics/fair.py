"""`fair` and `capacity`: Hadoop's schedulers that share the cluster out between groups, as policies.

FIFO, which shares nothing out, is in `fifo`; delay scheduling on its own in `delay`. The fair shares of several
resources that 001 compares with are not here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from optsched.heuristics.base import Heuristic, Offer, View
from optsched.heuristics.delay import AUTO, SLOT_PROBLEMS, DelayPolicy, parse_delay
from optsched.heuristics.jobs import ANYWHERE, NODE, RACK, JobPolicy, WaitingMaps
from optsched.heuristics.seen_costs import SeenCosts
from optsched.instance import KINDS, MAP, Ints
from optsched.problems.base import Parameter

__all__ = ["HEURISTICS", "CapacityPolicy", "FairPolicy"]


class FairPolicy(DelayPolicy):
    """Fair sharing between pools, then between the jobs of a pool, with delay scheduling; reduces at random.

    The groups of the instance are the pools. The pool with the fewest running tasks over its weight goes first, in it
    the job with the fewest running tasks. Without groups all jobs are in one pool. A job waits for a node, and then for
    a rack with its data; a free reduce slot gets a random reduce.

    Parameters
    ----------
    delay
        Offers that a job lets pass for a node with its data, and as many again for a rack; `auto`: the nodes with a
        free slot, about one heartbeat of each; 0: no delay.
    """

    pooled = True

    def __init__(self, delay: int | str = AUTO) -> None:
        super().__init__("two-level", D1=delay, D2=delay)


class CapacityPolicy(JobPolicy):
    """The queue furthest below its guaranteed share, and in it the job whose data is nearest to the slot.

    The groups of the instance are the queues, and their weights the guaranteed shares; the queue with the fewest
    running tasks over its share goes first. In it, jobs by arrival: the first with a map whose data is on the node,
    else in its rack, else the first that has a map. Slots that a queue leaves go to the next.

    Reduces: jobs of the queue by arrival, and of the first a reduce for which the node holds the most MB by now. If it
    holds nothing for any of them while others do, the job lets the offer pass, so often and no more ("delays reduce
    tasks to achieve data locality", 000, section IV; Hadoop's own Capacity Scheduler does not).

    Parameters
    ----------
    reduce_delay
        Offers that a job lets pass for a node with output of its maps; `auto`: the nodes with a free reduce slot when
        it first does; 0: its first reduce at once.
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
        parameters=(Parameter("delay", AUTO, parse_delay, "offers that a job lets pass for node, and for rack"),),
        policy=FairPolicy,
    ),
    Heuristic(
        name="capacity",
        paper="000, 002",
        algorithm="Hadoop's Capacity Scheduler",
        problems=SLOT_PROBLEMS,
        doc="the group furthest below its share, and in it the job whose data is nearest to the slot",
        parameters=(
            Parameter("reduce_delay", AUTO, parse_delay, "offers that a job lets pass for a node with its map output"),
        ),
        policy=CapacityPolicy,
    ),
)
