"""`fair-sharing`: trackers with fixed slots, which the jobs share equally; Sharmilarani et al. compare RAS with it."""

from __future__ import annotations

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
    fair sharing on a cluster whose trackers refuse what they cannot run. With `phase=by-maps` a tracker also refuses a
    map where the reduces of its job would then take more than some tracker has. Resources play no other part.

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
    O((tasks + nodes) x jobs) times the resources; with `phase=by-maps`, where what does not fit now may fit later, each
    round asks every tracker.

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
    counts = Allocation(*(np.zeros((len(problem.jobs), nodes), dtype=np.int64) for _ in range(2)))
    if problem.fixed is not None:
        counts.reduces[:] = problem.fixed
    rooms = Rooms(problem, counts)
    map_slots, slots_of_reduces = _slots(slots, state.idle_slots), _slots(reduce_slots, state.idle_reduce_slots)
    offered = [
        (MAP, _running(problem, MAP), rooms.counts.maps, problem.pending_maps.copy(), map_slots),
        (REDUCE, _running(problem, REDUCE), rooms.counts.reduces, problem.pending_reduces.copy(), slots_of_reduces),
    ]
    if problem.fixed is not None:
        offered.pop()
    available = {"in-turn": False, "availability": True}[advertised]
    placed = True
    while placed:
        placed = False
        order = np.arange(nodes)
        if available:
            order = np.argsort(-availability(rooms.free, problem.capacity), kind="stable")
        for kind, running, count, waiting, idle in offered:
            share = running + count.sum(axis=1)
            for node in order[idle[order] > 0].tolist() if waiting.any() else ():
                check()
                able = np.flatnonzero((waiting > 0) & rooms.beside(kind, node))
                by_share = able[np.argsort(share[able], kind="stable")].tolist()
                job = next((job for job in by_share if rooms.fits(kind, job, node)), None)
                if job is not None:
                    rooms.put(kind, job, node)
                    share[job] += 1
                    waiting[job] -= 1
                    idle[node] -= 1
                    placed = True
                elif not problem.coupled:
                    idle[node] = 0  # nor will any task fit there later: what is free only shrinks
    return problem.placement_of(rooms.counts)


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
