"""Policies that index who has data where, against the same rules that look at every job on every offer.

The plain ones draw as the shipped ones do, from lists out of which started maps are dropped, so that placements must
be equal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from optsched.core.decimals import decimal
from optsched.core.instance import PENDING, RUNNING, Instance, Ragged
from optsched.heuristics import HEURISTICS
from optsched.instances.generate import generate
from optsched.problems import Lsap
from optsched.running.base import Event, Offer, Policy, View
from optsched.running.driver import drive


def random_snapshot(seed: int) -> Instance:
    """An instance of 2 to 6 nodes, 40 maps and 6 jobs."""
    rng = np.random.default_rng(seed)
    nodes, jobs = int(rng.integers(2, 7)), int(rng.integers(1, 7))
    sizes = {"nodes": nodes, "racks": int(rng.integers(1, nodes + 1)), "jobs": jobs, "datacenters": 1}
    sizes |= {"tasks": int(rng.integers(0, 41)), "groups": int(rng.integers(1, jobs + 1)), "reduces": 0}
    drawn = generate("mixed", seed=seed, slots=int(rng.integers(1, 9)), replicas=min(3, nodes), **sizes)
    assert isinstance(drawn, Instance)
    workload, cluster, count = drawn.workload, drawn.cluster, len(drawn.workload)
    replicas = [row.tolist() if rng.random() < 0.9 else [] for row in workload.replicas]
    job = rng.integers(-1, jobs, size=count) if rng.random() < 0.5 else workload.job
    arrival = rng.choice([np.nan, 5.0, 9.5], size=jobs) if rng.random() < 0.5 else workload.arrival
    weight = rng.choice([0.0, 0.3, 1.0, 2.5], size=len(workload.group_ids))
    workload = replace(
        workload, replicas=Ragged.from_rows(replicas), job=job, arrival=arrival, group_weight=weight, shuffle=None
    )
    cluster = replace(cluster, rack=np.where(rng.random(nodes) < 0.2, -1, cluster.rack))
    status = rng.choice([PENDING, RUNNING], p=[0.9, 0.1], size=count)
    status[np.isin(job, np.flatnonzero(arrival > 0))] = PENDING
    node = np.where(status == RUNNING, rng.integers(0, nodes, size=count), -1)
    idle = rng.integers(0, cluster.slots + 1)
    counted = drawn.state.group_running_tasks
    return Instance.initial(cluster, workload, status=status, node=node, idle_slots=idle, group_running_tasks=counted)


class Plain(Policy):
    """The jobs in order, and draws of their maps."""

    pooled = by_arrival = False

    def start(self, view: View, rng: np.random.Generator) -> None:
        self.rng, self.known = rng, 0
        self.lists: defaultdict[tuple[Any, ...], list[int]] = defaultdict(list)
        self.skips: defaultdict[int, int] = defaultdict(int)
        self.level: defaultdict[int, int] = defaultdict(int)
        self.auto: dict[int, int] = {}
        self.notify(Event(0.0, "job-arrived", 0), view)

    def notify(self, event: Event, view: View) -> None:
        if event.what != "job-arrived":
            return
        for task in range(self.known, len(view.workload)):
            job = int(view.workload.job[task])
            self.auto.setdefault(job, int(np.count_nonzero(view.free_map_slots)))
            if view.status[task] == PENDING:
                self.lists[job, 2, 0].append(task)
                for node in view.workload.replicas[task].tolist():
                    rack = int(view.cluster.rack[node])
                    self.lists[job, 0, node].append(task)
                    if task not in self.lists[job, 1, rack][-1:]:
                        self.lists[job, 1, rack].append(task)
        self.known = len(view.workload)

    def draw(self, job: int, level: int, node: int, view: View) -> int | None:
        """A waiting map of a job with data on the node (0), in its rack (1), or any (2)."""
        place = (node, int(view.cluster.rack[node]), 0)[level]
        tasks = self.lists[job, level, place] if place >= 0 else []
        while tasks:
            position = int(self.rng.integers(len(tasks)))
            tasks[position], tasks[-1] = tasks[-1], tasks[position]
            task = tasks.pop()
            if view.status[task] == PENDING:
                return task
        return None

    def pools(self, view: View) -> Iterator[list[int]]:
        """The jobs with a map waiting, pool by pool."""
        workload = view.workload
        pool_of = [*workload.job_group.tolist(), -1]
        running = [(job, pool_of[job]) for job in workload.job[view.status == RUNNING].tolist()]
        waiting = np.unique(workload.job[view.status == PENDING]).tolist()

        def share(pool: int) -> tuple[Any, int]:
            counted = max(0, int(view.group_running_tasks[pool])) if pool >= 0 else 0
            weight = decimal(np.nan_to_num(workload.group_weight[pool], nan=1.0)) if pool >= 0 else Fraction(1)
            count = counted + sum(owner == pool for _, owner in running)
            return (count / weight if weight else np.inf), pool

        def turn(job: int) -> tuple[int, int]:
            return (0 if self.by_arrival else sum(owner == job for owner, _ in running)), job

        for pool in sorted({pool_of[job] if self.pooled else -1 for job in waiting}, key=share):
            yield sorted((job for job in waiting if not self.pooled or pool_of[job] == pool), key=turn)


class PlainDelay(Plain):
    """Zaharia et al.'s delay scheduling; see `DelayPolicy`."""

    def __init__(self, form: str = "skip-count", **delays: Any) -> None:
        self.two_level, self.delays = form == "two-level", delays

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        for job in (job for jobs in self.pools(view) for job in jobs):
            for level in range(self.patience(job, view) + 1):
                task = self.draw(job, level, offer.node, view)
                if task is not None:
                    if level == 0 or self.two_level:
                        self.skips[job], self.level[job] = 0, level
                    return (task,)
            self.skip(job)
        return ()

    def skip(self, job: int) -> None:
        """The job let the offer pass."""
        self.skips[job] += 1

    def patience(self, job: int, view: View) -> int:
        """The farthest level that a job takes by now."""

        def offers(name: str) -> int:
            delay = self.delays.get(name, "auto")
            known = {"auto": self.auto[job], "hadoop": -(-3 * len(view.cluster) // 2)}
            return int(known.get(delay, delay))

        if not self.two_level:
            return 2 if self.skips[job] >= offers("D") else 0
        waits = [offers("D1"), offers("D2"), 0][self.level[job] :]
        levels = [self.level[job] + more for more in range(len(waits)) if self.skips[job] >= sum(waits[:more])]
        return max(levels)


class PlainFair(PlainDelay):
    """Hadoop's Fair Scheduler; see `FairPolicy`."""

    pooled = True

    def __init__(self, delay: Any = "hadoop", assign: str = "multiple") -> None:
        super().__init__("two-level", D1=delay, D2=delay)
        self.fills_nodes = assign == "multiple"

    def start(self, view: View, rng: np.random.Generator) -> None:
        self.skipped: set[int] = set()
        self.launched: set[int] = set()
        self.node: int | None = None
        super().start(view, rng)

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        if not self.fills_nodes:
            return super().offer(offer, view)
        if offer.node != self.node:
            self.end()
        every, own = int(view.cluster.slots.sum()), int(view.cluster.slots[offer.node])
        tasks = int(np.count_nonzero(view.status == PENDING)) + every - int(view.free_map_slots.sum())
        below = own - offer.free < -(-tasks * own // every)
        answer = super().offer(offer, view) if below else ()
        self.node = offer.node
        self.launched.update(view.workload.job[list(answer)].tolist())
        if not answer:
            self.end()
        return answer

    def skip(self, job: int) -> None:
        if self.fills_nodes:
            self.skipped.add(job)
        else:
            super().skip(job)

    def end(self) -> None:
        """The heartbeat is over."""
        for job in self.skipped - self.launched:
            super().skip(job)
        self.skipped, self.launched, self.node = set(), set(), None


class PlainCapacity(Plain):
    """Hadoop's Capacity Scheduler; see `CapacityPolicy`."""

    pooled = by_arrival = True

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        for jobs in self.pools(view):
            for level in range(3):
                for job in jobs:
                    task = self.draw(job, level, offer.node, view)
                    if task is not None:
                        return (task,)
        return ()


CASES: list[tuple[str, Callable[..., Plain], Mapping[str, Any]]] = [
    ("delay", PlainDelay, {}),
    ("delay", PlainDelay, {"D": 2}),
    ("delay", PlainDelay, {"D": 0}),
    ("delay", PlainDelay, {"form": "two-level", "D1": 2, "D2": 3}),
    ("delay", PlainDelay, {"form": "two-level", "D1": "hadoop", "D2": 0}),
    ("fair", PlainFair, {}),
    ("fair", PlainFair, {"delay": 2}),
    ("fair", PlainFair, {"delay": 2, "assign": "single"}),
    ("capacity", PlainCapacity, {}),
]


def compared(name: str, plain: Callable[..., Plain], parameters: Mapping[str, Any], seed: int) -> None:
    """Drive both over a random snapshot; the shipped one is not asked about the nodes that it refuses."""
    problem = Lsap(random_snapshot(seed))
    make = HEURISTICS[name].policy
    assert make is not None
    found, expected = (drive(problem, policy, seed) for policy in (make(**parameters), plain(**parameters)))
    assert found.placement.nodes.tolist() == expected.placement.nodes.tolist()
    counts = [(run.rounds, run.idle_slot_time, run.starved) for run in (found, expected)]
    assert counts[0] == counts[1]


@pytest.mark.parametrize(("name", "plain", "parameters"), CASES)
def test_as_the_rules_read(name: str, plain: Callable[..., Plain], parameters: Mapping[str, Any]) -> None:
    """Tests that placement, rounds and idle slot-time are those of the rules looked up job by job."""
    for seed in range(6):
        compared(name, plain, parameters, seed)


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "plain", "parameters"), CASES)
def test_as_the_rules_read_often(name: str, plain: Callable[..., Plain], parameters: Mapping[str, Any]) -> None:
    """Tests the same on many snapshots."""
    for seed in range(6, 60):
        compared(name, plain, parameters, seed)
