"""The instances and numbers of the claims and figures of Shen et al."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optsched.core.instance import FINISHED, MAP, PENDING, Instance
from optsched.instances.generate import generate
from optsched.measuring.judging.cases import least_moved, moved
from optsched.problems import TransmissionMaps, TransmissionReduces
from optsched.problems.distances import distances
from optsched.simulating import simulate


@pytest.mark.parametrize("policy", ["probabilistic", "fair"])
def test_what_a_run_moves(policy: str) -> None:
    """Tests the cost of a run's maps and reduces against the problems', and the bound against each reduce alone."""
    instance = generate("shen-run", seed=1, batch=2, divide=60, nodes=5)
    assert isinstance(instance, Instance)
    done = simulate(instance, policy, "transfer", seed=1)
    nodes, maps = done.schedule.nodes, instance.workload.kind == MAP
    wide = replace(instance.cluster, slots=np.full(5, 99), reduce_slots=np.full(5, 99))
    state = replace(instance.state, idle_slots=wide.slots, idle_reduce_slots=wide.reduce_slots)
    first = replace(instance, cluster=wide, state=state)
    stage = TransmissionMaps(first)
    assert moved(done, "map") == pytest.approx(float(stage.objective(stage.placement(nodes[stage.tasks]))[0]))
    status = np.where(maps, FINISHED, PENDING)
    second = first.with_state(replace(first.state, status=status, node=np.where(maps, nodes, -1)))
    reduces = TransmissionReduces(second, distinct=False)
    assert moved(done, "reduce") == pytest.approx(
        float(reduces.objective(reduces.placement(nodes[reduces.tasks]))[0]), rel=1e-6
    )
    shuffle, away = instance.workload.shuffle, distances(instance)
    assert shuffle is not None
    least = 0.0
    for reduce in np.flatnonzero(~maps):
        own = shuffle.reduce == reduce
        least += min(float(shuffle.size[own] @ away[nodes[shuffle.map[own]], node]) for node in range(5))
    assert least_moved(done) == pytest.approx(least)
    assert least <= moved(done, "reduce")
