"""Coupling: the chance of a map by its locality, the number of reduces by the maps' progress, and the central node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from policy_cases import first_answers, first_view
from transmission_instances import example

from optsched.errors import UsageError
from optsched.heuristics.coupling import HEURISTICS, CouplingPolicy
from optsched.instance import MAP, REDUCE, Cluster, Instance, Ragged, Shuffle, State, Topology, Workload
from optsched.problems.transmission import Transmission
from optsched.problems.transmission_maps import TransmissionMaps
from optsched.problems.transmission_reduces import TransmissionReduces
from optsched.running.base import Event, Offer
from optsched.running.driver import drive
from optsched.running.run import run_heuristic

HOPS = Topology("hops", hops={"node": 0.0, "rack": 2.0, "off_rack": 4.0})


def test_chances_of_maps() -> None:
    """Tests that a map starts always on its block, with `p_rack` in its rack, with `p_off` beyond (4 sigma)."""
    cluster = Cluster(["a", "b", "c", "d"], rack=[0, 0, 1, -1], rack_ids=["r1", "r2"], topology=HOPS)
    problem = TransmissionMaps(Instance(cluster, Workload(["t"], size=[1.0], replicas=Ragged.from_rows([[0]]))))
    for node, chance in ((0, 1.0), (1, 0.8), (2, 0.5), (3, 0.5)):
        share = first_answers(problem, CouplingPolicy(), node, "map", 2000)[(0,)] / 2000
        assert share == pytest.approx(chance, abs=4 * 0.0112 if chance < 1 else 0)


def test_any_map_of_the_job_is_drawn() -> None:
    """Tests that the map is drawn before anybody looks at its locality."""
    counted = first_answers(TransmissionMaps(example()), CouplingPolicy(), 0, "map", 1000)
    assert counted[(0,)] / 1000 == pytest.approx(0.5, abs=4 * 0.0158)
    assert counted[(1,)] / 1000 == pytest.approx(0.25, abs=4 * 0.0137)  # no racks: off-rack, half of the time


def staged(running: int, finished: int, maps: int = 4, reduces: int = 3) -> TransmissionReduces:
    """A job of which so many maps run, have finished, and wait."""
    cluster = Cluster([f"n{node}" for node in range(4)], reduce_slots=[1] * 4, topology=HOPS)
    workload = Workload(
        [f"t{task}" for task in range(maps + reduces)],
        kind=[MAP] * maps + [REDUCE] * reduces,
        job=[0] * (maps + reduces),
        job_ids=["J"],
        shuffle=Shuffle([0], [maps], [1.0]),
    )
    status = [1] * running + [2] * finished + [0] * (maps - running - finished + reduces)
    state = State.initial(cluster, workload, status=status, node=[0 if code else -1 for code in status])
    return TransmissionReduces(Instance(cluster, workload, state))


@pytest.mark.parametrize(
    ("running", "finished", "launched_allows", "finished_allows"),
    [(0, 0, 0, 0), (1, 0, 1, 0), (1, 1, 2, 1), (0, 3, 3, 3), (2, 2, 3, 2)],
)
def test_reduces_follow_the_maps(running: int, finished: int, launched_allows: int, finished_allows: int) -> None:
    """Tests ceil(progress n) for n = 3 reduces and 4 maps, in both readings of progress; what is left starves."""
    problem = staged(running, finished)
    for progress, allows in (("launched", launched_allows), ("finished", finished_allows)):
        run = drive(problem, CouplingPolicy(progress=progress), max_idle_rounds=10)
        assert (run.placement.placed, run.starved) == (allows, allows < 3)


def test_a_job_without_maps_is_done_with_them() -> None:
    """Tests that all reduces of a job without a map may start."""
    instance = staged(0, 0).instance
    workload = instance.workload
    apart = Workload(
        workload.task_ids,
        kind=workload.kind,
        job=[1, 1, 1, 1, 0, 0, 0],
        job_ids=["J", "maps"],
        shuffle=workload.shuffle,
    )
    problem = TransmissionReduces(Instance(instance.cluster, apart, instance.state))
    assert drive(problem, CouplingPolicy(progress="finished")).placement.placed == 3


def test_reduces_wait_for_the_centre_three_times() -> None:
    """Tests R1 of Shen et al.'s example, cheapest on D1 and D2: it waits on D3 for three offers, and then takes it."""
    instance = example((2, 1))
    shuffle = instance.workload.shuffle
    assert shuffle is not None
    workload = Workload(
        instance.workload.task_ids,
        kind=instance.workload.kind,
        job=instance.workload.job,
        job_ids=["J"],
        size=instance.workload.size,
        replicas=instance.workload.replicas,
        shuffle=shuffle,
    )
    state = replace(instance.state, emitted=shuffle.size)
    view = first_view(TransmissionReduces(Instance(instance.cluster, workload, state)))
    for waits in (3, 0):
        policy = CouplingPolicy(waits=waits)
        policy.start(view, np.random.default_rng(0))
        told = [policy.offer(Offer(0.0, 2, "reduce", 2), view) for _ in range(waits + 1)]
        assert told == [()] * waits + [(2,)]
    policy = CouplingPolicy()
    policy.start(view, np.random.default_rng(0))
    assert policy.offer(Offer(0.0, 1, "reduce", 2), view) == (2,)  # D2 costs as little as D1
    # With a reduce on D1, D1 is out of the question, but D2 is as cheap still.
    policy.notify(Event(0.0, "task-started", 2), view)
    assert policy.offer(Offer(0.0, 2, "reduce", 2), view) == ()


def test_nothing_emitted_makes_any_node_central() -> None:
    """Tests that maps placed in the same snapshot have emitted nothing, so that their reduces wait for no node."""
    problem = Transmission(example())
    for seed in range(10):
        run = drive(problem, CouplingPolicy(), seed)
        assert not problem.violations(run.placement)


@pytest.mark.parametrize("wrong", [{"p_rack": 2}, {"p_off": -1}, {"progress": "some"}, {"waits": 0.5}])
def test_wrong_parameters(wrong: dict[str, Any]) -> None:
    """Tests that chances are shares, and waits whole numbers."""
    with pytest.raises(UsageError, match="coupling: "):
        run_heuristic(TransmissionMaps(example()), HEURISTICS[0], **wrong)
