"""What a policy sees and answers at first, and cases of Shen et al. 2016 near its threshold."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from optsched.core.instance import MAP, REDUCE, RUNNING, Cluster, Instance, Ragged, Shuffle, State, Topology, Workload
from optsched.heuristics.running.base import Event, Offer, Policy, View
from optsched.heuristics.running.known import Known
from optsched.problems import Lsap, Problem
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.problems.transmission_reduces import TransmissionReduces


def barred_case() -> TransmissionReduces:
    """Shen et al. 2016, note 9: two nodes with two reduce slots, all map output on D1, one reduce of the job there."""
    cluster = Cluster(["D1", "D2"], reduce_slots=[2, 2], topology=Topology("distance", [[0.0, 1.0], [1.0, 0.0]]))
    workload = Workload(
        ["M1", "R1", "R2"],
        kind=[MAP, REDUCE, REDUCE],
        job=[0, 0, 0],
        job_ids=["J"],
        size=[10.0, np.nan, np.nan],
        shuffle=Shuffle([0, 0], [1, 2], [5.0, 5.0]),
    )
    running = {"status": [1, 1, 0], "node": [0, 0, -1], "idle_reduce_slots": [1, 2]}
    progress = {"bytes_read": [10.0, np.nan, np.nan], "emitted": [5.0, 5.0]}
    return TransmissionReduces(Instance.initial(cluster, workload, **running, **progress))


def equal_costs(idle: int = 3) -> TransmissionMaps:
    """A map as far from its block on each idle node."""
    distance = np.ones((idle + 1, idle + 1)) - np.eye(idle + 1)
    cluster = Cluster([f"n{node}" for node in range(idle + 1)], topology=Topology("distance", distance))
    workload = Workload(["M1"], size=[64.0], replicas=Ragged.from_rows([[0]]))
    return TransmissionMaps(Instance(cluster, workload, State.initial(cluster, workload, idle_slots=[0] + [1] * idle)))


def first_view(problem: Problem) -> View:
    """What a policy sees when it starts."""
    return Known(problem).view


def first_answers(problem: Problem, policy: Any, node: int, kind: str, times: int = 400) -> Counter[tuple[int, ...]]:
    """What a policy answers to a first offer of a node, for so many seeds."""
    view = first_view(problem)
    offer = Offer(0.0, node, kind, int(view.free_slots(kind)[node]))
    counted: Counter[tuple[int, ...]] = Counter()
    for seed in range(times):
        policy.start(view, np.random.default_rng(seed))
        counted[tuple(policy.offer(offer, view))] += 1
    return counted


def posed(jobs: list[int], groups: list[int], weights: list[float], running: tuple[int, ...] = (), **more: Any) -> Lsap:
    """Maps of these jobs, of groups with weights; those in `running` run. Nodes a, b in a rack, c in another."""
    cluster = Cluster(["a", "b", "c"], rack=[0, 0, 1], rack_ids=["r1", "r2"], slots=[9] * 3)
    replicas = Ragged.from_rows(more.pop("replicas", [[0]] * len(jobs)))
    counted = more.pop("group_running_tasks", None)
    workload = Workload(
        [f"t{task}" for task in range(len(jobs))],
        job=jobs,
        job_ids=[f"j{job}" for job in range(len(groups))],
        job_group=groups,
        group_ids=[f"g{group}" for group in range(len(weights))],
        group_weight=weights,
        replicas=replicas,
        **more,
    )
    status = [RUNNING if task in running else 0 for task in range(len(jobs))]
    node = [1 if code else -1 for code in status]
    return Lsap(Instance.initial(cluster, workload, status=status, node=node, group_running_tasks=counted))


def order(policy: Any, view: View, offers: int, node: int = 0) -> list[int]:
    """The tasks that are started on so many slots of a node, each told to the policy."""
    policy.start(view, np.random.default_rng(0))
    status = view.status.base
    started = []
    for _ in range(offers):
        answer = policy.offer(Offer(0.0, node, "map", 9), view)
        started.extend(answer)
        for task in answer:
            status[task] = RUNNING
            policy.notify(Event(0.0, "task-started", task), view)
    return started


def first(offer: Offer, view: View) -> Sequence[int]:
    """The first task of the kind that waits."""
    return view.pending_of(offer.kind)[:1].tolist()


def answering(answer: Callable[[Offer, View], Any], **attributes: Any) -> Policy:
    """A policy that answers an offer with `answer(offer, view)`."""
    kind: type[Policy] = type("Answering", (Policy,), {"offer": staticmethod(answer), **attributes})
    return kind()


#: Starts whatever waits, one task an offer.
FIRST = answering(first)
