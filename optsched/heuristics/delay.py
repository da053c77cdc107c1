"""`delay`: delay scheduling, in which a job waits a number of offers for a node with its data.

Hadoop's Fair Scheduler, which delays too, is in `fair`. Delay scheduling is by Zaharia et al., EuroSys 2010; Shen et
al. compare with it as a part of the Fair Scheduler.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from optsched.heuristics.job_order import ANYWHERE, NODE, RACK, JobPolicy, WaitingMaps
from optsched.instance import KINDS, MAP, Ints
from optsched.problems.base import Parameter, choice, either, number
from optsched.running.base import Heuristic, Offer, View

__all__ = [
    "AUTO",
    "HADOOP",
    "HEURISTICS",
    "SLOT_PROBLEMS",
    "DelayPolicy",
    "hadoop_delay",
    "OFFERS",
    "SKIPS",
]

#: The problems whose slots are offered to policies.
SLOT_PROBLEMS = (
    "lsap",
    "fair-lsap",
    "lsap-fairness",
    "worst-group",
    "flow",
    "flow-congestion",
    "transmission-maps",
    "transmission-reduces",
    "transmission",
)

#: As many offers as there are nodes with a free slot when the job becomes known: about one heartbeat each.
AUTO = "auto"

#: The delay of Hadoop 1's Fair Scheduler where none is set, in skipped heartbeats (`hadoop_delay`).
HADOOP = "hadoop"

#: Parsers of a number of offers, and of one that may be that of Hadoop.
OFFERS = either((AUTO,), number(lowest=0, integer=True))
SKIPS = either((HADOOP,), OFFERS)


def hadoop_delay(nodes: int) -> int:
    """Skipped heartbeats after which a job of Hadoop 1's Fair Scheduler goes one level down: those of 1.5 intervals.

    Where `mapred.fairscheduler.locality.delay` is not set, the delay is 1.5 times the interval between two heartbeats
    of a node. A job that is skipped on a heartbeat is credited with the time to the next heartbeat of any node. With N
    nodes, busy ones too, that is an N-th of the interval.

    Parameters
    ----------
    nodes
        Nodes of the cluster.

    References
    ----------
    Hadoop 1.2.1, `FairScheduler.java`: `updateLocalityWaitTimes`, `getAllowedLocalityLevel`.

    Examples
    --------
    >>> hadoop_delay(60), hadoop_delay(15)
    (90, 23)
    """
    return math.ceil(1.5 * nodes)


class DelayPolicy(JobPolicy):
    """Jobs by fewest running tasks. One whose data is not near the node lets the offer pass, but only so often.

    A reduce slot gets a random reduce of the first job that may run one there.

    Parameters
    ----------
    form
        `skip-count`: a job without data on the node is skipped until it was skipped `D` times. Then it takes any slot,
        with a task of the rack if there is one. A start on data sets its count back to 0. `two-level`: a job waits for
        a node with its data for `D1` skips, then for a rack with its data for `D2` more, and then takes any slot. It
        keeps the level that it has come down to until it starts a task nearer to its data.
    D, D1, D2
        Offers that a job lets pass. `auto`: as many as there were nodes with a free map slot when the job became known.
        `hadoop`: `hadoop_delay` of the nodes that there are. A job counts an offer only if no job before it took it.
    """

    def __init__(
        self,
        form: str = "skip-count",
        D: int | str = AUTO,  # noqa: N803
        D1: int | str = AUTO,  # noqa: N803
        D2: int | str = AUTO,  # noqa: N803
    ) -> None:
        self.two_level = form == "two-level"
        self.delays = (D1, D2) if self.two_level else (D, 0)

    def start(self, view: View, rng: np.random.Generator) -> None:
        self._maps: defaultdict[int, WaitingMaps] = defaultdict(WaitingMaps)
        self._skips: defaultdict[int, int] = defaultdict(int)
        self._level: defaultdict[int, int] = defaultdict(int)
        self._auto: dict[int, int] = {}
        self._hadoop = hadoop_delay(len(view.cluster))
        super().start(view, rng)

    def learn_job(self, job: int, tasks: Ints, view: View) -> None:
        self._maps[job].add(tasks[view.workload.kind[tasks] == MAP], view)
        self._auto.setdefault(job, int(np.count_nonzero(view.free_map_slots)))

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        for job in self.jobs(offer):
            if offer.kind != KINDS[MAP]:
                return (self.random_task(job, offer.kind, view),)
            task = self._near(job, offer, view)
            if task is not None:
                return (task,)
        return ()

    def _near(self, job: int, offer: Offer, view: View) -> int | None:
        """A map of the job that is near enough to its data for as long as the job has waited."""
        for level in range(self._patience(job) + 1):
            task = self._maps[job].draw(level, offer.node, view, self._rng)
            if task is not None:
                if level == NODE or self.two_level:
                    self._skips[job], self._level[job] = 0, level
                return task
        self.skip(job)
        return None

    def skip(self, job: int) -> None:
        """Count an offer that a job let pass."""
        self._skips[job] += 1

    def _patience(self, job: int) -> int:
        """The farthest level that the job takes by now, as its skips say."""
        to_rack, to_any = (self._offers(delay, job) for delay in self.delays)
        skips, level = self._skips[job], self._level[job]
        if not self.two_level:
            return ANYWHERE if skips >= to_rack else NODE
        waited = {NODE: (to_rack, to_rack + to_any), RACK: (0, to_any), ANYWHERE: (0, 0)}[level]
        return ANYWHERE if skips >= waited[1] else RACK if skips >= waited[0] else NODE

    def _offers(self, delay: int | str, job: int) -> int:
        """How many offers a delay stands for."""
        if delay == HADOOP:
            return self._hadoop
        return self._auto[job] if delay == AUTO else int(delay)


HEURISTICS = (
    Heuristic(
        name="delay",
        paper="000",
        algorithm="delay scheduling (Zaharia et al. 2010)",
        problems=SLOT_PROBLEMS,
        doc="jobs by fewest running tasks; one without data on the node lets a number of offers pass",
        parameters=(
            Parameter("form", "skip-count", choice("skip-count", "two-level"), "one delay, or one for node and rack"),
            Parameter("D", AUTO, SKIPS, "offers before any slot will do; auto: nodes with a free slot"),
            Parameter("D1", AUTO, SKIPS, "two-level: offers before a slot in a rack with data will do"),
            Parameter("D2", AUTO, SKIPS, "two-level: offers more before any slot will do"),
        ),
        policy=DelayPolicy,
    ),
)
