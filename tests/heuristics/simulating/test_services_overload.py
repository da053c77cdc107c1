"""Tasks on overloaded nodes: against a simulation in fractions, by hand, and laws that must hold."""

import random
from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest
from over_time import driven, seeds

from optsched.core.errors import MissingField, UsageError
from optsched.core.instance import Cluster, Instance, Workload
from optsched.core.placement import MICRO
from optsched.heuristics.simulating import simulate
from optsched.heuristics.simulating.services import Overload
from optsched.instances.generate import generate
from optsched.problems import JobTimes, Makespan

Starts = list[tuple[int, int, int]]


def in_fractions(instance: Instance, starts: Starts) -> dict[int, int]:
    """When each task ends: all rates anew at every instant, and all that is left in fractions."""
    workload, cluster = instance.workload, instance.cluster
    running: dict[int, tuple[int, Fraction]] = {}
    ends: dict[int, int] = {}
    coming, now = sorted(starts), 0

    def takes(task: int, name: str) -> Fraction:
        maps = np.flatnonzero((workload.kind == 0) & (workload.job == workload.job[task])).tolist()
        shuffle = {key: column[task] for key, column in workload.demand_shuffle.items()}
        shuffles = workload.kind[task] == 1 and any(one not in ends for one in maps)
        if shuffles and not all(map(np.isnan, shuffle.values())):
            asked = shuffle.get(name, 0.0)
        else:
            asked = workload.demand[name][task] if name in workload.demand else 0.0
        return Fraction(0) if np.isnan(asked) else Fraction(str(float(asked)))

    def slower(node: int) -> Fraction:
        loads = [
            sum(takes(task, name) for task, (there, _) in running.items() if there == node)
            / Fraction(str(float(has[node])))
            for name, has in cluster.capacity.items()
        ]
        return max([Fraction(1), *loads])

    while coming or running:
        over = [task for task, (_, left) in running.items() if left <= 0]
        for task in over:
            ends[task] = now
            del running[task]
        while coming and coming[0][0] == now:
            _, task, node = coming.pop(0)
            running[task] = node, Fraction(str(float(workload.duration[task]))) * MICRO
        factors = {node: slower(node) for node, _ in running.values()}
        then = min(
            [now + ceil(left * factors[node]) for node, left in running.values()] + [time for time, *_ in coming[:1]],
            default=now,
        )
        running = {task: (node, left - (then - now) / factors[node]) for task, (node, left) in running.items()}
        now = then
    return ends


def drawn(seed: int) -> tuple[Instance, Starts]:
    """Up to 3 nodes and 12 tasks of 2 jobs, reduces among them, some of which take less while they shuffle."""
    rng = random.Random(seed)
    nodes, tasks = rng.randint(1, 3), rng.randint(1, 12)
    kind = [int(rng.random() < 0.3) for _ in range(tasks)]
    cluster = Cluster(
        [f"n{node}" for node in range(nodes)],
        slots=[tasks] * nodes,
        reduce_slots=[tasks] * nodes,
        capacity={name: [rng.choice([2, 3.5, 7]) for _ in range(nodes)] for name in ("cpu", "memory")},
    )
    workload = Workload(
        [f"t{task}" for task in range(tasks)],
        kind=kind,
        job=[rng.randrange(2) for _ in range(tasks)],
        job_ids=["a", "b"],
        duration=[rng.choice([0, 1.5, 4, 10]) for _ in range(tasks)],
        demand={name: [rng.choice([np.nan, 0.7, 1, 2, 3]) for _ in range(tasks)] for name in ("cpu", "memory")},
        demand_shuffle={"memory": [rng.choice([np.nan, 0.5]) if one else np.nan for one in kind]},
    )
    starts = [(rng.randrange(0, 16) * MICRO // 2, task, rng.randrange(nodes)) for task in range(tasks)]
    return Instance(cluster, workload), starts


@pytest.mark.parametrize("seed", seeds(30, 200))
def test_tasks_end_as_by_the_definition(seed: int) -> None:
    """Tests drawn tasks against all rates anew at every instant, to the microsecond."""
    instance, starts = drawn(seed)
    assert any(np.nansum(column) for column in instance.workload.demand.values()), "draw with another seed"
    assert driven(Overload(), instance, starts) == in_fractions(instance, starts)


def three(**more: Any) -> Instance:
    """Three maps of 6 s, each of which takes two of four cores, on one node."""
    cluster = Cluster(["a"], slots=[3], capacity={"cpu": [4.0], "memory": [100.0]})
    given = {"duration": [6.0] * 3, "demand": {"cpu": [2.0] * 3, "memory": [60.0, 1.0, 1.0]}}
    return Instance(cluster, Workload(["t1", "t2", "t3"], **{**given, **more}), name="three")


def test_a_reduce_that_shuffles() -> None:
    """Tests that a reduce takes its cores only once its job's last map has ended: 4 s of both, then 5/4 of the rest."""
    cluster = Cluster(["a", "b"], slots=[1, 1], reduce_slots=[1, 1], capacity={"cpu": [4.0, 4.0]})
    workload = Workload(
        ["m1", "m2", "r"],
        kind=[0, 0, 1],
        job=[0, 1, 0],
        job_ids=["j", "k"],
        duration=[4.0, 14.0, 9.0],
        demand={"cpu": [1.0, 3.0, 2.0]},
        demand_shuffle={"cpu": [np.nan, np.nan, 0.0]},
    )
    starts = [(0, 0, 0), (0, 1, 1), (0, 2, 1)]
    found = driven(Overload(), Instance(cluster, workload), starts)
    assert found == {0: 4 * MICRO, 2: (4 * 4 + 5 * 5) * MICRO // 4, 1: (4 * 4 + 5 * 5 + 5 * 4) * MICRO // 4}


def test_bounds_hold() -> None:
    """Tests that bounds of the problems over time hold for runs."""
    instance = generate("ras-run", jobs=3, nodes=3, maps=12, gap=10, slots=20, reduce_slots=20, seed=1)
    run = simulate(instance, "fair", "overload")
    slow = simulate(instance, "fair", "levels")
    assert run.makespan > slow.makespan
    assert all(bound.value <= run.makespan for bound in Makespan(instance).cheap_bounds())
    assert all(bound.value <= run.job_times.sum() / MICRO for bound in JobTimes(instance).cheap_bounds())


def test_a_task_that_is_stopped() -> None:
    """Tests that the others go faster once one is taken off the node."""
    service = Overload()
    service.prepare(three())
    ends: dict[int, int] = {}
    for task in range(3):
        ends.update(service.started(task, 0, 0))
    assert ends == dict.fromkeys(range(3), 9 * MICRO)
    assert service.stopped(1, 3 * MICRO) == [(0, 7 * MICRO), (2, 7 * MICRO)]


def test_what_an_instance_does_not_tell() -> None:
    """Tests demands that nobody gives, capacities that are missing or 0, times, parameters and lost nodes."""
    with pytest.raises(MissingField, match=r"three: overload: tasks\[\]\.demand: say what tasks take"):
        Overload().prepare(three(demand={}))
    bare = replace(three(), cluster=Cluster(["a"], slots=[3], capacity={"cpu": [0.0]}))
    with pytest.raises(MissingField) as found:
        Overload().prepare(bare)
    assert [fault.place for fault in found.value.faults] == ["nodes[0].capacity.cpu", "nodes[0].capacity.memory"]
    has = {"cpu": [0.5, np.nan], "memory": [9.0, np.nan]}
    storage = Cluster(["a", "s"], slots=[3, 0], reduce_slots=[1, 0], capacity=has)
    Overload().prepare(Instance(storage, bare.workload))
    with pytest.raises(MissingField, match=r"overload: tasks\[0\]\.times"):
        Overload().prepare(three(duration=[np.nan, 1, 1]))
    with pytest.raises(UsageError, match="overload: duration=-1"):
        Overload(duration=-1)
    with pytest.raises(UsageError, match="losses: Overload keeps tasks that run"):
        simulate(three(), "fifo", "overload", losses=[("a", 1, 2)])
    assert (Overload((1, 1, 2)).label, Overload().label) == ("overload,factors=1:1:2", "overload")
