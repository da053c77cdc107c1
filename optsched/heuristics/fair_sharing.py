"""`fair-sharing`: trackers with fixed slots, which the jobs share equally; Sharmilarani et al. compare RAS with it."""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np

from optsched.deadline import check
from optsched.heuristics.ras_enforcement import availability
from optsched.instance import MAP, REDUCE, RUNNING, Ints
from optsched.placement import Placement
from optsched.problems.base import Parameter, choice, number
from optsched.problems.utility import Allocation, Utility
from optsched.problems.utility_rooms import Rooms
from optsched.running.base import Heuristic

__all__ = ["HEURISTICS", "fair_sharing"]


def fair_sharing(
    problem: Utility, rng: np.random.Generator, *, slots: int = 0, reduce_slots: int = 0, advertised: str = "in-turn"
) -> Placement:
    """Offer fixed slots of each tracker to the jobs, always to the one that runs the fewest tasks of the kind by then.

    Sharmilarani et al. compare with "current Hadoop schedulers", whose slots an administrator sets without regard to
    resources. They name no settings. Here the slots are the instance's idle ones, or the same number on every tracker.
    A round offers one map slot of each tracker, then one reduce slot of each; rounds go on while anything is placed.
    Weights of groups, preemption and data play no part.

    Such a scheduler overloads trackers, and an overload has no value in the problem. So a slot goes to the first job,
    in the order of shares, whose task fits the resources that are left on the tracker, and stays idle where none fits:
    fair sharing on a cluster whose trackers refuse what they cannot run. Resources play no other part.

    Parameters
    ----------
    problem
        The problem; with `reduces=fixed` the reduces are placed as it says, and only map slots are offered.
    rng
        Not used: ties go to the first job.
    slots, reduce_slots
        Slots of each tracker; 0: its idle ones.
    advertised
        The order in which a round offers the trackers: as they stand (`in-turn`), or first the tracker whose scarcest
        resource is most available (`availability`), which is Sharmilarani et al.'s slot advertisement without the rest
        of their scheduler.

    Notes
    -----
    O((tasks + nodes) x jobs) times the resources.

    References
    ----------
    Sharmilarani et al., sections II.E and III.1.

    Examples
    --------
    With two slots the tracker runs a map of each job, whatever they take; 2 of its 5 units of cpu stay idle.

    >>> from optsched.instance import Cluster, Instance, Workload
    >>> workload = Workload(
    ...     ["a1", "a2", "b1", "b2", "b3"], job=[0, 0, 1, 1, 1], job_ids=["a", "b"],
    ...     demand={"cpu": [2.0, 2.0, 1.0, 1.0, 1.0]})
    >>> problem = Utility(Instance(Cluster(["t1"], capacity={"cpu": [5.0]}), workload))
    >>> fair_sharing(problem, np.random.default_rng(), slots=2).nodes.tolist()
    [0, -1, 0, -1, -1]
    """
    state, nodes = problem.instance.state, len(problem.free)
    none: Ints = np.zeros((len(problem.jobs), nodes), dtype=np.int64)
    rooms = Rooms(problem, Allocation(none, none if problem.fixed is None else problem.fixed))
    offered = [_Offered(problem, MAP, rooms, _slots(slots, state.idle_slots))]
    if problem.fixed is None:
        offered.append(_Offered(problem, REDUCE, rooms, _slots(reduce_slots, state.idle_reduce_slots)))
    available = {"in-turn": False, "availability": True}[advertised]
    placed = True
    while placed:
        order = np.arange(nodes)
        if available:
            order = np.argsort(-availability(rooms.free, problem.capacity), kind="stable")
        gave = [slots.go_round(order) for slots in offered]
        placed = any(gave)
    return rooms.placement


class _Offered:
    """Slots of a kind, and the jobs that have a task of the kind waiting, by how many they run."""

    def __init__(self, problem: Utility, kind: int, rooms: Rooms, idle: Ints) -> None:
        self._kind, self._rooms, self._idle = kind, rooms, idle
        pending = (problem.pending_maps, problem.pending_reduces)[kind]
        running = _running(problem, kind) + np.array(rooms.placed[kind], dtype=np.int64)
        self._waiting: list[int] = pending.tolist()
        self._order = sorted((run, job) for job, run in enumerate(running.tolist()) if self._waiting[job])
        self._runs: list[int] = running.tolist()

    def go_round(self, trackers: Ints) -> bool:
        """Offer one slot of each of these trackers that has one; whether anything was placed."""
        placed = False
        for node in trackers[self._idle[trackers] > 0].tolist() if self._order else ():
            check()
            job = self._rooms.first(self._kind, node, self._order)
            if job is not None:
                self._place(job, node)
                placed = True
            else:
                self._idle[node] = 0  # nor will any task fit there later: what is free only shrinks
        return placed

    def _place(self, job: int, node: int) -> None:
        self._rooms.put(self._kind, job, node)
        self._idle[node] -= 1
        del self._order[bisect_left(self._order, (self._runs[job], job))]
        self._runs[job] += 1
        self._waiting[job] -= 1
        if self._waiting[job]:
            insort(self._order, (self._runs[job], job))


def _running(problem: Utility, kind: int) -> Ints:
    """How many tasks of the kind each job runs before the decision; int64, shape (jobs,)."""
    workload, state = problem.instance.workload, problem.instance.state
    owners = workload.job[(state.status == RUNNING) & (workload.kind == kind)]
    return np.array([np.count_nonzero(owners == job) for job in problem.jobs], dtype=np.int64)


def _slots(given: int, idle: Ints) -> Ints:
    """A copy of the slots of each tracker, or the given number of them on each."""
    return np.full(len(idle), given) if given else idle.copy()


HEURISTICS = (
    Heuristic(
        "fair-sharing",
        "001",
        "II.E, equal sharing of fixed slots",
        ("utility",),
        "jobs share fixed slots equally; resources count only in that no tracker is overloaded",
        (
            Parameter("slots", 0, number(lowest=0, integer=True), "map slots of each tracker; 0: its idle ones"),
            Parameter("reduce_slots", 0, number(lowest=0, integer=True), "reduce slots of each tracker; 0: idle ones"),
            Parameter(
                "advertised",
                "in-turn",
                choice("in-turn", "availability"),
                "trackers as they stand, or the one first whose least available resource is most available",
            ),
        ),
        batch=fair_sharing,
    ),
)
