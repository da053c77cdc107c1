"""How many events the engine of simulations takes in a second, and a bare heap in the same run.

    python benchmarks/engine.py [--tasks N]

An event is a task that starts or ends, a job that arrives, reduces that are released, or an offer. The yardstick is a
bare heap, and the ratio to it is what the machine has no say in. There are two: the pushes and pops of the first run
itself, the same entries in the same order, as many pending (a start pushes, an end pops: each is an event); and a heap
in which a job's worth of a hundred thousand tasks is pending; each event pops one and pushes another. The
first is as fast as an engine could be that did nothing but keep its heap. Processor seconds, the best of three.
"""

from __future__ import annotations

import argparse
import heapq
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from optsched.core.instance import MAP, Cluster, Instance, Ragged, Topology, Workload
from optsched.heuristics import heuristic
from optsched.heuristics.running.base import Event, Offer, View
from optsched.heuristics.simulating.engine import ENDED, STARTED, Engine, Rules, Stage
from optsched.heuristics.simulating.services import Levels

NODES, SLOTS, JOBS = 60, 4, 30


class InOrder:
    """The first task that waits: next to no work of a policy's own."""

    def start(self, view: View, rng: np.random.Generator) -> None:
        self.known, self.waiting = 0, deque[int]()
        self.learn(view)

    def notify(self, event: Event, view: View) -> None:
        if event.what == "job-arrived":
            self.learn(view)

    def learn(self, view: View) -> None:
        """Enter the maps that are new."""
        self.waiting.extend(range(self.known, len(view.status)))
        self.known = len(view.status)

    def offer(self, offer: Offer, view: View) -> Sequence[int]:
        return (self.waiting.popleft(),) if self.waiting else ()


def workload(tasks: int) -> Instance:
    """Maps of jobs that arrive over time, on racks, with two replicas each."""
    rng = np.random.default_rng(0)
    replicas = Ragged.from_rows([sorted(rng.choice(NODES, 2, replace=False).tolist()) for _ in range(tasks)])
    cluster = Cluster(
        [f"n{node}" for node in range(NODES)],
        rack=np.arange(NODES) // 20,
        rack_ids=["r1", "r2", "r3"],
        slots=[SLOTS] * NODES,
        topology=Topology("hops", hops={"node": 0, "rack": 2, "off_rack": 4}),
    )
    job = np.sort(np.arange(tasks) % JOBS)
    return Instance(
        cluster,
        Workload(
            [f"t{task}" for task in range(tasks)],
            job=job,
            job_ids=[f"j{number}" for number in range(JOBS)],
            arrival=np.arange(JOBS) * tasks * 20 / (NODES * SLOTS) / JOBS,
            kind=np.full(tasks, MAP),
            replicas=replicas,
            size=np.full(tasks, 128.0),
            times=rng.integers(10, 30, (tasks, 1)) * np.array([[1.0, 1.2, 1.5]]),
        ),
    )


def replayed_rate(engine: Engine) -> tuple[float, int]:
    """Events in a second of a bare heap that gets the entries of a run, and how many there were."""
    starts = {task: (engine.end[task], 0, task) for _, what, task, _ in engine.record if what == STARTED}
    pushed = [
        starts[task] if what == STARTED else None for _, what, task, _ in engine.record if what in (STARTED, ENDED)
    ]
    heap: list[tuple[int, int, int]] = []
    begin = time.process_time()
    for entry in pushed:
        if entry is None:
            heapq.heappop(heap)
        else:
            heapq.heappush(heap, entry)
    return len(pushed) / (time.process_time() - begin), len(pushed)


def full_rate(pending: int = 100_000, events: int = 100_000) -> tuple[float, int]:
    """Events in a second of a bare heap with so many entries, each of which pops one and pushes another."""
    rng = np.random.default_rng(0)
    heap = sorted((entry, 0, number) for number, entry in enumerate(rng.integers(0, 10**9, pending).tolist()))
    steps = rng.integers(0, 10**9, events).tolist()
    begin = time.process_time()
    for step in steps:
        at, kind, entry = heapq.heappop(heap)
        heapq.heappush(heap, (at + step, kind, entry))
    return events / (time.process_time() - begin), events


def rate(instance: Instance, policy: Callable[[], Any], **rules: Any) -> tuple[float, int]:
    """Events in a second, and how many there were."""
    engine = Engine(Stage(instance), policy(), Levels(), Rules(**rules))
    begin = time.process_time()
    engine.run()
    seconds = time.process_time() - begin
    events = len(engine.record) + engine.offers
    return events / seconds, events


def main() -> None:
    """Print a row for each policy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=40_000)
    instance = workload(parser.parse_args().tasks)
    engine = Engine(Stage(instance), InOrder(), Levels(), Rules())
    engine.run()
    own, count = max(replayed_rate(engine) for _ in range(3))
    full, many = max(full_rate() for _ in range(3))
    print(f"{'':24} {'events':>9} {'events/s':>10} {'of its heap':>11} {'of a full heap':>14}")
    print(f"{'its bare heap':24} {count:>9,} {own:>10,.0f} {1:>11.2f} {own / full:>14.2f}")
    print(f"{'a bare heap of 100,000':24} {many:>9,} {full:>10,.0f} {full / own:>11.2f} {1:>14.2f}")
    rows: list[tuple[str, Callable[[], Any], dict[str, Any]]] = [
        ("in order", InOrder, {}),
        ("in order, no heartbeats", InOrder, {"heartbeat": 0}),
        *((name, heuristic(name).policy, {}) for name in ("dl", "fair", "delay", "probabilistic")),  # type: ignore[list-item]
    ]
    for name, policy, rules in rows:
        found = [rate(instance, policy, **rules) for _ in range(3)]
        best, events = max(found)
        print(f"{name:24} {events:>9,} {best:>10,.0f} {best / own:>11.2f} {best / full:>14.2f}")


if __name__ == "__main__":
    main()
