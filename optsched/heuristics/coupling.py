"""`coupling`: maps start with a chance that depends on how near their data is; reduces gradually, near the centre.

The Coupling Scheduler is by Tan, Meng and Zhang (HPDC 2012, INFOCOM 2013). What Shen et al. say of it leaves much open.
Each guess is a parameter, or is named here (Shen et al. 2016, note 12).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from optsched.heuristics.job_order import JobPolicy
from optsched.heuristics.probabilistic import PROBLEMS, SHARE
from optsched.heuristics.seen_costs import SeenCosts, missing_distances
from optsched.instance import KINDS, MAP, REDUCE
from optsched.problems.base import Parameter, choice, number
from optsched.running.base import Heuristic, Offer, View

__all__ = ["HEURISTICS", "CouplingPolicy"]


class CouplingPolicy(JobPolicy):
    """A random map with a chance by its level of locality; reduces as maps progress, each waiting for a central node.

    The job is the one with the fewest running tasks that has one waiting. If it declines, the slot stays idle.

    Maps: one of the job's maps is drawn. It is started if its data is on the node; with probability `p_rack` if its
    data is in the rack; else with `p_off`.

    Reduces: at most ceil(progress n) of a job's n reduces are started, counting those that run or have finished. The
    first one that waits is started if no free node that its job may use costs less than this one, by what maps have
    emitted so far. Else it waits for another offer, `waits` times, and then takes any slot.

    Parameters
    ----------
    p_rack, p_off
        Assumed: Shen et al. give no numbers.
    progress
        What counts as the progress of a job's maps; it is assumed, since no map advances in a snapshot. `launched`: the
        share that runs or has finished. `finished`: the share that has finished; no reduce is started before a map has,
        so the policy starves where none has.
    waits
        Offers that each reduce waits for the centre (Shen et al. 2016: "at most three rounds of heartbeats").
    """

    def __init__(self, p_rack: float = 0.8, p_off: float = 0.5, progress: str = "launched", waits: int = 3) -> None:
        self.p_rack, self.p_off, self.progress, self.waits = p_rack, p_off, progress, waits

    def start(self, view: View, rng: np.random.Generator) -> None:
        super().start(view, rng)
        self._costs = SeenCosts("emitted")
        self._waited: defaultdict[int, int] = defaultdict(int)

    def memory(self) -> Any:
        """Offers that each reduce has waited for the centre."""
        return dict(self._waited)

    def recall(self, memory: Any, view: View) -> None:
        self._waited.update(memory)

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        job = next((job for job in self.jobs(offer) if self._may_start(job, offer)), None)
        if job is None:
            return ()
        task = self._map(job, offer, view) if offer.kind == KINDS[MAP] else self._reduce(job, offer, view)
        return () if task is None else (task,)

    def _map(self, job: int, offer: Offer, view: View) -> int | None:
        task = self.random_task(job, offer.kind, view)
        replicas, rack = view.workload.replicas[task], view.cluster.rack
        if offer.node in replicas:
            return task
        in_rack = rack[offer.node] >= 0 and rack[offer.node] in rack[replicas]
        return task if self._rng.random() < (self.p_rack if in_rack else self.p_off) else None

    def _may_start(self, job: int, offer: Offer) -> bool:
        """Whether the job's maps are far enough for another reduce; always True for a map slot."""
        if offer.kind == KINDS[MAP]:
            return True
        waiting, running, finished = self.counts(job, MAP)
        maps = waiting + running + finished
        counted = finished if self.progress == "finished" else running + finished
        waiting, *started = self.counts(job, REDUCE)
        most = -(-counted * (waiting + sum(started)) // maps) if maps else waiting + sum(started)
        return sum(started) < most

    def _reduce(self, job: int, offer: Offer, view: View) -> int | None:
        task = self.waiting(job, offer.kind, view)[:1]
        costs = self._costs.of(task, offer.kind, view)[0]
        free = view.free_reduce_slots > 0
        free[self.reduce_nodes(job)] = False
        number_of = int(task[0])
        if costs[offer.node] <= costs[free].min() or self._waited[number_of] >= self.waits:
            return number_of
        self._waited[number_of] += 1
        return None


HEURISTICS = (
    Heuristic(
        name="coupling",
        paper="000",
        algorithm="Coupling Scheduler (Tan et al. 2012)",
        problems=PROBLEMS,
        doc="a random map, with a chance by its locality; reduces as maps progress, each awaiting a central node",
        parameters=(
            Parameter("p_rack", 0.8, SHARE, "chance of a map with data in the rack (assumed)"),
            Parameter("p_off", 0.5, SHARE, "chance of a map with data in other racks only (assumed)"),
            Parameter(
                "progress",
                "launched",
                choice("launched", "finished"),
                "share of a job's maps that lets as many reduces start: those that run too, or not (assumed)",
            ),
            Parameter("waits", 3, number(lowest=0, integer=True), "offers that a reduce waits for a central node"),
        ),
        policy=CouplingPolicy,
        missing=missing_distances,
    ),
)
